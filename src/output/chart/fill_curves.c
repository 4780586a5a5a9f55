/* SPDX-License-Identifier: Apache-2.0 */
/* One walk over a tape fills all curves of all charts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "output/chart/figure_parts.h"

/* ---- spans ---- */

/* Makes the spans that are drawn over charts from the phases, marks and events of a timeline. */

#define EVENTS_MOST 200u /* lines of events; more would cover the chart */

static bool is_gap(const struct baro_timeline_item *item)
{
    return strcmp(item->name, "gap") == 0 || strcmp(item->name, "suspend") == 0;
}

/* Fills spans, which figures_free() frees, also after a failure. Returns 0 or -ENOMEM. */
static int spans_of_timeline(const struct baro_timeline *timeline, struct chart_spans *ret)
{
    size_t n = baro_timeline_count(timeline), events = 0;
    struct chart_phase_colors colors = {.n = 0};
    ret->at = calloc(n ? n : 1, sizeof(*ret->at));
    ret->lanes = (unsigned)baro_timeline_lanes(timeline);
    for (size_t i = 0; ret->at && i < n; i++) {
        const struct baro_timeline_item *item = baro_timeline_get(timeline, i);
        struct chart_span span = {.begin_ns = item->begin_ns, .end_ns = item->end_ns, .bad = item->is_problem};
        if (item->kind == BARO_TIMELINE_PHASE) {
            span.lane = (unsigned)item->depth;
            span.color = chart_phase_color(&colors, item->name);
        } else if (item->kind == BARO_TIMELINE_MARK)
            span.kind = CHART_MARK;
        else if (is_gap(item))
            span.kind = CHART_GAP;
        else if (item->is_problem && events++ < EVENTS_MOST)
            span.kind = CHART_EVENT;
        else
            continue;
        span.text = strdup(item->kind == BARO_TIMELINE_PHASE ? item->name : item->text);
        if (!span.text)
            return -ENOMEM;
        ret->at[ret->n++] = span;
    }
    return ret->at ? 0 : -ENOMEM;
}

#define BUCKETS_DEFAULT 400u
#define OTHERS_LEAST 0.002 /* share of the highest total: other commands that never exceed it are left out */

int making_chart(struct making *m, const char *id, const char *title, const char *help, enum chart_unit unit)
{
    struct chart_set *f = m->figures;
    struct chart *grown = realloc(f->charts, (f->n + 1) * sizeof(*grown));
    if (!grown) {
        m->failed = -ENOMEM;
        return -1;
    }
    f->charts = grown;
    struct chart *c = &grown[f->n];
    *c = (struct chart){.id = strdup(id),
                        .title = strdup(title),
                        .help = strdup(help),
                        .unit = unit,
                        .from_ns = m->from_ns,
                        .to_ns = m->to_ns,
                        .start_ns = m->start_ns,
                        .buckets = m->buckets};
    f->n++;
    if (!c->id || !c->title || !c->help)
        m->failed = -ENOMEM;
    return (int)f->n - 1;
}

/* Returns the factor for values and rates, which a series holds in the unit in which they are stored. */
static double stored_scale(const struct baro_metric *m)
{
    switch (m ? m->unit : BARO_UNIT_NONE) {
    case BARO_UNIT_RATIO:
    case BARO_UNIT_JOULES:
    case BARO_UNIT_WATTS:
    case BARO_UNIT_DECIMAL: return 1e-6;
    case BARO_UNIT_CELSIUS: return 1e-3;
    case BARO_UNIT_NS: return 1e-9;
    default: return 1;
    }
}

/* Adds the curve to the series and sets scale and most. Returns its number, or a negative code if there is no such
 * metric. */
static int add_series(struct making *m, const struct curve_row *row, uint32_t id, const char *name,
                      struct curve_source *feed)
{
    feed->scale = 1;
    if (row->how == ROW_COUNT)
        return baro_series_add_count(m->series, row->kind, name, NULL);
    if (row->how == ROW_DERIVED) {
        int i = baro_derived_find(row->kind, row->metric);
        const struct baro_derived *d = baro_derived_get(row->kind, i);
        feed->scale = d && strcmp(d->unit, "ns") == 0 ? 1e-9 : 1;
        feed->most = d && strcmp(d->unit, "ratio") == 0 && (d->per || name || row->kind == BARO_KIND_HOST) ? 1 : 0;
        return i < 0 ? i : baro_series_add_derived(m->series, row->kind, 0, name, i, NULL);
    }
    int metric = baro_tape_metric_find(m->tape, row->kind, row->metric);
    if (metric < 0)
        return metric;
    feed->scale = stored_scale(baro_tape_metric(m->tape, row->kind, metric));
    return row->how == ROW_VALUE ? baro_series_add_value(m->series, row->kind, id, name, metric, NULL)
                                 : baro_series_add_rate(m->series, row->kind, id, name, metric, NULL);
}

