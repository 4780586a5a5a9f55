/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The course of CPU, memory and I/O as rows of block characters over one time axis, from the start to the end of the
 * command. The number after a row is the value of a full block.
 */
#include <string.h>

#include "base/block_chars.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/fmt.h"
#include "output/text/parts.h"
#include "output/text/read_fact.h"

/* ---- lanes ---- */

/* Phases under the curves, over the same time axis: a row for each lane. "├ build ──┤", or "│" of a short one. */

#define LANES_MOST 5

struct bar {
    unsigned from, to; /* columns */
};

static struct bar bar_of(const struct axis *axis, const struct baro_timeline_item *item)
{
    struct bar bar = {axis_column(axis, item->begin_ns), axis_column(axis, item->end_ns)};
    bar.to = bar.to <= bar.from ? bar.from + 1 : bar.to;
    return bar;
}

static void draw_lane(struct lines *l, const struct baro_timeline_item *item, unsigned width)
{
    bool utf8 = l->style.utf8;
    if (width == 1) {
        buf_str(l->out, utf8 ? "│" : "|");
        return;
    }
    size_t from = l->out->len;
    buf_str(l->out, utf8 ? "├" : "|");
    if (width >= 6) {
        buf_byte(l->out, ' ');
        lines_name(l, l->out, item->name, width - 4);
        buf_byte(l->out, ' ');
    }
    unsigned n = l->out->failed ? width : (unsigned)utf8_columns((const char *)l->out->at + from, l->out->len - from);
    for (; n + 1 < width; n++)
        buf_str(l->out, utf8 ? "─" : "-");
    buf_str(l->out, item->is_open ? (utf8 ? "╴" : "-") : (utf8 ? "┤" : "|"));
}

static void lane(struct lines *l, const struct baro_timeline *t, const struct axis *axis, int depth)
{
    unsigned column = 0;
    lines_begin(l, depth ? "" : "phases", TONE_FAINT);
    for (size_t i = 0; i < baro_timeline_count(t); i++) {
        const struct baro_timeline_item *item = baro_timeline_get(t, i);
        if (item->kind != BARO_TIMELINE_PHASE || item->depth != depth)
            continue;
        struct bar bar = bar_of(axis, item);
        bar.from = bar.from < column ? column : bar.from;
        if (bar.to <= bar.from || bar.to > axis->columns)
            continue; /* there are more than there is room for */
        buf_spaces(l->out, bar.from - column);
        draw_lane(l, item, bar.to - bar.from);
        column = bar.to;
    }
    lines_end(l);
}

/* Phases over that axis */
static void report_lanes(struct lines *l, const struct baro_timeline *t, const struct axis *axis)
{
    int lanes = baro_timeline_lanes(t);
    for (int depth = 0; depth < lanes && depth < LANES_MOST; depth++)
        lane(l, t, axis, depth);
    if (lanes > LANES_MOST) {
        lines_begin(l, "", TONE_FAINT);
        buf_printf(l->out, "(%d more lanes)", lanes - LANES_MOST);
        lines_end(l);
    }
}

#define WIDTH_LEAST 80u
#define SCALE_COLUMNS 12u /* room for the value of a full block */

struct text_curve {
    const char *label, *fact;
    enum lines_tone tone;
    bool most;               /* a cell shows the largest value; else the mean over its time */
    double cell[CELLS_MOST]; /* below 0: not known */
    double full;             /* the value of a full block */
};

struct span_ns {
    uint64_t from, to;
};

static uint64_t overlap(struct span_ns a, struct span_ns b)
{
    uint64_t from = a.from > b.from ? a.from : b.from, to = a.to < b.to ? a.to : b.to;
    return to > from ? to - from : 0;
}

static double course_value(const struct baro_value *v, const char *fact)
{
    const struct baro_fact *f = baro_summary_fact(baro_summary_fact_find("course", fact));
    return f && f->type == BARO_FACT_REAL ? v->real : (double)v->u64;
}

/* Computes one cell from the stretches that overlap its time, from row *from on. */
static double cell_of(const struct baro_summary *s, const struct text_curve *c, struct span_ns cell, size_t *from)
{
    double sum = 0, most = 0;
    uint64_t covered = 0, width = report_row(s, "course", "duration_ns", 0).u64;
    for (size_t row = *from; row < report_rows(s, "course"); row++) {
        uint64_t begin = report_row(s, "course", "t_ns", row).u64;
        if (begin >= cell.to)
            break;
        uint64_t part = overlap(cell, (struct span_ns){begin, begin + width});
        struct baro_value v = report_row(s, "course", c->fact, row);
        if (!part)
            *from = row + 1;
        if (!part || v.absent)
            continue;
        double value = course_value(&v, c->fact);
        covered += part;
        sum += value * (double)part;
        most = value > most ? value : most;
    }
    return !covered ? -1 : c->most ? most : sum / (double)covered;
}

