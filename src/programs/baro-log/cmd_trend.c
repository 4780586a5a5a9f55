/* SPDX-License-Identifier: Apache-2.0 */
/* baro trend: a fact over all runs of a command, and where it changed. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "baro/runset.h"
#include "base/error.h"
#include "base/fmt.h"
#include "base/span.h"
#include "output/rows/escaped.h"
#include "output/rows/wrap.h"
#include "programs/baro-log/trend.h"
#include "programs/common/output.h"
#include "programs/common/tape_args.h"
#include "programs/common/zone.h"

#define RUNS_MOST ((size_t)BARO_CHANGE_POINTS_MOST)
#define EXACT_LEAST 10u /* runs with an exact value: of fewer, too many orders split as well */
#define PLOT_ROWS 10u
#define NAME_LEAST 12u /* less of a command says nothing: the title does without */

/* ---- which runs ---- */

static bool is_tape(const char *word)
{
    struct stat st;
    bool is_there = stat(word, &st) == 0; /* a script in this folder is more often meant as a command */
    return *word == '@' || span_ends(span_str(word), ".baro") ||
           (is_there && (S_ISDIR(st.st_mode) || strchr(word, '/')));
}

/* Sorts the operands: one is what the trend is of, one an expression, the others are tapes, which stay in argv. */
static int take_operands(struct trend *t, char **argv, struct baro_error *err)
{
    size_t n = 0;
    for (char **word = argv; *word; word++) {
        struct subject of = {.figure = -1};
        int is_subject = is_tape(*word) ? 0 : subject_parse(*word, &of, err);
        bool is_taken = is_subject == 1 && !t->is_named;
        if (is_taken) {
            t->of = of;
            t->is_named = true;
        } else {
            subject_done(&of);
        }
        if (is_subject < 0)
            return is_subject;
        if (is_tape(*word))
            argv[n++] = *word;
        else if (!is_taken && !t->settings.log.command)
            t->settings.log.command = *word;
        else if (!is_taken)
            return error_set(err, BARO_E_SYNTAX, "%.80s is neither a fact nor a tape, and a command was named: %.80s",
                             *word, t->settings.log.command);
    }
    argv[n] = NULL;
    return t->is_named ? 0 : subject_parse("wall", &t->of, err);
}

/* Leaves out runs that failed, and those that run still: their numbers are of something else. */
static void keep_rows(struct trend *t)
{
    struct tape_rows *rows = &t->log.rows;
    size_t n = 0;
    for (size_t i = 0; i < rows->n; i++) {
        struct tape_row *row = &rows->at[i];
        const struct tape_head *h = row->head;
        bool is_read = h && !h->error, is_failed = is_read && (h->is.state != BARO_TAPE_ENDED || tape_head_failed(h));
        t->unread += !is_read;
        t->failed += is_failed;
        if (is_read && !is_failed)
            rows->at[n++] = *row;
        else
            tape_row_done(row);
    }
    rows->n = n;
}

static int read_points(struct trend *t, struct baro_error *err)
{
    struct tape_rows *rows = &t->log.rows;
    size_t most = t->settings.log.last && t->settings.log.last < RUNS_MOST ? t->settings.log.last : RUNS_MOST;
    t->older = rows->n > most ? rows->n - most : 0;
    t->at = calloc(rows->n + 1, sizeof(*t->at));
    if (!t->at)
        return error_set(err, -ENOMEM, "out of memory");
    for (size_t i = t->older; i < rows->n; i++) {
        struct figure figure;
        bool is_read = subject_read(&t->log, &rows->at[i], &t->of, &figure);
        const struct tape_head *first = t->n ? t->at[0].row->head : NULL;
        t->unread += !is_read;
        t->absent += is_read && !isfinite(figure.value);
        if (!is_read || !isfinite(figure.value))
            continue;
        t->at[t->n++] = (struct point){&rows->at[i], figure, NAN};
        t->bounds += (figure.flags & TREND_BOUND) != 0;
        t->hosts = first && strcmp(first->host, rows->at[i].head->host) != 0 ? 2 : t->hosts;
        t->is_mixed = t->is_mixed || (first && strcmp(first->line, rows->at[i].head->line) != 0);
    }
    return 0;
}

/* ---- levels ---- */