bool making_curve(struct making *m, size_t chart, const struct curve_row *row, const char *title, uint32_t id,
                  const char *name, unsigned color)
{
    struct curve_source feed = {.chart = chart, .cumulative = row->how == ROW_CUMULATIVE};
    feed.series = add_series(m, row, id, name, &feed);
    if (feed.series == -ENOMEM)
        m->failed = -ENOMEM;
    if (feed.series < 0 || m->failed < 0)
        return false;
    struct curve_source *grown = realloc(m->feeds, (m->n_feeds + 1) * sizeof(*grown));
    m->feeds = grown ? grown : m->feeds;
    struct chart *c = &m->figures->charts[chart];
    if (!grown || !chart_add_curve(c, title, row->shape, color)) {
        m->failed = -ENOMEM;
        return false;
    }
    feed.curve = c->n_curves - 1;
    m->feeds[m->n_feeds++] = feed;
    return true;
}

/* ---- filling ---- */

static double of(const struct curve_source *feed, double v)
{
    v *= feed->scale;
    return feed->most > 0 && v > feed->most ? feed->most : v;
}

static void fill_curve(const struct making *m, const struct curve_source *feed)
{
    struct chart_curve *curve = &m->figures->charts[feed->chart].curves[feed->curve];
    double so_far = 0;
    for (size_t i = 0; i < m->buckets; i++) {
        const struct baro_bucket *from = baro_series_bucket(m->series, feed->series, i);
        struct chart_bucket *to = &curve->at[i];
        bool known = from && (from->covered_ns > 0 || (m->keeps_empty && from->points)),
             unsure = from && !known && from->unsure_ns > 0;
        if (feed->cumulative) {
            double before = so_far;
            so_far += known ? from->mean * feed->scale * (double)from->covered_ns / 1e9 : 0;
            *to = (struct chart_bucket){
                .known = known, .min = before, .max = so_far, .mean = (before + so_far) / 2, .last = so_far};
        } else if (known) {
            *to = (struct chart_bucket){.known = true,
                                        .min = of(feed, from->min),
                                        .max = of(feed, from->max),
                                        .mean = of(feed, from->mean),
                                        .last = of(feed, from->last)};
        } else if (unsure) {
            double low = of(feed, from->low);
            *to = (struct chart_bucket){.known = true,
                                        .min = low,
                                        .max = low,
                                        .mean = low,
                                        .last = low,
                                        .is_bound = true,
                                        .high = of(feed, from->high)};
        }
        to->at_least = from && !feed->cumulative ? of(feed, from->at_least) : 0;
    }
}

static double above_zero(double v)
{
    return v > 0 ? v : 0;
}

/* Fills the curve of all others: the total minus the stacked curves. */
static void fill_others(const struct chart *c, struct chart_curve *others, const struct chart_curve *total)
{
    for (size_t i = 0; i < c->buckets; i++) {
        double mean = 0, last = 0;
        bool known = total->at[i].known;
        for (const struct chart_curve *k = c->curves; k < others; k++) {
            if (k->shape == CHART_STACK && k->at[i].known) {
                mean += k->at[i].mean;
                last += k->at[i].last;
            }
        }
        if (!known)
            continue;
        mean = above_zero(total->at[i].mean - mean);
        others->at[i] = (struct chart_bucket){
            .known = true, .min = mean, .max = mean, .mean = mean, .last = above_zero(total->at[i].last - last)};
    }
}

static void remove_curve(struct chart *c, size_t i)
{
    free(c->curves[i].name);
    free(c->curves[i].at);
    memmove(&c->curves[i], &c->curves[i + 1], (c->n_curves - i - 1) * sizeof(*c->curves));
    c->n_curves--;
}

/* Leaves out curves of commands that have no values, and of others that are nearly 0. */
static void leave_out_empty(struct chart *c)
{
    double total = 0;
    bool known = false;
    for (size_t i = 0; i < c->n_curves; i++) {
        known = known || c->curves[i].known;
        total = c->curves[i].shape == CHART_TOTAL ? c->curves[i].max : total;
    }
    for (size_t i = c->n_curves; i-- > 0;) {
        const struct chart_curve *curve = &c->curves[i];
        bool others = curve->shape == CHART_STACK && curve->color == CHART_COLOR_OTHERS;
        if (!curve->known || (curve->max <= 0 && (others || c->n_curves > 2)) ||
            (others && curve->max < total * OTHERS_LEAST))
            remove_curve(c, i);
    }
    if (!known || !c->n_curves)
        c->absent = strdup("no sample has the values");
}

