/* SPDX-License-Identifier: Apache-2.0 */
/* The job's figures, a line each: the value at the shown moment, its curve, and its total or peak so far. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "output/rows/escaped.h"
#include "output/text/parts.h"
#include "output/text/read_fact.h"
#include "output/text/summary_text.h"
#include "programs/baro-top/view.h"

#define RECENT_NS (120 * NS_PER_SEC)
#define CURVE_MOST 512
#define PRESSURE_LEAST 0.005f /* is shown as 1 % */

/* The columns of a line's parts; all lines have the same. */
struct columns_of_head {
    int value, curve, note, end;
};

struct figure {
    const char *label, *brief; /* brief: for narrow terminals */
    enum curve curve;
    enum style style;
    void (*value)(const struct view *v, struct buf *b, enum style *ret_style);
    void (*note)(const struct view *v, struct buf *b);
    double (*scale)(const struct view *v, double most); /* the value at full height; most: the largest of the curve */
    int rank;                                           /* the lowest ranks are shown first */
    bool is_tall;                                       /* has more rows if there is room */
};

void cell_cores(struct buf *b, double cores)
{
    fmt_decimal(b, cores, cores < 9.995 ? 2 : 1);
}

void cell_mark(struct buf *b, bool utf8, unsigned flags)
{
    buf_str(b, baro_value_prefix(flags, utf8 ? BARO_PREFIX_SYMBOL : BARO_PREFIX_ASCII));
}

void cell_rate(struct buf *b, double bytes_per_second)
{
    fmt_bytes(b, whole_of(bytes_per_second));
    buf_str(b, "/s");
}

void cell_absent_why(struct buf *b, int reason)
{
    if (reason == BARO_ABSENT_NOT_YET || reason == BARO_ABSENT_NONE)
        buf_byte(b, '-');
    else
        buf_printf(b, "- (%s)", baro_absent_name((enum baro_absent)reason));
}

static int job_rate(const struct view *v, int derived, double *ret)
{
    const struct instant *i = v->instant;
    if (!i->before || !i->now)
        return BARO_ABSENT_NOT_YET;
    return baro_row_derived(baro_sample_row(i->before, BARO_KIND_JOB, 0), baro_sample_row(i->now, BARO_KIND_JOB, 0),
                            derived, ret);
}

/* ---- cores ---- */

static double cores_limit(const struct view *v)
{
    struct baro_value limit = report_fact(v->feed->summary, "limits", "cores_at_most");
    return limit.real > 0 ? limit.real : baro_header_cpus(baro_tape_header(v->feed->tape));
}

static void value_cores(const struct view *v, struct buf *b, enum style *ret_style)
{
    double cores, limit = cores_limit(v);
    int reason = job_rate(v, v->feed->metric.job.cores, &cores);
    if (reason)
        cell_absent_why(b, reason);
    else
        cell_cores(b, cores);
    if (limit > 0) {
        buf_str(b, " of ");
        report_cores(b, limit);
    }
    if (!reason && limit > 0 && cores >= 0.95 * limit)
        *ret_style = STYLE_WARN;
}

static void note_cores(const struct view *v, struct buf *b)
{
    double mean;
    if (!report_has_real(v->feed->summary, "job", "cores_mean", &mean))
        return;
    buf_str(b, "mean ");
    cell_cores(b, mean);
}

static double scale_cores(const struct view *v, double most)
{
    double limit = cores_limit(v);
    return limit > 0 ? limit : most * 1.05;
}

/* ---- I/O ---- */

static void value_rate(const struct view *v, struct buf *b, int derived)
{
    double rate;
    int reason = job_rate(v, derived, &rate);
    if (reason)
        cell_absent_why(b, reason);
    else
        cell_rate(b, rate);
}

static void value_read(const struct view *v, struct buf *b, enum style *ret_style)
{
    (void)ret_style;
    value_rate(v, b, v->feed->metric.job.read_rate);
}

static void value_write(const struct view *v, struct buf *b, enum style *ret_style)
{
    (void)ret_style;
    value_rate(v, b, v->feed->metric.job.write_rate);
}

/* Writes the end of a line: the total of the whole recording, at whatever moment. */
static void in_all(const struct view *v, struct buf *b)
{
    buf_str(b, v->feed->state == BARO_TAPE_RUNNING ? "so far " : "in all ");
}

