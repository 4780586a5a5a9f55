/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks of a recording at the moment, also those whose processes have ended: what was selected by a rule. */
#include <string.h>

#include "base/fmt.h"
#include "programs/baro-top/view.h"

/* In the order of the columns. */
enum { TASKS_NOW, TASKS_LIVE, TASKS_RSS, TASKS_PSS, TASKS_USS, TASKS_CPU, TASKS_ALL, TASKS_COLUMNS };

static const struct {
    const char *title, *metric;
    int width, least; /* least: how wide the box has to be */
} columns[TASKS_COLUMNS] = {
    {"CORES", "cores", 6, 0},
    {"LIVE", "processes", 6, 40},
    {"RSS", "rss_bytes", 8, 0},
    {"PSS", "pss_bytes", 9, 70},
    {"USS", "uss_bytes", 9, 60},
    {"CPU", "cpu_ns", 11, 50},
    {"ALL", "processes_started", 8, 80},
};

size_t view_tasks_count(const struct view *v)
{
    return v->instant->now ? baro_sample_rows(v->instant->now, BARO_KIND_TASK) : 0;
}

static bool entity_value(const struct baro_row *e, const char *metric, uint64_t *ret)
{
    return baro_row_value(e, baro_metric_find(BARO_KIND_TASK, metric), ret) == BARO_PRESENT;
}

static enum style put_now_cores(const struct view *v, struct buf *b, const struct baro_row *e, size_t row)
{
    const struct baro_sample *before = v->model->between.before;
    const struct baro_row *was = before ? baro_sample_row(before, BARO_KIND_TASK, row) : NULL;
    double cores = 0;
    if (!was || baro_row_derived(was, e, baro_derived_find(BARO_KIND_TASK, "cores"), &cores)) {
        buf_byte(b, '-');
        return STYLE_FAINT;
    }
    cell_cores(b, cores);
    return cores >= 0.005 ? STYLE_CPU : STYLE_FAINT;
}

/* What lacks the values of some processes is a lower bound. */
static bool is_least(const struct baro_row *e, int c)
{
    uint64_t unread = 0;
    if (c == TASKS_PSS || c == TASKS_USS)
        entity_value(e, "memory_unread", &unread);
    else if (c == TASKS_CPU)
        entity_value(e, "processes_unread", &unread);
    return unread > 0;
}

static enum style put_task_cell(const struct view *v, struct buf *b, const struct baro_row *e, size_t row, int c)
{
    uint64_t value;
    if (c == TASKS_NOW)
        return put_now_cores(v, b, e, row);
    if (!entity_value(e, columns[c].metric, &value)) {
        buf_byte(b, '-');
        return STYLE_FAINT;
    }
    cell_mark(b, v->grid->utf8, is_least(e, c) ? BARO_VALUE_LOWER_BOUND : 0);
    if (c == TASKS_CPU)
        fmt_duration(b, value);
    else if (c == TASKS_LIVE || c == TASKS_ALL)
        fmt_count(b, value);
    else
        fmt_bytes(b, value);
    return c == TASKS_RSS || c == TASKS_PSS || c == TASKS_USS ? STYLE_MEMORY : value ? STYLE_PLAIN : STYLE_FAINT;
}

static void draw_task(struct view *v, struct box box, int at, size_t row, bool is_panel)
{
    struct grid *g = v->grid;
    struct buf b = {0};
    int column = box.column;
    const struct baro_row *e = baro_sample_row(v->instant->now, BARO_KIND_TASK, row);
    enum style all = is_panel ? STYLE_PLAIN : view_row_style(v, TAB_TASKS, row, STYLE_PLAIN);
    for (int i = box.column; i < box.end && all == STYLE_SELECTED; i++)
        grid_point(g, at, i, all, ' ', ' ');
    for (int c = 0; c < TASKS_COLUMNS; c++) {
        if (columns[c].least > box.end - box.column)
            continue;
        enum style style = put_task_cell(v, &b, e, row, c);
        grid_take_right(g, at, column, column + columns[c].width, all == STYLE_SELECTED ? all : style, &b);
        column += columns[c].width + 1;
    }
    grid_text(g, at, column, box.end, all == STYLE_SELECTED ? all : STYLE_STRONG, baro_row_name(e));
    buf_done(&b);
}

/* In the order of the rules. */
void view_tasks(struct view *v, struct box box, bool is_panel)
{
    struct buf b = {0};
    int column = box.column;
    size_t n = view_tasks_count(v), top = is_panel || v->is_once ? 0 : v->ui->top[TAB_TASKS];
    for (int i = box.column; i < box.end; i++)
        grid_point(v->grid, box.row, i, STYLE_HEADING, ' ', ' ');
    for (int c = 0; c < TASKS_COLUMNS; c++) {
        if (columns[c].least > box.end - box.column)
            continue;
        buf_str(&b, columns[c].title);
        grid_take_right(v->grid, box.row, column, column + columns[c].width, STYLE_HEADING, &b);
        column += columns[c].width + 1;
    }
    buf_done(&b);
    grid_text(v->grid, box.row, column, box.end, STYLE_HEADING, "TASK");
    for (int i = 1; i < box.rows && top + (size_t)i - 1 < n; i++)
        draw_task(v, box, box.row + i, top + (size_t)i - 1, is_panel);
}
