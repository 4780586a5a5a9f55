/* SPDX-License-Identifier: Apache-2.0 */
/* Phases under the curves, over the same time axis: a row for each lane. "├ build ──┤", or "│" of a short one. */

#include "output/text/parts.h"
#include "base/escape.h"
#include "output/text/read_fact.h"

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

void report_lanes(struct lines *l, const struct baro_timeline *t, const struct axis *axis)
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
