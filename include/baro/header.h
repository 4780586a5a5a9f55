/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The header of a tape: what was known when the recording began.
 *
 * baro_tape_header() returns it. All functions here are pure; they may be called from any thread while the tape is
 * open. Text is borrowed from the tape and valid until baro_tape_close(). Text that the recorder did not know is "",
 * a number that it did not know is 0, unless the function says otherwise.
 */
#ifndef BARO_HEADER_H
#define BARO_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct baro_header; /**< what stands at the head of a tape */

/** How a recording was started. */
enum baro_mode {
    BARO_MODE_RUN,   /**< `baro run`: the recorder started the command */
    BARO_MODE_ATTACH /**< `baro record`: the targets, or the machine, ran already */
};

/* ---- what was recorded ---- */
/** @return whether a command was run or something that ran already was recorded. */
BARO_API enum baro_mode baro_header_mode(const struct baro_header *h);
/** @return the command (run), or that of the first target (attach): secrets redacted, ended by NULL; may be empty. */
BARO_API const char *const *baro_header_argv(const struct baro_header *h);
/**
 * @return what the recording is called: the name of a task file, or that of its tasks ("gulpy, fmpy"); "" if it has no
 * name but its command.
 */
BARO_API const char *baro_header_name(const struct baro_header *h);
BARO_API const char *baro_header_cwd(const struct baro_header *h); /**< working directory of the command */
BARO_API uint32_t baro_header_uid(const struct baro_header *h);    /**< real user id of the recorder */
/** @return how many pids were named as targets; 0 for `baro run`. */
BARO_API size_t baro_header_target_count(const struct baro_header *h);
/** @return the pid of target @p i, or 0 if there is no such target. */
BARO_API int32_t baro_header_target(const struct baro_header *h, size_t i);
/** @return "own", "none" (run), "target", "members" (attach to a control group) or "". */
BARO_API const char *baro_header_cgroup_mode(const struct baro_header *h);

/* ---- how it was recorded ---- */
BARO_API const char *baro_header_version(const struct baro_header *h); /**< of barograph that wrote the tape */
BARO_API uint64_t
baro_header_interval_ns(const struct baro_header *h); /**< between two samples; 0: chosen as it went */
BARO_API uint64_t baro_header_overhead_ppm(const struct baro_header *h); /**< budget: millionths of a core; 0: none */
/** @return whether process metric @p metric (an id of baro_tape_metric()) was asked for. */
BARO_API bool baro_header_wants(const struct baro_header *h, int metric);
/** @return the pid of the recorder in its own PID namespace; 0: not known. */
BARO_API int32_t baro_header_recorder_pid(const struct baro_header *h);
/** @return the start time of the recorder in clock ticks since boot. */
BARO_API uint64_t baro_header_recorder_start_ticks(const struct baro_header *h);
/**
 * @return 0: the tape is one file and begins with the recording. Else it is in segments (--keep), and the number of the
 * first one that the cursor found, from 1 on: above 1 the beginning of the recording was removed. Counters of the job
 * and of processes still count from the beginning; what ended before is in the job's totals and has no record.
 */
BARO_API uint32_t baro_header_segment(const struct baro_header *h);
/**
 * @return whether the tape has the job from its first instruction on: `baro run` started it, and the beginning of the
 * tape was not removed. Only then were its counters 0 when the tape begins.
 */
BARO_API bool baro_header_has_start(const struct baro_header *h);
BARO_API uint64_t baro_header_keep_ns(const struct baro_header *h);    /**< --keep as a time; 0: not limited by it */
BARO_API uint64_t baro_header_keep_bytes(const struct baro_header *h); /**< --keep as a size; 0: not limited by it */
/** @return "connector", "perf" or "scan" */
BARO_API const char *baro_header_event_source(const struct baro_header *h);
BARO_API const char *
baro_header_exit_source(const struct baro_header *h); /**< "taskstats", "perf", "wait4" or "none" */

/* ---- when ---- */
/**
 * @return CLOCK_REALTIME at the beginning of the tape: nanoseconds since 1970, UTC. An instant t_ns of the tape was at
 * this plus t_ns, unless the wall clock was set or the machine slept since: events clock_step and suspend tell that.
 */
BARO_API int64_t baro_header_start_realtime_ns(const struct baro_header *h);
/** @return the wall-clock time of an instant of the tape: nanoseconds since 1970, UTC; with the same exceptions, which
 * baro_tape_realtime_ns() knows. */
BARO_API int64_t baro_header_realtime_ns(const struct baro_header *h, uint64_t t_ns);
BARO_API uint64_t baro_header_start_monotonic_ns(const struct baro_header *h); /**< CLOCK_MONOTONIC at the beginning */
BARO_API uint64_t baro_header_start_boottime_ns(const struct baro_header *h);  /**< CLOCK_BOOTTIME at the beginning */
BARO_API const char *baro_header_boot_id(const struct baro_header *h);         /**< /proc/sys/kernel/random/boot_id */
/** @return clock ticks per second: the unit of start times of processes (field 22 of /proc/PID/stat). */
BARO_API uint32_t baro_header_clock_ticks(const struct baro_header *h);

/* ---- where ---- */
BARO_API const char *baro_header_host(const struct baro_header *h);      /**< host name */
BARO_API const char *baro_header_kernel(const struct baro_header *h);    /**< release, as `uname -r` */
BARO_API const char *baro_header_machine(const struct baro_header *h);   /**< "x86_64", "aarch64", ... */
BARO_API const char *baro_header_cpu_model(const struct baro_header *h); /**< as in /proc/cpuinfo; "" if not known */
BARO_API uint32_t baro_header_cpus(const struct baro_header *h);         /**< online */
BARO_API uint32_t baro_header_numa_nodes(const struct baro_header *h);   /**< 0: not known */
BARO_API uint64_t baro_header_page_bytes(const struct baro_header *h);   /**< size of a page of memory */
BARO_API uint64_t baro_header_memory_bytes(const struct baro_header *h); /**< MemTotal of /proc/meminfo */

/* ---- which of many: from the environment of a batch system ---- */
BARO_API const char *baro_header_job_id(const struct baro_header *h);  /**< "" if there is none, as in the next two */
BARO_API const char *baro_header_step_id(const struct baro_header *h); /**< of a part of the job */
BARO_API const char *baro_header_rank(const struct baro_header *h);    /**< of one process of many, such as MPI's */

#ifdef __cplusplus
}
#endif
#endif
