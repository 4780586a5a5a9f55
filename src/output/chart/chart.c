/* SPDX-License-Identifier: Apache-2.0 */
/* Charts as data. */
#include "output/chart/chart.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "baro/summary.h"

#define LIMIT_NEAR 1.6 /* a limit up to this many times the highest value is drawn as a line */

static void *grow_list(void **list, size_t n, size_t size)
{
    /* Grows to the next power of two whenever n is one. */
    if (n && (n & (n - 1)))
        return *list;
    void *grown = realloc(*list, (n ? 2 * n : 1) * size);
    if (grown)
        *list = grown;
    return grown;
}

struct chart_curve *chart_add_curve(struct chart *c, const char *name, enum chart_shape shape, unsigned color)
{
    if (!grow_list((void **)&c->curves, c->n_curves, sizeof(*c->curves)))
        return NULL;
    struct chart_curve curve = {.name = strdup(name), .shape = shape, .color = color};
    curve.at = calloc(c->buckets ? c->buckets : 1, sizeof(*curve.at));
    if (!curve.name || !curve.at) {
        free(curve.name);
        free(curve.at);
        return NULL;
    }
    c->curves[c->n_curves] = curve;
    return &c->curves[c->n_curves++];
}

int chart_add_limit(struct chart *c, const char *name, double value)
{
    char *copy = strdup(name);
    if (!copy || !grow_list((void **)&c->limits, c->n_limits, sizeof(*c->limits))) {
        free(copy);
        return -ENOMEM;
    }
    c->limits[c->n_limits++] = (struct chart_limit){.name = copy, .value = value};
    return 0;
}

int chart_add_mark(struct chart *c, uint64_t t_ns, double value, const char *text)
{
    char *copy = strdup(text);
    if (!copy || !grow_list((void **)&c->marks, c->n_marks, sizeof(*c->marks))) {
        free(copy);
        return -ENOMEM;
    }
    c->marks[c->n_marks++] = (struct chart_mark){.t_ns = t_ns, .value = value, .text = copy};
    return 0;
}

void chart_done(struct chart *c)
{
    for (size_t i = 0; i < c->n_curves; i++) {
        free(c->curves[i].name);
        free(c->curves[i].at);
    }
    for (size_t i = 0; i < c->n_limits; i++) {
        free(c->limits[i].name);
        free(c->limits[i].at);
    }
    for (size_t i = 0; i < c->n_marks; i++)
        free(c->marks[i].text);
    free(c->curves);
    free(c->limits);
    free(c->marks);
    free(c->id);
    free(c->title);
    free(c->help);
    free(c->absent);
    *c = (struct chart){0};
}

uint64_t chart_bucket_ns(const struct chart *c, size_t i)
{
    return c->from_ns + (uint64_t)((unsigned __int128)(c->to_ns - c->from_ns) * i / c->buckets);
}

static void survey(const struct chart *c, struct chart_curve *curve)
{
    curve->known = curve->has_whole = curve->has_bounds = curve->max_is_bound = false;
    for (size_t i = 0; i < c->buckets; i++) {
        curve->known = curve->known || curve->at[i].known;
        curve->has_whole = curve->has_whole || chart_is_whole(&curve->at[i]);
        curve->has_bounds = curve->has_bounds || (curve->at[i].known && curve->at[i].is_bound);
    }
}

/* Returns a lower bound of the highest value. A stale sum is no lower bound, but is taken if there is nothing
 * better. */
static double highest_of(const struct chart_bucket *b, bool has_better)
{
    double most = !b->is_bound || !has_better ? b->max : 0;
    return b->at_least > most ? b->at_least : most;
}

static void finish_curve(const struct chart *c, struct chart_curve *curve)
{
    double sum = 0, high = 0;
    size_t n = 0;
    survey(c, curve);
    curve->max = 0;
    for (size_t i = 0; i < c->buckets; i++) {
        const struct chart_bucket *b = &curve->at[i];
        high = b->known && b->is_bound && b->high > high ? b->high : high;
        if (!b->known || (b->is_bound && curve->has_whole && b->at_least <= 0))
            continue;
        double most = highest_of(b, curve->has_whole);
        if (!n || most > curve->max) {
            curve->max = most;
            curve->max_ns = (chart_bucket_ns(c, i) + chart_bucket_ns(c, i + 1)) / 2;
            curve->max_is_bound = b->is_bound || b->at_least > b->max;
        }
        curve->last = b->last;
        sum += b->mean;
        n++;
    }
    curve->max_is_bound = curve->max_is_bound || high > curve->max;
    curve->mean = n ? sum / (double)n : 0;
}

void chart_finish(struct chart *c)
{
    for (size_t i = 0; i < c->n_curves; i++)
        finish_curve(c, &c->curves[i]);
}

