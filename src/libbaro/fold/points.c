/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/fold/points.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int points_init(struct points *p)
{
    *p = (struct points){.at = malloc(POINTS_MOST * sizeof(*p->at))};
    return p->at ? 0 : -ENOMEM;
}

void points_done(struct points *p)
{
    free(p->at);
    *p = (struct points){0};
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Gives the readings of a dropped point to its neighbour, as far as that has none. Example: run delay is read every
 * 3 s, and points are 3.5 s apart: the reading at 9 s is kept at 10 s. */
static void inherit(struct point *to, const struct point *of)
{
    for (int i = 0; i < FOLD_ROW; i++) {
        if (to->row.absent[i] == BARO_PRESENT)
            continue;
        to->row.value[i] = of->row.value[i];
        to->row.absent[i] = of->row.absent[i];
    }
    to->row.fell |= of->row.fell;
    to->most_rss = larger(to->most_rss, of->most_rss);
    to->most_pss = larger(to->most_pss, of->most_pss);
}

/* Drops every second point; the first and the last one stay. */
static void thin(struct points *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->n; i += 2) {
        struct point dropped = p->at[i ? i - 1 : 0];
        p->at[kept] = p->at[i];
        if (i > 1)
            inherit(&p->at[kept], &dropped);
        kept++;
    }
    p->apart_ns = p->n > 1 ? 2 * (p->at[kept - 1].row.t_ns - p->at[0].row.t_ns) / POINTS_MOST : 0;
    p->n = kept;
}

/* A point that is too near to the last one replaces it, unless that is the first point: so the last point is always the
 * last sample. */
static void append(struct points *p, const struct point *one)
{
    if (p->n > 1 && one->row.t_ns < p->at[p->n - 2].row.t_ns + p->apart_ns) {
        struct point before = p->at[p->n - 1];
        p->at[p->n - 1] = *one;
        inherit(&p->at[p->n - 1], &before);
        return;
    }
    if (p->n == POINTS_MOST)
        thin(p);
    p->at[p->n++] = *one;
}

void points_begin(struct points *p, uint64_t start_ns)
{
    struct point one = {.row.t_ns = start_ns};
    memset(one.row.absent + FOLD_OF_MACHINE, BARO_ABSENT_NOT_YET, FOLD_COUNTERS - FOLD_OF_MACHINE);
    p->has_start = true;
    append(p, &one);
}

/* Keeps a value of run delay only if it is new, that is, if run delay was read for most of the CPU time used since
 * the last new value. Between new values it is interpolated. Example: 900 threads are read every 3 s and use 2
 * cores. 2.9 s after a reading the counter is unchanged and means nothing; at the next reading it covers the 6 s of
 * CPU time since then. A tape that does not say for how much run delay was read has no lag: each of its values
 * counts as new. */
#define DELAY_READ 0.8

static void keep_new_delay(struct points *p, struct fold_row *r)
{
    if (r->absent[FOLD_DELAY_CPU] || r->absent[FOLD_CPU])
        return;
    uint64_t cpu = r->value[FOLD_CPU], read = r->value[FOLD_DELAY_CPU];
    double more = (double)read - (double)p->delay_cpu[1];
    if (more < DELAY_READ * ((double)cpu - (double)p->delay_cpu[0])) {
        r->absent[FOLD_RUN_DELAY] = BARO_ABSENT_NOT_YET;
        return;
    }
    p->delay_cpu[0] = cpu;
    p->delay_cpu[1] = read;
}

void points_add(struct points *p, const struct fold *f)
{
    const struct derive_sum *rss = &f->sum[0], *pss = &f->sum[FOLD_PSS - FOLD_RSS];
    struct point one = {.row = f->row};
    p->fell |= one.row.fell;
    one.most_rss = rss->absent ? 0 : rss->value;
    one.most_pss = pss->absent || pss->covered != pss->members || f->row.is_stale ? 0 : pss->value;
    if (!one.row.value[FOLD_RSS]) /* no process was read */
        one.row.absent[FOLD_RSS] = BARO_ABSENT_NOT_YET;
    keep_new_delay(p, &one.row);
    append(p, &one);
}