static void note_io(const struct view *v, struct buf *b, const char *name)
{
    struct baro_value all = report_fact(v->feed->summary, "job", name);
    if (all.absent)
        return;
    in_all(v, b);
    cell_mark(b, v->grid->utf8, all.flags);
    fmt_bytes(b, all.u64);
}

static void note_read(const struct view *v, struct buf *b)
{
    note_io(v, b, "io_read_bytes");
}

static void note_write(const struct view *v, struct buf *b)
{
    note_io(v, b, "io_write_bytes");
}

static double scale_own(const struct view *v, double most)
{
    (void)v;
    return most;
}

/* ---- processes and pressure ---- */

static void value_processes(const struct view *v, struct buf *b, enum style *ret_style)
{
    uint64_t n;
    (void)ret_style;
    if (!v->instant->now)
        return;
    if (baro_row_value(baro_sample_row(v->instant->now, BARO_KIND_JOB, 0), v->feed->metric.job.processes, &n) !=
        BARO_PRESENT)
        n = baro_sample_rows(v->instant->now, BARO_KIND_PROCESS);
    fmt_count(b, n);
}

static void note_processes(const struct view *v, struct buf *b)
{
    struct baro_value all = report_fact(v->feed->summary, "job", "processes_started");
    if (all.absent)
        return;
    in_all(v, b);
    cell_mark(b, v->grid->utf8, all.flags);
    fmt_count(b, all.u64);
}

/* Reads the pressure at the last reading of the machine, which is read less often than the job. */
static int last_pressure(const struct view *v, int i, double *ret)
{
    float value;
    uint64_t t_ns = v->instant->now ? baro_sample_t_ns(v->instant->now) : 0;
    curves_read(&v->feed->curves, (enum curve)(CURVE_PRESSURE_CPU + i), t_ns ? t_ns - 1 : 0, t_ns ? t_ns : 1, &value,
                1);
    *ret = value;
    return isnan(value) ? BARO_ABSENT_NOT_YET : BARO_PRESENT;
}

static void value_pressure(const struct view *v, struct buf *b, enum style *ret_style)
{
    const struct metrics *m = &v->feed->metric;
    const int derived[] = {m->host.cpu_some, m->host.memory_some, m->host.io_some};
    static const char *const names[] = {"cpu ", "mem ", "io "};
    double share;
    for (int i = 0; i < 3; i++) {
        int reason = v->instant->before && v->instant->now
                         ? baro_row_derived(baro_sample_row(v->instant->before, BARO_KIND_HOST, 0),
                                            baro_sample_row(v->instant->now, BARO_KIND_HOST, 0), derived[i], &share)
                         : BARO_ABSENT_NOT_YET;
        if (reason == BARO_ABSENT_UNKNOWN || reason == BARO_ABSENT_NOT_YET)
            reason = last_pressure(v, i, &share);
        if (reason && reason != BARO_ABSENT_NOT_YET) {
            cell_absent_why(b, reason);
            return;
        }
        buf_printf(b, "%s%s", i ? " " : "", names[i]);
        if (reason)
            buf_byte(b, '-');
        else
            fmt_decimal(b, 100 * (share < 1 ? share : 1), 0);
        if (!reason && share >= 0.3)
            *ret_style = STYLE_WARN;
    }
    buf_str(b, " %");
}

static void note_pressure(const struct view *v, struct buf *b)
{
    (void)v;
    buf_str(b, "of the machine");
}

static double scale_share(const struct view *v, double most)
{
    (void)v;
    (void)most;
    return 1;
}

static const struct figure figures[] = {
    {"cores", "cpu", CURVE_CORES, STYLE_CPU, value_cores, note_cores, scale_cores, 0, true},
    {"memory rss", "rss", CURVE_RSS, STYLE_MEMORY, head_memory_value, head_memory_note, head_memory_scale, 1, true},
    {"read", "read", CURVE_READ, STYLE_READ, value_read, note_read, scale_own, 3, false},
    {"write", "wr", CURVE_WRITE, STYLE_WRITE, value_write, note_write, scale_own, 4, false},
    {"processes", "proc", CURVE_PROCESSES, STYLE_COUNT, value_processes, note_processes, scale_own, 2, false},
    {"pressure", "psi", CURVE_PRESSURE_CPU, STYLE_PRESSURE, value_pressure, note_pressure, scale_share, 5, false},
};
#define FIGURES ((int)(sizeof(figures) / sizeof(*figures)))

