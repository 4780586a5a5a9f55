/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What to ask a batch system for next time: cores, memory, time and memory of GPUs, from what runs of the same command
 * needed. The verdict right-size (baro/verdict.h) has the same numbers for one run.
 *
 *     struct baro_need need = BARO_NEED_INIT;
 *     const struct baro_need *const needs[] = {&need};
 *     struct baro_advice advice = BARO_ADVICE_INIT;
 *     if (baro_fold_need(fold, &need) == 0 && baro_advise(needs, 1, 0, &advice) == 0)
 *         printf("%.0f MiB\n", advice.memory_bytes / 1048576);
 *
 * A number that is not known is NAN. The functions are pure and may be called in any thread.
 */
#ifndef BARO_ADVICE_H
#define BARO_ADVICE_H

#include <stddef.h>
#include <stdint.h>

#include "baro/error.h"
#include "baro/fold.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What limits the meaning of a need. */
enum baro_need_flag {
    BARO_NEED_MEMORY_BOUND = 1, /**< memory ran out: it needed more than memory_bytes, how much is not known */
    BARO_NEED_TIME_BOUND = 2,   /**< a time limit or a signal ended it: it needed more than wall_ns */
    BARO_NEED_PARTIAL = 4,      /**< it runs still, or its tape is cut off or a stretch: all numbers are lower
                                       bounds */
    BARO_NEED_SHORT = 8,        /**< it was shorter than a second, or has fewer than ten samples: no cores */
    BARO_NEED_FAILED = 16,      /**< it ended with a status other than 0, and no limit is known to be the cause */
    BARO_NEED_NEIGHBOURS = 32   /**< other processes of the machine kept it waiting for cores: no cores */
};

/** Into so many parts the time of a run is divided for its demand of cores. */
#define BARO_NEED_PARTS 20

/** What one run needed. */
struct baro_need {
    size_t size;                    /**< set by BARO_NEED_INIT; later versions may add members at the end */
    unsigned flags;                 /**< bits of enum baro_need_flag */
    unsigned parts;                 /**< how many values demand has; 0: it is not known */
    double wall_ns;                 /**< its wall-clock time */
    double cpu_ns;                  /**< its CPU time */
    double cores;                   /**< it had work for so many cores in all but a tenth of its time */
    double memory_bytes;            /**< memory that it can't do without, and what was swapped out; no page cache */
    double memory_at_most_bytes;    /**< what it may have needed; NAN: how much more is not known */
    double memory_shared_bytes;     /**< how much of it is shared memory and files in tmpfs */
    double page_cache_bytes;        /**< page cache beside it, which only costs speed */
    double memory_limit_bytes;      /**< the memory that it was allowed; NAN or 0: no limit */
    double cores_limit;             /**< the cores that it was allowed; NAN or 0: no limit */
    double gpus;                    /**< GPUs that it used */
    double gpu_memory_bytes;        /**< the most that it had on one of them, others included */
    double demand[BARO_NEED_PARTS]; /**< threads that ran or could have run, on average, in equal parts of its time */
    double neighbours_cores;        /**< cores that other processes of the machine used on average */
    double machine_cores;           /**< cores of the machine */
};
/** Initial value of a need. */
#define BARO_NEED_INIT                                                                                                 \
    {                                                                                                                  \
        sizeof(struct baro_need), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, 0, 0                                     \
    }

/**
 * Reads what a recording needed.
 * @param fold finished with BARO_FOLD_VERDICTS.
 * @return 0; BARO_E_RANGE if the fold has no verdicts, or this library does not know ret->size.
 */
BARO_API int baro_fold_need(const struct baro_fold *fold, struct baro_need *ret);

/** What to ask for. */
struct baro_advice {
    size_t size;             /**< set by BARO_ADVICE_INIT; later versions may add members at the end */
    size_t runs;             /**< how many runs it is made of: those that have none of the flags in left_out */
    size_t memory_bounds;    /**< how many of them only say that they needed more memory */
    size_t time_bounds;      /**< how many only say that they needed more time */
    double cores;            /**< NAN: not known */
    double memory_bytes;     /**< in steps of 64 MiB */
    double time_ns;          /**< in minutes; NAN: no run came to its end */
    double gpu_memory_bytes; /**< in steps of 64 MiB; NAN: none used a GPU, or it is not known */
    unsigned left_out;       /**< bits of enum baro_need_flag: runs with one of them are left out */
    size_t failed;           /**< how many runs failed. They are left out, unless all failed */
};
/** Initial value of an advice. */
#define BARO_ADVICE_INIT                                                                                               \
    {                                                                                                                  \
        sizeof(struct baro_advice), 0, 0, 0, 0, 0, 0, 0, 0, 0                                                          \
    }

/**
 * Says what to ask for, so that the next run fits.
 *
 * Memory is the most that a run needed, and a margin: a quarter, with ten and more runs 15 %, and half after memory ran
 * out. Of what it may have needed, which is an upper bound already, it is 5 %. Time is the longest and a half, with ten
 * and more runs a quarter. Cores are those that nine of ten runs had work for at most. Partial runs are left out, and
 * so are those that failed, if another one succeeded: a run that fails early needs less.
 * @param risk the share of runs that may fail with it, 0 to 0.5: with 0.05 of 40 runs the two with most memory, and the
 * two with most time, do not count.
 * @return 0; BARO_E_RANGE if there is no run, or this library does not know ret->size; -ENOMEM.
 */
BARO_API int baro_advise(const struct baro_need *const *needs, size_t n, double risk, struct baro_advice *ret);

#ifdef __cplusplus
}
#endif
#endif
