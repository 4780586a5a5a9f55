/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Samples: all values at one instant, of the job, its processes, the machine and the recorder. A sample has rows
 * (baro/row.h) of each kind: any number of processes and entities, one of the job, the recorder and the machine.
 *
 *     for (size_t i = 0; i < baro_sample_rows(sample, BARO_KIND_PROCESS); i++) {
 *         const struct baro_row *process = baro_sample_row(sample, BARO_KIND_PROCESS, i);
 *         uint64_t rss_bytes;
 *         if (baro_row_value(process, rss, &rss_bytes) == BARO_PRESENT)
 *             printf("%d %s %llu\n", baro_row_pid(process), baro_row_name(process), (unsigned long long)rss_bytes);
 *     }
 *
 * Lifetimes: a sample that a cursor delivered, and all that is reached from it, is borrowed until the next call that
 * takes the cursor non-const. baro_sample_copy() makes one that the caller owns. All but baro_sample_copy() and
 * baro_sample_free() are pure: several threads may read one sample as long as none moves its cursor.
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

/** @return nanoseconds since the tape began. */
BARO_API uint64_t baro_sample_t_ns(const struct baro_sample *s);
/** @return whether the event source lost events since the sample before: counts of processes are lower bounds then. */
BARO_API bool baro_sample_lossy(const struct baro_sample *s);

/* ---- rows ---- */
/**
 * @param kind of enum baro_kind, or a kind that only the tape has (baro_tape_kind_find()).
 * @return how many rows of a kind there are: of BARO_KIND_JOB and BARO_KIND_RECORDER 1, of BARO_KIND_HOST 1 once the
 * machine was read; 0 for kinds without rows in samples, as BARO_KIND_EXIT.
 */
BARO_API size_t baro_sample_rows(const struct baro_sample *s, int kind);
/**
 * @return row @p i of a kind; NULL if there is no such one. Of processes parents stand before their children; entities
 * are in the order in which they were found.
 */
BARO_API const struct baro_row *baro_sample_row(const struct baro_sample *s, int kind, size_t i);
/** @return the process with this pid and start time (0: any), or NULL. Linear in the number of processes. */
BARO_API const struct baro_row *baro_sample_find(const struct baro_sample *s, int32_t pid, uint64_t start_ticks);
/** @return the process or entity of a kind with this id of the tape, or NULL. Linear in the number of rows. */
BARO_API const struct baro_row *baro_sample_find_id(const struct baro_sample *s, int kind, uint32_t id);
/**
 * Orders the processes of a sample for a printed tree: each before its children, siblings in the order of their rows.
 * A process of which the parent is not in the sample is the root of a tree. The depth of a process is 0 for a root,
 * else one more than that of its parent, which stands before it. Takes n log n for n processes.
 * @param ret_order room for as many rows as there are processes: the row that is printed first, second, ...
 * @param ret_parent room for as many: for each row that of its parent, which is smaller; SIZE_MAX: none.
 * @return 0, or -ENOMEM.
 */
BARO_API int baro_sample_forest(const struct baro_sample *s, size_t *ret_order, size_t *ret_parent,
                                struct baro_error *err);
/**
 * Walks the processes that may have changed since the sample before; all others have the values, name and command line
 * that they had then. In a sample that was reached by seeking every process may have changed.
 * @param i 0 at first, then the last result plus 1.
 * @return the position of the next one at or behind @p i, or the number of processes if there is none.
 */
BARO_API size_t baro_sample_next_changed(const struct baro_sample *s, size_t i);
/**
 * Reads when the rows of a kind were read, in nanoseconds since the tape began. The machine and entities are not read
 * with every sample: their values are those of the last time. A process may have been read at a time of its own:
 * baro_row_read_ns().
 * @return BARO_ABSENT_UNKNOWN if they were never read.
 */
BARO_API enum baro_absent baro_sample_read_ns(const struct baro_sample *s, int kind, uint64_t *ret);

/* ---- sums over processes ---- */
/**
 * Adds up a metric of the living processes that they have each for themselves: rss_bytes, pss_bytes, threads, ...
 * Totals of counters (CPU time, I/O) are not sums of living processes: ask the row of the job for them.
 * @param metric of BARO_KIND_PROCESS
 * @param ret the sum; a lower bound where *ret_lacking is not 0.
 * @param ret_lacking how many processes lack the value; NULL: not wanted. Zombies, which hold nothing, and
 * BARO_ABSENT_SHARED lack nothing.
 * @return BARO_ABSENT_UNSUPPORTED for a metric that does not add up; the reason if no process has it.
 */
BARO_API enum baro_absent baro_sample_sum(const struct baro_sample *s, int metric, uint64_t *ret, size_t *ret_lacking);
/** @return whether a metric of processes adds up over them. */
BARO_API bool baro_metric_adds_up(int process_metric);

/* ---- copies ---- */
/**
 * Copies a sample with all its rows.
 * @return 0 and a copy that depends on nothing else, to be freed with baro_sample_free(); -ENOMEM.
 */
BARO_API int baro_sample_copy(const struct baro_sample *s, struct baro_sample **ret, struct baro_error *err);
/** Frees a copy. NULL is allowed. A sample that a cursor delivered must not be given here. */
BARO_API void baro_sample_free(struct baro_sample *s);

#ifdef __cplusplus
}
#endif
#endif
