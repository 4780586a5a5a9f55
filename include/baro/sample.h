/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Samples: all values at one instant, of the job, its processes, the machine and the recorder. A sample has rows
 * (baro/row.h): any number for processes and for each kind of entities; one each for the job, the recorder and the
 * machine.
 *
 *     for (size_t i = 0; i < baro_sample_rows(sample, BARO_KIND_PROCESS); i++) {
 *         const struct baro_row *process = baro_sample_row(sample, BARO_KIND_PROCESS, i);
 *         uint64_t rss_bytes;
 *         if (baro_row_value(process, rss, &rss_bytes) == BARO_PRESENT)
 *             printf("%d %s %llu\n", baro_row_pid(process), baro_row_name(process), (unsigned long long)rss_bytes);
 *     }
 *
 * Lifetimes: a sample that a cursor delivered, and everything that is read from it, is borrowed until the next call
 * that takes the cursor non-const. baro_sample_copy() makes a copy that the caller owns. All functions but
 * baro_sample_free() only read the sample: several threads may use one sample as long as none moves its cursor.
 */
#ifndef BARO_SAMPLE_H
#define BARO_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/error.h"
#include "baro/metric.h"
#include "baro/row.h"

#ifdef __cplusplus
extern "C" {
#endif

struct baro_sample; /**< all values at one instant */

/** @return the time of the sample, in nanoseconds since the tape began. */
BARO_API uint64_t baro_sample_t_ns(const struct baro_sample *s);
/** @return whether events were lost since the previous sample; if so, counts of processes are lower bounds. */
BARO_API bool baro_sample_lossy(const struct baro_sample *s);

/* ---- rows ---- */
/**
 * @return how many rows of a kind the sample has: 1 for BARO_KIND_JOB and BARO_KIND_RECORDER; 1 for BARO_KIND_HOST once
 * the machine was read, before that 0; 0 for kinds that samples do not have, such as BARO_KIND_EXIT.
 */
BARO_API size_t baro_sample_rows(const struct baro_sample *s, baro_kind_id kind);
/**
 * @return row @p i of a kind; NULL if there is none. A process comes after its parent; entities are in the order in
 * which the recorder found them.
 */
BARO_API const struct baro_row *baro_sample_row(const struct baro_sample *s, baro_kind_id kind, size_t i);
/** @return the process with this pid and start time (0: any), or NULL. Linear in the number of processes. */
BARO_API const struct baro_row *baro_sample_find(const struct baro_sample *s, int32_t pid, uint64_t start_ticks);
/** @return the row of a kind with this baro_row_id(), or NULL. Linear in the number of rows. */
BARO_API const struct baro_row *baro_sample_find_id(const struct baro_sample *s, baro_kind_id kind, uint32_t id);
/**
 * Orders the processes of a sample for printing as trees: each process before its children, siblings in the order of
 * their rows. A process whose parent is not in the sample is the root of a tree. Takes time O(n log n) for n processes.
 *
 * The depth of a process is 0 for a root, else one more than that of its parent. A loop over the rows from 0 on can
 * compute it, because the row of a parent is smaller than those of its children.
 * @param ret_order room for one number per process: the row to print first, second, ...
 * @param ret_parent room for one number per process: for each row the row of its parent; -1: none.
 * @return 0, or -ENOMEM.
 */
BARO_API int baro_sample_forest(const struct baro_sample *s, size_t *ret_order, ptrdiff_t *ret_parent,
                                struct baro_error *err);
/**
 * Finds the next process that may have changed since the previous sample; all others have the values, name and command
 * line that they had then. In a sample that was reached by seeking every process may have changed.
 * @param i the row to begin with: 0 at first, then the last result plus 1.
 * @return the first such row from @p i on, or the number of processes if there is none.
 */
BARO_API size_t baro_sample_next_changed(const struct baro_sample *s, size_t i);
/**
 * Gets the time at which the recorder read the rows of a kind, in nanoseconds since the tape began. The machine and
 * entities are not read for every sample: a sample has the values that were read last. A single process may have been
 * read at another time: baro_row_read_ns().
 * @return BARO_PRESENT, or BARO_ABSENT_UNKNOWN if they were never read.
 */
BARO_API enum baro_absent baro_sample_read_ns(const struct baro_sample *s, baro_kind_id kind, uint64_t *ret);

/* ---- sums over processes ---- */
/**
 * Adds up a metric over the living processes: rss_bytes, pss_bytes, threads, ... Totals of counters (CPU time, I/O)
 * include processes that have ended, and are in the row of the job.
 * @param metric of BARO_KIND_PROCESS
 * @param ret the sum; a lower bound if *ret_lacking is not 0.
 * @param ret_lacking how many processes lack the value; NULL: not wanted. A zombie, which has no memory, and a value
 * that is BARO_ABSENT_SHARED do not count as lacking.
 * @return BARO_PRESENT; BARO_ABSENT_UNSUPPORTED if a sum of the metric means nothing; the reason why the value is
 * absent if no process has it.
 */
BARO_API enum baro_absent baro_sample_sum(const struct baro_sample *s, baro_metric_id metric, uint64_t *ret,
                                          size_t *ret_lacking);
/** @return whether baro_sample_sum() can add up this metric of processes. */
BARO_API bool baro_metric_adds_up(baro_metric_id process_metric);

/* ---- copies ---- */
/**
 * Copies a sample with all its rows.
 * @return 0 and a copy, to be freed with baro_sample_free(), that stays valid when the cursor is moved or closed;
 * -ENOMEM.
 */
BARO_API int baro_sample_copy(const struct baro_sample *s, struct baro_sample **ret, struct baro_error *err);
/** Frees a copy; never a sample that a cursor delivered. NULL is allowed. */
BARO_API void baro_sample_free(struct baro_sample *s);

#ifdef __cplusplus
}
#endif
#endif
