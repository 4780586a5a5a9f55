/* SPDX-License-Identifier: Apache-2.0 */
/* Runs commands several times, in turn, and says what each of them uses, and how they differ. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "baro/fold.h"
#include "baro/runset.h"
#include "baro/tape.h"
#include "base/buf.h"
#include "base/fmt.h"
#include "base/json.h"
#include "base/sorted.h"
#include "output/rows/escaped.h"
#include "output/rows/table.h"
#include "output/rows/wrap.h"
#include "output/text/read_fact.h"
#include "output/text/summary_text.h"
#include "programs/baro-report/compare_runs.h"
#include "programs/baro-report/diff.h"
#include "programs/common/output.h"

/* ---- wall times ---- */

/* Wall times of repeated runs: bars, and the runs that stand out. */

/* Wall times of the runs of a command, in nanoseconds. */
struct wall_times {
    double least, median, most;
    double interval[2]; /* of the median */
    bool has_interval;  /* there are enough runs for one; else the interval is the range */
};

#define OUTLIERS_MOST 3u /* of a command that have a line */
#define BAR_LEAST 10u
#define FIGURES 38u /* columns beside a bar */

static void wall_times_of(const double *sorted, size_t n, struct wall_times *ret)
{
    *ret = (struct wall_times){.least = sorted[0], .median = sorted_median(sorted, n), .most = sorted[n - 1]};
    ret->has_interval = sorted_median_interval(sorted, n, ret->interval);
    if (!ret->has_interval) {
        ret->interval[0] = ret->least;
        ret->interval[1] = ret->most;
    }
}

/* "1.20 s (1.18 s to 1.31 s)" */
static void put_figures(const struct wall_times *w, struct buf *b)
{
    fmt_duration(b, whole_of(w->median + 0.5));
    buf_str(b, " (");
    fmt_duration(b, whole_of(w->interval[0] + 0.5));
    buf_str(b, " to ");
    fmt_duration(b, whole_of(w->interval[1] + 0.5));
    buf_byte(b, ')');
}

/* A bar for each command, over lines of this width. */
static void compare_bars(const struct wall_times *commands, unsigned n, unsigned width, bool utf8, struct buf *ret)
{
    unsigned cells = width > FIGURES + BAR_LEAST ? width - FIGURES : BAR_LEAST;
    bool has_interval = true, is_beyond = false;
    double most = 0;
    for (unsigned i = 0; i < n; i++) {
        most = commands[i].most > most ? commands[i].most : most;
        has_interval = has_interval && commands[i].has_interval;
    }
    for (unsigned i = 0; i < n && most > 0; i++) {
        const struct wall_times *w = &commands[i];
        buf_printf(ret, "%c  ", 'a' + (int)i);
        for (unsigned k = 0; k < cells; k++) {
            double at = most * (k + 0.5) / cells, half = most / cells / 2; /* the middle of the cell */
            bool is_interval = at + half > w->interval[0] && at - half <= w->interval[1];
            is_beyond = is_beyond || (at - half > w->interval[1] && at - half <= w->most);
            if (at + half > w->median && at - half <= w->median)
                buf_str(ret, utf8 ? "┃" : "|");
            else if (is_interval)
                buf_str(ret, utf8 ? "▒" : "=");
            else if (at < w->interval[0])
                buf_str(ret, utf8 ? "█" : "#");
            else
                buf_str(ret, at - half > w->most ? " " : utf8 ? "─" : "-");
        }
        buf_byte(ret, ' ');
        put_figures(w, ret);
        buf_byte(ret, '\n');
    }
    buf_printf(ret, "%s the median, %s %s", utf8 ? "┃" : "|", utf8 ? "▒" : "=",
               has_interval ? "its interval of 95 %" : "all runs (six tell the median's interval)");
    if (is_beyond)
        buf_printf(ret, ", %s up to the longest run", utf8 ? "─" : "-");
    buf_byte(ret, '\n');
}

/* Is it beyond all others, by more than three times the distance from the median to the farther quartile, and by a
 * tenth of the median? Example: nine of ten runs took 1.40 to 1.50 s, the median is 1.45: a run of 2.1 s is far, and
 * one of 1.58 is not; nor is one of 1.9 beside that of 2.1, which the range of the others has. */
static bool is_far(double wall, const double *sorted, size_t n)
{
    double median = sorted_median(sorted, n), low = median - sorted[n / 4], high = sorted[n - 1 - n / 4] - median;
    double quarter = low > high ? low : high, distance = fabs(wall - median);
    return (wall <= sorted[0] || wall >= sorted[n - 1]) && distance > 3 * quarter && distance > median / 10 &&
           distance > 10e6;
}

