/* SPDX-License-Identifier: Apache-2.0 */
/* Limits and marks of figures: from the facts of the summary. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "output/chart/figure_parts.h"

bool fact_number(const struct baro_summary *s, const char *section, const char *name, size_t row, double *ret)
{
    struct baro_value v = report_row(s, section, name, row);
    if (v.absent == BARO_PRESENT)
        *ret = baro_fact_real(baro_summary_fact(baro_summary_fact_find(section, name)), &v);
    return v.absent == BARO_PRESENT;
}

#define OFF_CURVE 1.01

/* "peak 153 MB", "peak at least 153 MB: cc1 ×2, gcc"; "peak 153 MB between samples" if no sample reached it */
static void add_peak(struct chart *c, uint64_t t_ns, double value, unsigned flags, const char *who)
{
    struct buf b = {0};
    double sampled = 0;
    for (size_t i = 0; i < c->n_curves; i++)
        sampled = c->curves[i].known && c->curves[i].max > sampled ? c->curves[i].max : sampled;
    buf_printf(&b, "peak %s", baro_value_prefix(flags, BARO_PREFIX_SYMBOL));
    chart_value_text(c->unit, value, &b);
    if (sampled > 0 && value > OFF_CURVE * sampled)
        buf_str(&b, " between samples");
    if (who && *who)
        buf_printf(&b, ": %s", who);
    buf_byte(&b, 0);
    if (!b.failed && t_ns >= c->from_ns && t_ns <= c->to_ns)
        chart_add_mark(c, t_ns, value, (const char *)b.at);
    buf_done(&b);
}

static const struct chart_curve *curve_of(const struct chart *c, enum chart_shape shape)
{
    for (size_t i = 0; i < c->n_curves; i++) {
        if (c->curves[i].shape == shape && c->curves[i].known)
            return &c->curves[i];
    }
    return NULL;
}

static const struct chart_curve *curve_named(const struct chart *c, const char *name)
{
    for (size_t i = 0; i < c->n_curves; i++) {
        if (c->curves[i].known && strcmp(c->curves[i].name, name) == 0)
            return &c->curves[i];
    }
    return NULL;
}

/* Does the chart show the whole recording? If not, facts about the whole recording are not the highest values of the
 * chart. */
static bool is_whole(const struct chart *c, const struct baro_summary *s)
{
    double start = 0, wall = 0, removed = 0;
    fact_number(s, "", "start_ns", 0, &start);
    fact_number(s, "", "wall_ns", 0, &wall);
    fact_number(s, "", "removed_ns", 0, &removed);
    return (double)c->from_ns <= (removed > start ? removed : start) && (double)c->to_ns >= start + wall;
}

void decorate_peak(struct chart *c, const struct baro_summary *s, const struct limit_history *limits)
{
    (void)limits;
    const struct chart_curve *most = NULL;
    (void)s;
    for (size_t i = 0; i < c->n_curves; i++) {
        if (c->curves[i].known && c->curves[i].max > 0 && (!most || c->curves[i].max > most->max))
            most = &c->curves[i];
    }
    if (most)
        add_peak(c, most->max_ns, most->max, most->max_is_bound ? BARO_VALUE_LOWER_BOUND : 0,
                 most->shape == CHART_TOTAL || c->n_curves == 1 ? NULL : most->name);
}

/* Draws a limit of the summary as a line. limit: its fact; source_of: the fact that names its source; at: its place
 * in the history. */
static void limit_line(struct chart *c, const struct baro_summary *s, const char *limit, const char *source_of,
                       const struct limit_history *limits, size_t at)
{
    double value;
    const char *source = report_text(s, "limits", source_of);
    if (fact_number(s, "limits", limit, 0, &value) && value > 0)
        chart_add_limit_steps(c, strcmp(source, "machine") == 0 ? "machine" : "limit", value, limits, at);
}

static void cores_limit(struct chart *c, const struct baro_summary *s, const struct limit_history *limits)
{
    limit_line(c, s, "cores", "cores_source", limits, offsetof(struct limit_change, cores));
}

static void memory_limit(struct chart *c, const struct baro_summary *s, const struct limit_history *limits)
{
    limit_line(c, s, "memory_bytes", "memory_source", limits, offsetof(struct limit_change, memory_bytes));
}

