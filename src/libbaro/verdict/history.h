/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history of a job: counters at up to HISTORY_POINTS instants. When there is no more room every second point is
 * dropped, and from then on points are twice as far apart. Points hold the counters themselves, not their growth, so
 * dropping a point loses detail and never changes a sum.
 */
#ifndef LIBBARO_VERDICT_HISTORY_H
#define LIBBARO_VERDICT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/sample.h"

#define HISTORY_POINTS 1024u

enum curve {
    /* counters of the job */
    CURVE_CPU,
    CURVE_RUN_DELAY, /* at samples with a new value: gather.c */
    CURVE_DELAY_CPU, /* the part of CURVE_CPU for which it is known how long threads waited */
    CURVE_SWITCHES,  /* voluntary */
    CURVE_READ,      /* bytes fetched from storage */
    CURVE_WRITTEN,
    CURVE_CALLED, /* bytes passed to read(2), write(2) and the like */
    CURVE_FAULTS, /* major */
    CURVE_STARTED,
    /* counters of the machine; CURVE_HOST_TIME: the time over which the others were read */
    CURVE_HOST_TIME,
    CURVE_HOST_BUSY,
    CURVE_HOST_STEAL,
    CURVE_HOST_IO, /* pressure */
    CURVE_HOST_MEMORY,
    CURVE_SWAP_IN,
    CURVE_PACKETS, /* received by any interface, lo included */
    /* counters of the job's control groups */
    CURVE_THROTTLED,
    CURVE_GROUP_IO, /* pressure in the innermost group that has it */
    CURVE_GROUP_MEMORY,
    /* curves that are added up from sample to sample */
    CURVE_BLOCKED, /* ns in which a process was in uninterruptible sleep (state D) */
    /* gauges */
    CURVE_MEMORY, /* rss of all processes */
    CURVE_COUNT
};

#define CURVE_COUNTERS CURVE_MEMORY /* curves below it are counters */

struct history_point {
    uint64_t t_ns;
    double at[CURVE_COUNT]; /* NAN: absent */
    unsigned runner;        /* number of the name of a process that ran, from 1; 0: none */
};

struct history {
    struct history_point *point; /* room for HISTORY_POINTS */
    size_t n;
    uint64_t apart_ns; /* points are at least this far apart */
    bool has_start;    /* the first point is the command's start, where everything is 0 without being read */
};

int history_init(struct history *c); /* 0 or -ENOMEM */
void history_done(struct history *c);
void history_add(struct history *c, const struct history_point *p);

/* Returns the value of a curve at an instant, interpolated linearly between two points. A counter keeps its value
 * before the first and after the last point with a reading. NAN if the value is not known, such as after the start
 * if the curve was never read. */
double history_at(const struct history *c, enum curve curve, uint64_t t_ns);
/* Returns the distance from an instant to the nearest point at which the curve is known, before or after it; NAN: there
 * is none. */
double history_distance(const struct history *c, enum curve curve, uint64_t t_ns);
/* Returns the last instant at which the curve is known; 0: none. */
uint64_t history_last_ns(const struct history *c, enum curve curve);
/* Returns the growth of a counter; NAN if it is not known at both ends. */
double history_growth(const struct history *c, enum curve curve, uint64_t begin_ns, uint64_t end_ns);

/* How many points lie in [begin, end]. */
size_t history_points(const struct history *c, uint64_t begin_ns, uint64_t end_ns);

/* Returns the name that most points in [begin, end) have. names: those with the numbers 1, 2, ... */
#define HISTORY_NAMES 64u
#define HISTORY_NAME_ROOM 32u
const char *history_runner(const struct history *c, const char (*names)[HISTORY_NAME_ROOM], uint64_t begin_ns,
                           uint64_t end_ns);

#endif
