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
#include "output/chart/chart.h"
#include "output/rows/escaped.h"
#include "programs/baro-log/log.h"
#include "programs/common/output.h"
#include "programs/common/tape_args.h"
#include "programs/common/zone.h"

#define RUNS_MOST ((size_t)BARO_CHANGE_POINTS_MOST)
#define CHANGES_MOST 32u
#define EXACT_LEAST 10u /* runs with an exact value: of fewer, too many orders split as well */
#define PLOT_ROWS 9u
#define LABEL_WIDTH 10u
#define PLOT_WIDTH_MOST 120u
#define BOUND ((unsigned)(BARO_VALUE_LOWER_BOUND | BARO_VALUE_UPPER_BOUND))

struct point {
    const struct tape_row *row;
    struct figure figure;
    double level; /* the median of its level; NAN: it is only a bound */
};

struct trend {
    struct log log;
    struct settings settings; /* with the expression of the operands */
    int fact;
    struct point *at;
    size_t n;
    size_t change[CHANGES_MOST]; /* positions in `at`: the first runs of new levels */
    size_t n_changes;
    size_t failed, unread, absent, bounds, older; /* runs that are left out, and why; bounds are shown */
    size_t hosts;                                 /* 2: more than one */
    bool is_mixed;                                /* there are several commands */
};

/* ---- which runs ---- */

static bool is_tape(const char *word)
{
    struct stat st;
    bool is_there = stat(word, &st) == 0; /* a script in this folder is more often meant as a command */
    return *word == '@' || span_ends(span_str(word), ".baro") ||
           (is_there && (S_ISDIR(st.st_mode) || strchr(word, '/')));
}