/* The commands that held the peak: "cc1 ×2, gcc ×2, make". */
static void holders(const struct baro_summary *s, const char *section, struct buf *ret)
{
    size_t n = report_rows(s, section);
    for (size_t i = 0; i < n && i < 3; i++) {
        const char *name = report_row(s, section, "name", i).text;
        double processes = 1;
        if (!name)
            continue;
        buf_printf(ret, "%s%s", ret->len ? ", " : "", name);
        if (fact_number(s, section, "processes", i, &processes) && processes > 1)
            buf_printf(ret, " \303\227%.0f", processes);
    }
    if (n > 3)
        buf_str(ret, ", ...");
    buf_byte(ret, 0);
}

/* Marks a peak: the one that the fact has, if the chart shows the whole recording; otherwise the highest value of
 * the curve. */
static void fact_peak(struct chart *c, const struct baro_summary *s, const char *name, uint64_t t_ns,
                      const struct chart_curve *curve, const char *who)
{
    double peak;
    if (is_whole(c, s) && fact_number(s, "job", name, 0, &peak))
        add_peak(c, t_ns, peak, report_fact(s, "job", name).flags, who);
    else
        add_peak(c, curve->max_ns, curve->max, curve->max_is_bound ? BARO_VALUE_LOWER_BOUND : 0, NULL);
}

static void rss_peak(struct chart *c, const struct baro_summary *s, const struct chart_curve *curve, bool with_holders)
{
    double age, start = 0;
    struct buf who = {0};
    fact_number(s, "", "start_ns", 0, &start);
    bool at = fact_number(s, "job", "rss_peak_age_ns", 0, &age);
    if (with_holders)
        holders(s, "rss_peak_held_by", &who);
    fact_peak(c, s, "rss_peak_bytes", at ? (uint64_t)(start + age) : curve->max_ns, curve,
              who.len && !who.failed ? (const char *)who.at : NULL);
    buf_done(&who);
}

void decorate_cpu(struct chart *c, const struct baro_summary *s, const struct limit_history *limits)
{
    const struct chart_curve *total = curve_of(c, CHART_TOTAL);
    cores_limit(c, s, limits);
    if (total)
        fact_peak(c, s, "cores_peak", total->max_ns, total, NULL);
}

void decorate_memory(struct chart *c, const struct baro_summary *s, const struct limit_history *limits)
{
    const struct chart_curve *total = curve_of(c, CHART_TOTAL);
    memory_limit(c, s, limits);
    if (total)
        rss_peak(c, s, total, true);
}

void decorate_memory_kinds(struct chart *c, const struct baro_summary *s, const struct limit_history *limits)
{
    const struct chart_curve *rss = curve_named(c, "RSS");
    memory_limit(c, s, limits);
    if (rss)
        rss_peak(c, s, rss, false);
}

static void machine_memory(struct chart *c, const struct baro_summary *s, const char *name)
{
    double bytes;
    if (fact_number(s, "host", "memory_total_bytes", 0, &bytes) && bytes > 0)
        chart_add_limit(c, name, bytes);
}

void decorate_footprint(struct chart *c, const struct baro_summary *s, const struct limit_history *limits)
{
    (void)limits;
    const struct chart_curve *total = curve_of(c, CHART_TOTAL);
    machine_memory(c, s, "machine");
    if (total)
        fact_peak(c, s, "uss_peak_bytes", total->max_ns, total, NULL);
}

void decorate_threads(struct chart *c, const struct baro_summary *s, const struct limit_history *limits)
{
    double pids;
    if (fact_number(s, "limits", "pids", 0, &pids) && pids > 0)
        chart_add_limit_steps(c, "limit of threads", pids, limits, offsetof(struct limit_change, pids));
    const struct chart_curve *processes = curve_named(c, "processes");
    if (processes)
        fact_peak(c, s, "processes_peak", processes->max_ns, processes, "processes");
}

void decorate_host_cpu(struct chart *c, const struct baro_summary *s, const struct limit_history *limits)
{
    (void)limits;
    double cores;
    if (fact_number(s, "host", "cores", 0, &cores))
        chart_add_limit(c, "all CPUs", cores);
    if (!curve_named(c, "the job") && c->n_curves && strcmp(c->curves[0].name, ALL_ELSE) == 0)
        chart_rename_curve(&c->curves[0], IN_USE);
}

bool chart_rename_curve(struct chart_curve *curve, const char *name)
{
    char *copy = strdup(name);
    if (copy) {
        free(curve->name);
        curve->name = copy;
    }
    return copy != NULL;
}

void decorate_host_memory(struct chart *c, const struct baro_summary *s, const struct limit_history *limits)
{
    (void)limits;
    machine_memory(c, s, "all memory");
}
