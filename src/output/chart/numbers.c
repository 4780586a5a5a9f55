/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers that the job gives with its marks, as curves: `baro mark epoch loss=0.31` makes a figure "loss" with a curve
 * "epoch". A value holds until the next mark with that number.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "output/chart/figure_parts.h"

#define FIGURES_MOST 12u
#define CURVES_MOST 8u /* curves of one number */
#define POINTS_LEAST 2u
#define NAME_MOST 64u
#define LEAST 1e-300 /* axes go down to this */
#define MOST 1e308   /* and up to this */

/* The bucket of the last point of a curve, and how many points it has. */
struct filled {
    size_t at, n;
};

static bool attribute_number(const struct baro_attribute *a, double *ret)
{
    if (a->type != BARO_ATTRIBUTE_UNSIGNED && a->type != BARO_ATTRIBUTE_SIGNED && a->type != BARO_ATTRIBUTE_REAL)
        return false;
    *ret = a->type == BARO_ATTRIBUTE_REAL     ? a->real
           : a->type == BARO_ATTRIBUTE_SIGNED ? (double)a->i64
                                              : (double)a->u64;
    double size = *ret < 0 ? -*ret : *ret;
    *ret = size < LEAST ? 0 : *ret;
    return size <= MOST; /* nor are NaN and infinity */
}

/* "epoch 12" and "epoch 13" are points of one curve, "epoch #". */
static void curve_name(const char *mark, char ret[NAME_MOST])
{
    size_t n = 0;
    for (; *mark && n + 1 < NAME_MOST; mark++) {
        bool digit = *mark >= '0' && *mark <= '9';
        if (!digit || n == 0 || ret[n - 1] != '#')
            ret[n++] = digit ? '#' : *mark;
    }
    ret[n] = 0;
}

static struct chart *chart_of(struct chart_set *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++) {
        if (strcmp(f->charts[i].title, name) == 0)
            return &f->charts[i];
    }
    return NULL;
}

static struct chart *begin_chart(struct chart_set *f, const char *name, const struct chart *like)
{
    char id[32];
    struct chart *c = &f->charts[f->n];
    snprintf(id, sizeof(id), "mark-%zu", f->n);
    *c = (struct chart){.id = strdup(id),
                        .title = strdup(name),
                        .help = strdup("A number that the job gives with its marks"),
                        .unit = CHART_NUMBER,
                        .from_ns = like->from_ns,
                        .to_ns = like->to_ns,
                        .start_ns = like->start_ns,
                        .buckets = like->buckets,
                        .spans = like->spans};
    f->n++;
    return c->id && c->title && c->help ? c : NULL;
}

static struct chart_curve *curve_of(struct chart *c, const char *mark)
{
    char name[NAME_MOST];
    curve_name(mark, name);
    for (size_t i = 0; i < c->n_curves; i++) {
        if (strcmp(c->curves[i].name, name) == 0)
            return &c->curves[i];
    }
    return c->n_curves < CURVES_MOST ? chart_add_curve(c, name, CHART_LINE, (unsigned)(c->n_curves % CHART_COLORS))
                                     : NULL;
}

static struct chart_bucket held(double v)
{
    return (struct chart_bucket){.known = true, .min = v, .max = v, .mean = v, .last = v};
}

/* Adds a point. The previous value holds up to its bucket. A bucket with several points has their minimum, maximum
 * and mean. */
static void add_point(const struct chart *c, struct chart_curve *curve, struct filled *last, uint64_t t_ns, double v)
{
    if (t_ns < c->from_ns || t_ns > c->to_ns)
        return;
    size_t at = (size_t)((double)(t_ns - c->from_ns) / (double)(c->to_ns - c->from_ns) * (double)c->buckets), i;
    at = at < c->buckets ? at : c->buckets - 1;
    for (i = at; i > 0 && !curve->at[i].known; i--)
        ;
    const double before = curve->at[i].last;
    for (size_t k = i + 1; curve->at[i].known && k < at; k++)
        curve->at[k] = held(before);
    struct chart_bucket *b = &curve->at[at];
    if (!b->known)
        *b = held(v);
    *last = (struct filled){at, last->n && last->at == at ? last->n + 1 : 1};
    b->min = v < b->min ? v : b->min;
    b->max = v > b->max ? v : b->max;
    b->mean += (v - b->mean) / (double)last->n;
    b->last = v;
}

/* Leaves out charts in which every number came only once: a single point is no curve. */
static void leave_out_points(struct chart_set *f, const size_t *points)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (points[i] < POINTS_LEAST)
            chart_done(&f->charts[i]);
        else
            f->charts[n++] = f->charts[i];
    }
    f->n = n;
}

static void finish_numbers(struct chart *c)
{
    double least = 0;
    for (size_t k = 0; k < c->n_curves; k++) {
        for (size_t i = 0; i < c->buckets; i++)
            least = c->curves[k].at[i].known && c->curves[k].at[i].min < least ? c->curves[k].at[i].min : least;
    }
    chart_finish(c);
    if (least < 0) /* axes begin at 0 */
        c->absent = strdup("it has values below 0");
}

static bool add_mark(struct chart_set *f, const struct baro_timeline_item *item, const struct chart *like,
                     const char *only, size_t *points, struct filled (*last)[CURVES_MOST])
{
    for (size_t k = 0; k < item->attribute_count; k++) {
        const struct baro_attribute *a = &item->attribute[k];
        double v;
        if (!attribute_number(a, &v) || (only && strcmp(only, a->name) != 0))
            continue;
        struct chart *c = chart_of(f, a->name);
        if (!c && f->n == FIGURES_MOST)
            continue;
        c = c ? c : begin_chart(f, a->name, like);
        struct chart_curve *curve = c ? curve_of(c, item->name) : NULL;
        if (!c || (!curve && c->n_curves < CURVES_MOST))
            return false;
        points[c - f->charts]++;
        if (curve)
            add_point(c, curve, &last[c - f->charts][curve - c->curves], item->begin_ns, v);
    }
    return true;
}

int figures_of_marks(const struct baro_timeline *timeline, const struct chart *like, const char *only,
                     struct chart_set **ret, struct baro_error *err)
{
    size_t points[FIGURES_MOST] = {0};
    struct filled last[FIGURES_MOST][CURVES_MOST] = {0};
    struct chart_set *f = calloc(1, sizeof(*f));
    bool ok = f && (f->charts = calloc(FIGURES_MOST, sizeof(*f->charts)));
    for (size_t i = 0; ok && i < baro_timeline_count(timeline); i++) {
        const struct baro_timeline_item *item = baro_timeline_get(timeline, i);
        ok = item->kind != BARO_TIMELINE_MARK || add_mark(f, item, like, only, points, last);
    }
    if (!ok) {
        figures_free(f);
        return error_set(err, -ENOMEM, "out of memory");
    }
    leave_out_points(f, points);
    for (size_t i = 0; i < f->n; i++)
        finish_numbers(&f->charts[i]);
    *ret = f;
    return 0;
}