/* The sum of stacked means. */
static double stack_top(const struct chart *c)
{
    double top = 0;
    for (size_t i = 0; i < c->buckets; i++) {
        double sum = 0;
        for (size_t k = 0; k < c->n_curves; k++) {
            if (c->curves[k].shape == CHART_STACK && c->curves[k].at[i].known)
                sum += c->curves[k].at[i].mean;
        }
        top = sum > top ? sum : top;
    }
    return top;
}

/* Returns the highest value of the buckets with bounds: a stale sum may exceed what counts as the highest value of
 * the curve. */
static double bounds_top(const struct chart *c, const struct chart_curve *curve)
{
    double top = 0;
    for (size_t i = 0; curve->has_bounds && i < c->buckets; i++)
        top = curve->at[i].known && curve->at[i].is_bound && curve->at[i].max > top ? curve->at[i].max : top;
    return top;
}

static double values_top(const struct chart *c)
{
    double top = stack_top(c);
    for (size_t i = 0; i < c->n_curves; i++) {
        double bounds = c->curves[i].shape != CHART_STACK ? bounds_top(c, &c->curves[i]) : 0;
        top = bounds > top ? bounds : top;
    }
    for (size_t i = 0; i < c->n_curves; i++) {
        if (c->curves[i].shape != CHART_STACK && c->curves[i].known && c->curves[i].max > top)
            top = c->curves[i].max;
    }
    for (size_t i = 0; i < c->n_marks; i++)
        top = c->marks[i].value > top ? c->marks[i].value : top;
    return top;
}

void chart_max_text(enum chart_unit unit, const struct chart_curve *curve, struct buf *ret)
{
    buf_str(ret, baro_value_prefix(curve->max_is_bound ? BARO_VALUE_LOWER_BOUND : 0, BARO_PREFIX_SYMBOL));
    chart_value_text(unit, curve->max, ret);
}

size_t chart_limit_steps(const struct chart *c, const struct chart_limit *limit,
                         struct chart_step ret[CHART_STEPS_MOST])
{
    double most = LIMIT_NEAR * values_top(c);
    size_t n = 0;
    for (size_t i = 0, to; i < c->buckets; i = to) {
        double value = limit->at ? limit->at[i] : limit->value;
        for (to = limit->at ? i + 1 : c->buckets; to < c->buckets && limit->at[to] == value;)
            to++;
        if (value > 0 && value <= most && n < CHART_STEPS_MOST)
            ret[n++] = (struct chart_step){i, to, value};
    }
    return n;
}

bool chart_limit_is_drawn(const struct chart *c, const struct chart_limit *limit)
{
    struct chart_step steps[CHART_STEPS_MOST];
    return chart_limit_steps(c, limit, steps) > 0;
}

static void limit_value(const struct chart *c, double value, struct buf *ret)
{
    if (value > 0)
        chart_value_text(c->unit, value, ret);
    else
        buf_str(ret, "none");
}

void chart_limit_text(const struct chart *c, const struct chart_limit *limit, struct buf *ret)
{
    if (!limit->at || !c->buckets) {
        chart_value_text(c->unit, limit->value, ret);
        return;
    }
    double first = limit->at[0], last = limit->at[c->buckets - 1];
    limit_value(c, first, ret);
    if (last != first) {
        buf_str(ret, ", then ");
        limit_value(c, last, ret);
    }
}

#define FLAT 0.02 /* share of the axis */

bool chart_is_flat(const struct chart *c)
{
    double top = chart_top(c);
    for (size_t i = 0; i < c->n_limits; i++) {
        if (chart_limit_is_drawn(c, &c->limits[i]))
            return false;
    }
    for (size_t k = 0; k < c->n_curves; k++) {
        const struct chart_curve *curve = &c->curves[k];
        for (size_t i = 0; curve->known && i < c->buckets; i++) {
            if (curve->at[i].known && curve->max - curve->at[i].min > FLAT * top)
                return false;
        }
    }
    return true;
}

double chart_below_mark(const struct chart *c, const struct chart_mark *mark)
{
    double sum = 0, best = 0, span = (double)(c->to_ns - c->from_ns);
    size_t i = (size_t)((double)(mark->t_ns - c->from_ns) / span * (double)c->buckets);
    i = i < c->buckets ? i : c->buckets - 1;
    for (size_t k = 0; k < c->n_curves; k++) {
        const struct chart_bucket *b = &c->curves[k].at[i];
        if (!b->known)
            continue;
        sum += c->curves[k].shape == CHART_STACK ? b->mean : 0;
        double v = c->curves[k].shape == CHART_STACK ? sum : b->max;
        best = v <= mark->value && v > best ? v : best;
    }
    return best;
}

double chart_top(const struct chart *c)
{
    double top = values_top(c);
    for (size_t i = 0; i < c->n_limits; i++) {
        struct chart_step steps[CHART_STEPS_MOST];
        size_t n = chart_limit_steps(c, &c->limits[i], steps);
        for (size_t k = 0; k < n; k++)
            top = steps[k].value > top ? steps[k].value : top;
    }
    return top;
}
