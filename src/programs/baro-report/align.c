/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-report/align.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

#define PHASES_MOST 500u /* of a run: each pair of a begin or an end with one of the other run is compared */
#define PATH_MOST 256u
#define STRETCH_MOST 20 /* an instant between two phases is not drawn as wide as a phase of the other run */

/* A phase begins or ends. Example: the ends of "build" and "test" have different keys; those of two phases "epoch" the
 * same, and they are told apart by their order. */
struct turn {
    uint64_t t_ns, key;
};

struct turns {
    struct turn at[2 * PHASES_MOST];
    size_t n;
};

static int by_time(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;
    return (x->t_ns > y->t_ns) - (x->t_ns < y->t_ns);
}

static uint64_t within(const struct plotted *run, uint64_t t_ns)
{
    return t_ns < run->start_ns ? run->start_ns : t_ns > run->end_ns ? run->end_ns : t_ns;
}

/* Returns false if there are too many. depth: deeper phases are left out. */
static bool read_turns(const struct plotted *run, int depth, struct turns *ret)
{
    const struct baro_timeline *t = baro_fold_timeline(run->fold);
    ret->n = 0;
    for (size_t i = 0; i < baro_timeline_count(t); i++) {
        const struct baro_timeline_item *item = baro_timeline_get(t, i);
        char path[PATH_MOST] = "";
        if (item->kind != BARO_TIMELINE_PHASE || item->depth > depth)
            continue;
        if (ret->n == 2 * PHASES_MOST)
            return false;
        baro_timeline_path(t, i, path, sizeof(path));
        uint64_t key = map_hash(path, strlen(path)) & ~(uint64_t)1;
        ret->at[ret->n++] = (struct turn){within(run, item->begin_ns), key};
        ret->at[ret->n++] = (struct turn){within(run, item->end_ns), key | 1};
    }
    qsort(ret->at, ret->n, sizeof(*ret->at), by_time);
    return true;
}

/* Adds a point behind the others; the stretch before it is as wide as the longer one. */
static void add_point(struct align *a, uint64_t before_ns, uint64_t after_ns)
{
    struct align_point *last = a->n ? &a->at[a->n - 1] : NULL;
    uint64_t one = last ? before_ns - last->t_ns[0] : 0, other = last ? after_ns - last->t_ns[1] : 0;
    a->at[a->n++] = (struct align_point){{before_ns, after_ns}, (last ? last->x_ns : 0) + (one > other ? one : other)};
}

/* Adds the longest common subsequence of both: as few turns as possible have no partner. */
static bool add_common(struct align *a, const struct turns *x, const struct turns *y)
{
    size_t across = y->n + 1;
    uint16_t *best = calloc((x->n + 1) * across, sizeof(*best)); /* of what follows turn i and turn k */
    if (!best)
        return false;
    for (size_t i = x->n; i-- > 0;) {
        for (size_t k = y->n; k-- > 0;) {
            uint16_t down = best[(i + 1) * across + k], right = best[i * across + k + 1];
            best[i * across + k] = x->at[i].key == y->at[k].key ? (uint16_t)(best[(i + 1) * across + k + 1] + 1)
                                   : down > right               ? down
                                                                : right;
        }
    }
    a->is_by_phases = best[0] > 0;
    for (size_t i = 0, k = 0; i < x->n && k < y->n;) {
        if (x->at[i].key == y->at[k].key)
            add_point(a, x->at[i++].t_ns, y->at[k++].t_ns);
        else if (best[(i + 1) * across + k] >= best[i * across + k + 1])
            i++;
        else
            k++;
    }
    free(best);
    return true;
}