/* A line for each run from `from` on whose wall time is far from the others', with the reason that its tape has. None
 * is dropped: the median and its interval hardly move because of one. Example: "run 7 of b took 2.10 s, the others
 * 1.40 s to 1.50 s: other processes used 1.8 cores in it". */
static void compare_outliers(const struct baro_runset *set, size_t from, char command, struct buf *ret)
{
    size_t to = baro_runset_runs(set), row = diff_job_row(set, "wall_ns"), far = 0;
    double *all = calloc(to, sizeof(*all));
    size_t n = all ? diff_values(set, row, from, to, to, all) : 0;
    for (size_t i = from; n >= 4 && i < to; i++) {
        struct baro_value v;
        if (baro_runset_value(set, row, i, &v) != BARO_PRESENT || !is_far(v.real, all, n) || ++far > OUTLIERS_MOST)
            continue;
        bool is_least = v.real <= all[0], is_most = v.real >= all[n - 1];
        buf_printf(ret, "run %zu%s%.1s took ", i - from + 1, command ? " of " : "", command ? &command : "");
        fmt_duration(ret, whole_of(v.real + 0.5));
        buf_str(ret, ", the others ");
        fmt_duration(ret, whole_of(all[is_least] + 0.5));
        buf_str(ret, " to ");
        fmt_duration(ret, whole_of(all[n - 1 - is_most] + 0.5));
        buf_str(ret, ": ");
        if (!noise_of_run(set, i, from, to, ret))
            buf_str(ret, "its tape does not say why");
        buf_byte(ret, '\n');
    }
    if (far > OUTLIERS_MOST)
        buf_printf(ret, "and %zu more are far from the others\n", far - OUTLIERS_MOST);
    free(all);
}

#define FACTS 5u
static const char *const shown[FACTS][2] = {{"wall_ns", "wall"},
                                            {"cpu_ns", "cpu"},
                                            {"rss_peak_bytes", "memory"},
                                            {"io_wchar_bytes", "write()"},
                                            {"processes_started", "processes"}};

/* ---- commands with parameters ---- */

/* Writes a command in which {NAME} stands for a value. */
static char *with_value(const char *command, const char *name, size_t name_len, const char *value, size_t len)
{
    struct buf b = {0};
    for (const char *at = command; *at;) {
        if (*at == '{' && strncmp(at + 1, name, name_len) == 0 && at[1 + name_len] == '}') {
            buf_add(&b, value, len);
            at += name_len + 2;
        } else {
            buf_byte(&b, (unsigned char)*at++);
        }
    }
    buf_byte(&b, 0);
    char *text = b.failed ? NULL : strdup((const char *)b.at);
    buf_done(&b);
    return text;
}

/* "-L name a,b": each command once for each value. Returns how many there are; 0 if there are too many, or out of
 * memory. */
static unsigned expand(char *const *argv, const char *list, char *ret[COMPARED_MOST])
{
    const char *values = list ? strchr(list, ' ') : NULL;
    size_t name_len = values ? (size_t)(values - list) : 0;
    unsigned n = 0;
    for (; *argv; argv++) {
        const char *at = values ? values + 1 : "";
        do {
            size_t len = strcspn(at, ",");
            if (n == COMPARED_MOST)
                return 0;
            ret[n] = values ? with_value(*argv, list, name_len, at, len) : strdup(*argv);
            if (!ret[n++])
                return 0;
            at += len;
        } while (*at++ == ',');
    }
    return n;
}

/* A command with its arguments as a text; NULL: out of memory. */
static char *line_of(char *const *argv)
{
    struct buf b = {0};
    report_arguments((const char *const *)argv, &b);
    buf_byte(&b, 0);
    char *text = b.failed ? NULL : strdup((const char *)b.at);
    buf_done(&b);
    return text;
}

/* ---- results ---- */

static int read_runs(const struct cli *cli, const struct compared_runs *r, unsigned command, struct baro_runset *set)
{
    int status = 0;
    for (unsigned i = 0; i < r->n; i++) {
        if (r->run[i].command == command && !status)
            status = diff_add_tape(cli, set, r->run[i].path, r->run[i].path);
    }
    return status;
}

