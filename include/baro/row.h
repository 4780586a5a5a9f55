/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Rows: the values of one process, job, recorder, machine, CPU, disk or other entity at one time, or of the exit of a
 * process. The kind of a row (baro/metric.h) says which values it has. The functions here read rows of all kinds.
 *
 *     const struct baro_row *job = baro_sample_row(sample, BARO_KIND_JOB, 0);
 *     uint64_t cpu_ns;
 *     if (baro_row_value(job, baro_metric_find(BARO_KIND_JOB, "cpu_ns"), &cpu_ns) == BARO_PRESENT)
 *         ...
 *     double cores;
 *     if (baro_row_derived(job_before, job, baro_derived_find(BARO_KIND_JOB, "cores"), &cores) == BARO_PRESENT)
 *         ...
 *
 * Rows of samples come from baro_sample_row(), exits from records (BARO_RECORD_EXIT). All functions accept NULL, a row
 * that does not exist.
 *
 * A property that rows of another kind do not have, such as the end of a process in a sample, is
 * BARO_ABSENT_UNSUPPORTED; one that is not known is BARO_ABSENT_UNKNOWN; of NULL both are UNKNOWN. Functions that name
 * what a row is return a value that no row can have instead, whether it is not known or the kind does not have it: ""
 * as name and label, 0 as id, pid and start time, UINT32_MAX as user id, BARO_OWNER_NONE.
 *
 * Lifetimes: a row is borrowed from its sample, an exit from its cursor, as baro/sample.h says; baro_row_copy() makes a
 * copy that the caller owns. Text is borrowed from the row. All functions but baro_row_free() only read the row:
 * several threads may use one row as long as none moves its cursor.
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
/** @return the kind of the row; -1 for NULL. */
BARO_API baro_kind_id baro_row_kind(const struct baro_row *row);

/**
 * Reads a value as it was recorded: the kernel's count, in the unit of the metric. baro_metric_real() converts it.
 * @param metric of the kind of the row.
 * @param ret the value; unchanged if it is absent.
 * @return BARO_PRESENT, or why the value is absent; BARO_ABSENT_UNSUPPORTED if @p metric is -1.
 */
BARO_API enum baro_absent baro_row_value(const struct baro_row *row, baro_metric_id metric, uint64_t *ret);

/**
 * Reads @p n values as baro_row_value() does. A table of many rows takes a third less time with it than with a call for
 * each value.
 * @param metrics ids, in any order; an id may occur twice.
 * @param ret_value room for @p n values; 0 where a value is absent.
 * @param ret_absent room for @p n reasons of enum baro_absent; BARO_PRESENT (0) where there is a value.
 * @return how many of the values are present.
 */
BARO_API size_t baro_row_values(const struct baro_row *row, const baro_metric_id *metrics, size_t n,
                                uint64_t *ret_value, uint8_t *ret_absent);

/**
 * Computes the growth of a counter per second, in the metric's unit per second: 2 000 000 000 of cpu_ns are two cores.
 * The growth is divided by the time between the two reads (baro_row_read_ns()), not between the samples: for a process
 * that was not read for 5 s, by 5 s.
 * @param before the same process, entity, job, ... in an earlier sample; NULL: there is none, and the rate is
 * BARO_ABSENT_NOT_YET.
 * @return BARO_PRESENT; the reason why one of the values is absent; BARO_ABSENT_UNKNOWN if the counter fell (it is not
 * the same counter), if no time passed, or if the rows are not of the same process or entity; BARO_ABSENT_UNSUPPORTED
 * for a metric that is not a counter.
 */
BARO_API enum baro_absent baro_row_rate(const struct baro_row *before, const struct baro_row *now,
                                        baro_metric_id metric, double *ret);

/**
 * Computes a derived metric (baro/interval.h) from two rows, as baro_row_rate() computes a rate.
 *
 * The first counters of `from` and of `per` must be present. A further counter that is absent in one of the rows is
 * left out, because older kernels do not have it.
 *
 * Cores and ratios have no upper limit: the kernel counts some times in steps of 4 or 10 ms, so over 100 ms a CPU that
 * was always busy can have 1.1 cores.
 * @param derived of the kind of the rows.
 * @return as baro_row_rate(); BARO_ABSENT_UNKNOWN also if `per` did not grow (a disk without reads has no time per
 * read); BARO_ABSENT_UNSUPPORTED if there is no such derived metric.
 */
BARO_API enum baro_absent baro_row_derived(const struct baro_row *before, const struct baro_row *now,
                                           baro_derived_id derived, double *ret);

/**
 * Reads the time in which a CPU, or all CPUs of the machine together, were busy: the fields of /proc/stat without idle,
 * iowait and steal, in nanoseconds since boot.
 * @return BARO_PRESENT, or why it is absent; BARO_ABSENT_UNSUPPORTED for rows that are neither a CPU nor the host.
 */
