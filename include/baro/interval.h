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
#include "baro/header.h"
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
    size_t members; /**< processes that count: not zombies, which hold nothing, nor BARO_ABSENT_SHARED */
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

/* ---- the members of a job between two samples ---- */

/**
 * The time between two samples of a tape. What a member used in it is the growth of its counter, also if the member
 * began or ended in that time. Example, of CPU time between samples at 10 and 12 s:
 *
 *                  at 10 s         at 12 s          used in these 2 s           cores
 *     make         4.0 s           5.0 s            5.0 - 4.0 = 1.0 s           0.5
 *     ld           not there yet   0.4 s            0.4 s, all since its start  0.2
 *     cc           0.5 s           ended, 1.5 s     1.5 - 0.5 = 1.0 s           0.5
 *     as           not there yet   ended, 0.2 s     0.2 s, all of its life      0.1
 *     sshd         not there yet   90 s             not known: it began before  absent
 *     gone         0.5 s           ended, 0.5 s     0 s at least                at least 0
 *
 * "sshd" was attached to at 11 s. Of "gone" only the last sample is known (BARO_EXIT_LAST_SAMPLE). All that is known
 * adds up to 2.6 s, 1.3 cores. baro_process_rate() instead divides by the time between the reads of the one process.
 *
 *     const struct baro_interval between = {baro_tape_header(tape), before, now};
 *     struct baro_use use;
 *     if (baro_interval_process_derived(&between, earlier, process, cores, &use) == BARO_PRESENT)
 *         printf("%s%.2f cores\n", use.is_lower_bound ? "at least " : "", use.rate);
 */
struct baro_interval {
    const struct baro_header *header; /**< of their tape; NULL: start times of processes are not made use of */
    const struct baro_sample *before; /**< NULL: there is no earlier sample, and nothing is known */
    const struct baro_sample *now;
};

/** What a member used between two samples. */
struct baro_use {
    uint64_t growth; /**< of the counter, in the metric's unit */
    double rate;     /**< the same per second of the time between the samples; of a derived metric in its unit */
    bool is_lower_bound;
};

/**
 * Computes what a process that is in the later sample used of a counter.
 * @param before the same process in the earlier sample; NULL: it is not there.
 * @param now the process in the later sample
 * @return BARO_PRESENT (0), or why it is not known: BARO_ABSENT_NOT_YET where there is no earlier value, as of a
 * process that began before the earlier sample and was not known then.
 */
BARO_API int baro_interval_process_rate(const struct baro_interval *between, const struct baro_process *before,
                                        const struct baro_process *now, int metric, struct baro_use *ret);
/** The same by a derived metric of processes (baro_derived_find()) that is the growth of one counter per second. */
BARO_API int baro_interval_process_derived(const struct baro_interval *between, const struct baro_process *before,
                                           const struct baro_process *now, int derived, struct baro_use *ret);
/**
 * Computes what a process used that ended between the samples.
 * @param before the process in the earlier sample; NULL: it is not there.
 * @param end its exit record, which stands on the tape between the samples. It is a lower bound where its source is
 * BARO_EXIT_LAST_SAMPLE or BARO_EXIT_EVENT, and of a process that ran before the recording began.
 * @return as baro_interval_process_derived(); BARO_ABSENT_UNSUPPORTED for a metric that exits do not have.
 */
BARO_API int baro_interval_exit_derived(const struct baro_interval *between, const struct baro_process *before,
                                        const struct baro_exit *end, int derived, struct baro_use *ret);
/**
 * Did all that the process has counted happen after @p t_ns? It did if it began after that. For programs that keep
 * values instead of samples: such a process had used nothing at that time.
 * @param header of its tape; NULL: its start time is not made use of
 */
BARO_API bool baro_process_began_after(const struct baro_header *header, const struct baro_process *p, uint64_t t_ns);

/**
 * When a process began, in the time of its tape. Start times are counted in clock ticks, of 10 ms mostly. Example: one
 * that began in the tick from 5.10 to 5.11 s began at 5.104 s where it was known at 5.104 s, from the event of its
 * fork; where a scan found it at 5.3 s, it began at 5.10 s.
 * @param start_ticks baro_process_start_ticks() or baro_exit_start_ticks()
 * @param known_ns a time at which it had begun, such as baro_process_first_ns(), or when it ended
 * @return known_ns where the tape's header does not say more
 */
BARO_API uint64_t baro_process_begin_ns(const struct baro_header *header, uint64_t start_ticks, uint64_t known_ns);

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