/* The set has the runs of the first command, and then those of another one. */
static int compare_with(const struct cli *cli, const struct compared_runs *r, unsigned command,
                        struct baro_runset **ret)
{
    struct baro_error err = BARO_ERROR_INIT;
    if (baro_runset_new(ret, &err) < 0)
        return cli_fail(cli, &err);
    int status = read_runs(cli, r, 0, *ret);
    size_t first = baro_runset_runs(*ret);
    if (!status && command)
        status = read_runs(cli, r, command, *ret);
    if (status || !command)
        return status;
    bool is_paired = baro_runset_runs(*ret) == 2 * first; /* else ^C ended the last round */
    if ((is_paired ? baro_runset_compare_pairs(*ret, &err) : baro_runset_compare(*ret, first, &err)) < 0)
        status = cli_fail(cli, &err);
    return status;
}

/* The values of a fact of the job from run `from` on, sorted. Returns how many are known. */
static size_t values_of(const struct baro_runset *set, const char *fact, size_t from, double *ret)
{
    return diff_values(set, diff_job_row(set, fact), from, baro_runset_runs(set), SIZE_MAX, ret);
}

/* "1.20 s (1.18 s to 1.31 s)" of the runs from `from` on, "≥1.20 s (...)" if one of them is only a bound; at: their
 * values, sorted */
static void put_spread(struct table *t, const struct baro_runset *set, size_t row, size_t from, const double *at,
                       size_t n)
{
    struct buf b = {0};
    struct baro_value v;
    unsigned flags = 0;
    void (*format)(struct buf * b, uint64_t v) = report_format(baro_runset_row(set, row)->fact);
    for (size_t i = from; i < baro_runset_runs(set); i++)
        flags |= baro_runset_value(set, row, i, &v) == BARO_PRESENT ? v.flags : 0;
    if (n) {
        buf_str(&b, baro_value_prefix(flags, BARO_PREFIX_SYMBOL));
        format(&b, whole_of(sorted_median(at, n) + 0.5));
        buf_str(&b, " (");
        format(&b, whole_of(at[0] + 0.5));
        buf_str(&b, " to ");
        format(&b, whole_of(at[n - 1] + 0.5));
        buf_byte(&b, ')');
    }
    table_take(t, &b);
    buf_done(&b);
}

static const struct baro_difference *difference_of(const struct baro_runset *set, const char *fact)
{
    for (size_t i = 0; i < baro_difference_count(set); i++) {
        const struct baro_difference *d = baro_difference_get(set, i);
        if (strcmp(d->scope, "job") == 0 && strcmp(d->fact->name, fact) == 0)
            return d;
    }
    return NULL;
}

/* "1.24 times: changed", against the first command */
static void put_ratio(struct table *t, const struct baro_difference *d)
{
    struct buf b = {0};
    if (d && d->before > 0 && d->n_after) {
        fmt_decimal(&b, d->after / d->before, d->after < 100 * d->before ? 2 : 0);
        buf_str(&b, "×, ");
    }
    if (d && d->n_after)
        diff_answer(&b, d);
    table_take(t, &b);
    buf_done(&b);
}

/* Adds the rows of a command to the table; ret_wall gets its wall times, outliers lines on runs that stand out. */
static int put_command(const struct cli *cli, const struct compared_runs *r, unsigned command, double *room,
                       struct table *t, struct wall_times *ret_wall, struct buf *outliers)
{
    struct baro_runset *set = NULL;
    int status = compare_with(cli, r, command, &set);
    size_t from = 0;
    for (unsigned i = 0; command && i < r->n; i++)
        from += r->run[i].command == 0;
    for (unsigned k = 0; k < FACTS && !status; k++) {
        size_t n = values_of(set, shown[k][0], from, room);
        const char letter[2] = {(char)('a' + command), 0};
        if (k && n && room[n - 1] == 0) /* it never wrote */
            continue;
        table_text(t, r->n_commands > 1 && !k ? letter : "");
        table_text(t, shown[k][1]);
        put_spread(t, set, diff_job_row(set, shown[k][0]), from, room, n);
        put_ratio(t, command ? difference_of(set, shown[k][0]) : NULL);
        if (!k && n)
            wall_times_of(room, n, ret_wall);
    }
    if (!status)
        compare_outliers(set, from, r->n_commands > 1 ? (char)('a' + command) : 0, outliers);
    baro_runset_free(set);
    return status;
}