/* Sorts the operands: one is a fact, one an expression, the others are tapes, which stay in argv. */
static int take_operands(struct trend *t, char **argv, struct baro_error *err)
{
    size_t n = 0;
    t->fact = -1;
    for (char **word = argv; *word; word++) {
        int fact = is_tape(*word) ? -1 : figures_find(*word);
        if (is_tape(*word))
            argv[n++] = *word;
        else if (fact >= 0 && t->fact < 0)
            t->fact = fact;
        else if (!t->settings.log.command)
            t->settings.log.command = *word;
        else
            return error_set(err, BARO_E_SYNTAX, "%.80s is neither a fact nor a tape, and a command was named: %.80s",
                             *word, t->settings.log.command);
    }
    argv[n] = NULL;
    t->fact = t->fact < 0 ? figures_find("wall") : t->fact;
    return 0;
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
        const struct figures *f = log_figures(&t->log, &rows->at[i]);
        struct figure figure = f ? f->at[t->fact] : (struct figure){NAN, 0};
        const struct tape_head *first = t->n ? t->at[0].row->head : NULL;
        t->unread += !f;
        t->absent += f && !isfinite(figure.value);
        if (!f || !isfinite(figure.value))
            continue;
        t->at[t->n++] = (struct point){&rows->at[i], figure, NAN};
        t->bounds += (figure.flags & BOUND) != 0;
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
    size_t from[RUNS_MOST], n = 0, change[CHANGES_MOST];
    for (size_t i = 0; i < t->n; i++) {
        if (t->at[i].figure.flags & BOUND)
            continue;
        value[n] = t->at[i].figure.value;
        from[n++] = i;
    }
    int changes = n >= EXACT_LEAST ? baro_change_points(value, n, change, CHANGES_MOST) : 0;
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
static double level_before(const struct trend *t, size_t change)
{
    size_t i = t->change[change];
    while (i && isnan(t->at[--i].level))
        ;
    return t->at[i].level;
}

/* ---- text ---- */

static void put_value(const struct trend *t, double value, unsigned flags, struct buf *b)
{
    figures_value((size_t)t->fact, (struct figure){value, (uint8_t)flags}, b);
}

static void put_when(const struct point *p, struct buf *b)
{
    struct buf time = {0};
    const char *commit = tape_head_tag(p->row->head, "git.commit");
    fmt_time_zone(&time, p->row->head->is.start_ns, zone_east(p->row->head->is.start_ns), false);
    if (p->row->number)
        buf_printf(b, "@%zu, ", p->row->number);
    buf_add(b, time.at, time.len > 16 ? 16 : time.len);
    if (commit) {
        buf_str(b, ", commit ");
        text_escaped(b, commit, strlen(commit) > 12 ? 12 : strlen(commit));
    }
    buf_done(&time);
}

static void put_title(const struct trend *t, struct buf *b)
{
    size_t used = b->len;
    figures_name((size_t)t->fact, b);
    buf_str(b, " of ");
    used = b->len - used;
    if (t->is_mixed)
        buf_str(b, "several commands");
    else
        log_title(t->at[0].row, t->log.cli->width > used + 40 ? t->log.cli->width - used - 12 : 30, b);
    buf_printf(b, ": %zu run%s\n", t->n, t->n == 1 ? "" : "s");
}

/* The lowest value is at the lowest line, and the highest at the highest. */
static unsigned line_of(double value, double low, double high)
{
    return high > low ? (unsigned)((value - low) / (high - low) * (PLOT_ROWS - 1) + 0.5) : PLOT_ROWS / 2;
}

static void put_label(const struct trend *t, double value, struct buf *b)
{
    struct buf label = {0};
    put_value(t, value, 0, &label);
    buf_printf(b, "%*.*s ", (int)LABEL_WIDTH, (int)label.len, label.len ? (const char *)label.at : "");
    buf_done(&label);
}

static void put_dates(const struct trend *t, size_t width, struct buf *b)
{
    struct buf first = {0}, last = {0};
    fmt_time_zone(&first, t->at[0].row->head->is.start_ns, zone_east(t->at[0].row->head->is.start_ns), false);
    fmt_time_zone(&last, t->at[t->n - 1].row->head->is.start_ns, zone_east(t->at[t->n - 1].row->head->is.start_ns),
                  false);
    buf_printf(b, "%*s %.10s", (int)LABEL_WIDTH, "", first.len ? (const char *)first.at : "");
    if (width > 22) {
        buf_spaces(b, width - 20);
        buf_printf(b, "%.10s", last.len ? (const char *)last.at : "");
    }
    buf_byte(b, '\n');
    buf_done(&first);
    buf_done(&last);
}

/* A dot for each run, from the left to the right, and a line for its level. */
static void put_plot(const struct trend *t, struct buf *b)
{
    const struct cli *cli = t->log.cli;
    char cell[PLOT_ROWS][PLOT_WIDTH_MOST];
    size_t room = (cli->tty && cli->width > 30 ? cli->width : 80) - LABEL_WIDTH - 2;
    size_t width = t->n < room ? t->n : room;
    double low = INFINITY, high = -INFINITY;
    width = width > PLOT_WIDTH_MOST ? PLOT_WIDTH_MOST : width;
    memset(cell, ' ', sizeof(cell));
    for (size_t i = 0; i < t->n; i++) {
        low = fmin(low, t->at[i].figure.value);
        high = fmax(high, t->at[i].figure.value);
    }
    for (int dots = 0; dots < 2; dots++) {
        for (size_t i = 0; i < t->n; i++) {
            double value = dots ? t->at[i].figure.value : t->at[i].level;
            if (!isnan(value))
                cell[line_of(value, low, high)][i * width / t->n] = dots ? '*' : '-';
        }
    }
    for (unsigned row = PLOT_ROWS; row-- > 0;) {
        if (row == PLOT_ROWS - 1 || (row == 0 && high > low))
            put_label(t, row ? high : low, b);
        else
            buf_spaces(b, LABEL_WIDTH + 1);
        for (size_t k = 0; k < width; k++)
            buf_str(b, cell[row][k] == '*'   ? cli->utf8 ? "\u2022" : "*"
                       : cell[row][k] == '-' ? cli->utf8 ? "\u2500" : "-"
                                             : " ");
        while (b->len && b->at[b->len - 1] == ' ')
            b->len--;
        buf_byte(b, '\n');
    }
    put_dates(t, width, b);
}

static void put_changes(const struct trend *t, struct buf *b)
{
    for (size_t k = 0; k < t->n_changes; k++) {
        const struct point *p = &t->at[t->change[k]];
        double before = level_before(t, k);
        buf_printf(b, "change at run %zu: ", t->change[k] + 1);
        put_value(t, before, 0, b);
        buf_str(b, " -> ");
        put_value(t, p->level, 0, b);
        if (before > 0)
            buf_printf(b, " (%+.1f %%)", 100 * (p->level / before - 1));
        buf_str(b, "\n    ");
        put_when(p, b);
        if (t->change[k] && strcmp(p->row->head->host, p[-1].row->head->host) != 0)
            buf_str(b, "; on another machine than the run before");
        buf_byte(b, '\n');
    }
    if (!t->n_changes && t->n - t->bounds >= EXACT_LEAST)
        buf_str(b, "no change of level (E-divisive, 1 %)\n");
    else if (!t->n_changes)
        buf_printf(b, "%zu runs have an exact value: with fewer than %u no change can be told\n", t->n - t->bounds,
                   EXACT_LEAST);
}

static void put_left_out(const struct trend *t, struct buf *b)
{
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
    if (t->bounds && t->fact == figures_find("memory"))
        buf_str(b, "that of the largest process may be exact: baro trend process_rss_peak\n");
    if (t->hosts > 1)
        buf_str(b, "the runs are of several machines: --tag or a folder of one tells them apart\n");
}

/* ---- other forms ---- */

static void put_json(const struct trend *t, struct buf *out)
{
    struct json j = {.out = out, .pretty = true};
    struct buf name = {0};
    json_begin(&j, '{');
    json_key_u64(&j, "format", 1);
    figures_name((size_t)t->fact, &name);
    json_key(&j, "fact");
    json_text_n(&j, (const char *)name.at, name.len);
    buf_done(&name);
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
        json_key_double(&j, "before", level_before(t, k));
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

/* The axis has the runs in their order, a second each; it has no labels. */
static int put_picture(const struct trend *t, struct buf *ret, struct baro_error *err)
{
    const struct baro_fact *fact = figures_fact((size_t)t->fact);
    const double scale = fact->unit == BARO_UNIT_NS ? 1e-9 : 1;
    const struct chart_picture picture = {.width = 900, .height = 320, .has_title = true, .has_legend = true};
    struct chart c = {.id = strdup("trend"),
                      .help = strdup(fact->help),
                      .unit = fact->unit == BARO_UNIT_NS      ? CHART_SECONDS
                              : fact->unit == BARO_UNIT_BYTES ? CHART_BYTES
                              : fact->unit == BARO_UNIT_RATIO ? CHART_RATIO
                                                              : CHART_NUMBER,
                      .to_ns = t->n * 1000000000u,
                      .buckets = t->n};
    struct buf title = {0};
    put_title(t, &title);
    c.title = strndup(title.len ? (const char *)title.at : "", title.len ? title.len - 1 : 0);
    buf_done(&title);
    bool is_made = c.id && c.help && c.title && chart_add_curve(&c, "runs", CHART_LINE, 0) &&
                   chart_add_curve(&c, "levels", CHART_DASHED, 1);
    for (size_t curve = 0; is_made && curve < 2; curve++) {
        for (size_t i = 0; i < t->n; i++) {
            double v = (curve ? t->at[i].level : t->at[i].figure.value) * scale;
            c.curves[curve].at[i] =
                (struct chart_bucket){.known = isfinite(v), .min = v, .max = v, .mean = v, .last = v};
        }
    }
    if (is_made) {
        chart_finish(&c);
        chart_svg(&c, &picture, ret);
    }
    chart_done(&c);
    return is_made && !ret->failed ? 0 : error_set(err, -ENOMEM, "out of memory");
}

static int write_picture(const struct trend *t, struct baro_error *err)
{
    struct buf b = {0};
    if (!span_ends(span_str(t->settings.output), ".svg"))
        return error_set(err, BARO_E_SYNTAX, "-o %.200s: the picture is an SVG: FILE.svg", t->settings.output);
    int code = put_picture(t, &b, err);
    if (code >= 0)
        code = output_text(t->settings.output, &b, t->settings.force, err);
    buf_done(&b);
    return code;
}

static int show(const struct cli *cli, const struct trend *t)
{
    struct buf out = {0};
    struct baro_error err = BARO_ERROR_INIT;
    int status;
    if (t->settings.output) {
        status = write_picture(t, &err) < 0 ? cli_fail(cli, &err) : 0;
    } else if (t->settings.json) {
        put_json(t, &out);
        status = cli_out(cli, &out);
    } else {
        put_title(t, &out);
        put_plot(t, &out);
        put_changes(t, &out);
        put_left_out(t, &out);
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
        struct buf name = {0};
        figures_name((size_t)t->fact, &name);
        status = cli_failf(cli, "no run that ended well has %.*s (%zu failed or run still, %zu have no such value)",
                           (int)name.len, (const char *)name.at, t->failed, t->absent);
        buf_done(&name);
    }
    free(t->at);
    log_done(&t->log);
    free(t);
    return status;
}
