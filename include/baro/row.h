/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Rows: whatever has values, in one form. A process, the job, the recorder, the machine, a CPU or disk, a kind that
 * only the tape has, and the exit of a process are rows. A kind (baro/metric.h) says which values a row has; all rows
 * are asked by the functions here.
 *
 *     const struct baro_row *job = baro_sample_row(sample, BARO_KIND_JOB, 0);
 *     uint64_t cpu_ns;
 *     if (baro_row_value(job, baro_metric_find(BARO_KIND_JOB, "cpu_ns"), &cpu_ns) == BARO_PRESENT)
 *         ...
 *     double cores;
 *     if (baro_row_derived(job_before, job, baro_derived_find(BARO_KIND_JOB, "cores"), &cores) == BARO_PRESENT)
 *         ...
 *
 * Rows of samples come from baro_sample_row(), exits from records (BARO_RECORD_EXIT). Where a function takes a row,
 * NULL stands for a row that is not there: it has no values (BARO_ABSENT_UNKNOWN), no name ("") and no numbers (0).
 * What a row of some kind does not have, such as the pid of a disk, is "" or 0, too.
 *
 * Lifetimes: a row is borrowed from its sample, an exit from its cursor, as baro/sample.h says; baro_row_copy() makes
 * one that the caller owns. Text is borrowed from the row. All functions but baro_row_copy() and baro_row_free() are
 * pure: several threads may read one row as long as none moves its cursor.
 */
#ifndef BARO_ROW_H
#define BARO_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/attribute.h"
#include "baro/error.h"
#include "baro/header.h"
#include "baro/metric.h"

