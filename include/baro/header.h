/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The header of a tape: what was known when the recording began.
 *
 * baro_tape_header() returns it. A header has facts, which are read as those of a summary are: the working directory,
 * the interval, the budget, the kernel, the id of the boot, ... (baro_header_fact_count(), baro_header_value() in
 * baro/summary.h):
 *
 *     struct baro_value v;
 *     if (baro_header_value(header, baro_header_fact_find("kernel"), 0, &v) == BARO_PRESENT)
 *         puts(v.text);
 *
 * The functions here have those that programs compute with, or identify a job by. All of them are pure: any thread may
 * call them while the tape is open. Text is borrowed from the tape and valid until baro_tape_close(). Text that the
 * recorder did not know is ""; a number that it did not know is 0, unless the function says otherwise.
 */
#ifndef BARO_HEADER_H
#define BARO_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/error.h"
#include "baro/metric.h"

#ifdef __cplusplus
extern "C" {
#endif

struct baro_header; /**< the header of a tape */

/** How a recording was started. */
enum baro_mode {
    BARO_MODE_RUN,   /**< `baro run`: the recorder started the command */
    BARO_MODE_ATTACH /**< `baro record`: the recorder attached to processes or a cgroup, or recorded the machine */
};

/* ---- what was recorded ---- */
/** @return how the recording was started. */
BARO_API enum baro_mode baro_header_mode(const struct baro_header *h);
/**
 * @return the arguments of the command (run) or of the first target (attach), with secrets redacted. The array is
 * terminated by NULL and may be empty.
 */
BARO_API const char *const *baro_header_argv(const struct baro_header *h);
/** @return the name of the recording: `--name`, that of a task file, or those of its
 * tasks ("gulpy, fmpy"); "" if it has none. */
BARO_API const char *baro_header_name(const struct baro_header *h);
/**
 * @return the tags that the user gave the recording (`--tag KEY=VALUE`), each as "KEY=VALUE": the key ends at the first
 * '='. The array is terminated by NULL and may be empty.
 */
BARO_API const char *const *baro_header_tags(const struct baro_header *h);
BARO_API uint32_t baro_header_uid(const struct baro_header *h); /**< real user id of the recorder */
/** @return how many pids the user named as targets; 0 for `baro run`. */
BARO_API size_t baro_header_target_count(const struct baro_header *h);
/** @return the pid of target @p i, or 0 if there is no such target. */
BARO_API int32_t baro_header_target(const struct baro_header *h, size_t i);
/** @return the id that a batch system gave the job, such as $SLURM_JOB_ID; "" if it has none. */
BARO_API const char *baro_header_job_id(const struct baro_header *h);

/* ---- how it was recorded ---- */
/** @return the version of the barograph that wrote the tape. */
BARO_API const char *baro_header_version(const struct baro_header *h);
/** @return whether the user asked for process metric @p metric (baro_tape_metric()). */
BARO_API bool baro_header_wants(const struct baro_header *h, baro_metric_id metric);
/**
 * @return 0 if the tape is one file. If it is in segments (--keep): the number of the first segment that the cursor
 * found, from 1 on. A number above 1 means that the beginning of the recording was removed. Counters of the job and of
 * processes still count from the beginning. A process that ended before is included in the job's totals and has no
 * record.
 */
BARO_API uint32_t baro_header_segment(const struct baro_header *h);
/**
 * @return 0 if the tape has all samples that were taken. If it was thinned (`baro thin`, --thin-after): about one of so
 * many is left, at the beginning of a tape in segments, or in all of a tape in one file. Counters are exact at each
 * sample that is left. Gauges may have been higher between two of them.
 */
BARO_API uint32_t baro_header_thinned(const struct baro_header *h);
/**
 * @return whether the tape has the job from its first instruction on: `baro run` started it, and the beginning of the
 * tape was not removed. Only then are the job's counters 0 at the beginning of the tape.
 */
BARO_API bool baro_header_has_start(const struct baro_header *h);

/* ---- when and where ---- */
/** @return CLOCK_REALTIME at the beginning of the tape: nanoseconds since 1970-01-01, UTC. */
BARO_API int64_t baro_header_start_realtime_ns(const struct baro_header *h);
/**
 * @return baro_header_start_realtime_ns() plus @p t_ns: the wall-clock time of an instant of the tape, unless the clock
 * was set or the machine was suspended since the tape began. baro_tape_realtime_ns() takes both into account.
 */
BARO_API int64_t baro_header_realtime_ns(const struct baro_header *h, uint64_t t_ns);
/** @return clock ticks per second (sysconf(_SC_CLK_TCK)): the unit of field 22 of /proc/PID/stat, the start time. */
BARO_API uint32_t baro_header_clock_ticks(const struct baro_header *h);
BARO_API const char *baro_header_host(const struct baro_header *h);      /**< host name */
BARO_API uint32_t baro_header_cpus(const struct baro_header *h);         /**< logical CPUs online */
BARO_API uint64_t baro_header_memory_bytes(const struct baro_header *h); /**< MemTotal of /proc/meminfo */

#ifdef __cplusplus
}
#endif
#endif
