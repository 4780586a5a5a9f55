/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reading tapes: at rest, torn, or while they grow.
 *
 * A cursor (struct baro_tape) walks a tape record by record: samples, exits, events and limits in the order in which they were
 * written. It holds the state of every living process at its position, so that after each sample the whole instant can
 * be asked for. A cursor belongs to one thread at a time; any number of cursors may read the same file. Nothing here
 * writes to a tape. Memory is bounded by the size of the file, whatever the file says.
 *
 * Lifetimes: what a getter returns is borrowed from the cursor and valid until the next call that takes the cursor
 * non-const, unless it says otherwise.
 */
#ifndef BARO_TAPE_H
#define BARO_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/error.h"
#include "baro/metric.h"

#ifdef __cplusplus
extern "C" {
#endif

struct baro_tape;    /**< a cursor */
struct baro_header;  /**< what stands at the head of a tape */
struct baro_process; /**< a process at the cursor's position */
struct baro_exit;    /**< the end of a process */
struct baro_event;   /**< something that happened */
struct baro_sample;  /**< all values at one instant */
struct baro_limits;  /**< what the job may have */
struct baro_entity;  /**< a CPU, disk, filesystem, network interface, sensor or control group at the cursor's position */

enum baro_record_kind {
    BARO_RECORD_NONE,   /**< nothing more for now: the end, or (of a growing tape) not yet */
    BARO_RECORD_SAMPLE, /**< an instant */
    BARO_RECORD_EXIT,   /**< a process ended */
    BARO_RECORD_EVENT,  /**< something happened */
    BARO_RECORD_DAMAGE, /**< bytes had to be stepped over; see baro_tape_damage() */
    BARO_RECORD_LIMITS  /**< what the job may have was found, or is another than before */
};

struct baro_record {
    enum baro_record_kind kind;
    uint64_t t_ns; /**< nanoseconds since the tape began */
    union {
        const struct baro_sample *sample;
        const struct baro_exit *exit;
        const struct baro_event *event;
        const struct baro_limits *limits;
    } u;
};

/**
 * Opens a tape for reading and reads its header.
 * @param path a file; it must be a regular one.
 * @return 0 and a cursor that stands before the first record, to be closed with baro_tape_close(); -errno,
 * BARO_E_NOT_TAPE, BARO_E_EMPTY (too short to hold a header), BARO_E_VERSION or BARO_E_CORRUPT (a damaged header).
 */
BARO_API int baro_tape_open(struct baro_tape **ret, const char *path, struct baro_error *err);

/** Closes a cursor and frees all that was borrowed from it. NULL is allowed. */
BARO_API void baro_tape_close(struct baro_tape *tape);

/**
 * Moves on by one record.
 * @return 1 and a record; 0 at the end of what is whole (BARO_RECORD_NONE): with a growing tape call again later;
 * negative on a read error. Damage in the middle is reported once as BARO_RECORD_DAMAGE and stepped over.
 */
BARO_API int baro_tape_next(struct baro_tape *tape, struct baro_record *ret, struct baro_error *err);

/**
 * Moves to the last sample at or before @p t_ns; where all are later, to the first one. Uses the index if there is one.
 * @return 1 and that sample, 0 if the tape has no sample, negative on error. baro_tape_next() goes on from there.
 */
BARO_API int baro_tape_seek(struct baro_tape *tape, uint64_t t_ns, struct baro_record *ret, struct baro_error *err);

/** Starts anew before the first record. */
BARO_API int baro_tape_rewind(struct baro_tape *tape, struct baro_error *err);

/** @return true once the footer that a recorder writes last has been read by baro_tape_next(). */
BARO_API bool baro_tape_complete(const struct baro_tape *tape);

/** @return how many bytes were stepped over so far because they were damaged. */
BARO_API uint64_t baro_tape_damage(const struct baro_tape *tape);

/** @return the header, borrowed until the cursor is closed. */
BARO_API const struct baro_header *baro_tape_header(const struct baro_tape *tape);

/**
 * The metrics that this tape may hold for a kind: first the library's own, with the ids of baro_metric_get(), then
 * those that only the tape's writer knew, with the ids that follow.
 * @return how many.
 */
BARO_API int baro_tape_metric_count(const struct baro_tape *tape, enum baro_kind kind);
BARO_API const struct baro_metric *baro_tape_metric(const struct baro_tape *tape, enum baro_kind kind, int id);

/* ---- header ---- */
BARO_API const char *const *baro_header_argv(const struct baro_header *h); /**< NULL-terminated, redacted */
BARO_API int64_t baro_header_start_realtime_ns(const struct baro_header *h);
BARO_API const char *baro_header_host(const struct baro_header *h);
BARO_API const char *baro_header_kernel(const struct baro_header *h);
BARO_API uint32_t baro_header_cpus(const struct baro_header *h);

/* ---- limits ---- */
/**
 * What the job may have at the cursor's position: by its control groups and those above, ulimits, affinity and what a batch system says.
 * They are found a moment after the job began, and may be others later: when the job is moved, when its affinity or ulimits
 * change, or what its control groups may have.
 */
BARO_API const struct baro_limits *baro_tape_limits(const struct baro_tape *tape);
/**
 * Reads one of them. @p ret_source says what sets it, such as "cgroup /a memory.max" or "affinity"; borrowed.
 * @return 0 and the limit, with 0 and "" where there is none below what the machine has. Else why it is not known whether there is a tighter one; the
 * value is then the least that is known to bound it, or 0.
 */
BARO_API int baro_limits_memory_bytes(const struct baro_limits *l, uint64_t *ret, const char **ret_source);
BARO_API int baro_limits_cores_ppm(const struct baro_limits *l, uint64_t *ret, const char **ret_source); /**< millionths of a core */
BARO_API int baro_limits_pids(const struct baro_limits *l, uint64_t *ret, const char **ret_source);

/* ---- sample ---- */
/** @return the number of living processes; their order has parents before children. */
BARO_API size_t baro_sample_count(const struct baro_sample *s);
BARO_API const struct baro_process *baro_sample_process(const struct baro_sample *s, size_t i);
/** Reads a value of the job or of the recorder. @return 0 and the value, or why it is absent (enum baro_absent). */
BARO_API int baro_sample_job(const struct baro_sample *s, int metric, uint64_t *ret);
BARO_API int baro_sample_recorder(const struct baro_sample *s, int metric, uint64_t *ret);

/**
 * The machine is not looked at in every sample: its values, and those of its entities, are those of the last time.
 * @return 0 and when that was, in nanoseconds since the tape began; BARO_ABSENT_UNKNOWN if it was never looked at.
 */
BARO_API int baro_sample_host_ns(const struct baro_sample *s, uint64_t *ret);
/** Reads a value of the machine. @return 0 and the value, or why it is absent. */
BARO_API int baro_sample_host(const struct baro_sample *s, int metric, uint64_t *ret);
/** @return how many entities of a kind (BARO_KIND_CPU and on) there were; 0 for other kinds. */
BARO_API size_t baro_sample_entity_count(const struct baro_sample *s, enum baro_kind kind);
/** @return one of them, in the order in which they were found; NULL if there is no such one. */
BARO_API const struct baro_entity *baro_sample_entity(const struct baro_sample *s, enum baro_kind kind, size_t i);

/* ---- CPU, disk, filesystem, interface, sensor, control group ---- */
/** @return what tells it from all others of this tape, of whatever kind. A disk that went and came back is another. */
BARO_API uint32_t baro_entity_id(const struct baro_entity *e);
BARO_API const char *baro_entity_name(const struct baro_entity *e);  /**< "cpu0", "nvme0n1", "/home", "eth0", ... */
BARO_API const char *baro_entity_label(const struct baro_entity *e); /**< what else there is to say, such as a model; "" */
/** @return 0 and the value of a metric of its kind, or why it is absent. */
BARO_API int baro_entity_value(const struct baro_entity *e, int metric, uint64_t *ret);

/* ---- process ---- */
BARO_API int32_t baro_process_pid(const struct baro_process *p);
BARO_API uint64_t baro_process_start_ticks(const struct baro_process *p); /**< clock ticks since boot */
BARO_API int32_t baro_process_ppid(const struct baro_process *p);
BARO_API uint32_t baro_process_uid(const struct baro_process *p); /**< UINT32_MAX: not known */
BARO_API const char *baro_process_name(const struct baro_process *p);
BARO_API const char *baro_process_cmdline(const struct baro_process *p); /**< NULL: not known */
BARO_API uint64_t baro_process_read_ns(const struct baro_process *p); /**< when its values were read */
/** @return 0 and the value, or why it is absent. */
BARO_API int baro_process_value(const struct baro_process *p, int metric, uint64_t *ret);

/* ---- exit ---- */
BARO_API int32_t baro_exit_pid(const struct baro_exit *e);
BARO_API uint64_t baro_exit_start_ticks(const struct baro_exit *e);
BARO_API const char *baro_exit_name(const struct baro_exit *e);
/** @return 0 and the wait status, or BARO_ABSENT_UNKNOWN. */
BARO_API int baro_exit_status(const struct baro_exit *e, int *ret);
BARO_API int baro_exit_value(const struct baro_exit *e, int metric, uint64_t *ret);

/* ---- event ---- */
BARO_API const char *baro_event_name(const struct baro_event *e); /**< "exec", "gap", ... */
BARO_API const char *baro_event_text(const struct baro_event *e);
BARO_API uint64_t baro_event_number(const struct baro_event *e);
BARO_API int32_t baro_event_pid(const struct baro_event *e); /**< 0: none */

#ifdef __cplusplus
}
#endif
#endif
