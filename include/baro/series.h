/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Series: the course of a metric over a stretch of a tape, in as many buckets as a chart has columns.
 *
 * One walk over the tape fills any number of curves. A bucket has the minimum, the maximum, the mean over its time and
 * the last value, so that no sampled peak is lost however long the tape is.
 *
 *     baro_series_new(&s, 0, end_ns, 800, &err);
 *     int cpu = baro_series_add_rate(s, BARO_KIND_JOB, 0, NULL, baro_metric_find(BARO_KIND_JOB, "cpu_ns", 6), &err);
 *     baro_series_read(s, tape, &err);
 *     for (size_t i = 0; i < 800; i++)
 *         draw(baro_series_bucket(s, cpu, i)->mean / 1e9);
 *     baro_series_free(s);
 *
 * A series belongs to one thread at a time.
 */
#ifndef BARO_SERIES_H
#define BARO_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "baro/error.h"
#include "baro/metric.h"
#include "baro/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

struct baro_series;

/** One bucket of a curve. Members may be added at the end: take what baro_series_bucket() returns, make no arrays. */
struct baro_bucket {
    uint64_t covered_ns; /**< for how much of its time the value is known */
    uint64_t points;     /**< of a curve of values: how many samples lie in it. With covered_ns 0 as well, min to
                              last say nothing */
    double min;          /**< the smallest value that held in it */
    double max;          /**< the largest value that held in it */
    double mean;         /**< over the time in which the value is known */
    double last;         /**< the value that held at its end */
    /**
     * For how much of its time only bounds of the value are known, which is no part of covered_ns: a sum over
     * processes that lacks the value of one, or of pss or uss that are old (JOB metric pss_stale).
     */
    uint64_t unsure_ns;
    double low; /**< over that time: the lowest sum of what is known */
    /** Over that time: the highest sum with the rss of those that lack pss or uss. Of other metrics, and of pss that is
     * old, low and high are the sums themselves. */
    double high;
    double at_least; /**< the highest sum that is a lower bound of the true one; 0: there is none */
};

/**
 * Prepares curves over [@p from_ns, @p to_ns) of a tape, cut into @p buckets parts of the same length.
 * @return 0 and a series to be freed with baro_series_free(); BARO_E_RANGE for an empty stretch or no buckets; -ENOMEM.
 */
BARO_API int baro_series_new(struct baro_series **ret, uint64_t from_ns, uint64_t to_ns, size_t buckets,
                             struct baro_error *err);
/** NULL is allowed. */
BARO_API void baro_series_free(struct baro_series *s);

/**
 * Adds a curve of a value as it stands: a gauge, or a counter's reading. It holds from its sample to the next one, and
 * is not known during a gap (BARO_EVENT_GAP).
 * @param kind BARO_KIND_JOB, RECORDER, HOST: @p id and @p name are ignored. BARO_KIND_PROCESS: the process with this
 * id; id 0: the sum over all processes whose last name on the tape is @p name, or over all if @p name is NULL. A
 * process counts under that name from its begin on, as in the table "commands" of baro/summary.h. Other kinds, also
 * those that only the tape has (baro_tape_kind_find()): the entity with this id; id 0: the sum over all entities called
 * @p name, or over all.
 * @param metric an id of baro_tape_metric() or baro_metric_find().
 * @return the number of the curve, from 0 on; BARO_E_RANGE for a kind or metric that has no series; -ENOMEM.
 */
BARO_API int baro_series_add_value(struct baro_series *s, int kind, uint32_t id, const char *name, int metric,
                                   struct baro_error *err);
/**
 * Adds a curve of the growth of a counter per second, in its unit per second. Of processes, what each used up to its
 * end is in it, also of those that no sample saw: it comes from their exits, and lies between the last sample of the
 * process and its end. Growth is spread over at least 100 ms, because the kernel counts much in steps of 10 ms: 10 ms
 * of CPU time that show up within one millisecond are not ten cores. A last stretch that is short and grew faster than
 * the one before is spread together with it, and CPU time of the job or of processes that is more than the machine's
 * CPUs have is moved to the time before: it was used there. These stretches follow each other, while cores_peak of
 * baro/summary.h is of any two samples that lie 100 ms apart: of samples that are 100 ms apart or more the two are
 * equal; of closer ones they differ (by up to 12 % at 10 ms on a busy machine).
 */
BARO_API int baro_series_add_rate(struct baro_series *s, int kind, uint32_t id, const char *name, int metric,
                                  struct baro_error *err);

/**
 * Adds a curve of a derived metric, such as the cores that a process used or the share of time in which a disk was
 * busy. Of several entities those counters are added up first: the busy ratio of all CPUs is the time in which they
 * were busy divided by the time of all of them. A stretch in which what divides did not grow (a disk without a read
 * has no time per read) is not known.
 * @param derived its number in the kind, of baro_derived_find().
 */
BARO_API int baro_series_add_derived(struct baro_series *s, int kind, uint32_t id, const char *name, int derived,
                                     struct baro_error *err);
/** Adds a curve of how many there are: processes, or entities of a kind, called @p name, or all if it is NULL. */
BARO_API int baro_series_add_count(struct baro_series *s, int kind, const char *name, struct baro_error *err);

/** Fills all curves. The cursor is moved. May be called once. @return 0 or a negative code. */
BARO_API int baro_series_read(struct baro_series *s, struct baro_tape *tape, struct baro_error *err);

/** @return when bucket @p i begins, in nanoseconds since the tape began. */
BARO_API uint64_t baro_series_bucket_ns(const struct baro_series *s, size_t i);
/** @return bucket @p i of a curve, borrowed until baro_series_free(); NULL if there is no such one. */
BARO_API const struct baro_bucket *baro_series_bucket(const struct baro_series *s, int curve, size_t i);

#ifdef __cplusplus
}
#endif
#endif
