/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The course of a recording in a few buckets, from which the small curves of the summary are drawn. A bucket is a power
 * of two of milliseconds long. Example: 192 buckets of 1 ms take 192 ms; an hour has 108 of 33.554 s.
 */
#ifndef LIBBARO_SUMMARY_COURSE_H
#define LIBBARO_SUMMARY_COURSE_H

#include "libbaro/fold/points.h"

#define COURSE_BUCKETS 192u

enum course_growth { COURSE_CPU, COURSE_IO, COURSE_GROWTHS };
enum course_gauge { COURSE_RSS, COURSE_PSS, COURSE_GAUGES };

struct course {
    uint64_t origin_ns;        /* where the first bucket begins */
    uint64_t width_ns, end_ns; /* end_ns: time of the last sample since then */
    bool any;
    bool is_known[COURSE_GROWTHS];
    double grown[COURSE_GROWTHS][COURSE_BUCKETS]; /* growth within each bucket */
    uint64_t most[COURSE_GAUGES][COURSE_BUCKETS]; /* the highest value that held within each bucket */
};

/* cpus: those of the machine; 0: not known. */
void course_make(struct course *c, const struct points *p, uint64_t origin_ns, uint32_t cpus);
/* How many buckets are in use. */
size_t course_buckets(const struct course *c);
/* Growth per second in a bucket. */
double course_rate(const struct course *c, enum course_growth of, size_t bucket);

#endif