BARO_API enum baro_absent baro_row_busy_ns(const struct baro_row *row, uint64_t *ret);

/**
 * Gets the time at which the recorder read the values of the row, in nanoseconds since the tape began. For the job and
 * the recorder it is the time of the sample. For a process it may be earlier. For the machine and entities it is the
 * time at which their kind was read, or a time of their own, such as that of a filesystem whose server answered slowly.
 * For an exit it is the end of the process.
 * @return BARO_PRESENT, or why the time is not known.
 */
BARO_API enum baro_absent baro_row_read_ns(const struct baro_row *row, uint64_t *ret);

/**
 * Gets the time at which the counters of a row were 0, in nanoseconds since the tape began; negative: before that. It
 * is the start time that OpenTelemetry requires for a counter. For a process and an exit it is the beginning of the
 * process; for the machine and its CPUs the boot; for what barograph itself counts (the recorder, GPUs, energy,
 * directories), and for the job and its tasks if the recording started the job, the beginning of the tape. If it is
 * absent, count growth from the first value on.
 * @param header of the tape
 * @return BARO_PRESENT; BARO_ABSENT_UNSUPPORTED for disks, interfaces and control groups: they count from when they
 * were made, which is the boot (the time of the host's row) or later, and the kernel does not say when;
 * BARO_ABSENT_NONE for filesystems and sensors, which have no counters; BARO_ABSENT_UNKNOWN for a job that ran before
 * the recording, for kinds that only the tape has, and where the recorder could not read the clock or the start time of
 * the process.
 */
BARO_API enum baro_absent baro_row_since_ns(const struct baro_header *header, const struct baro_row *row, int64_t *ret);

/* ---- who it is ---- */
/** @return the id of the process or entity: from 1 on, unique among processes or among entities of the tape. */
BARO_API uint32_t baro_row_id(const struct baro_row *row);
/** @return the comm of a process or an exit (proc(5)); the name of an entity: "cpu0", "nvme0n1", "/home"; else "". */
BARO_API const char *baro_row_name(const struct baro_row *row);

/* ---- processes and exits ---- */
/** How the recorder found that a process is a member of the job. Later versions may add values. */
enum baro_origin {
    BARO_ORIGIN_TARGET, /**< it is the command, or a process that the user named */
    BARO_ORIGIN_EVENT,  /**< an event source reported that a member forked it */
    BARO_ORIGIN_SCAN,   /**< it was found as a child of a member */
    BARO_ORIGIN_ADOPTED /**< it is an orphan that the wrapper adopted (PR_SET_CHILD_SUBREAPER) */
};

/** @return the pid; 0 if the row is not a process. */
BARO_API int32_t baro_row_pid(const struct baro_row *row);
/** @return its start time in clock ticks since boot (proc(5)), with the pid its identity; 0: not known. */
BARO_API uint64_t baro_row_start_ticks(const struct baro_row *row);
/** @return the pid of its parent at that time, which may be outside the job; 0: not known. */
BARO_API int32_t baro_row_ppid(const struct baro_row *row);
/** @return the start time of the parent; 0: not known. */
BARO_API uint64_t baro_row_parent_start_ticks(const struct baro_row *row);
/** @return its real user id; UINT32_MAX: not known. */
BARO_API uint32_t baro_row_uid(const struct baro_row *row);
/** Gets how the recorder found the process. @return BARO_PRESENT; BARO_ABSENT_UNSUPPORTED for other rows. */
BARO_API enum baro_absent baro_row_origin(const struct baro_row *row, enum baro_origin *ret);
/** @return "target", "event", "scan", "adopted"; "unknown" for a number that this library does not know. */
BARO_API const char *baro_origin_name(enum baro_origin origin);
/**
 * Gets the command line, with secrets redacted and arguments quoted for a shell.
 * @return BARO_PRESENT, or why it is absent; BARO_ABSENT_UNSUPPORTED for other rows.
 */
BARO_API enum baro_absent baro_row_cmdline(const struct baro_row *row, const char **ret);
/**
 * Gets when the recorder found the process, in nanoseconds since the tape began.
 * @return BARO_PRESENT; BARO_ABSENT_UNSUPPORTED for exits and other rows.
 */
BARO_API enum baro_absent baro_row_first_ns(const struct baro_row *row, uint64_t *ret);
/**
 * Computes when a process began, in nanoseconds since the tape began. The kernel counts start times in clock ticks,
 * mostly of 10 ms, so the earlier end of the tick is used unless the recorder knew the process within it. Example: the
 * start time is the tick from 5.10 to 5.11 s. If the event of the fork came at 5.104 s, the result is 5.104 s; if a
 * scan found the process at 5.3 s, it is 5.10 s.
 * @param header of the tape; NULL: the start time is not used.
 * @param ret the beginning; 0 if it began before the tape; the end of an exit whose start time is not known.
 * @return BARO_PRESENT; BARO_ABSENT_UNSUPPORTED for rows that are neither a process nor an exit.
 */
