/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Samples: all values at one instant, of the job, its processes, the machine and the recorder; and exits, which say
 * what a process had used when it ended.
 *
 * Values are raw, as the kernel counts them. A getter of a value returns 0 and the value, or the reason why the value
 * is absent (enum baro_absent); *ret is left alone then. Metric ids are those of baro_metric_find() and
 * baro_tape_metric().
 *
 * Lifetimes: a sample that a cursor delivered, and all that is reached from it, is borrowed until the next call that
 * takes the cursor non-const. baro_sample_copy() makes one that the caller owns. Getters are pure: several threads may
 * read one sample as long as none moves its cursor.
 */
#ifndef BARO_SAMPLE_H
#define BARO_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/attribute.h"
#include "baro/error.h"
#include "baro/metric.h"

#ifdef __cplusplus
extern "C" {
#endif

struct baro_sample;  /**< all values at one instant */
struct baro_process; /**< a process at that instant */
struct baro_entity;  /**< a CPU, disk, filesystem, network interface, sensor or control group at that instant */
struct baro_exit;    /**< the end of a process */

/** How a process came to be known as a member of the job. */
enum baro_origin {
    BARO_ORIGIN_TARGET, /**< the command, or a process that the user named */
    BARO_ORIGIN_EVENT,  /**< a member forked it: an event source reported that */
    BARO_ORIGIN_SCAN,   /**< found as a child of a member */
    BARO_ORIGIN_ADOPTED /**< an orphan that the wrapper adopted (PR_SET_CHILD_SUBREAPER) */
};

/** Where the values of an exit come from. */
enum baro_exit_source {
    BARO_EXIT_LAST_SAMPLE, /**< the last sample of the living process: lower bounds */
    BARO_EXIT_EVENT,       /**< the same; an event reported the end itself */
    BARO_EXIT_PERF,        /**< perf_event_open(2): CPU time without the teardown of the process */
    BARO_EXIT_TASKSTATS,   /**< taskstats: CPU time without the last slice and the teardown */
    BARO_EXIT_ZOMBIE,      /**< /proc read after its end: complete */
    BARO_EXIT_WAIT4        /**< wait4(2) of the wrapper: complete */
};

/* ---- the instant ---- */
/** @return nanoseconds since the tape began. */
BARO_API uint64_t baro_sample_t_ns(const struct baro_sample *s);
/** @return whether the event source lost events since the sample before: counts of processes are lower bounds then. */
BARO_API bool baro_sample_lossy(const struct baro_sample *s);
/** Reads a value of the job or of the recorder. */
BARO_API int baro_sample_job(const struct baro_sample *s, int metric, uint64_t *ret);
BARO_API int baro_sample_recorder(const struct baro_sample *s, int metric, uint64_t *ret);

/**
 * Copies a sample with all its processes and entities.
 * @return 0 and a copy that depends on nothing else, to be freed with baro_sample_free(); -ENOMEM.
 */
BARO_API int baro_sample_copy(const struct baro_sample *s, struct baro_sample **ret, struct baro_error *err);
/** Frees a copy. NULL is allowed. A sample that a cursor delivered must not be given here. */
BARO_API void baro_sample_free(struct baro_sample *s);

/* ---- processes ---- */
/** @return the number of living processes; parents stand before their children. */
BARO_API size_t baro_sample_count(const struct baro_sample *s);
/** @return one of them, or NULL if there is no such one. */
BARO_API const struct baro_process *baro_sample_process(const struct baro_sample *s, size_t i);
/** @return the process with this pid and start time (0: any), or NULL. Linear in the number of processes. */
BARO_API const struct baro_process *baro_sample_find(const struct baro_sample *s, int32_t pid, uint64_t start_ticks);
/** @return the process with this id of the tape, or NULL. Linear in the number of processes. */
BARO_API const struct baro_process *baro_sample_find_id(const struct baro_sample *s, uint32_t id);
/**
 * Walks the processes that may have changed since the sample before; all others have the values, name and command line
 * that they had then. In a sample that was reached by seeking every process may have changed.
 * @param i 0 at first, then the last result plus 1.
 * @return the position of the next one at or behind @p i, or baro_sample_count() if there is none.
 */
BARO_API size_t baro_sample_next_changed(const struct baro_sample *s, size_t i);

/** @return what tells the process from all others of the tape: from 1 on, never used twice. */
BARO_API uint32_t baro_process_id(const struct baro_process *p);
BARO_API int32_t baro_process_pid(const struct baro_process *p);
/** @return its start time in clock ticks since boot, which with the pid is its identity; 0: not known. */
BARO_API uint64_t baro_process_start_ticks(const struct baro_process *p);
/** @return the pid of its parent at that instant, which may lie outside the job; 0: not known. */
BARO_API int32_t baro_process_ppid(const struct baro_process *p);
/** @return the start time of the parent; 0: not known. */
BARO_API uint64_t baro_process_parent_start_ticks(const struct baro_process *p);
BARO_API uint32_t baro_process_uid(const struct baro_process *p); /**< real user id; UINT32_MAX: not known */
BARO_API enum baro_origin baro_process_origin(const struct baro_process *p);
BARO_API const char *baro_process_name(const struct baro_process *p); /**< of its program; "": not known */
/** @return its command line, secrets redacted, arguments quoted as a shell would need it; NULL: not known. */
BARO_API const char *baro_process_cmdline(const struct baro_process *p);
/** @return 0, or why the command line is not known. */
BARO_API int baro_process_cmdline_absent(const struct baro_process *p);
BARO_API uint64_t baro_process_first_ns(const struct baro_process *p); /**< when the recorder first knew of it */
BARO_API uint64_t baro_process_read_ns(const struct baro_process *p);  /**< when its values were read */
/**
 * Reads when pss and uss were read: they are read less often than the rest, because that holds up the process.
 * @return 0 and the time in nanoseconds since the tape began, or why it is absent.
 */
BARO_API int baro_process_smaps_ns(const struct baro_process *p, uint64_t *ret);
/** Reads a value of the process. */
BARO_API int baro_process_value(const struct baro_process *p, int metric, uint64_t *ret);
/**
 * Reads several values of the process in one call: what baro_process_value() gives for each of @p n metrics. A table of
 * many rows takes a third less time with it than with a call for each value.
 * @param metrics ids, in any order; one may stand there twice.
 * @param ret_value room for @p n values; 0 where a value is absent.
 * @param ret_absent room for @p n reasons of enum baro_absent; BARO_PRESENT (0) where there is a value.
 * @return how many of the values are present.
 */
BARO_API size_t baro_process_values(const struct baro_process *p, const int *metrics, size_t n, uint64_t *ret_value,
                                    uint8_t *ret_absent);

/* ---- the machine ---- */
/**
 * The machine is not read with every sample: its values, and those of its entities, are those of the last time.
 * @return 0 and when that was, in nanoseconds since the tape began; BARO_ABSENT_UNKNOWN if it was never read, even
 * where control groups were (baro_sample_entities_ns() has their time).
 */
BARO_API int baro_sample_host_ns(const struct baro_sample *s, uint64_t *ret);
/** Reads a value of the machine. */
BARO_API int baro_sample_host(const struct baro_sample *s, int metric, uint64_t *ret);
/* ---- entities: what is neither a process nor the machine as a whole ---- */
/**
 * Reads when the entities of a kind were read.
 * @param kind BARO_KIND_CPU and on; also a kind that only the tape has (baro_tape_kind_find()).
 * @return 0 and the time in nanoseconds since the tape began; BARO_ABSENT_UNKNOWN if they were never read.
 */
BARO_API int baro_sample_entities_ns(const struct baro_sample *s, int kind, uint64_t *ret);
/** @return how many entities of a kind there were; 0 for kinds that have none. */
BARO_API size_t baro_sample_entity_count(const struct baro_sample *s, int kind);
/** @return one of them, in the order in which they were found; NULL if there is no such one. */
BARO_API const struct baro_entity *baro_sample_entity(const struct baro_sample *s, int kind, size_t i);

/** @return what tells it from all other entities of the tape. A disk that went and came back is another one. */
BARO_API uint32_t baro_entity_id(const struct baro_entity *e);
/** @return its kind: of enum baro_kind, or a number of baro_tape_kind_find(). */
BARO_API int baro_entity_kind(const struct baro_entity *e);
BARO_API const char *baro_entity_name(const struct baro_entity *e);  /**< "cpu0", "nvme0n1", "/home", "eth0", ... */
BARO_API const char *baro_entity_label(const struct baro_entity *e); /**< further information, such as a model; "" */
/**
 * Reads when the values of the entity were read: with its whole kind, or at a time of its own, as those of a filesystem
 * whose server was slow to answer.
 * @return 0 and the time in nanoseconds since the tape began, or why it is absent.
 */
BARO_API int baro_entity_read_ns(const struct baro_entity *e, uint64_t *ret);
/** Reads a value of the entity. */
BARO_API int baro_entity_value(const struct baro_entity *e, int metric, uint64_t *ret);
/** Reads several values of the entity in one call, as baro_process_values() does. */
BARO_API size_t baro_entity_values(const struct baro_entity *e, const int *metrics, size_t n, uint64_t *ret_value,
                                   uint8_t *ret_absent);

/** To whom the values of an entity belong. Later versions may add owners. */
enum baro_owner {
    BARO_OWNER_NONE,    /**< it has no owner */
    BARO_OWNER_JOB,     /**< to the job as a whole */
    BARO_OWNER_PROCESS, /**< to a process: what it uses of a GPU, say */
    BARO_OWNER_ENTITY   /**< to another entity: a directory on a filesystem, say */
};
BARO_API enum baro_owner baro_entity_owner(const struct baro_entity *e);
/** @return the pid of the process that owns it; 0 if none does. */
BARO_API int32_t baro_entity_owner_pid(const struct baro_entity *e);
/** @return the start time of that process in clock ticks since boot; 0 if it is not known. */
BARO_API uint64_t baro_entity_owner_start_ticks(const struct baro_entity *e);
/** @return the id of the entity that owns it; 0 if none does. */
BARO_API uint32_t baro_entity_owner_id(const struct baro_entity *e);

/** @return how many attributes it has, such as the labels of an OpenMetrics sample. */
BARO_API size_t baro_entity_attribute_count(const struct baro_entity *e);
/** @return 0 and attribute @p i; BARO_E_RANGE if there is no such attribute. */
BARO_API int baro_entity_attribute(const struct baro_entity *e, size_t i, struct baro_attribute *ret);
/** @return 0 and the attribute of that name; BARO_E_RANGE if there is none. */
BARO_API int baro_entity_attribute_find(const struct baro_entity *e, const char *name, struct baro_attribute *ret);

/* ---- exits ---- */
BARO_API uint64_t baro_exit_t_ns(const struct baro_exit *e); /**< when it ended, or when that was noticed */
BARO_API uint32_t baro_exit_id(const struct baro_exit *e); /**< as baro_process_id(); also of one that no sample has */
BARO_API int32_t baro_exit_pid(const struct baro_exit *e);
BARO_API uint64_t baro_exit_start_ticks(const struct baro_exit *e);
BARO_API int32_t baro_exit_ppid(const struct baro_exit *e);
BARO_API uint64_t baro_exit_parent_start_ticks(const struct baro_exit *e);
BARO_API uint32_t baro_exit_uid(const struct baro_exit *e); /**< UINT32_MAX: not known */
BARO_API enum baro_origin baro_exit_origin(const struct baro_exit *e);
BARO_API enum baro_exit_source baro_exit_source_of(const struct baro_exit *e);
BARO_API bool baro_exit_sampled(const struct baro_exit *e); /**< at least one sample has the process */
BARO_API const char *baro_exit_name(const struct baro_exit *e);
BARO_API const char *baro_exit_cmdline(const struct baro_exit *e); /**< NULL: not known */
/** @return 0 and the status as wait4(2) gives it, or BARO_ABSENT_UNKNOWN. */
BARO_API int baro_exit_status(const struct baro_exit *e, int *ret);
/** Reads a value of the exit. */
BARO_API int baro_exit_value(const struct baro_exit *e, int metric, uint64_t *ret);
/** Reads several values of the exit in one call, as baro_process_values() does. */
BARO_API size_t baro_exit_values(const struct baro_exit *e, const int *metrics, size_t n, uint64_t *ret_value,
                                 uint8_t *ret_absent);

/**
 * Copies an exit.
 * @return 0 and a copy that depends on nothing else, to be freed with baro_exit_free(); -ENOMEM.
 */
BARO_API int baro_exit_copy(const struct baro_exit *e, struct baro_exit **ret, struct baro_error *err);
/** Frees a copy. NULL is allowed. An exit that a cursor delivered must not be given here. */
BARO_API void baro_exit_free(struct baro_exit *e);

/** @return "target", "event", "scan", "adopted"; "unknown" for a number that this library does not know. */
BARO_API const char *baro_origin_name(enum baro_origin origin);
/** @return "last_sample" (of BARO_EXIT_LAST_SAMPLE), "event", "perf", "taskstats", "zombie", "wait4"; else "unknown".
 */
BARO_API const char *baro_exit_source_name(enum baro_exit_source source);

#ifdef __cplusplus
}
#endif
#endif
