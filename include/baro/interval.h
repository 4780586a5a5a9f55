/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Meaning from two samples: rates, shares, sums. Pure functions: they read the samples that are given and nothing else.
 *
 * Tapes hold counters as the kernel counts them. What happened between two samples is their difference, taken here and
 * nowhere else: a counter that fell is another counter than before (the entity was replaced), and has no rate.
 *
 * Each function that computes a value returns 0 and the value, or the reason why there is none (enum baro_absent): that
 * of the value which is absent, BARO_ABSENT_UNKNOWN where a counter fell or no time passed, BARO_ABSENT_UNSUPPORTED for
 * a metric that is not a counter.
 *
 * Every counter has a rate. What has a name and a unit of its own beyond that, such as the cores that a process used or
 * the share of time in which a disk was busy, is a derived metric: baro_derived_get() lists them.
 */
#ifndef BARO_INTERVAL_H
#define BARO_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/error.h"
#include "baro/metric.h"
#include "baro/sample.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Growth of a counter per second, in the metric's unit per second: 2 000 000 000 of cpu_ns are two cores.
 * @p before and @p now are the same process in two samples. The time between them is that of their reads
 * (baro_process_read_ns()), not of the samples: a process that was not read for 5 s has its growth of 5 s.
 */
BARO_API int baro_process_rate(const struct baro_process *before, const struct baro_process *now, int metric,
                               double *ret);
/** The same of the job. */
BARO_API int baro_job_rate(const struct baro_sample *before, const struct baro_sample *now, int metric, double *ret);
/** The same of the machine, over the time between the reads of it (baro_sample_host_ns()). */
BARO_API int baro_host_rate(const struct baro_sample *before, const struct baro_sample *now, int metric, double *ret);
/** The same of an entity: @p before and @p now are one entity of the two samples. */
BARO_API int baro_entity_rate(const struct baro_sample *sample_before, const struct baro_entity *before,
                              const struct baro_sample *sample_now, const struct baro_entity *now, int metric,
                              double *ret);

/** CPU time of the machine in which a CPU ran something: all but idle, waiting for I/O and time stolen by the
 * hypervisor. */
BARO_API int baro_host_busy_ns(const struct baro_sample *s, uint64_t *ret);
/** The same of one CPU. @return BARO_ABSENT_UNSUPPORTED for an entity of another kind. */
BARO_API int baro_cpu_busy_ns(const struct baro_entity *cpu, uint64_t *ret);

/** A sum over the living processes of a sample. */
struct baro_sum {
    uint64_t value;
    size_t members; /**< processes that count: all but zombies, which hold nothing */
    size_t covered; /**< of them, those whose value is known. Fewer than members: value is a lower bound */
};
/**
 * Adds up a metric of processes that they have each for themselves: rss_bytes, pss_bytes, threads, ...
 * Totals of counters (CPU time, I/O) are not sums of living processes: ask baro_sample_job() for them.
 * @return 0 and the sum; BARO_ABSENT_UNSUPPORTED for a metric that does not add up; the reason if no process has it.
 */
BARO_API int baro_sample_sum(const struct baro_sample *s, int metric, struct baro_sum *ret);
/** @return whether a metric of processes adds up over them. */
BARO_API bool baro_metric_adds_up(int process_metric);

/* ---- derived metrics ---- */

/**
 * A metric that is not recorded: it is computed from the counters of two samples. Descriptors are constant and live as
 * long as the program.
 *
 * Without `per` it is the growth of `from` per second; where `from` is in nanoseconds, per nanosecond. Example: cpu_ns
 * of a process grew by 500 000 000 in 0.25 s, so it used 2 cores. With `per` it is the growth of `from` divided by that
 * of `per`. Example: read_time_ns of a disk grew by 12 000 000 and reads by 4, so a read took 3 000 000 ns.
 */
struct baro_derived {
    int kind;         /**< the kind of entity that it is of */
    const char *name; /**< such as "cores" or "read_bytes_per_second"; no recorded metric of its kind has it */
    const char *unit; /**< "cores", "ratio" (0 to 1), "bytes per second", "per second", "ns", or "" for a plain count */
    const char *help; /**< one sentence */
    const int *from;  /**< ids of the counters whose growth is added up */
    size_t n_from;    /**< at least 1 */
    const int *per;   /**< ids of the counters whose growth divides that of from; NULL: it is divided by time */
    size_t n_per;
};

/** @return how many derived metrics a kind has; 0 for kinds that have none, and for those that only a tape has. */
BARO_API int baro_derived_count(int kind);
/** @return derived metric @p i of a kind, borrowed for ever; NULL if there is no such one. */
BARO_API const struct baro_derived *baro_derived_get(int kind, int i);
/** @return the number of the derived metric with this name, or -1. @p name need not end with NUL. */
BARO_API int baro_derived_find(int kind, const char *name, size_t len);

/**
 * Computes derived metric @p i of a process, as baro_process_rate() does a rate.
 *
 * The first counter of `from` and of `per` must be there; another one that is absent in one of the samples is left out,
 * because an older kernel does not count it. BARO_ABSENT_UNKNOWN also where `per` did not grow (a disk without a read
 * has no time per read); BARO_ABSENT_UNSUPPORTED if there is no such derived metric.
 *
 * Cores and ratios have no upper limit: the kernel counts some times in steps of 4 or 10 ms, so over 100 ms a CPU that
 * was always busy can have 1.1 cores.
 */
BARO_API int baro_process_derived(const struct baro_process *before, const struct baro_process *now, int i,
                                  double *ret);
/** The same of what a sample has one of: @p kind is BARO_KIND_JOB, BARO_KIND_RECORDER or BARO_KIND_HOST. */
BARO_API int baro_sample_derived(const struct baro_sample *before, const struct baro_sample *now, int kind, int i,
                                 double *ret);
/** The same of an entity, as baro_entity_rate() does a rate. */
BARO_API int baro_entity_derived(const struct baro_sample *sample_before, const struct baro_entity *before,
                                 const struct baro_sample *sample_now, const struct baro_entity *now, int i,
                                 double *ret);

#ifdef __cplusplus
}
#endif
#endif