BARO_API enum baro_absent baro_row_begin_ns(const struct baro_header *header, const struct baro_row *row,
                                            uint64_t *ret);
/**
 * @param header of the tape; NULL: the start time is not used.
 * @return whether the process began after @p t_ns: whatever it has used, it used after that time. For programs that
 * keep values instead of samples. False for rows that are neither a process nor an exit.
 */
BARO_API bool baro_row_began_after(const struct baro_header *header, const struct baro_row *row, uint64_t t_ns);

/* ---- exits ---- */
/** Where the values of an exit come from. Later versions may add sources. */
enum baro_exit_source {
    BARO_EXIT_LAST_SAMPLE, /**< the last sample of the process: lower bounds */
    BARO_EXIT_EVENT,       /**< the last sample, too; an event reported the time of the end */
    BARO_EXIT_PERF,        /**< perf_event_open(2): CPU time without the teardown of the process */
    BARO_EXIT_TASKSTATS,   /**< taskstats: CPU time without the last time slice and the teardown */
    BARO_EXIT_ZOMBIE,      /**< /proc, read after the process ended: complete */
    BARO_EXIT_WAIT4        /**< wait4(2) of the wrapper: complete */
};

/* Of rows that are no exits these are BARO_ABSENT_UNSUPPORTED. */
/**
 * Gets when the process ended, or when the recorder noticed, in nanoseconds since the tape began.
 * @return BARO_PRESENT, or why it is absent.
 */
BARO_API enum baro_absent baro_row_end_ns(const struct baro_row *row, uint64_t *ret);
/** Gets the wait status (wait4(2)) of an exit. @return BARO_PRESENT, or why it is absent. */
BARO_API enum baro_absent baro_row_status(const struct baro_row *row, int *ret);
/** Gets where the values of an exit come from. @return BARO_PRESENT, or why it is absent. */
BARO_API enum baro_absent baro_row_exit_source(const struct baro_row *row, enum baro_exit_source *ret);
/** @return "last_sample", "event", "perf", "taskstats", "zombie", "wait4"; "unknown" for another number. */
BARO_API const char *baro_exit_source_name(enum baro_exit_source source);
/** Gets whether at least one sample has the process that ended. @return BARO_PRESENT, or why it is absent. */
BARO_API enum baro_absent baro_row_is_sampled(const struct baro_row *row, bool *ret);

/* ---- entities ---- */
/** @return a description of an entity, such as the model of a disk; "" if there is none. */
BARO_API const char *baro_row_label(const struct baro_row *row);

/** What an entity belongs to. Later versions may add owners. */
enum baro_owner {
    BARO_OWNER_NONE,    /**< it has no owner */
    BARO_OWNER_JOB,     /**< the job as a whole */
    BARO_OWNER_PROCESS, /**< a process, such as one that uses a GPU */
    BARO_OWNER_ENTITY   /**< another entity: the filesystem of a directory, for example */
};

/** @return what the entity belongs to. */
BARO_API enum baro_owner baro_row_owner(const struct baro_row *row);
/** @return the pid of the process that owns it; 0 if none does. */
BARO_API int32_t baro_row_owner_pid(const struct baro_row *row);
/** @return the start time of that process in clock ticks since boot; 0 if it is not known. */
BARO_API uint64_t baro_row_owner_start_ticks(const struct baro_row *row);
/** @return the id of the entity that owns it; 0 if none does. */
BARO_API uint32_t baro_row_owner_id(const struct baro_row *row);
/** @return how many attributes the entity has, such as the UUID of a GPU. */
BARO_API size_t baro_row_attribute_count(const struct baro_row *row);
/** @return 0 and attribute @p i, its texts borrowed from the row; BARO_E_RANGE if there is none. */
BARO_API int baro_row_attribute(const struct baro_row *row, size_t i, struct baro_attribute *ret);
/** @return 0 and the attribute called @p name, its texts borrowed from the row; BARO_E_RANGE if there is none. */
BARO_API int baro_row_attribute_find(const struct baro_row *row, const char *name, struct baro_attribute *ret);

/* ---- copies ---- */
/**
 * Copies a row, such as an exit that a program keeps while the cursor moves on.
 * @return 0 and a copy, to be freed with baro_row_free(), that stays valid when the cursor is moved or closed; -ENOMEM;
 * BARO_E_RANGE if @p row is NULL.
 */
BARO_API int baro_row_copy(const struct baro_row *row, struct baro_row **ret, struct baro_error *err);
/** Frees a copy; never a row that was borrowed. NULL is allowed. */
BARO_API void baro_row_free(struct baro_row *row);

#ifdef __cplusplus
}
#endif
#endif