/* ---- drawing ---- */

static void title(struct view *v)
{
    struct grid *g = v->grid;
    struct buf name = {0}, end = {0};
    const struct ui *u = v->ui;
    const bool running = v->feed->state == BARO_TAPE_RUNNING;
    enum report_result result = report_result(v->feed->summary, running, &end);
    enum style style = result == REPORT_GOOD      ? STYLE_GOOD
                       : result == REPORT_BAD     ? STYLE_BAD
                       : result == REPORT_CUT_OFF ? STYLE_WARN
                                                  : STYLE_CPU;
    static const char before_time[] = "recorded for";
    const bool is_open = end.len == strlen(before_time) && memcmp(end.at, before_time, end.len) == 0;
    buf_str(&end, is_open ? " " : g->utf8 ? " · " : " - ");
    if (!u->live) {
        style = running ? STYLE_WARN : style;
        if (running || is_open)
            buf_clear(&end);
        buf_str(&end, g->utf8 ? "▶ at " : "at ");
        fmt_moment(&end, v->instant->now ? baro_sample_t_ns(v->instant->now) : u->at_ns);
        buf_str(&end, " of ");
    }
    fmt_duration(&end, u->live ? report_u64(v->feed->summary, "", "wall_ns") : v->feed->last_ns);
    report_title(v->feed->summary, &name);
    int taken = grid_columns_of(g, end.len ? (const char *)end.at : "", end.len);
    int room = g->columns - taken - 4;
    int column = grid_bytes(g, 0, 1, room, STYLE_STRONG, (const char *)name.at, name.failed ? 0 : name.len);
    if (grid_columns_of(g, (const char *)name.at, name.failed ? 0 : name.len) > room - 1)
        grid_text(g, 0, column, column + 3, STYLE_STRONG, g->utf8 ? "…" : "...");
    grid_take_right(g, 0, room + 1 > 0 ? room + 1 : 0, g->columns - 1, style, &end);
    buf_done(&name);
    buf_done(&end);
}

/* Returns the first verdict that matters; NULL while it runs. */
static const struct baro_verdict *first_verdict(const struct feed *f)
{
    const struct baro_verdict *v = f->verdicts ? baro_verdicts_get(f->verdicts, 0) : NULL;
    return v && v->weight <= BARO_VERDICT_ADVICE ? v : NULL;
}

static void draw_verdict(struct view *v, const struct baro_verdict *verdict)
{
    struct grid *g = v->grid;
    struct buf b = {0};
    bool is_end = report_is_end(verdict);
    enum style style = is_end ? STYLE_BAD : STYLE_WARN;
    buf_printf(&b, "%s %s: ", is_end ? (g->utf8 ? "✗" : "x") : "!", verdict->rule);
    if (verdict->phase)
        buf_printf(&b, "in %s: ", verdict->phase);
    buf_str(&b, verdict->brief);
    int taken = grid_columns_of(g, b.len ? (const char *)b.at : "", b.len);
    if (*verdict->hint && taken + 3 + grid_columns_of(g, verdict->hint, strlen(verdict->hint)) < g->columns - 1)
        buf_printf(&b, " %s %s", g->utf8 ? "→" : "->", verdict->hint);
    if (!g->utf8)
        text_ascii(&b, 0);
    grid_take(g, 1, 1, g->columns - 1, style, &b);
    buf_done(&b);
}

static void draw_figure(struct view *v, const struct figure *f, struct box box, struct columns_of_head c,
                        uint64_t from_ns, uint64_t to_ns)
{
    float curve[CURVE_MOST];
    struct buf b = {0};
    struct grid *g = v->grid;
    enum style style = STYLE_PLAIN;
    int n = c.note - 1 - c.curve;
    n = n > CURVE_MOST ? CURVE_MOST : n;
    const bool is_brief = c.value < 8;
    grid_text(g, box.row, 1, c.value, STYLE_LABEL, is_brief ? f->brief : f->label);
    f->value(v, &b, &style);
    grid_take(g, box.row, c.value, c.curve - 1, style, &b);
    if (n > 3) {
        double most = 0;
        curves_read(&v->feed->curves, f->curve, from_ns, to_ns, curve, n);
        for (int i = 0; i < n; i++)
            most = curve[i] > most ? curve[i] : most;
        view_spark(g, (struct box){box.row, c.curve, box.rows, c.curve + n}, f->style, curve, n, f->scale(v, most));
    }
    f->note(v, &b);
    if (c.note < c.end)
        grid_take(g, box.row, c.note, c.end, STYLE_FAINT, &b);
    buf_done(&b);
}

