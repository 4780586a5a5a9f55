/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What the members of a job used between two samples, and derived metrics.
 *
 * Tapes have counters as the kernel counts them. The growth of a counter between two samples is the difference of its
 * values. A counter whose value fell is not the same counter as before (the entity was replaced), and has no growth.
 *
 * Every counter has a rate: its growth per second. A derived metric is computed from such growth and has a name and a
 * unit of its own, such as the cores that a process used or the share of time in which a disk was busy.
 *
 * All functions here are pure: they read only their arguments, and any thread may call them.
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
 * The time between two samples of a tape. What a member used in that time is the growth of its counter, also if the
 * member began or ended in that time. Example: CPU time between samples at 10 and 12 s:
 *
 *                  at 10 s         at 12 s          used in these 2 s           cores
 *     make         4.0 s           5.0 s            5.0 - 4.0 = 1.0 s           0.5
 *     ld           not there yet   0.4 s            0.4 s, all since its start  0.2
 *     cc           0.5 s           ended, 1.5 s     1.5 - 0.5 = 1.0 s           0.5
 *     as           not there yet   ended, 0.2 s     0.2 s, all of its life      0.1
 *     sshd         not there yet   90 s             not known: it began before  absent
 *     gone         0.5 s           ended, 0.5 s     0 s at least                at least 0
 *
 * The recorder attached to "sshd" at 11 s. The exit of "gone" has the values of its last sample
 * (BARO_EXIT_LAST_SAMPLE). The known values add up to 2.6 s: 1.3 cores. baro_row_rate(), in contrast, divides by the
 * time between the two reads of the process.
 *
 *     const struct baro_interval between = {baro_tape_header(tape), before, now};
 *     struct baro_use use;
 *     if (baro_interval_derived(&between, earlier, process, cores, &use) == BARO_PRESENT)
 *         printf("%s%.2f cores\n", use.is_lower_bound ? "at least " : "", use.rate);
 */
struct baro_interval {
    const struct baro_header *header; /**< header of the tape; NULL: start times of processes are not used */
    const struct baro_sample *before; /**< the earlier sample; NULL: there is none, and all values are absent */
    const struct baro_sample *now;    /**< the later sample */
};

/** What a member used between two samples. */
struct baro_use {
    uint64_t growth;     /**< growth of the counter, in the metric's unit */
    double rate;         /**< growth per second of the time between the samples; a derived metric in its unit */
    bool is_lower_bound; /**< the true growth may be larger */
};

/**
 * Computes what a process used of a counter between the samples.
 * @param before the same process in the earlier sample; NULL if that sample does not have it.
 * @param now the process in the later sample; or its exit, if that is on the tape between the samples. The result is a
 * lower bound if the source of the exit is BARO_EXIT_LAST_SAMPLE or BARO_EXIT_EVENT, or if the process began before the
 * recording.
 * @param metric a counter of BARO_KIND_PROCESS, also where @p now is an exit.
 * @return BARO_PRESENT; BARO_ABSENT_NOT_YET if there is no earlier value: the process began before the earlier sample,
 * which does not have it; BARO_ABSENT_UNSUPPORTED for a metric that is not a counter, or that exits do not have.
 */
BARO_API enum baro_absent baro_interval_rate(const struct baro_interval *between, const struct baro_row *before,
                                             const struct baro_row *now, baro_metric_id metric, struct baro_use *ret);
/**
 * Does the same for a derived metric of processes (baro_derived_find()) that is the growth of one counter per second.
 * @p ret->rate is in the unit of the derived metric. Other derived metrics are BARO_ABSENT_UNSUPPORTED.
 */
BARO_API enum baro_absent baro_interval_derived(const struct baro_interval *between, const struct baro_row *before,
                                                const struct baro_row *now, baro_derived_id derived,
                                                struct baro_use *ret);

/* ---- derived metrics ---- */

/**
 * A metric that is not recorded: it is computed from the counters of two samples. Descriptors are constant and valid as
 * long as the program runs.
 *
 * Without `per` it is the growth of `from` per second; where `from` is in nanoseconds, per nanosecond. Example: cpu_ns
 * of a process grew by 500 000 000 in 0.25 s, so it used 2 cores. With `per` it is the growth of `from` divided by that
 * of `per`. Example: read_time_ns of a disk grew by 12 000 000 and reads by 4, so a read took 3 000 000 ns.
 */
struct baro_derived {
    baro_kind_id kind; /**< the kind of entity that it describes */
    const char *name;  /**< such as "cores" or "read_bytes_per_second"; differs from all recorded metrics of the kind */
    const char *unit; /**< "cores", "ratio" (0 to 1), "bytes per second", "per second", "ns", or "" for a plain count */
    const char *help; /**< one sentence */
    const baro_metric_id *from; /**< ids of the counters whose growth is added up */
    size_t n_from;              /**< at least 1 */
    const baro_metric_id
        *per;     /**< ids of the counters by whose growth that of `from` is divided; NULL: it is divided by time */
    size_t n_per; /**< how many ids `per` has */
};

/** @return how many derived metrics a kind has; 0 for a kind that only a tape has. */
BARO_API int baro_derived_count(baro_kind_id kind);
/** @return derived metric @p i of a kind, a constant; NULL if there is none. */
BARO_API const struct baro_derived *baro_derived_get(baro_kind_id kind, baro_derived_id i);
/** @return the number of the derived metric with this name, or -1. */
BARO_API baro_derived_id baro_derived_find(baro_kind_id kind, const char *name);

#ifdef __cplusplus
}
#endif
#endif