int align_runs(const struct plotted runs[2], struct align *ret)
{
    struct turns *turns = calloc(2, sizeof(*turns));
    *ret = (struct align){.at = calloc(2 * PHASES_MOST + 2, sizeof(*ret->at))};
    bool has_room = turns && ret->at;
    if (has_room) {
        int depth = 100;
        while (depth >= 0 && !(read_turns(&runs[0], depth, &turns[0]) && read_turns(&runs[1], depth, &turns[1])))
            depth = depth > 3 ? 3 : depth - 1;
        add_point(ret, runs[0].start_ns, runs[1].start_ns);
        has_room = depth < 0 || add_common(ret, &turns[0], &turns[1]);
    }
    if (has_room && ret->is_by_phases) {
        add_point(ret, runs[0].end_ns, runs[1].end_ns);
    } else if (has_room) { /* one scale: the end of the shorter run is before the end of the axis */
        uint64_t one = runs[0].end_ns - runs[0].start_ns, other = runs[1].end_ns - runs[1].start_ns;
        uint64_t length = one > other ? one : other;
        add_point(ret, runs[0].start_ns + length, runs[1].start_ns + length);
    }
    free(turns);
    return has_room ? 0 : -ENOMEM;
}

void align_done(struct align *a)
{
    free(a->at);
}

static uint64_t between(uint64_t v, uint64_t from, uint64_t to, uint64_t ret_from, uint64_t ret_to)
{
    v = v < from ? from : v > to ? to : v;
    return to > from ? ret_from + (uint64_t)((unsigned __int128)(ret_to - ret_from) * (v - from) / (to - from))
                     : ret_from;
}

uint64_t align_x(const struct align *a, int side, uint64_t t_ns)
{
    size_t i = 1;
    while (i + 1 < a->n && t_ns >= a->at[i].t_ns[side])
        i++;
    const struct align_point *from = &a->at[i - 1], *to = &a->at[i];
    return between(t_ns, from->t_ns[side], to->t_ns[side], from->x_ns, to->x_ns);
}

uint64_t align_t(const struct align *a, int side, uint64_t x_ns)
{
    size_t i = 1;
    while (i + 1 < a->n && x_ns >= a->at[i].x_ns)
        i++;
    const struct align_point *from = &a->at[i - 1], *to = &a->at[i];
    return between(x_ns, from->x_ns, to->x_ns, from->t_ns[side], to->t_ns[side]);
}

/* Adds a bucket that is part of the one on the axis; weight: for how long. */
static void add_bucket(struct chart_bucket *to, const struct chart_bucket *b, double weight, double *ret_weight)
{
    if (!to->known)
        *to = (struct chart_bucket){.known = true, .min = INFINITY, .max = -INFINITY};
    to->min = fmin(to->min, b->min);
    to->max = fmax(to->max, b->max);
    to->mean = (to->mean * *ret_weight + b->mean * weight) / (*ret_weight + weight);
    to->last = b->last;
    to->is_bound = to->is_bound || b->is_bound;
    to->high = fmax(to->high, b->is_bound ? b->high : b->max);
    to->at_least = fmax(to->at_least, b->at_least);
    *ret_weight += weight;
}

void align_curve(const struct align *a, int side, const struct chart *from, const struct chart_curve *curve,
                 const struct chart *to, struct chart_curve *ret)
{
    double each = (double)(from->to_ns - from->from_ns) / (double)from->buckets;
    for (size_t i = 0; i < to->buckets; i++) {
        double begin = (double)align_t(a, side, chart_bucket_ns(to, i)), weight = 0;
        double end = fmax((double)align_t(a, side, chart_bucket_ns(to, i + 1)), begin + 1);
        if ((end - begin) * STRETCH_MOST < (double)(chart_bucket_ns(to, i + 1) - chart_bucket_ns(to, i)))
            continue;
        for (size_t k = (size_t)((begin - (double)from->from_ns) / each); k < from->buckets; k++) {
            double b = (double)from->from_ns + (double)k * each, share = fmin(b + each, end) - fmax(b, begin);
            if (b >= end)
                break;
            if (curve->at[k].known && share > 0)
                add_bucket(&ret->at[i], &curve->at[k], share, &weight);
        }
    }
}