/* Bounds are no values: they are of no level. */
static int find_changes(struct trend *t, struct baro_error *err)
{
    double value[RUNS_MOST];
    size_t from[RUNS_MOST], n = 0, change[TREND_CHANGES_MOST];
    for (size_t i = 0; i < t->n; i++) {
        if (t->at[i].figure.flags & TREND_BOUND)
            continue;
        value[n] = t->at[i].figure.value;
        from[n++] = i;
    }
    int changes = n >= EXACT_LEAST ? baro_change_points(value, n, change, TREND_CHANGES_MOST) : 0;
    if (changes < 0)
        return error_set(err, changes, "out of memory");
    t->n_changes = (size_t)changes;
    for (size_t k = 0; k <= t->n_changes && n; k++) {
        size_t begin = k ? change[k - 1] : 0, end = k < t->n_changes ? change[k] : n;
        double level = range_of(value + begin, end - begin).median;
        for (size_t i = begin; i < end; i++)
            t->at[from[i]].level = level;
        if (k)
            t->change[k - 1] = from[begin];
    }
    return 0;
}

/* The level before a change: that of the last run before it that has one. */
double trend_level_before(const struct trend *t, size_t change)
{
    size_t i = t->change[change];
    while (i && isnan(t->at[--i].level))
        ;
    return t->at[i].level;
}

/* ---- text ---- */

void trend_when(const struct trend *t, size_t change, struct buf *ret)
{
    const struct point *p = &t->at[t->change[change]];
    struct buf time = {0};
    const char *commit = tape_head_tag(p->row->head, "git.commit");
    fmt_time_zone(&time, p->row->head->is.start_ns, zone_east(p->row->head->is.start_ns), false);
    if (p->row->number)
        buf_printf(ret, "@%zu, ", p->row->number);
    buf_add(ret, time.at, time.len > 16 ? 16 : time.len);
    if (commit) {
        buf_str(ret, ", commit ");
        text_escaped(ret, commit, strlen(commit) > 12 ? 12 : strlen(commit));
    }
    if (t->change[change] && strcmp(p->row->head->host, p[-1].row->head->host) != 0)
        buf_str(ret, "; on another machine than the run before");
    buf_done(&time);
}

void trend_title(const struct trend *t, size_t most, struct buf *ret)
{
    size_t from = ret->len;
    subject_words(&t->of, ret);
    size_t used = ret->len - from + strlen(", ");
    if (t->is_mixed) {
        buf_str(ret, ", several commands or names");
    } else if (most >= used + NAME_LEAST) {
        buf_str(ret, ", ");
        log_title(t->at[0].row, most - used, ret);
    }
    buf_printf(ret, ": %zu run%s", t->n, t->n == 1 ? "" : "s");
}

void trend_step(const struct trend *t, size_t change, struct buf *ret)
{
    double before = trend_level_before(t, change), after = t->at[t->change[change]].level;
    subject_put(&t->of, (struct figure){before, 0}, ret);
    buf_str(ret, " -> ");
    subject_put(&t->of, (struct figure){after, 0}, ret);
    if (before > 0)
        buf_printf(ret, " (%+.1f %%)", 100 * (after / before - 1));
}

static void put_plot(const struct trend *t, struct buf *ret)
{
    const struct cli *cli = t->log.cli;
    const struct chart_terminal terminal = {.width = cli->tty && cli->width > 30 ? cli->width : 80,
                                            .height = PLOT_ROWS,
                                            .utf8 = cli->utf8,
                                            .color = cli->color};
    struct chart_ticks ticks;
    struct chart c;
    if (trend_chart(t, false, &ticks, &c) < 0)
        ret->failed = true;
    else
        chart_text(&c, &terminal, ret);
    chart_done(&c);
}

static void put_changes(const struct trend *t, struct buf *b)
{
    for (size_t k = 0; k < t->n_changes; k++) {
        buf_printf(b, "change at run %zu: ", t->change[k] + 1);
        trend_step(t, k, b);
        buf_str(b, "\n    ");
        trend_when(t, k, b);
        buf_byte(b, '\n');
    }
}