#ifdef __cplusplus
extern "C" {
#endif

struct baro_row; /**< a process, an entity, an exit, or the job, recorder or machine at one instant */

/* ---- values ---- */
/** @return the kind of the row: of enum baro_kind, or a number of baro_tape_kind_find(); -1 for NULL. */
BARO_API int baro_row_kind(const struct baro_row *row);

/**
 * Reads a value, raw as the kernel counts it, in the unit of its metric.
 * @param metric an id of baro_metric_find() or baro_tape_metric_find() for the kind of the row.
 * @param ret the value; left alone if it is absent.
 */
BARO_API enum baro_absent baro_row_value(const struct baro_row *row, int metric, uint64_t *ret);

/**
 * Reads several values in one call: what baro_row_value() gives for each of @p n metrics. A table of many rows takes a
 * third less time with it than with a call for each value.
 * @param metrics ids, in any order; one may stand there twice.
 * @param ret_value room for @p n values; 0 where a value is absent.
 * @param ret_absent room for @p n reasons of enum baro_absent; BARO_PRESENT (0) where there is a value.
 * @return how many of the values are present.
 */
BARO_API size_t baro_row_values(const struct baro_row *row, const int *metrics, size_t n, uint64_t *ret_value,
                                uint8_t *ret_absent);

/**
 * Computes the growth of a counter per second, in the metric's unit per second: 2 000 000 000 of cpu_ns are two cores.
 * The time between both is that of their reads (baro_row_read_ns()), not of the samples: a process that was not read
 * for 5 s has its growth of 5 s.
 * @param before the same process, entity, job, ... in an earlier sample; NULL: it has none, and the rate is
 * BARO_ABSENT_NOT_YET.
 * @return the reason of whichever value is absent; BARO_ABSENT_UNKNOWN where the counter fell (it is another one than
 * before), no time passed, or the rows are of different processes or entities; BARO_ABSENT_UNSUPPORTED for a metric
 * that is not a counter.
 */
BARO_API enum baro_absent baro_row_rate(const struct baro_row *before, const struct baro_row *now, int metric,
                                        double *ret);

/**
 * Computes a derived metric (baro/interval.h) as baro_row_rate() does a rate.
 *
 * The first counter of `from` and of `per` must be there; another one that is absent in one of the rows is left out,
 * because an older kernel does not count it. BARO_ABSENT_UNKNOWN also where `per` did not grow (a disk without a read
 * has no time per read); BARO_ABSENT_UNSUPPORTED if there is no such derived metric.
 *
 * Cores and ratios have no upper limit: the kernel counts some times in steps of 4 or 10 ms, so over 100 ms a CPU that
 * was always busy can have 1.1 cores.
 * @param derived a number of baro_derived_find() for the kind of the rows.
 */
BARO_API enum baro_absent baro_row_derived(const struct baro_row *before, const struct baro_row *now, int derived,
                                           double *ret);

/**
 * Reads the CPU time in which a CPU, or the machine's CPUs together, ran something: all but idle, waiting for I/O and
 * time stolen by the hypervisor, in nanoseconds since boot.
 * @return BARO_ABSENT_UNSUPPORTED for a row of another kind.
 */
BARO_API enum baro_absent baro_row_busy_ns(const struct baro_row *row, uint64_t *ret);

/**
 * Reads when the values of the row were read, in nanoseconds since the tape began: of the job and the recorder the
 * instant of the sample; of a process when it was read last, which may be before that; of the machine and entities when
 * their kind was read, or their own time, as of a filesystem whose server was slow to answer; of an exit its end.
 */
BARO_API enum baro_absent baro_row_read_ns(const struct baro_row *row, uint64_t *ret);

/**
 * Reads since when the counters of a row count: the time at which they were 0, in nanoseconds since the tape began;
 * negative: before that. Programs that push to a system which wants the start time of a counter (OpenTelemetry) ask
 * this. Of a process and an exit it is the beginning of the process; of the machine and its CPUs the start of the
 * machine; of what barograph itself counts (the recorder, GPUs, energy, directories) the beginning of the tape; of the
 * job and its tasks the same, if the recording started the job.
 * @param header of the tape
 * @return BARO_ABSENT_UNKNOWN of a job that ran before, of disks, interfaces and control groups, which count since they
 * are there, and of what a program of the user printed: take the first value as the beginning.
 */
BARO_API enum baro_absent baro_row_since_ns(const struct baro_header *header, const struct baro_row *row, int64_t *ret);

/* ---- who it is ---- */
/** @return what tells the process or entity from all others of its sort on the tape: from 1 on, never used twice. */
BARO_API uint32_t baro_row_id(const struct baro_row *row);
/** @return of a process and an exit the name of its program; of an entity "cpu0", "nvme0n1", "/home", ...; else "". */
BARO_API const char *baro_row_name(const struct baro_row *row);

/* ---- processes and exits ---- */
/** How a process came to be known as a member of the job. Later versions may add some. */
enum baro_origin {
    BARO_ORIGIN_TARGET, /**< the command, or a process that the user named */
    BARO_ORIGIN_EVENT,  /**< a member forked it: an event source reported that */
    BARO_ORIGIN_SCAN,   /**< found as a child of a member */
    BARO_ORIGIN_ADOPTED /**< an orphan that the wrapper adopted (PR_SET_CHILD_SUBREAPER) */
};

/** @return the pid; 0: it is no process. */
BARO_API int32_t baro_row_pid(const struct baro_row *row);
/** @return its start time in clock ticks since boot, which with the pid is its identity; 0: not known. */
BARO_API uint64_t baro_row_start_ticks(const struct baro_row *row);
/** @return the pid of its parent at that instant, which may lie outside the job; 0: not known. */
BARO_API int32_t baro_row_ppid(const struct baro_row *row);
/** @return the start time of the parent; 0: not known. */
BARO_API uint64_t baro_row_parent_start_ticks(const struct baro_row *row);
/** @return its real user id; UINT32_MAX: not known. */
BARO_API uint32_t baro_row_uid(const struct baro_row *row);
/** @return how it came to be known. */
BARO_API enum baro_origin baro_row_origin(const struct baro_row *row);
/** @return "target", "event", "scan", "adopted"; "unknown" for a number that this library does not know. */
BARO_API const char *baro_origin_name(enum baro_origin origin);
/** @return its command line, secrets redacted, arguments quoted as a shell would need it; NULL: not known. */
BARO_API const char *baro_row_cmdline(const struct baro_row *row);
/** @return BARO_PRESENT, or why the command line is not known. */
BARO_API enum baro_absent baro_row_cmdline_absent(const struct baro_row *row);
/** @return when the recorder first knew of a process, in nanoseconds since the tape began; of other rows 0. */
BARO_API uint64_t baro_row_first_ns(const struct baro_row *row);
/**
 * When a process began, in nanoseconds since the tape began. Start times are counted in clock ticks, of 10 ms mostly.
 * Example: one that began in the tick from 5.10 to 5.11 s began at 5.104 s where it was known at 5.104 s, from the
 * event of its fork; where a scan found it at 5.3 s, it began at 5.10 s.
 * @param header of its tape; NULL: its start time is not made use of.
 * @return 0 if it began before the tape; of an exit whose start time is not known its end.
 */
BARO_API uint64_t baro_row_begin_ns(const struct baro_header *header, const struct baro_row *row);
/**
 * Did all that the process has counted happen after @p t_ns? It did if it began after that. For programs that keep
 * values instead of samples: such a process had used nothing at that time.
 * @param header of its tape; NULL: its start time is not made use of.
 */
BARO_API bool baro_row_began_after(const struct baro_header *header, const struct baro_row *row, uint64_t t_ns);

/* ---- exits ---- */
/** Where the values of an exit come from. Later versions may add sources. */
enum baro_exit_source {
    BARO_EXIT_LAST_SAMPLE, /**< the last sample of the living process: lower bounds */
    BARO_EXIT_EVENT,       /**< the same; an event reported the end itself */
    BARO_EXIT_PERF,        /**< perf_event_open(2): CPU time without the teardown of the process */
    BARO_EXIT_TASKSTATS,   /**< taskstats: CPU time without the last slice and the teardown */
    BARO_EXIT_ZOMBIE,      /**< /proc read after its end: complete */
    BARO_EXIT_WAIT4        /**< wait4(2) of the wrapper: complete */
};

/** @return when the process ended, or when that was noticed, in nanoseconds since the tape began; of other rows 0. */
BARO_API uint64_t baro_row_end_ns(const struct baro_row *row);
/** Reads the exit status as wait4(2) gives it. @return BARO_ABSENT_UNKNOWN where it is not known. */
BARO_API enum baro_absent baro_row_status(const struct baro_row *row, int *ret);
/** @return where the values of an exit come from. */
BARO_API enum baro_exit_source baro_row_exit_source(const struct baro_row *row);
/** @return "last_sample", "event", "perf", "taskstats", "zombie", "wait4"; else "unknown". */
BARO_API const char *baro_exit_source_name(enum baro_exit_source source);
/** @return whether at least one sample has the process of an exit; true for other rows. */
BARO_API bool baro_row_is_sampled(const struct baro_row *row);

/* ---- entities ---- */
/** @return further information about an entity, such as a model; "" if there is none. */
BARO_API const char *baro_row_label(const struct baro_row *row);

/** To whom the values of an entity belong. Later versions may add owners. */
enum baro_owner {
    BARO_OWNER_NONE,    /**< it has no owner */
    BARO_OWNER_JOB,     /**< to the job as a whole */
    BARO_OWNER_PROCESS, /**< to a process: what it uses of a GPU, say */
    BARO_OWNER_ENTITY   /**< to another entity: a directory on a filesystem, say */
};

/** @return whom it belongs to. */
BARO_API enum baro_owner baro_row_owner(const struct baro_row *row);
/** @return the pid of the process that owns it; 0 if none does. */
BARO_API int32_t baro_row_owner_pid(const struct baro_row *row);
/** @return the start time of that process in clock ticks since boot; 0 if it is not known. */
BARO_API uint64_t baro_row_owner_start_ticks(const struct baro_row *row);
/** @return the id of the entity that owns it; 0 if none does. */
BARO_API uint32_t baro_row_owner_id(const struct baro_row *row);
/** @return how many attributes it has, such as the labels of an OpenMetrics sample. */
BARO_API size_t baro_row_attribute_count(const struct baro_row *row);
/** @return 0 and attribute @p i, its texts borrowed from the row; BARO_E_RANGE if there is no such attribute. */
BARO_API int baro_row_attribute(const struct baro_row *row, size_t i, struct baro_attribute *ret);
/** @return 0 and the attribute of that name, its texts borrowed from the row; BARO_E_RANGE if there is none. */
BARO_API int baro_row_attribute_find(const struct baro_row *row, const char *name, struct baro_attribute *ret);

/* ---- copies ---- */
/**
 * Copies a row: to keep an exit, say, when the cursor moves on.
 * @return 0 and a copy that depends on nothing else, to be freed with baro_row_free(); -ENOMEM; BARO_E_RANGE for NULL.
 */
BARO_API int baro_row_copy(const struct baro_row *row, struct baro_row **ret, struct baro_error *err);
/** Frees a copy. NULL is allowed. A row that was borrowed must not be given here. */
BARO_API void baro_row_free(struct baro_row *row);

#ifdef __cplusplus
}
#endif
#endif
