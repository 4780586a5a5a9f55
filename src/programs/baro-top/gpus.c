/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs at the moment, and below each what processes of the job use of it. */

#include "base/fmt.h"
#include "base/growth.h"
#include "programs/baro-top/view.h"

/* In the order of the columns. */
enum { GPUS_USE, GPUS_JOB, GPUS_MEMORY, GPUS_TOTAL, GPUS_POWER, GPUS_LIMIT, GPUS_HEAT, GPUS_CLOCK, GPUS_COLUMNS };

static const struct view_column columns[GPUS_COLUMNS] = {
    {"USE", 5, 0},    {"JOB", 5, 60}, {"MEMORY", 8, 0}, {"OF", 8, 50},
    {"POWER", 6, 40}, {"OF", 6, 70},  {"TEMP", 5, 70},  {"CLOCK", 8, 90},
};
/* Metrics of a device and of a process; NULL: it has none. */
static const char *const metrics[GPUS_COLUMNS][2] = {
    {"busy_ns", "busy_ns"},        {"busy_job_ns", NULL}, {"memory_used_bytes", "memory_bytes"},
    {"memory_total_bytes", NULL},  {"power_watts", NULL}, {"power_limit_watts", NULL},
    {"temperature_celsius", NULL}, {"clock_hertz", NULL},
};

struct line {
    const struct baro_row *row;
    bool is_process;
};

static int kind_of(bool is_process)
{
    return baro_kind_find(is_process ? "gpu_process" : "gpu");
}

/* Line number `at`: devices in their order, and behind each one its processes. */
static struct line line_at(const struct baro_sample *s, size_t at)
{
    int devices = kind_of(false), processes = kind_of(true), gpu = baro_metric_find(processes, "gpu");
    size_t n = baro_sample_rows(s, devices), m = baro_sample_rows(s, processes);
    for (size_t i = 0; i < n; i++) {
        const struct baro_row *device = baro_sample_row(s, devices, i);
        if (at-- == 0)
            return (struct line){device, false};
        for (size_t k = 0; k < m; k++) {
            uint64_t of = 0;
            const struct baro_row *p = baro_sample_row(s, processes, k);
            if (baro_row_value(p, gpu, &of) == BARO_PRESENT && of == baro_row_id(device) && at-- == 0)
                return (struct line){p, true};
        }
    }
    return (struct line){NULL, false};
}

size_t view_gpus_count(const struct view *v)
{
    size_t n = 0;
    while (v->instant->now && line_at(v->instant->now, n).row)
        n++;
    return n;
}

static int get(const struct line *l, const char *metric, uint64_t *ret)
{
    return baro_row_value(l->row, baro_metric_find(kind_of(l->is_process), metric), ret);
}

/* Writes a share of the time between two readings, which may be longer than that between two samples. */
static enum style put_share(const struct view *v, struct buf *b, const struct line *l, const char *metric)
{
    struct line was = {NULL, l->is_process};
    uint64_t now, before, t, t_before, used;
    int why = get(l, metric, &now);
    if (v->instant->earlier)
        was.row = baro_sample_find_id(v->instant->earlier, kind_of(l->is_process), baro_row_id(l->row));
    if (why && why != BARO_ABSENT_NOT_YET && why != BARO_ABSENT_UNSUPPORTED)
        buf_str(b, baro_absent_name((enum baro_absent)why));
    if (why || !was.row || get(&was, metric, &before) || get(l, "read_at_ns", &t) ||
        get(&was, "read_at_ns", &t_before) || t <= t_before || !growth_between(before, now, &used)) {
        if (!b->len)
            buf_byte(b, '-');
        return STYLE_FAINT;
    }
    double percent = 100.0 * (double)used / (double)(t - t_before);
    percent = percent > 100 ? 100 : percent;
    buf_printf(b, percent < 9.95 ? "%.1f%%" : "%.0f%%", percent);
    return percent >= 0.5 ? STYLE_CPU : STYLE_FAINT;
}

static enum style put_cell(const struct view *v, struct buf *b, size_t row, int c)
{
    const struct line l = line_at(v->instant->now, row);
    const char *metric = l.row ? metrics[c][l.is_process] : NULL;
    uint64_t value;
    if (!metric)
        return STYLE_PLAIN;
    if (c == GPUS_USE || c == GPUS_JOB)
        return put_share(v, b, &l, metric);
    if (get(&l, metric, &value)) {
        buf_byte(b, '-');
        return STYLE_FAINT;
    }
    double real = baro_metric_real(
        baro_metric_get(kind_of(l.is_process), baro_metric_find(kind_of(l.is_process), metric)), value);
    if (c == GPUS_MEMORY || c == GPUS_TOTAL)
        fmt_bytes(b, value);
    else if (c == GPUS_POWER || c == GPUS_LIMIT)
        buf_printf(b, "%.0f W", real);
    else if (c == GPUS_HEAT)
        buf_printf(b, v->grid->utf8 ? "%.0f °C" : "%.0f C", real);
    else
        buf_printf(b, "%.0f MHz", real / 1e6);
    return c == GPUS_MEMORY ? STYLE_MEMORY : c == GPUS_POWER ? STYLE_PLAIN : STYLE_FAINT;
}

static enum style put_name(const struct view *v, struct buf *b, size_t row)
{
    const struct line l = line_at(v->instant->now, row);
    if (!l.row)
        return STYLE_PLAIN;
    if (l.is_process)
        buf_printf(b, "  %d %s", baro_row_owner_pid(l.row), baro_row_label(l.row));
    else
        buf_printf(b, "%s %s", baro_row_name(l.row), baro_row_label(l.row));
    return l.is_process ? STYLE_PLAIN : STYLE_STRONG;
}

void view_gpus(struct view *v, struct box box, bool is_panel)
{
    const struct view_list list = {TAB_GPUS,       view_gpus_count(v), columns,  GPUS_COLUMNS,
                                   "GPU, PROCESS", put_cell,           put_name, 0};
    view_list(v, &list, box, is_panel);
}
