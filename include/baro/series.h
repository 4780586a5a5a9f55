/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Series: a metric over time, in as many buckets as a chart has columns.
 *
 * One pass over the tape fills any number of curves. A bucket has the minimum, the maximum, the mean and the last value
 * of its time, so a chart shows every sampled peak, however long the tape is.
 *
 *     baro_series_new(&s, 0, end_ns, 800, &err);
 *     int cpu = baro_series_add_rate(s, BARO_KIND_JOB, 0, NULL, baro_metric_find(BARO_KIND_JOB, "cpu_ns"), &err);
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

struct baro_series; /**< curves over the same buckets of time */

/** One bucket of a curve. Members may be added at the end: take what baro_series_bucket() returns, make no arrays. */
struct baro_bucket {
    uint64_t covered_ns; /**< the part of the bucket's time in which the value is known */
    uint64_t points;     /**< only for curves of values: how many samples are in the bucket. If both this and covered_ns
                              are 0, min, max, mean and last mean nothing */
    double min;          /**< the smallest value */
    double max;          /**< the largest value */
    double mean;         /**< the mean over covered_ns */
    double last;         /**< the value at the end of the bucket */
    /**
     * The part of the bucket's time in which only bounds of the value are known; it is not part of covered_ns. This is
     * so for a sum over processes if one of them lacks the value, or if its pss or uss is old (JOB metric pss_stale).
     */
    uint64_t unsure_ns;
    double low; /**< in that time: the lowest sum of the known values */
    /** In that time: the highest sum in which a process without pss or uss counts with its rss. For other metrics, and
     * where pss is only old, it is the highest sum of the known values. */
    double high;
    double at_least; /**< the highest sum that is a lower bound of the true sum; 0: there is none */
};

/**
 * Prepares curves over the time from @p from_ns to just before @p to_ns, in @p buckets parts of the same length.
 * @return 0 and a series to be freed with baro_series_free(); BARO_E_RANGE if that time is empty or @p buckets is 0;
 * -ENOMEM.
 */
BARO_API int baro_series_new(struct baro_series **ret, uint64_t from_ns, uint64_t to_ns, size_t buckets,
                             struct baro_error *err);
/** Frees a series. NULL is allowed. */
BARO_API void baro_series_free(struct baro_series *s);

/**
 * Adds a curve of the recorded values of a metric: a gauge, or a counter. A value holds from its sample to the next
 * one; during a gap (BARO_EVENT_GAP) no value is known. Sums over processes are those of baro_sample_sum().
 * @param kind of the rows: BARO_KIND_JOB, BARO_KIND_RECORDER and BARO_KIND_HOST, for which @p id and @p name are
 * ignored; BARO_KIND_PROCESS; or a kind of entities, also one that only the tape has (baro_tape_kind_find()).
 * @param id of the process or entity (baro_row_id()); 0: the curve is the sum over those called @p name, or over all of
 * the kind if @p name is NULL.
 * @param name borrowed during the call. A process counts from its beginning on under the last name that it has on the
 * tape, as in the table "commands" of baro/summary.h.
 * @param metric an id of baro_tape_metric() or baro_metric_find().
 * @return the number of the curve, from 0 on; BARO_E_RANGE for a kind or metric that has no series; -ENOMEM.
 */
BARO_API int baro_series_add_value(struct baro_series *s, baro_kind_id kind, uint32_t id, const char *name,
                                   baro_metric_id metric, struct baro_error *err);
/**
 * Adds a curve of the growth of a counter per second, in the unit of the metric per second. Parameters and results are
 * those of baro_series_add_value().
 *
 * Where a counter fell, its growth is not known, and the curve has no value: it is not the same counter as before.
 *
 * A curve of processes includes what they used between their last sample and their end, also processes that are in no
 * sample: their exits have it.
 *
 * The kernel counts CPU time in steps of up to 10 ms, and 10 ms of CPU time that appear within 1 ms do not mean ten
 * cores. So growth is spread over intervals of at least 100 ms, one after the other. A last interval that is shorter
 * and grew faster is merged with the one before it. CPU time of the job or of processes beyond that of all CPUs of the
 * machine is moved to the time before, in which it was used. In contrast, cores_peak of baro/summary.h is the highest
 * over any two samples 100 ms apart. With samples 100 ms or more apart the highest rate of the curve is equal to it;
 * with closer ones they differ (by up to 12 % at 10 ms on a busy machine).
 */
BARO_API int baro_series_add_rate(struct baro_series *s, baro_kind_id kind, uint32_t id, const char *name,
                                  baro_metric_id metric, struct baro_error *err);

/**
 * Adds a curve of a derived metric, such as the cores that a process used or the share of time in which a disk was
 * busy. For several entities their counters are added up first: the busy ratio of all CPUs is the time in which they
 * were busy, divided by the time of all of them. While the divisor does not grow, the value is not known: a disk
 * without reads has no time per read. The other parameters and the results are those of baro_series_add_value().
 * @param derived a number of baro_derived_find().
 */
BARO_API int baro_series_add_derived(struct baro_series *s, baro_kind_id kind, uint32_t id, const char *name,
                                     baro_derived_id derived, struct baro_error *err);
/**
 * Adds a curve of the number of processes, or of entities of a kind, that are called @p name; of all if it is NULL.
 * @return as baro_series_add_value().
 */
BARO_API int baro_series_add_count(struct baro_series *s, baro_kind_id kind, const char *name, struct baro_error *err);

/** Fills all curves. It moves the cursor. Call it once. @return 0, or a negative code. */
BARO_API int baro_series_read(struct baro_series *s, struct baro_tape *tape, struct baro_error *err);

/** @return when bucket @p i begins, in nanoseconds since the tape began. */
BARO_API uint64_t baro_series_bucket_ns(const struct baro_series *s, size_t i);
/** @return bucket @p i of a curve, borrowed until baro_series_free(); NULL if there is none. */
BARO_API const struct baro_bucket *baro_series_bucket(const struct baro_series *s, int curve, size_t i);

#ifdef __cplusplus
}
#endif
#endif
