/* SPDX-License-Identifier: Apache-2.0 */
/* The time axis under the curves: its ends, phases in lanes, marks and problems. */

#include "base/fmt.h"
#include "output/text/parts.h"
#include "programs/baro-top/view.h"

#define LANES_MOST 4

static int column_of(struct box box, uint64_t t_ns, uint64_t from_ns, uint64_t to_ns)
{
    int n = box.end - box.column;
    if (t_ns <= from_ns)
        return box.column;
    if (t_ns >= to_ns)
        return box.end;
    return box.column + (int)((double)(t_ns - from_ns) / (double)(to_ns - from_ns) * n);
}

static void draw_phase(struct view *v, struct box box, const struct baro_timeline_item *item, uint64_t from_ns,
                       uint64_t to_ns)
{
    int begin = column_of(box, item->begin_ns, from_ns, to_ns), end = column_of(box, item->end_ns, from_ns, to_ns);
    int row = box.row + item->depth;
    if (item->end_ns < from_ns || item->begin_ns >= to_ns)
        return;
    end = end <= begin ? begin + 1 : end;
    /* The last column stays free, so that two neighbouring phases can be told apart. */
    int body = end - begin > 2 && end < box.end ? end - 1 : end;
    for (int i = begin; i < body; i++)
        grid_point(v->grid, row, i, STYLE_PHASE, ' ', '=');
    if (body - begin > 2)
        grid_text(v->grid, row, begin + 1, body, STYLE_PHASE, item->name);
}

static uint64_t shown_ns(const struct view *v)
{
    return v->ui->live ? v->feed->last_ns : v->ui->at_ns;
}

/* Returns the phase of a lane at a moment, or NULL. If two meet there, it is the later one. */
static const struct baro_timeline_item *phase_of(const struct baro_timeline *t, int lane, uint64_t t_ns)
{
    const struct baro_timeline_item *found = NULL;
    for (size_t i = 0; i < baro_timeline_count(t); i++) {
        const struct baro_timeline_item *item = baro_timeline_get(t, i);
        if (item->begin_ns > t_ns)
            break;
        if (item->kind == BARO_TIMELINE_PHASE && item->depth == lane && item->end_ns >= t_ns)
            found = item;
    }
    return found;
}

/* Writes beside each lane the phase that the job is in at the shown moment. */
static int draw_phases(struct view *v, struct box box, int column, uint64_t from_ns, uint64_t to_ns)
{
    const struct baro_timeline *t = v->feed->timeline;
    int lanes = baro_timeline_lanes(t), most = box.rows - 1 < LANES_MOST ? box.rows - 1 : LANES_MOST;
    lanes = lanes < most ? lanes : most;
    if (lanes <= 0)
        return 0;
    grid_text(v->grid, box.row, 1, column, STYLE_LABEL, column < 8 ? "ph" : "phases");
    for (int lane = 0; lane < lanes; lane++) {
        const struct baro_timeline_item *now = phase_of(t, lane, shown_ns(v));
        if (now)
            grid_text(v->grid, box.row + lane, column, box.column - 1, STYLE_PLAIN, now->name);
    }
    for (size_t i = 0; i < baro_timeline_count(t); i++) {
        const struct baro_timeline_item *item = baro_timeline_get(t, i);
        if (item->kind == BARO_TIMELINE_PHASE && item->depth < lanes)
            draw_phase(v, box, item, from_ns, to_ns);
    }
    return lanes;
}

/* Writes the ends of the axis beside it: marks may be anywhere on it. */
static void draw_ends(struct view *v, struct box box, int column, uint64_t from_ns, uint64_t to_ns)
{
    struct grid *g = v->grid;
    struct buf b = {0};
    bool has_right = g->columns > box.end + 1;
    if (!has_right)
        buf_str(&b, "to ");
    fmt_moment(&b, has_right ? from_ns : to_ns);
    grid_take_right(g, box.row, column, box.column - 1, STYLE_FAINT, &b);
    fmt_moment(&b, to_ns);
    if (has_right)
        grid_take(g, box.row, box.end + 1, g->columns - 1, STYLE_FAINT, &b);
    buf_done(&b);
}

/* Writes times on the axis, each behind a tick; marks may cover them. */
static void draw_times(struct view *v, struct box box, uint64_t from_ns, uint64_t to_ns)
{
    struct grid *g = v->grid;
    struct buf b = {0};
    int column = box.column;
    if (to_ns <= from_ns)
        return;
    uint64_t step = axis_step(to_ns - from_ns, (unsigned)(box.end - box.column) * 3 / 2); /* one in 8 columns */
    for (uint64_t t = (from_ns / step + 1) * step; t < to_ns; t += step) {
        int at = column_of(box, t, from_ns, to_ns);
        axis_label(&b, t);
        int end = at + 1 + (int)b.len;
        if (!b.failed && at > column && end < box.end) {
            grid_point(g, box.row, at, STYLE_FAINT, 0x2575, '\'');
            grid_take(g, box.row, at + 1, box.end, STYLE_FAINT, &b);
            column = end;
        }
        buf_clear(&b);
    }
    buf_done(&b);
}

static void draw_axis(struct view *v, struct box box, uint64_t from_ns, uint64_t to_ns)
{
    struct grid *g = v->grid;
    for (int i = box.column; i < box.end; i++)
        grid_point(g, box.row, i, STYLE_FAINT, 0x2500, '-');
    draw_times(v, box, from_ns, to_ns);
    for (size_t i = 0; i < baro_timeline_count(v->feed->timeline); i++) {
        const struct baro_timeline_item *item = baro_timeline_get(v->feed->timeline, i);
        bool mark = item->kind == BARO_TIMELINE_MARK;
        if ((!mark && !(item->kind == BARO_TIMELINE_EVENT && item->is_problem)) || item->begin_ns < from_ns ||
            item->begin_ns > to_ns)
            continue;
        int column = column_of(box, item->begin_ns, from_ns, to_ns);
        grid_point(g, box.row, column < box.end ? column : box.end - 1, mark ? STYLE_STRONG : STYLE_BAD,
                   mark ? 0x25bc : '!', mark ? 'v' : '!');
    }
}

int view_lanes(struct view *v, struct box box, int column, uint64_t from_ns, uint64_t to_ns)
{
    int lanes = to_ns > from_ns ? draw_phases(v, box, column, from_ns, to_ns) : 0;
    box.row += lanes;
    draw_axis(v, box, from_ns, to_ns);
    draw_ends(v, box, column, from_ns, to_ns);
    return lanes + 1;
}
