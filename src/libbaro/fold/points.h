/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The course of a recording in constant memory: the rows of at most POINTS_MOST samples. When there is no more room
 * every second point is dropped, and from then on points are twice as far apart. Points hold the counters themselves,
 * not their growth, so dropping a point loses detail and never changes a sum.
 */
#ifndef LIBBARO_FOLD_POINTS_H
#define LIBBARO_FOLD_POINTS_H

#include "libbaro/fold/fold.h"

#define POINTS_MOST 640u

struct point {
    struct fold_row row;
    uint64_t most_rss, most_pss; /* since the point before; of pss only whole sums. 0: none */
};

struct points {
    struct point *at; /* room for POINTS_MOST */
    size_t n;
    uint64_t apart_ns;     /* points are at least this far apart */
    uint32_t fell;         /* counters that fell at some point, as in struct fold_row */
    bool has_start;        /* the first point is the command's start, where everything is 0 without being read */
    uint64_t delay_cpu[2]; /* at the last new value of run delay: CPU time, and the part of it for which run delay was
                              read */
};

int points_init(struct points *p); /* 0 or -ENOMEM */
void points_done(struct points *p);
/* Begins with the command's start: its counters start at 0. Without it the first sample has the starting values. */
void points_begin(struct points *p, uint64_t start_ns);
/* Adds the row of the last sample. Run delay is kept only where it is new: points.c. */
void points_add(struct points *p, const struct fold *f);

/* Returns the value of a term at an instant, interpolated linearly between two points. A counter keeps its value
 * before the first and after the last point with a reading. NAN if the value is not known, such as after the start
 * if it was never read. */
double points_at(const struct points *p, enum fold_term term, uint64_t t_ns);
/* Returns the distance from an instant to the nearest point at which the term is known, before or after it; NAN: there
 * is none. */
double points_distance(const struct points *p, enum fold_term term, uint64_t t_ns);
/* Returns the last instant at which the term is known; 0: none. */
uint64_t points_last_ns(const struct points *p, enum fold_term term);
/* Returns the growth of a counter; NAN if it is not known at both ends, or fell by more than it grew. */
double points_growth(const struct points *p, enum fold_term term, uint64_t begin_ns, uint64_t end_ns);
/* Did the counter fall meanwhile? Then its growth is a lower bound: base/growth.h. */
bool points_fell(const struct points *p, enum fold_term term, uint64_t begin_ns, uint64_t end_ns);
/* How many points lie in [begin, end]. */
size_t points_within(const struct points *p, uint64_t begin_ns, uint64_t end_ns);

/* Returns the name that most points in [begin, end] have: what mostly ran then. "": none has one. */
const char *points_runner(const struct points *p, const struct fold *f, uint64_t begin_ns, uint64_t end_ns);

#endif
