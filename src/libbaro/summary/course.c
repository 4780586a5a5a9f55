/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/summary/course.h"

#include <string.h>

#include "base/clock.h"

/* The kernel counts much in steps of 10 ms, so growth is spread over at least this time, as in series/series.c. */
#define RATE_OVER STRETCHES_SHORT_NS
#define WIDTH_FIRST NS_PER_MS
#define WIDTH_MOST (UINT64_MAX / (2 * COURSE_BUCKETS))

void course_init(struct course *c, bool from_start, uint32_t cpus)
{
    *c = (struct course){.width_ns = WIDTH_FIRST};
    for (int k = 0; k < COURSE_GROWTHS; k++)
        c->since[k].known = from_start;
    c->limit[COURSE_CPU] = cpus;
}

/* Merges each two buckets into one. */
static void fold(struct course *c)
{
    size_t half = COURSE_BUCKETS / 2;
    for (size_t i = 0; i < half; i++) {
        for (int k = 0; k < COURSE_GROWTHS; k++)
            c->grown[k][i] = c->grown[k][2 * i] + c->grown[k][2 * i + 1];
        for (int k = 0; k < COURSE_GAUGES; k++) {
            uint64_t a = c->most[k][2 * i], b = c->most[k][2 * i + 1];
            c->most[k][i] = a > b ? a : b;
        }
    }
    for (int k = 0; k < COURSE_GROWTHS; k++)
        memset(&c->grown[k][half], 0, half * sizeof(c->grown[k][0]));
    for (int k = 0; k < COURSE_GAUGES; k++)
        memset(&c->most[k][half], 0, half * sizeof(c->most[k][0]));
    c->width_ns *= 2;
}

/* Adds the growth between two times to the buckets, to each by its share of that time. */
static void spread(struct course *c, int k, uint64_t from_ns, uint64_t to_ns, double growth)
{
    double per_ns = growth / (double)(to_ns - from_ns);
    for (size_t i = from_ns / c->width_ns; from_ns < to_ns && i < COURSE_BUCKETS; i++) {
        uint64_t end_ns = (i + 1) * c->width_ns < to_ns ? (i + 1) * c->width_ns : to_ns;
        c->grown[k][i] += per_ns * (double)(end_ns - from_ns);
        from_ns = end_ns;
    }
}

/* Growth beyond what a bucket can hold was used earlier: moves it to the buckets before. */
static void carry_back(struct course *c, int k, uint64_t to_ns)
{
    double excess = 0;
    for (size_t i = (to_ns - 1) / c->width_ns + 1; i-- > 0 && c->limit[k] > 0;) {
        uint64_t begin_ns = i * c->width_ns, end_ns = begin_ns + c->width_ns < to_ns ? begin_ns + c->width_ns : to_ns;
        double most = c->limit[k] * (double)(end_ns - begin_ns);
        c->grown[k][i] += excess;
        excess = c->grown[k][i] > most ? c->grown[k][i] - most : 0;
        c->grown[k][i] -= excess;
        if (!(excess > 0) && end_ns <= c->latest[k].begin_ns)
            break;
    }
}

static void add_stretch(struct course *c, int k, struct stretch_grown one)
{
    struct stretch_grown *before = &c->latest[k];
    if (before->end_ns && stretches_are_one(before, &one)) {
        spread(c, k, before->begin_ns, before->end_ns, -before->growth);
        one.begin_ns = before->begin_ns;
        one.growth += before->growth;
    }
    spread(c, k, one.begin_ns, one.end_ns, one.growth);
    *before = one;
    carry_back(c, k, one.end_ns);
}

static void grow_course(struct course *c, int k, uint64_t t_ns, uint64_t value, uint64_t over_ns)
{
    struct course_since *s = &c->since[k];
    s->last_ns = t_ns;
    s->last_value = value;
    if (s->known && (t_ns <= s->t_ns || t_ns - s->t_ns < over_ns))
        return;
    if (s->known && t_ns > s->t_ns)
        add_stretch(c, k, (struct stretch_grown){s->t_ns, t_ns, value > s->value ? (double)(value - s->value) : 0});
    *s = (struct course_since){true, t_ns, value, t_ns, value};
}

/* Takes the value of a gauge, which holds until the next sample. counts: false for a sum of pss that lacks a process
 * or is stale, which does not describe the job. */
static void hold(struct course *c, int k, uint64_t t_ns, const struct derive_sum *sum, bool counts)
{
    struct course_held *h = &c->held[k];
    size_t now = t_ns / c->width_ns, from = h->known ? h->t_ns / c->width_ns : now;
    for (size_t i = from; h->known && i <= now; i++)
        c->most[k][i] = h->value > c->most[k][i] ? h->value : c->most[k][i];
    *h = (struct course_held){sum->absent == BARO_PRESENT && sum->members && counts, t_ns, sum->value};
    if (h->known && h->value > c->most[k][now])
        c->most[k][now] = h->value;
}

static bool read_io(const struct baro_sample *s, uint64_t *ret)
{
    *ret = s->job[JOB_io_rchar] + s->job[JOB_io_wchar];
    return s->job_absent[JOB_io_rchar] == BARO_PRESENT && s->job_absent[JOB_io_wchar] == BARO_PRESENT;
}

void course_add(struct course *c, const struct baro_sample *sample, const struct derive_sum *rss,
                const struct derive_sum *pss)
{
    uint64_t t_ns, io;
    if (!c->any && c->from_first)
        c->origin_ns = sample->t_ns;
    if (sample->t_ns < c->origin_ns)
        return;
    t_ns = sample->t_ns - c->origin_ns;
    while (t_ns / c->width_ns >= COURSE_BUCKETS && c->width_ns <= WIDTH_MOST)
        fold(c);
    if (t_ns / c->width_ns >= COURSE_BUCKETS || t_ns < c->end_ns)
        return; /* no recording takes so long, and time does not go back */
    c->any = true;
    c->end_ns = t_ns;
    if (sample->job_absent[JOB_cpu] == BARO_PRESENT)
        grow_course(c, COURSE_CPU, t_ns, sample->job[JOB_cpu], RATE_OVER);
    if (read_io(sample, &io))
        grow_course(c, COURSE_IO, t_ns, io, RATE_OVER);
    hold(c, COURSE_RSS, t_ns, rss, true);
    hold(c, COURSE_PSS, t_ns, pss, pss->covered == pss->members && !derive_is_stale(sample));
}

void course_finish(struct course *c)
{
    for (int k = 0; k < COURSE_GROWTHS; k++)
        grow_course(c, k, c->since[k].last_ns, c->since[k].last_value, 0);
}

size_t course_buckets(const struct course *c)
{
    return c->any ? c->end_ns / c->width_ns + 1 : 0;
}