void trend_notes(const struct trend *t, struct buf *b)
{
    if (!t->n_changes && t->n - t->bounds >= EXACT_LEAST)
        buf_str(b, "no change of level (E-divisive, 1 %)\n");
    else if (!t->n_changes)
        buf_printf(b, "%zu run%s an exact value: with fewer than %u no change can be told\n", t->n - t->bounds,
                   t->n - t->bounds == 1 ? " has" : "s have", EXACT_LEAST);
    const struct {
        size_t n;
        const char *why;
    } rows[] = {{t->failed, "failed, were cut off or run still"},
                {t->unread, "can't be read"},
                {t->absent, "have no such value"},
                {t->older, "are older"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (rows[i].n)
            buf_printf(b, "left out: %zu that %s\n", rows[i].n, rows[i].why);
    }
    if (t->bounds)
        buf_printf(b, "%zu value%s only bound%s: drawn, and of no level\n", t->bounds, t->bounds == 1 ? " is" : "s are",
                   t->bounds == 1 ? "" : "s");
    if (t->bounds && t->of.figure == tape_figures_find("memory"))
        buf_str(b, "that of the largest process may be exact: baro trend process_rss_peak\n");
    if (t->hosts > 1)
        buf_str(b, "the runs are of several machines: --tag or a folder of one tells them apart\n");
}

/* ---- other forms ---- */

static void put_json(const struct trend *t, struct buf *out)
{
    struct json j = {.out = out, .pretty = true};
    json_begin(&j, '{');
    json_key_u64(&j, "format", 1);
    json_key_text(&j, "fact", t->of.name);
    json_key_text(&j, "method", "e-divisive");
    json_key_begin(&j, "runs", '[');
    for (size_t i = 0; i < t->n; i++) {
        const struct point *p = &t->at[i];
        json_begin(&j, '{');
        tape_row_json(p->row, &j);
        json_key_text(&j, "host", p->row->head->host);
        json_key_double(&j, "value", p->figure.value);
        json_key_text(&j, "mark", baro_value_mark(p->figure.flags));
        json_key_double(&j, "level", p->level);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_key_begin(&j, "changes", '[');
    for (size_t k = 0; k < t->n_changes; k++) {
        json_begin(&j, '{');
        json_key_u64(&j, "run", t->change[k]);
        json_key_double(&j, "before", trend_level_before(t, k));
        json_key_double(&j, "after", t->at[t->change[k]].level);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_key_begin(&j, "left_out", '{');
    json_key_u64(&j, "failed", t->failed);
    json_key_u64(&j, "unreadable", t->unread);
    json_key_u64(&j, "absent", t->absent);
    json_key_u64(&j, "older", t->older);
    json_end(&j, '}');
    json_end(&j, '}');
}

static int write_file(const struct cli *cli, const struct trend *t)
{
    const struct chart_picture picture = {
        .width = 900, .height = 320, .has_title = true, .has_time = true, .has_legend = true};
    const char *name = t->settings.output ? t->settings.output : "-";
    int format = t->settings.report_format; /* as trend_format_names */
    bool is_page = format < 0 ? span_ends(span_str(name), ".html") : format == 0;
    struct chart_ticks ticks;
    struct chart c = {0};
    struct buf b = {0};
    if (format < 0 && !is_page && !span_ends(span_str(name), ".svg"))
        return cli_failf(cli, "what %s should be is not clear from its name: it ends with .html or .svg", name);
    int code = is_page ? trend_page(t, &b) : trend_chart(t, true, &ticks, &c);
    if (code >= 0 && !is_page)
        chart_svg(&c, &picture, &b);
    chart_done(&c);
    int status = code < 0 ? cli_failf(cli, "out of memory") : output_whole(cli, name, t->settings.force, &b);
    buf_done(&b);
    return status;
}

static int show(const struct cli *cli, const struct trend *t)
{
    struct buf out = {0};
    int status;
    if (t->settings.output || t->settings.report_format >= 0)
        return write_file(cli, t);
    if (t->settings.json) {
        put_json(t, &out);
        status = cli_out(cli, &out);
    } else {
        put_plot(t, &out);
        size_t from = out.len;
        put_changes(t, &out);
        trend_notes(t, &out);
        if (t->log.cli->tty && t->log.cli->width)
            wrap_lines(&out, from, t->log.cli->width);
        status = cli_out_text(cli, &out);
    }
    buf_done(&out);
    return status;
}

int cmd_trend(struct cli *cli, const struct settings *s, char **argv)
{
    struct trend *t = calloc(1, sizeof(*t));
    struct baro_error err = BARO_ERROR_INIT;
    if (!t)
        return cli_failf(cli, "out of memory");
    t->settings = *s;
    int status = 0, code = take_operands(t, argv, &err);
    if (code >= 0)
        code = log_list(&t->log, cli, &t->settings, argv, &err);
    if (code >= 0) {
        log_choose(&t->log, argv[0] != NULL);
        keep_rows(t);
        code = read_points(t, &err);
    }
    if (code >= 0)
        code = find_changes(t, &err);
    if (code < 0) {
        status = cli_fail(cli, &err);
    } else if (t->n) {
        status = show(cli, t);
    } else if (!t->failed && !t->absent) {
        status = cli_failf(cli, "no run fits");
    } else {
        status = cli_failf(cli, "no run that ended well has %s (%zu failed or run still, %zu have no such value)",
                           t->of.name, t->failed, t->absent);
    }
    free(t->at);
    subject_done(&t->of);
    log_done(&t->log);
    free(t);
    return status;
}