/* A line for each command; a letter says which rows of the table are its own, and which tapes of --keep. */
static void put_commands(const struct cli *cli, const struct compared_runs *r, struct buf *ret)
{
    for (unsigned i = 0; i < r->n_commands; i++) {
        struct buf line = {0};
        if (r->n_commands > 1)
            buf_printf(&line, "%c  ", 'a' + (int)i);
        text_escaped(&line, r->commands[i], strlen(r->commands[i]));
        buf_byte(&line, '\n');
        if (cli->tty)
            wrap_lines(&line, 0, cli->width);
        buf_add(ret, line.at, line.len);
        ret->failed = ret->failed || line.failed;
        buf_done(&line);
    }
}

static int print_table(const struct cli *cli, const struct compared_runs *r)
{
    struct table t = {.columns = 4, .ascii = !cli->utf8};
    struct buf text = {0}, outliers = {0};
    struct wall_times wall[COMPARED_MOST] = {0};
    double *room = calloc(r->n + 1, sizeof(*room));
    int status = room ? 0 : cli_failf(cli, "out of memory");
    table_text(&t, "");
    table_text(&t, "");
    buf_printf(&text, "median of %u%s (range)", r->n / r->n_commands, r->n % r->n_commands ? " or more" : "");
    table_take(&t, &text);
    table_text(&t, r->n_commands > 1 ? "against a" : "");
    for (unsigned i = 0; i < r->n_commands && !status; i++)
        status = put_command(cli, r, i, room, &t, &wall[i], &outliers);
    if (!status) {
        put_commands(cli, r, &text);
        table_print(&t, cli->table_width, &text);
        if (cli->tty && r->n_commands > 1)
            compare_bars(wall, r->n_commands, cli->width, cli->utf8, &text);
        if (cli->tty)
            wrap_lines(&outliers, 0, cli->width);
        buf_add(&text, outliers.at, outliers.len);
        text.failed = text.failed || outliers.failed;
        if (r->s->export_json && strcmp(r->s->export_json, "-") == 0) /* standard output is for the JSON */
            fprintf(stderr, "%.*s", (int)text.len, text.failed ? "" : (const char *)text.at);
        else
            status = cli_out_text(cli, &text);
    }
    table_done(&t);
    buf_done(&text);
    buf_done(&outliers);
    free(room);
    return status;
}

/* ---- the JSON that plot scripts for hyperfine read ---- */

static double mean_of(const double *at, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += at[i];
    return n ? sum / (double)n : NAN;
}

/* The mean of a fact of the job over the runs of a command, in seconds. */
static double mean_seconds(const struct compared_runs *r, unsigned command, const char *fact)
{
    double sum = 0;
    size_t n = 0;
    for (unsigned i = 0; i < r->n; i++) {
        struct baro_tape *tape;
        struct baro_fold *fold = NULL;
        uint64_t ns;
        if (r->run[i].command != command || baro_tape_open(&tape, r->run[i].path, NULL) < 0)
            continue;
        if (baro_fold_of_tape(tape, BARO_FOLD_SUMMARY, &fold, NULL) >= 0 &&
            report_has_u64(baro_fold_summary(fold), "job", fact, &ns)) {
            sum += (double)ns / 1e9;
            n++;
        }
        baro_fold_free(fold);
        baro_tape_close(tape);
    }
    return n ? sum / (double)n : NAN;
}

static void put_result(struct json *j, const struct compared_runs *r, unsigned command, const struct baro_runset *set,
                       double *room)
{
    size_t n = values_of(set, "wall_ns", 0, room);
    double mean, square = 0;
    for (size_t i = 0; i < n; i++)
        room[i] /= 1e9;
    mean = mean_of(room, n);
    for (size_t i = 0; i < n; i++)
        square += (room[i] - mean) * (room[i] - mean);
    json_begin(j, '{');
    json_key_text(j, "command", r->commands[command]);
    json_key_double(j, "mean", mean);
    json_key_double(j, "stddev", n > 1 ? sqrt(square / (double)(n - 1)) : NAN);
    json_key_double(j, "median", sorted_median(room, n));
    json_key_double(j, "user", mean_seconds(r, command, "cpu_user_ns"));
    json_key_double(j, "system", mean_seconds(r, command, "cpu_system_ns"));
    json_key_double(j, "min", n ? room[0] : NAN);
    json_key_double(j, "max", n ? room[n - 1] : NAN);
    json_key_begin(j, "times", '[');
    for (size_t i = 0; i < baro_runset_runs(set); i++) { /* in the order of the runs */
        struct baro_value v;
        if (baro_runset_value(set, diff_job_row(set, "wall_ns"), i, &v) == BARO_PRESENT)
            json_double(j, v.real / 1e9);
    }
    json_end(j, ']');
    json_key_begin(j, "memory_usage_byte", '[');
    for (size_t i = 0; i < baro_runset_runs(set); i++) {
        struct baro_value v;
        if (baro_runset_value(set, diff_job_row(set, "rss_peak_bytes"), i, &v) == BARO_PRESENT)
            json_u64(j, whole_of(v.real));
    }
    json_end(j, ']');
    json_key_begin(j, "exit_codes", '[');
    for (unsigned i = 0; i < r->n; i++) {
        if (r->run[i].command == command && WIFEXITED((int)r->run[i].status))
            json_i64(j, WEXITSTATUS((int)r->run[i].status));
        else if (r->run[i].command == command)
            json_null(j);
    }
    json_end(j, ']');
    json_end(j, '}');
}

