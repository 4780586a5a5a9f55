/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/verdict/history.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int history_init(struct history *c)
{
    memset(c, 0, sizeof(*c));
    c->point = malloc(HISTORY_POINTS * sizeof(*c->point));
    return c->point ? 0 : -ENOMEM;
}

void history_done(struct history *c)
{
    free(c->point);
    memset(c, 0, sizeof(*c));
}

/* Gives the readings of a dropped point to its neighbour, as far as that has none. Example: run delay is read every
 * 3 s, and points are 3.5 s apart: the reading at 9 s is kept at 10 s. */
static void inherit(struct history_point *p, const struct history_point *of)
{
    for (int i = 0; i < CURVE_COUNT; i++)
        p->at[i] = isnan(p->at[i]) ? of->at[i] : p->at[i];
}

/* Drops every second point; the first and the last one stay. */
static void thin(struct history *c)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->n; i += 2) {
        c->point[kept] = c->point[i];
        if (i > 1)
            inherit(&c->point[kept], &c->point[i - 1]);
        kept++;
    }
    c->apart_ns = c->n > 1 ? 2 * (c->point[kept - 1].t_ns - c->point[0].t_ns) / HISTORY_POINTS : 0;
    c->n = kept;
}

/* Adds a point. If it is too near to the last one, it replaces it, unless that is the first point: so the last point
 * is always the last sample. */
void history_add(struct history *c, const struct history_point *p)
{
    if (c->n > 1 && p->t_ns < c->point[c->n - 2].t_ns + c->apart_ns) {
        struct history_point before = c->point[c->n - 1];
        c->point[c->n - 1] = *p;
        inherit(&c->point[c->n - 1], &before);
        return;
    }
    if (c->n == HISTORY_POINTS)
        thin(c);
    c->point[c->n++] = *p;
}

/* Returns the first point at or after t_ns whose curve is known; c->n if there is none. */
static size_t known_from(const struct history *c, enum curve curve, uint64_t t_ns)
{
    size_t low = 0, high = c->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (c->point[middle].t_ns < t_ns)
            low = middle + 1;
        else
            high = middle;
    }
    while (low < c->n && isnan(c->point[low].at[curve]))
        low++;
    return low;
}

static size_t known_before(const struct history *c, enum curve curve, size_t i)
{
    while (i-- > 0) {
        if (!isnan(c->point[i].at[curve]))
            return i;
    }
    return c->n;
}

double history_at(const struct history *c, enum curve curve, uint64_t t_ns)
{
    size_t next = known_from(c, curve, t_ns), before = known_before(c, curve, next);
    bool was_read = before != c->n && (before || !c->has_start);
    if (next == c->n)
        return was_read ? c->point[before].at[curve] : NAN;
    const struct history_point *b = &c->point[next];
    if (before == c->n || b->t_ns == t_ns)
        return b->at[curve];
    const struct history_point *a = &c->point[before];
    double part = (double)(t_ns - a->t_ns) / (double)(b->t_ns - a->t_ns);
    return a->at[curve] + part * (b->at[curve] - a->at[curve]);
}

double history_distance(const struct history *c, enum curve curve, uint64_t t_ns)
{
    size_t next = known_from(c, curve, t_ns), before = known_before(c, curve, next);
    double after = next == c->n ? NAN : (double)(c->point[next].t_ns - t_ns);
    double since = before == c->n ? NAN : (double)(t_ns - c->point[before].t_ns);
    return isnan(since) || after <= since ? after : since;
}

uint64_t history_last_ns(const struct history *c, enum curve curve)
{
    size_t i = known_before(c, curve, c->n);
    return i == c->n ? 0 : c->point[i].t_ns;
}

double history_growth(const struct history *c, enum curve curve, uint64_t begin_ns, uint64_t end_ns)
{
    return history_at(c, curve, end_ns) - history_at(c, curve, begin_ns);
}

size_t history_points(const struct history *c, uint64_t begin_ns, uint64_t end_ns)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        n += c->point[i].t_ns >= begin_ns && c->point[i].t_ns <= end_ns;
    return n;
}

const char *history_runner(const struct history *c, const char (*names)[HISTORY_NAME_ROOM], uint64_t begin_ns,
                           uint64_t end_ns)
{
    unsigned times[HISTORY_NAMES + 1] = {0}, most = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct history_point *p = &c->point[i];
        if (p->t_ns >= begin_ns && p->t_ns <= end_ns && p->runner <= HISTORY_NAMES)
            times[p->runner]++;
    }
    for (unsigned i = 1; i <= HISTORY_NAMES; i++)
        most = times[i] > (most ? times[most] : 0) ? i : most;
    return most ? names[most - 1] : "";
}
