/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What the members of a job used between two samples, and derived metrics. Pure functions: they read the samples that
 * are given and nothing else.
 *
 * Tapes hold counters as the kernel counts them. What happened between two samples is their difference, taken here and
 * nowhere else: a counter that fell is another counter than before (the entity was replaced), and has no rate.
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
 * adds up to 2.6 s, 1.3 cores. baro_row_rate() instead divides by the time between the reads of the one process.
 *
 *     const struct baro_interval between = {baro_tape_header(tape), before, now};
 *     struct baro_use use;
 *     if (baro_interval_derived(&between, earlier, process, cores, &use) == BARO_PRESENT)
 *         printf("%s%.2f cores\n", use.is_lower_bound ? "at least " : "", use.rate);
 */
struct baro_interval {
    const struct baro_header *header; /**< of their tape; NULL: start times of processes are not made use of */
    const struct baro_sample *before; /**< NULL: there is no earlier sample, and nothing is known */
    const struct baro_sample *now;    /**< the later sample */
};

/** What a member used between two samples. */
struct baro_use {
    uint64_t growth;     /**< of the counter, in the metric's unit */
    double rate;         /**< the same per second of the time between the samples; of a derived metric in its unit */
    bool is_lower_bound; /**< the true growth may be larger */
};

/**
 * Computes what a process used of a counter between the samples.
 * @param before the same process in the earlier sample; NULL: it is not there.
 * @param now the process in the later sample; or its exit, which stands on the tape between the samples. An exit is a
 * lower bound where its source is BARO_EXIT_LAST_SAMPLE or BARO_EXIT_EVENT, and of a process that ran before the
 * recording began.
 * @param metric a counter of BARO_KIND_PROCESS, also where @p now is an exit.
 * @return BARO_ABSENT_NOT_YET where there is no earlier value, as of a process that began before the earlier sample and
 * was not known then; BARO_ABSENT_UNSUPPORTED for a metric that is no counter, or that exits do not have.
 */
BARO_API enum baro_absent baro_interval_rate(const struct baro_interval *between, const struct baro_row *before,
                                             const struct baro_row *now, int metric, struct baro_use *ret);
/**
 * The same by a derived metric of processes (baro_derived_find()) that is the growth of one counter per second; the
 * rate is in its unit.
 */
BARO_API enum baro_absent baro_interval_derived(const struct baro_interval *between, const struct baro_row *before,
                                                const struct baro_row *now, int derived, struct baro_use *ret);

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
    size_t n_per;     /**< how many they are */
};

/** @return how many derived metrics a kind has; 0 for kinds that have none, and for those that only a tape has. */
BARO_API int baro_derived_count(int kind);
/** @return derived metric @p i of a kind, borrowed for ever; NULL if there is no such one. */
BARO_API const struct baro_derived *baro_derived_get(int kind, int i);
/** @return the number of the derived metric with this name, or -1. */
BARO_API int baro_derived_find(int kind, const char *name);

#ifdef __cplusplus
}
#endif
#endif
