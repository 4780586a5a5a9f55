/* SPDX-License-Identifier: Apache-2.0 */
/* Phases, marks and events, the newest first. */
#include "base/fmt.h"
#include "programs/baro-top/view.h"

size_t view_events_count(const struct view *v)
{
    return baro_timeline_count(v->feed->timeline);
}

static void put_length(struct buf *b, const struct baro_timeline_item *item)
{
    if (item->is_open)
        buf_str(b, "since then");
    else if (item->end_ns > item->begin_ns) {
        buf_str(b, baro_value_prefix(item->begins_before ? BARO_VALUE_LOWER_BOUND : 0, BARO_PREFIX_SYMBOL));
        fmt_duration(b, item->end_ns - item->begin_ns);
    }
}

static enum style style_of(const struct view *v, const struct baro_timeline_item *item)
{
    bool is_later = !v->ui->live && item->begin_ns > v->ui->at_ns;
    if (is_later)
        return STYLE_FAINT;
    if (item->kind == BARO_TIMELINE_PHASE)
        return STYLE_LABEL;
    if (item->kind == BARO_TIMELINE_MARK)
        return STYLE_STRONG;
    return item->is_problem ? STYLE_BAD : STYLE_PLAIN;
}

static const char *sign_of(const struct view *v, const struct baro_timeline_item *item)
{
    bool utf8 = v->grid->utf8;
    if (item->kind == BARO_TIMELINE_PHASE)
        return utf8 ? "▬" : "=";
    if (item->kind == BARO_TIMELINE_MARK)
        return utf8 ? "▼" : "v";
    return item->is_problem ? "!" : utf8 ? "·" : ".";
}

static void draw_event(struct view *v, struct box box, int at, size_t row, bool is_panel)
{
    struct grid *g = v->grid;
    struct buf b = {0};
    const struct baro_timeline_item *item = baro_timeline_get(v->feed->timeline, view_events_count(v) - 1 - row);
    enum style style = style_of(v, item), all = is_panel ? style : view_row_style(v, TAB_EVENTS, row, style);
    enum style faint = all == STYLE_SELECTED ? all : STYLE_FAINT;
    for (int i = box.column; i < box.end && all == STYLE_SELECTED; i++)
        grid_point(g, at, i, all, ' ', ' ');
    fmt_moment(&b, item->begin_ns);
    grid_take_right(g, at, box.column, box.column + 14, faint, &b);
    put_length(&b, item);
    int length = grid_columns_of(g, b.len ? (const char *)b.at : "", b.len);
    int end = length && box.end - box.column > 40 ? box.end - length - 1 : box.end;
    if (end < box.end)
        grid_take_right(g, at, end, box.end, faint, &b);
    grid_text(g, at, box.column + 15, end, all, sign_of(v, item));
    grid_text(g, at, box.column + 17, end, all, item->text);
    buf_done(&b);
}

void view_events(struct view *v, struct box box, bool is_panel)
{
    size_t n = view_events_count(v), top = v->is_once ? v->later_events : is_panel ? 0 : v->ui->top[TAB_EVENTS];
    for (int i = box.column; i < box.end; i++)
        grid_point(v->grid, box.row, i, STYLE_HEADING, ' ', ' ');
    grid_text(v->grid, box.row, box.column + 10, box.end, STYLE_HEADING, "TIME   WHAT HAPPENED");
    for (int i = 1; i < box.rows && top + (size_t)i - 1 < n; i++)
        draw_event(v, box, box.row + i, top + (size_t)i - 1, is_panel);
    if (n == 0 && box.rows > 1)
        grid_text(v->grid, box.row + 1, box.column + 1, box.end, STYLE_FAINT, "nothing so far");
}
