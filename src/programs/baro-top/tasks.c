/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks of a recording at the moment that is shown, including those whose processes have ended. */
#include <string.h>

#include "base/fmt.h"
#include "programs/baro-top/view.h"

/* In the order of the columns. */
enum { TASKS_NOW, TASKS_LIVE, TASKS_RSS, TASKS_PSS, TASKS_USS, TASKS_CPU, TASKS_ALL, TASKS_COLUMNS };

static const struct view_column columns[TASKS_COLUMNS] = {
    {"CORES", 6, 0}, {"LIVE", 6, 40}, {"RSS", 8, 0}, {"PSS", 9, 70}, {"USS", 9, 60}, {"CPU", 11, 50}, {"ALL", 8, 80},
};
static const char *const metrics[TASKS_COLUMNS] = {"cores",     "processes", "rss_bytes",        "pss_bytes",
                                                   "uss_bytes", "cpu_ns",    "processes_started"};

size_t view_tasks_count(const struct view *v)
{
    size_t n = v->instant->now ? baro_sample_rows(v->instant->now, BARO_KIND_TASK) : 0;
    return n && v->ui->wish.task ? 1 : n;
}

/* Row number `row`: of all tasks, or of the one that was asked for. */
static const struct baro_row *task_at(const struct view *v, size_t row)
{
    const char *only = v->ui->wish.task;
    for (; only && row + 1 < baro_sample_rows(v->instant->now, BARO_KIND_TASK); row++) {
        if (strcmp(only, baro_row_name(baro_sample_row(v->instant->now, BARO_KIND_TASK, row))) == 0)
            break;
    }
    return baro_sample_row(v->instant->now, BARO_KIND_TASK, row);
}

static bool entity_value(const struct baro_row *e, const char *metric, uint64_t *ret)
{
    return baro_row_value(e, baro_metric_find(BARO_KIND_TASK, metric), ret) == BARO_PRESENT;
}

static enum style put_now_cores(const struct view *v, struct buf *b, const struct baro_row *e)
{
    const struct baro_sample *before = v->model->between.before;
    const struct baro_row *was = before ? baro_sample_find_id(before, BARO_KIND_TASK, baro_row_id(e)) : NULL;
    double cores = 0;
    if (!was || baro_row_derived(was, e, baro_derived_find(BARO_KIND_TASK, "cores"), &cores)) {
        buf_byte(b, '-');
        return STYLE_FAINT;
    }
    cell_cores(b, cores);
    return cores >= 0.005 ? STYLE_CPU : STYLE_FAINT;
}

/* Is the value a lower bound, because it lacks the values of some processes? */
static bool is_least(const struct baro_row *e, int c)
{
    uint64_t unread = 0;
    if (c == TASKS_PSS || c == TASKS_USS)
        entity_value(e, "memory_unread", &unread);
    else if (c == TASKS_CPU)
        entity_value(e, "processes_unread", &unread);
    return unread > 0;
}

static enum style put_task_cell(const struct view *v, struct buf *b, size_t row, int c)
{
    const struct baro_row *e = task_at(v, row);
    uint64_t value;
    if (c == TASKS_NOW)
        return put_now_cores(v, b, e);
    if (!entity_value(e, metrics[c], &value)) {
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

static enum style put_task_name(const struct view *v, struct buf *b, size_t row)
{
    buf_str(b, baro_row_name(task_at(v, row)));
    return STYLE_STRONG;
}

/* In the order of the rules. */
void view_tasks(struct view *v, struct box box, bool is_panel)
{
    const struct view_list list = {TAB_TASKS, view_tasks_count(v), columns,       TASKS_COLUMNS,
                                   "TASK",    put_task_cell,       put_task_name, 0};
    view_list(v, &list, box, is_panel);
}