static int write_json(const struct cli *cli, const struct compared_runs *r, struct output *o)
{
    struct buf text = {0};
    struct json j = {.out = &text, .pretty = true};
    struct baro_error err = BARO_ERROR_INIT;
    double *room = calloc(r->n + 1, sizeof(*room));
    int status = room ? 0 : cli_failf(cli, "out of memory");
    json_begin(&j, '{');
    json_key_begin(&j, "results", '[');
    for (unsigned i = 0; i < r->n_commands && !status; i++) {
        struct baro_runset *set = NULL;
        status = baro_runset_new(&set, &err) < 0 ? cli_fail(cli, &err) : read_runs(cli, r, i, set);
        if (!status)
            put_result(&j, r, i, set, room);
        baro_runset_free(set);
    }
    json_end(&j, ']');
    json_end(&j, '}');
    if (!status && (output_write(o, text.at, text.len, &err) < 0 || output_commit(o, &err) < 0))
        status = cli_fail(cli, &err);
    buf_done(&text);
    free(room);
    return status;
}

static void say_failures(const struct cli *cli, const struct compared_runs *r, unsigned command)
{
    unsigned failed = 0, n = 0;
    for (unsigned i = 0; i < r->n; i++) {
        n += r->run[i].command == command;
        failed += r->run[i].command == command && r->run[i].status;
    }
    if (failed)
        cli_note(cli, "%u of %u runs of '%s' failed", failed, n, r->commands[command]);
}

/* Prints what the runs say. Returns the exit status: of a command that failed 1, of an interruption 128 and the signal,
 * as shells do. */
static int print_results(const struct cli *cli, const struct compared_runs *r, struct output *json)
{
    int status = r->has_failed ? 1 : r->interrupted_by ? 128 + r->interrupted_by : 0;
    if (r->n < r->n_commands) {
        if (r->interrupted_by)
            cli_note(cli, "interrupted before each command had run once");
        return status;
    }
    if (r->interrupted_by)
        cli_note(cli, "interrupted: the figures are of %u runs, of %u that were asked for", r->n,
                 r->s->runs * r->n_commands);
    int failed = print_table(cli, r);
    for (unsigned i = 0; !failed && r->s->ignore_failure && i < r->n_commands; i++)
        say_failures(cli, r, i);
    if (!failed && r->s->export_json)
        failed = write_json(cli, r, json);
    return failed ? failed : status;
}

int cmd_compare(struct cli *cli, const struct settings *s, char **argv)
{
    char *commands[COMPARED_MOST] = {0};
    struct compared_runs r = {.cli = cli, .s = &s->compare, .commands = (const char *const *)commands};
    struct baro_error err = BARO_ERROR_INIT;
    struct output json = {.fd = -1};
    const char *path = s->compare.export_json;
    if (s->compare.no_shell && s->compare.list)
        return cli_failf(cli, "--no-shell and --parameter-list: one of them");
    if (path && output_open(&json, strcmp(path, "-") == 0 ? NULL : path, true, false, &err) < 0)
        return cli_fail(cli, &err); /* before the runs, which may take hours */
    if (s->compare.no_shell) {
        r.argv = argv;
        commands[0] = line_of(argv);
        r.n_commands = commands[0] != NULL;
    } else {
        r.n_commands = expand(argv, s->compare.list, commands);
    }
    int status = r.n_commands ? compare_runs(&r) : cli_failf(cli, "at most %u commands can be compared", COMPARED_MOST);
    if (!status)
        status = print_results(cli, &r, &json);
    compare_runs_done(&r);
    if (path)
        output_done(&json);
    for (unsigned i = 0; i < COMPARED_MOST; i++)
        free(commands[i]);
    return status;
}