/* Returns the time that the curves show: from the start to the end of the command, as far as the tape has it. */
static struct span_ns shown(const struct baro_summary *s)
{
    uint64_t start = report_u64(s, "", "start_ns"), end = start + report_u64(s, "", "wall_ns"), removed;
    if (report_has_u64(s, "", "removed_ns", &removed) && removed > start && removed < end)
        return (struct span_ns){removed, end};
    return (struct span_ns){start, end};
}

/* Returns the largest cell; 0 if there is nothing to draw. */
static double fill_cells(const struct baro_summary *s, struct text_curve *c, unsigned cells)
{
    struct span_ns all = shown(s);
    uint64_t start = all.from, wall = all.to - all.from;
    double most = 0;
    size_t row = 0;
    for (unsigned i = 0; i < cells; i++) {
        struct span_ns cell = {start + (uint64_t)((unsigned __int128)wall * i / cells),
                               start + (uint64_t)((unsigned __int128)wall * (i + 1) / cells)};
        c->cell[i] = cell_of(s, c, cell, &row);
        most = c->cell[i] > most ? c->cell[i] : most;
    }
    return most;
}

static void put_height(struct lines *l, double value, double full)
{
    if (value < 0)
        buf_str(l->out, l->style.utf8 ? "·" : "?");
    else
        buf_point(l->out, blocks_point(blocks_height(value, full, 1), l->style.utf8));
}

void report_axis(const struct baro_summary *s, unsigned columns, struct axis *ret)
{
    struct span_ns all = shown(s);
    bool is_long = report_u64(s, "", "wall_ns") >= NS_PER_SEC && report_rows(s, "course") >= 8;
    *ret = (struct axis){all.from, all.to - all.from, is_long ? columns : 0};
}

bool report_curve(struct lines *l, const struct baro_summary *s, const char *fact, const struct axis *axis, double full)
{
    struct text_curve c = {.fact = fact, .most = strcmp(fact, "rss_peak_bytes") == 0};
    double most = fill_cells(s, &c, axis->columns);
    if (most <= 0)
        return false;
    for (unsigned i = 0; i < axis->columns; i++)
        put_height(l, c.cell[i], full > 0 ? full : most);
    return true;
}

static void draw_curve(struct lines *l, const struct text_curve *c, unsigned cells, struct buf *full)
{
    lines_begin(l, c->label, TONE_FAINT);
    lines_tone(l, c->tone);
    for (unsigned i = 0; i < cells; i++)
        put_height(l, c->cell[i], c->full);
    lines_tone(l, TONE_PLAIN);
    buf_spaces(l->out, 2);
    lines_tone(l, TONE_FAINT);
    buf_add(l->out, full->at, full->len);
    lines_tone(l, TONE_PLAIN);
    lines_end(l);
    buf_clear(full);
}

/* Draws CPU time relative to the cores that the job may use, unless the curve would then be nearly flat. */
static void cpu(struct lines *l, const struct baro_summary *s, unsigned cells)
{
    struct text_curve c = {.label = "cpu", .fact = "cores", .tone = TONE_CPU};
    struct buf full = {0};
    double most = fill_cells(s, &c, cells), cores = report_fact(s, "limits", "cores_at_most").real;
    if (most <= 0)
        return;
    c.full = cores > 0 && most * BLOCKS_LEVELS >= cores ? cores : most;
    if (c.full == cores)
        report_cores(&full, cores);
    else
        fmt_decimal(&full, c.full, c.full < 10 ? 2 : 1);
    buf_str(&full, c.full == 1 ? " core" : " cores");
    draw_curve(l, &c, cells, &full);
    buf_done(&full);
}

static void memory_curve(struct lines *l, const struct baro_summary *s, unsigned cells)
{
    struct text_curve c = {.label = "memory", .fact = "rss_peak_bytes", .tone = TONE_MEMORY, .most = true};
    struct buf full = {0};
    c.full = fill_cells(s, &c, cells);
    if (c.full <= 0)
        return;
    fmt_bytes(&full, whole_of(c.full));
    buf_str(&full, " rss");
    draw_curve(l, &c, cells, &full);
    buf_done(&full);
}

