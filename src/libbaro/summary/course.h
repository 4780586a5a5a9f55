/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The course of a recording in a few buckets, from which the small curves of the summary are drawn. It is updated while
 * the recording goes on. Memory is constant: when time runs past the last bucket, each two become one. Example: 192
 * buckets of 1 ms are full after 192 ms; then there are 96 of 2 ms, and after an hour 108 of 33.554 s are in use.
 */
#ifndef LIBBARO_SUMMARY_COURSE_H
#define LIBBARO_SUMMARY_COURSE_H

#include "libbaro/interval/derive.h"
#include "libbaro/interval/stretches.h"
#include "libbaro/sample/sample.h"

#define COURSE_BUCKETS 192u

enum course_growth { COURSE_CPU, COURSE_IO, COURSE_GROWTHS };
enum course_gauge { COURSE_RSS, COURSE_PSS, COURSE_GAUGES };

struct course {
    uint64_t origin_ns; /* where the first bucket begins; all times below are since then */
    uint64_t width_ns;
    double grown[COURSE_GROWTHS][COURSE_BUCKETS]; /* growth within each bucket */
    uint64_t most[COURSE_GAUGES][COURSE_BUCKETS]; /* the highest value that held within each bucket */
    struct course_since {
        bool known;
        uint64_t t_ns, value;         /* growth after this reading is not in grown[] yet */
        uint64_t last_ns, last_value; /* the reading in the last sample that had one */
    } since[COURSE_GROWTHS];
    struct stretch_grown latest[COURSE_GROWTHS]; /* the stretch added to grown[] last; none: end_ns is 0 */
    double limit[COURSE_GROWTHS];                /* the greatest possible growth per nanosecond */
    struct course_held {
        bool known;
        uint64_t t_ns, value; /* the last value, and the time of its sample */
    } held[COURSE_GAUGES];
    uint64_t end_ns; /* time of the last sample */
    bool any;
    bool from_first; /* the first bucket begins with the first sample, else with the tape */
};

/* from_start: the job's counters were 0 at time 0. cpus: those of the machine; 0: not known. */
void course_init(struct course *c, bool from_start, uint32_t cpus);
void course_add(struct course *c, const struct baro_sample *sample, const struct derive_sum *rss,
                const struct derive_sum *pss);
/* Adds the growth up to the last sample. Samples may be added afterwards. */
void course_finish(struct course *c);
/* How many buckets are in use. */
size_t course_buckets(const struct course *c);

#endif