static void finish_chart(struct chart *c, bool keeps_empty)
{
    struct chart_curve *others = NULL, *total = NULL;
    for (size_t i = 0; i < c->n_curves; i++) {
        if (c->curves[i].shape == CHART_STACK && c->curves[i].color == CHART_COLOR_OTHERS)
            others = &c->curves[i];
        if (c->curves[i].shape == CHART_TOTAL)
            total = &c->curves[i];
    }
    if (others && total)
        fill_others(c, others, total);
    chart_finish(c);
    if (!keeps_empty)
        leave_out_empty(c);
}

/* ---- the walk ---- */

int making_begin(struct making *m)
{
    int r = 0;
    m->summary = m->options->summary;
    m->timeline = m->options->timeline;
    if (!m->summary || !m->timeline)
        r = baro_fold_of_tape(m->tape, BARO_FOLD_TIMELINE, &m->own, m->err);
    if (r >= 0 && m->own) {
        m->summary = m->summary ? m->summary : baro_fold_summary(m->own);
        m->timeline = m->timeline ? m->timeline : baro_fold_timeline(m->own);
    }
    return r;
}

void making_done(struct making *m)
{
    baro_fold_free(m->own);
}

static int find_range(struct making *m)
{
    const struct figure_options *o = m->options;
    uint64_t first = 0, last = 0;
    double start = 0, wall = 0, removed = 0, stretch = 0;
    int r = baro_tape_range(m->tape, &first, &last, m->err);
    if (r < 0)
        return r;
    fact_number(m->summary, "", "start_ns", 0, &start);
    fact_number(m->summary, "", "wall_ns", 0, &wall);
    fact_number(m->summary, "", "removed_ns", 0, &removed);
    /* Times of a stretch count from where the recording began, as those of --at. */
    m->start_ns = fact_number(m->summary, "", "is_stretch", 0, &stretch) && stretch > 0 ? 0 : (uint64_t)start;
    m->from_ns = (uint64_t)(removed > start ? removed : start);
    m->to_ns = (uint64_t)start + (uint64_t)wall;
    m->to_ns = r > 0 && last > m->to_ns ? last : m->to_ns;
    if (o->to_ns) {
        m->from_ns = o->from_ns;
        m->to_ns = o->to_ns;
    }
    if (m->to_ns <= m->from_ns && o->to_ns)
        return error_set(m->err, BARO_E_RANGE, "the stretch of time is empty");
    if (m->to_ns <= m->from_ns)
        m->to_ns = m->from_ns + 1;
    m->buckets = o->buckets ? o->buckets : BUCKETS_DEFAULT;
    if (m->buckets > m->to_ns - m->from_ns)
        m->buckets = (size_t)(m->to_ns - m->from_ns);
    return 0;
}

int making_run(struct making *m, int (*add)(struct making *m, void *context), void *context, struct chart_set **ret)
{
    m->figures = calloc(1, sizeof(*m->figures));
    int r = m->figures ? find_range(m) : error_set(m->err, -ENOMEM, "out of memory");
    if (r >= 0)
        r = baro_series_new(&m->series, m->from_ns, m->to_ns, m->buckets, m->err);
    if (r >= 0)
        r = baro_tape_read_kinds(m->tape, m->err);
    if (r >= 0) {
        r = add(m, context);
        r = r >= 0 && m->failed < 0 ? m->failed : r;
        if (r == -ENOMEM)
            error_set(m->err, r, "out of memory");
    }
    if (r >= 0)
        r = baro_series_read(m->series, m->tape, m->err);
    if (r >= 0) {
        for (size_t i = 0; i < m->n_feeds; i++)
            fill_curve(m, &m->feeds[i]);
        for (size_t i = 0; i < m->figures->n; i++) {
            finish_chart(&m->figures->charts[i], m->keeps_empty);
            m->figures->charts[i].spans = &m->figures->spans;
        }
        r = spans_of_timeline(m->timeline, &m->figures->spans);
    }
    if (r >= 0)
        *ret = m->figures;
    else
        figures_free(m->figures);
    baro_series_free(m->series);
    free(m->feeds);
    return r < 0 ? r : 0;
}
