/* SPDX-License-Identifier: Apache-2.0 */
/* Curves of a chart: lines, areas, stacks and bands. */
#include <math.h>
#include <stdlib.h>

#include "output/chart/drawing.h"

/* A run of known buckets. Each value holds for its whole bucket, so curves are steps. low: NULL stands for 0. */
struct bucket_run {
    size_t begin, end;
};

static bool next_run(const struct drawing *d, const bool *known, struct bucket_run *run)
{
    size_t i = run->end;
    while (i < d->c->buckets && !known[i])
        i++;
    run->begin = i;
    while (i < d->c->buckets && known[i])
        i++;
    run->end = i;
    return run->begin < run->end;
}

static void step_line(const struct drawing *d, const double *value, const bool *known)
{
    struct bucket_run run = {0, 0};
    while (next_run(d, known, &run)) {
        d->to->move(d->to, drawing_x_of_bucket(d, run.begin), drawing_y(d, value[run.begin]));
        for (size_t i = run.begin; i < run.end; i++) {
            d->to->line(d->to, drawing_x_of_bucket(d, i), drawing_y(d, value[i]));
            d->to->line(d->to, drawing_x_of_bucket(d, i + 1), drawing_y(d, value[i]));
        }
    }
}

static void step_area(const struct drawing *d, const double *low, const double *high, const bool *known)
{
    struct bucket_run run = {0, 0};
    while (next_run(d, known, &run)) {
        d->to->move(d->to, drawing_x_of_bucket(d, run.begin), drawing_y(d, high[run.begin]));
        for (size_t i = run.begin; i < run.end; i++) {
            d->to->line(d->to, drawing_x_of_bucket(d, i), drawing_y(d, high[i]));
            d->to->line(d->to, drawing_x_of_bucket(d, i + 1), drawing_y(d, high[i]));
        }
        for (size_t i = run.end; i-- > run.begin;) {
            d->to->line(d->to, drawing_x_of_bucket(d, i + 1), drawing_y(d, low[i]));
            d->to->line(d->to, drawing_x_of_bucket(d, i), drawing_y(d, low[i]));
        }
    }
}

/* The numbers of a curve as arrays, for drawing. */
struct work {
    double *low, *high, *base; /* base: top of the stack so far */
    bool *known;
};

static bool is_apart(const struct drawing *d, double a, double b)
{
    return fabs(drawing_y(d, a) - drawing_y(d, b)) >= 0.75;
}

/* Draws a band from the minimum to the maximum where they differ. */
static void band(const struct drawing *d, const struct chart_curve *curve, struct work *w, bool from_mean)
{
    bool any = false;
    for (size_t i = 0; i < d->c->buckets; i++) {
        const struct chart_bucket *b = &curve->at[i];
        w->low[i] = from_mean ? b->mean : b->min;
        w->high[i] = b->is_bound ? b->high : b->max;
        w->known[i] = b->known && is_apart(d, w->low[i], w->high[i]);
        any = any || w->known[i];
    }
    if (!any)
        return;
    step_area(d, w->low, w->high, w->known);
    d->to->fill(d->to, (struct ink){INK_CURVE, curve->color}, FILL_BAND);
}

static void dots(const struct drawing *d, const struct chart_curve *curve)
{
    for (size_t i = 0; i < d->c->buckets; i++) {
        double x = (drawing_x_of_bucket(d, i) + drawing_x_of_bucket(d, i + 1)) / 2;
        if (curve->at[i].known)
            d->to->dot(d->to, x, drawing_y(d, curve->at[i].mean), 2.5, (struct ink){INK_CURVE, curve->color});
    }
}

static void line_curve(const struct drawing *d, const struct chart_curve *curve, struct work *w)
{
    struct ink ink = {INK_CURVE, curve->color};
    band(d, curve, w, false);
    for (size_t i = 0; i < d->c->buckets; i++) {
        w->known[i] = chart_is_whole(&curve->at[i]);
        w->high[i] = curve->at[i].mean;
        w->low[i] = 0;
    }
    if (curve->shape == CHART_AREA) {
        step_area(d, w->low, w->high, w->known);
        d->to->fill(d->to, ink, FILL_AREA);
    }
    step_line(d, w->high, w->known);
    d->to->stroke(d->to, ink, curve->shape == CHART_DASHED ? STROKE_DASHED : STROKE_LINE);
    if (!curve->has_bounds)
        return;
    for (size_t i = 0; i < d->c->buckets; i++)
        w->known[i] = curve->at[i].known && curve->at[i].is_bound;
    step_line(d, w->high, w->known);
    d->to->stroke(d->to, ink, STROKE_DASHED);
}

/* Lower bounds are drawn paler. */
static void stacked_part(const struct drawing *d, const struct chart_curve *curve, struct work *w, bool is_bound)
{
    for (size_t i = 0; i < d->c->buckets; i++)
        w->known[i] = curve->at[i].known && curve->at[i].is_bound == is_bound &&
                      fabs(drawing_y(d, w->low[i]) - drawing_y(d, w->high[i])) >= 0.05;
    step_area(d, w->low, w->high, w->known);
    d->to->fill(d->to, (struct ink){INK_CURVE, curve->color}, is_bound ? FILL_BAND : FILL_SOLID);
}

static void stacked_curve(const struct drawing *d, const struct chart_curve *curve, struct work *w)
{
    for (size_t i = 0; i < d->c->buckets; i++) {
        double mean = curve->at[i].known ? curve->at[i].mean : 0;
        w->low[i] = w->base[i];
        w->high[i] = w->base[i] + mean;
        w->base[i] = w->high[i];
    }
    stacked_part(d, curve, w, false);
    if (curve->has_bounds)
        stacked_part(d, curve, w, true);
}

void draw_curves(const struct drawing *d)
{
    size_t n = d->c->buckets;
    struct work w = {calloc(n, sizeof(double)), calloc(n, sizeof(double)), calloc(n, sizeof(double)),
                     calloc(n, sizeof(bool))};
    for (size_t i = 0; i < d->c->n_curves && w.low && w.high && w.base && w.known; i++) {
        const struct chart_curve *curve = &d->c->curves[i];
        if (!curve->known)
            continue;
        d->to->begin(d->to, CHART_PART_CURVE, curve);
        if (curve->shape == CHART_STACK)
            stacked_curve(d, curve, &w);
        else if (curve->shape == CHART_TOTAL)
            band(d, curve, &w, true);
        else if (curve->shape == CHART_DOTS)
            dots(d, curve);
        else
            line_curve(d, curve, &w);
        d->to->end(d->to);
    }
    free(w.low);
    free(w.high);
    free(w.base);
    free(w.known);
}