static void io(struct lines *l, const struct baro_summary *s, unsigned cells)
{
    struct text_curve c = {.label = "i/o", .fact = "io_bytes_per_second", .tone = TONE_IO};
    struct buf full = {0};
    c.full = fill_cells(s, &c, cells);
    if (c.full < 1)
        return;
    fmt_bytes(&full, whole_of(c.full));
    buf_str(&full, "/s");
    draw_curve(l, &c, cells, &full);
    buf_done(&full);
}

uint64_t axis_step(uint64_t wall_ns, unsigned cells)
{
    static const uint64_t steps_ms[] = {100,     200,     500,     1000,     2000,     5000,     10000,
                                        15000,   30000,   60000,   120000,   300000,   600000,   900000,
                                        1800000, 3600000, 7200000, 10800000, 21600000, 43200000, 86400000};
    size_t n = sizeof(steps_ms) / sizeof(*steps_ms), i = 0;
    uint64_t least = (uint64_t)((unsigned __int128)wall_ns * 12 / cells);
    while (i + 1 < n && steps_ms[i] * NS_PER_MS < least)
        i++;
    uint64_t step = steps_ms[i] * NS_PER_MS;
    while (step < least && step <= UINT64_MAX / 2)
        step *= 2;
    return step;
}

void axis_label(struct buf *b, uint64_t ns)
{
    uint64_t ms = ns / NS_PER_MS, s = ms / 1000;
    if (ms % 1000)
        buf_printf(b, "%u.%u s", (unsigned)s, (unsigned)(ms % 1000 / 100));
    else if (s < 60 || s % 60)
        buf_printf(b, "%llu s", (unsigned long long)s);
    else if (s < 3600 || s % 3600)
        buf_printf(b, "%llu min", (unsigned long long)(s / 60));
    else
        buf_printf(b, "%llu h", (unsigned long long)(s / 3600));
}

unsigned axis_column(const struct axis *axis, uint64_t t_ns)
{
    uint64_t since = t_ns > axis->from_ns ? t_ns - axis->from_ns : 0;
    if (since >= axis->wall_ns)
        return axis->columns;
    return (unsigned)((unsigned __int128)since * axis->columns / axis->wall_ns);
}

/* from_ns: since the start, where the curves begin. */
static void draw_axis(struct lines *l, uint64_t from_ns, uint64_t wall_ns, unsigned cells)
{
    struct buf label = {0};
    uint64_t step = axis_step(wall_ns, cells);
    unsigned column = 0;
    buf_spaces(l->out, LINES_INDENT);
    lines_tone(l, TONE_FAINT);
    if (!from_ns) {
        buf_str(l->out, l->style.utf8 ? "╵0" : "'0");
        column = 2;
    }
    for (uint64_t t = (from_ns / step + 1) * step; t < from_ns + wall_ns; t += step) {
        unsigned at = (unsigned)((unsigned __int128)(t - from_ns) * cells / wall_ns);
        buf_clear(&label);
        axis_label(&label, t);
        if (label.failed || (column && at <= column) || at + 1 + label.len > cells)
            continue;
        buf_spaces(l->out, at - column);
        buf_str(l->out, l->style.utf8 ? "╵" : "'");
        buf_add(l->out, label.at, label.len);
        column = at + 1 + (unsigned)label.len;
    }
    lines_tone(l, TONE_PLAIN);
    lines_end(l);
    buf_done(&label);
}

bool report_curves(struct lines *l, const struct baro_summary *s)
{
    unsigned room = l->style.width - LINES_INDENT - 2 - SCALE_COLUMNS, cells = room < CELLS_MOST ? room : CELLS_MOST;
    if (l->style.width < WIDTH_LEAST || report_u64(s, "", "wall_ns") < NS_PER_SEC || report_rows(s, "course") < 8)
        return false;
    size_t from = l->out->len;
    cpu(l, s, cells);
    memory_curve(l, s, cells);
    io(l, s, cells);
    struct span_ns all = shown(s);
    struct axis axis = {all.from, all.to - all.from, cells};
    if (l->style.timeline)
        report_lanes(l, l->style.timeline, &axis);
    if (l->out->len == from) /* a tape without a job has none of these */
        return false;
    draw_axis(l, axis.from_ns - report_u64(s, "", "start_ns"), axis.wall_ns, cells);
    return true;
}

void report_course(const struct baro_summary *s, struct report_style style, struct buf *ret)
{
    struct lines l = {.out = ret, .style = style};
    report_curves(&l, s);
}