/* ---- values ---- */

static bool is_known(const struct points *p, size_t i, enum fold_term term)
{
    return p->at[i].row.absent[term] == BARO_PRESENT;
}

/* Returns the first point at or after t_ns at which the term is known; p->n if there is none. */
static size_t known_from(const struct points *p, enum fold_term term, uint64_t t_ns)
{
    size_t low = 0, high = p->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (p->at[middle].row.t_ns < t_ns)
            low = middle + 1;
        else
            high = middle;
    }
    while (low < p->n && !is_known(p, low, term))
        low++;
    return low;
}

static size_t known_before(const struct points *p, enum fold_term term, size_t i)
{
    while (i-- > 0) {
        if (is_known(p, i, term))
            return i;
    }
    return p->n;
}

double points_at(const struct points *p, enum fold_term term, uint64_t t_ns)
{
    size_t next = known_from(p, term, t_ns), before = known_before(p, term, next);
    bool was_read = before != p->n && (before || !p->has_start);
    if (next == p->n)
        return was_read ? (double)p->at[before].row.value[term] : NAN;
    const struct fold_row *b = &p->at[next].row;
    if (before == p->n || b->t_ns == t_ns)
        return (double)b->value[term];
    const struct fold_row *a = &p->at[before].row;
    double part = (double)(t_ns - a->t_ns) / (double)(b->t_ns - a->t_ns);
    return (double)a->value[term] + part * ((double)b->value[term] - (double)a->value[term]);
}

double points_distance(const struct points *p, enum fold_term term, uint64_t t_ns)
{
    size_t next = known_from(p, term, t_ns), before = known_before(p, term, next);
    double after = next == p->n ? NAN : (double)(p->at[next].row.t_ns - t_ns);
    double since = before == p->n ? NAN : (double)(t_ns - p->at[before].row.t_ns);
    return isnan(since) || after <= since ? after : since;
}

uint64_t points_last_ns(const struct points *p, enum fold_term term)
{
    size_t i = known_before(p, term, p->n);
    return i == p->n ? 0 : p->at[i].row.t_ns;
}

bool points_fell(const struct points *p, enum fold_term term, uint64_t begin_ns, uint64_t end_ns)
{
    bool fell = false;
    for (size_t i = 0; i < p->n && p->fell >> term & 1 && !fell; i++) {
        bool is_in = p->at[i].row.t_ns > begin_ns && (!i || p->at[i - 1].row.t_ns < end_ns);
        fell = is_in && p->at[i].row.fell >> term & 1;
    }
    return fell;
}

double points_growth(const struct points *p, enum fold_term term, uint64_t begin_ns, uint64_t end_ns)
{
    double growth = points_at(p, term, end_ns) - points_at(p, term, begin_ns);
    return growth < 0 && points_fell(p, term, begin_ns, end_ns) ? NAN : growth;
}

size_t points_within(const struct points *p, uint64_t begin_ns, uint64_t end_ns)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        n += p->at[i].row.t_ns >= begin_ns && p->at[i].row.t_ns <= end_ns;
    return n;
}

const char *points_runner(const struct points *p, const struct fold *f, uint64_t begin_ns, uint64_t end_ns)
{
    unsigned times[FOLD_NAMES + 1] = {0}, most = 0;
    for (size_t i = 0; i < p->n; i++) {
        const struct fold_row *r = &p->at[i].row;
        if (r->t_ns >= begin_ns && r->t_ns <= end_ns && r->runner <= FOLD_NAMES)
            times[r->runner]++;
    }
    for (unsigned i = 1; i <= FOLD_NAMES; i++)
        most = times[i] > (most ? times[most] : 0) ? i : most;
    return most ? f->name[most - 1] : "";
}
