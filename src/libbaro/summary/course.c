/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/summary/course.h"

#include "base/clock.h"
#include "libbaro/interval/stretches.h"

/* Adds the growth of a stretch to the buckets, to each by its share of that time. */
static void spread(struct course *c, int k, const struct stretch_grown *one)
{
    uint64_t from_ns = one->begin_ns;
    double per_ns = one->growth / (double)(one->end_ns - one->begin_ns);
    for (size_t i = from_ns / c->width_ns; from_ns < one->end_ns && i < COURSE_BUCKETS; i++) {
        uint64_t end_ns = (i + 1) * c->width_ns < one->end_ns ? (i + 1) * c->width_ns : one->end_ns;
        c->grown[k][i] += per_ns * (double)(end_ns - from_ns);
        from_ns = end_ns;
    }
}

/* Growth is spread over at least GROWTH_SHORT_NS; the last stretch may be shorter. */
static void make_growth(struct course *c, const struct points *p, int k, enum fold_term term, double most)
{
    struct stretches held = {.most = most};
    struct stretch_grown ready;
    struct growth g = {0};
    const struct fold_row *last = NULL;
    for (size_t i = 0; i <= p->n; i++) {
        bool is_end = i == p->n;
        const struct fold_row *r = is_end ? last : &p->at[i].row;
        if (!r || r->absent[term] != BARO_PRESENT || r->t_ns < c->origin_ns)
            continue;
        last = r;
        c->is_known[k] = true;
        uint64_t begin_ns, by;
        if (!growth_take(&g, r->t_ns, r->value[term], is_end ? 1 : GROWTH_SHORT_NS, &begin_ns, &by))
            continue;
        struct stretch_grown one = {begin_ns - c->origin_ns, r->t_ns - c->origin_ns, (double)by};
        if (stretches_add(&held, one, &ready))
            spread(c, k, &ready);
    }
    while (stretches_take(&held, &ready))
        spread(c, k, &ready);
}

/* A value holds until the next sample. */
static void make_gauge(struct course *c, const struct points *p, int k)
{
    uint64_t held = 0, since_ns = c->origin_ns;
    for (size_t i = p->has_start; i < p->n; i++) {
        const struct point *at = &p->at[i];
        if (at->row.t_ns < c->origin_ns)
            continue;
        uint64_t now = k == COURSE_RSS ? at->most_rss : at->most_pss, most = held > now ? held : now;
        size_t from = (since_ns - c->origin_ns) / c->width_ns, to = (at->row.t_ns - c->origin_ns) / c->width_ns;
        for (size_t b = from; b <= to && b < COURSE_BUCKETS; b++) {
            uint64_t in = b == to ? most : held;
            c->most[k][b] = in > c->most[k][b] ? in : c->most[k][b];
        }
        held = now;
        since_ns = at->row.t_ns;
    }
}

void course_make(struct course *c, const struct points *p, uint64_t origin_ns, uint32_t cpus)
{
    *c = (struct course){.origin_ns = origin_ns, .width_ns = NS_PER_MS};
    if (p->n <= p->has_start || p->at[p->n - 1].row.t_ns < origin_ns)
        return;
    c->any = true;
    c->end_ns = p->at[p->n - 1].row.t_ns - origin_ns;
    while (c->end_ns / c->width_ns >= COURSE_BUCKETS)
        c->width_ns *= 2;
    make_growth(c, p, COURSE_CPU, FOLD_CPU, cpus);
    make_growth(c, p, COURSE_IO, FOLD_CALLED, 0);
    for (int k = 0; k < COURSE_GAUGES; k++)
        make_gauge(c, p, k);
}

size_t course_buckets(const struct course *c)
{
    return c->any ? c->end_ns / c->width_ns + 1 : 0;
}

double course_rate(const struct course *c, enum course_growth of, size_t bucket)
{
    uint64_t begin_ns = bucket * c->width_ns, length_ns = c->width_ns;
    if (c->end_ns - begin_ns < length_ns && c->end_ns > begin_ns)
        length_ns = c->end_ns - begin_ns; /* the last stretch: nothing grew after the end */
    double rate = c->grown[of][bucket] * 1e9 / (double)length_ns;
    return rate > 0 ? rate : 0; /* growth that was added and taken back may leave a rest below 0 */
}
