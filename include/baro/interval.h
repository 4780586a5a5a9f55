/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Meaning from two samples: rates, shares, sums. Pure functions: they read the samples that are given and nothing else.
 *
 * Tapes hold counters as the kernel counts them. What happened between two samples is their difference, taken here and
 * nowhere else: a counter that fell is another counter than before (the entity was replaced), and has no rate.
 *
 * Each function returns 0 and a value, or the reason why there is none (enum baro_absent): that of the value which is
 * absent, BARO_ABSENT_UNKNOWN where a counter fell or no time passed, BARO_ABSENT_UNSUPPORTED for a metric that is not
 * a counter.
 */
#ifndef BARO_INTERVAL_H
#define BARO_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/error.h"
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

#ifdef __cplusplus
}
#endif
#endif