static struct columns_of_head columns_for(int width)
{
    struct columns_of_head c = {.value = width < 60 ? 6 : 12, .end = width - 1};
    c.curve = c.value + (width < 60 ? 20 : 22);
    c.note = width < 72 ? width : width - (width < 120 ? 19 : 26);
    return c;
}

/* Marks the shown moment in the curves. */
static void playhead(struct view *v, struct columns_of_head c, int first, int rows, uint64_t from_ns, uint64_t to_ns)
{
    const struct ui *u = v->ui;
    if (u->live || to_ns <= from_ns || u->at_ns < from_ns || u->at_ns > to_ns || c.note - 1 <= c.curve)
        return;
    int n = c.note - 1 - c.curve;
    int column = c.curve + (int)((double)(u->at_ns - from_ns) / (double)(to_ns - from_ns) * (n - 1));
    for (int row = first; row < rows; row++)
        grid_restyle(v->grid, row, column, column + 1, STYLE_PLAYHEAD);
}

/* Shows the figures of lowest rank that fit into this many rows; spare rows go to the lanes, then to the tall
 * figures. */
static int shown_figures(const struct view *v, int rows, int *ret_tall)
{
    int lanes = baro_timeline_lanes(v->feed->timeline), over = rows - FIGURES;
    rows -= over <= 0 ? 0 : lanes < over ? lanes : over;
    int n = rows < FIGURES ? rows : FIGURES;
    *ret_tall = rows >= FIGURES + 4 ? 3 : rows >= FIGURES + 2 ? 2 : 1;
    return n;
}

/* Was there no pressure worth a row? While it runs there may be some later, and the rows are not to jump. */
static bool is_calm(const struct view *v, uint64_t from_ns, uint64_t to_ns)
{
    float most;
    if (v->feed->state == BARO_TAPE_RUNNING)
        return false;
    for (int i = 0; i < 3; i++) {
        curves_read(&v->feed->curves, (enum curve)(CURVE_PRESSURE_CPU + i), from_ns, to_ns, &most, 1);
        if (most >= PRESSURE_LEAST) /* not if it is NaN */
            return false;
    }
    return true;
}

int view_head(struct view *v, int most_rows)
{
    struct columns_of_head c = columns_for(v->grid->columns);
    bool removed = baro_header_segment(baro_tape_header(v->feed->tape)) > 1;
    uint64_t to_ns = v->feed->last_ns, from_ns = removed ? v->feed->first_ns : 0;
    const struct baro_verdict *verdict = most_rows > 4 ? first_verdict(v->feed) : NULL;
    int tall, row = verdict ? 2 : 1, n = shown_figures(v, most_rows - row - 1, &tall);
    if (v->ui->recent && to_ns > from_ns + RECENT_NS)
        from_ns = to_ns - RECENT_NS;
    v->memory = head_memory(v);
    const bool has_job = !v->instant->now || feed_has_job(v->feed, v->instant->now);
    title(v);
    if (verdict)
        draw_verdict(v, verdict);
    if (n <= 0)
        n = most_rows - 1; /* no axis then */
    for (int i = 0; i < FIGURES; i++) {
        if (figures[i].rank >= n || (!has_job && figures[i].curve != CURVE_PRESSURE_CPU))
            continue; /* for the machine, the pressure is shown */
        if (figures[i].curve == CURVE_PRESSURE_CPU && has_job && is_calm(v, from_ns, to_ns))
            continue;
        int rows = figures[i].is_tall ? tall : 1;
        draw_figure(v, &figures[i], (struct box){.row = row, .rows = rows}, c, from_ns, to_ns);
        row += rows;
    }
    if (row < most_rows && c.note - 1 - c.curve > 3)
        row += view_lanes(v, (struct box){row, c.curve, most_rows - row, c.note - 1}, c.value, from_ns, to_ns);
    playhead(v, c, verdict ? 2 : 1, row, from_ns, to_ns);
    return row;
}
