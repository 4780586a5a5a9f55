/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reading tapes: at rest, torn, or while they grow.
 *
 * A cursor (struct baro_tape) walks a tape record by record: samples, exits, events and limits in the order in which
 * they were written. It holds the state of every living process at its position, so that after each sample the whole
 * instant can be asked for. A cursor belongs to one thread at a time; any number of cursors may read the same file.
 * Nothing here writes to a tape. Memory is bounded by the size of the file, whatever the file says.
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
#include "baro/event.h"
#include "baro/header.h"
#include "baro/metric.h"
#include "baro/sample.h"

#ifdef __cplusplus
extern "C" {
#endif

struct baro_tape;   /**< a cursor */
struct baro_limits; /**< what the job may have */

enum baro_record_kind {
    BARO_RECORD_NONE,   /**< nothing more for now: the end, or (of a growing tape) not yet */
    BARO_RECORD_SAMPLE, /**< an instant */
    BARO_RECORD_EXIT,   /**< a process ended */
    BARO_RECORD_EVENT,  /**< something happened */
    BARO_RECORD_DAMAGE, /**< bytes had to be stepped over; see baro_tape_damage() */
    BARO_RECORD_LIMITS  /**< what the job may have was found, or is another than before */
};

/** One record of a tape. It is the caller's; what it points to is the cursor's, until the next record is read. */
struct baro_record {
    enum baro_record_kind kind; /**< which member of `u` is there */
    uint64_t t_ns;              /**< nanoseconds since the tape began */
    union {
        const struct baro_sample *sample;
        const struct baro_row *exit;
        const struct baro_event *event;
        const struct baro_limits *limits;
    } u; /**< by kind */
};

/**
 * Opens a tape for reading and reads its header.
 *
 * A tape is a regular file, or a folder of segments (`--keep`). Of the latter a cursor reads those that are there, one
 * after the other, as if they were one file; segments that the recorder removes before the cursor has come to them are
 * left out. baro_header_segment() tells whether the beginning was removed.
 * @param path a file or a folder.
 * @return 0 and a cursor that stands before the first record, to be closed with baro_tape_close(); -errno,
 * BARO_E_NOT_TAPE, BARO_E_EMPTY (too short to hold a header), BARO_E_VERSION or BARO_E_CORRUPT (a damaged header).
 */
BARO_API int baro_tape_open(struct baro_tape **ret, const char *path, struct baro_error *err);

/**
 * Opens a tape through a descriptor of a regular file or of a folder of segments (not O_PATH). The cursor keeps a
 * duplicate of it and never moves its offset, so the caller may close it.
 * @param name what errors call it; NULL: "the tape".
 */
BARO_API int baro_tape_open_fd(struct baro_tape **ret, int fd, const char *name, struct baro_error *err);

/**
 * Opens a tape that stands in memory.
 * @param data borrowed: it must not change or go away before baro_tape_close().
 */
BARO_API int baro_tape_open_memory(struct baro_tape **ret, const void *data, size_t size, struct baro_error *err);

/**
 * Limits the CPU time that the calling thread may spend on this tape from now on. Once it is spent, each call that
 * reads the tape returns -ETIME: for programs that read the tapes of others and must not be held up by one of them.
 * @param cpu_ns in nanoseconds; 0: no limit.
 */
BARO_API void baro_tape_limit_cpu(struct baro_tape *tape, uint64_t cpu_ns);

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

/**
 * Moves to the sample before the one that the cursor delivered last.
 * @return 1 and that sample, 0 if there is none before it, negative on error. baro_tape_next() goes on from there.
 */
BARO_API int baro_tape_previous(struct baro_tape *tape, struct baro_record *ret, struct baro_error *err);

/** Which instant stands for a time between two samples. */
enum baro_at {
    BARO_AT_EXACT,      /**< the sample of that very time */
    BARO_AT_BEFORE,     /**< the last sample at or before it */
    BARO_AT_AFTER,      /**< the first sample at or after it */
    BARO_AT_NEAREST,    /**< whichever of the two is nearer; the earlier one if both are as near */
    BARO_AT_INTERPOLATE /**< made of both: values that both have on the straight line between them, others absent */
};

/**
 * Makes a copy of the job, its processes and the machine as they were at @p t_ns. The cursor is moved.
 *
 * Interpolated, the processes are those that both samples have, counters and gauges lie on the line between the two
 * samples, and facts (BARO_SEM_INFO) are those of the earlier sample.
 * @return 1 and a sample to be freed with baro_sample_free(); 0 if the tape has no such instant: a time before the
 * first or behind the last sample has none before or after it, and no interpolation; negative on error.
 */
BARO_API int baro_tape_at(struct baro_tape *tape, uint64_t t_ns, enum baro_at how, struct baro_sample **ret,
                          struct baro_error *err);

/**
 * The times of the first and of the last sample that are there now. The cursor stays where it is.
 * @return 1, 0 if there is no sample, negative on error.
 */
BARO_API int baro_tape_range(struct baro_tape *tape, uint64_t *ret_first_ns, uint64_t *ret_last_ns,
                             struct baro_error *err);

/** Room for what baro_tape_tell() writes. */
#define BARO_POSITION_SIZE 64

/**
 * Writes down where the cursor stands: behind the record that it delivered last. A program that keeps the
 * text, in a file say, goes on there after it was started anew: each sample, exit and event once. Limits that hold
 * there may be delivered again, and so may damage that was reported before.
 * @param ret a text without blanks; it means something for this tape alone.
 */
BARO_API void baro_tape_tell(const struct baro_tape *tape, char ret[BARO_POSITION_SIZE]);
/**
 * Goes to a position of baro_tape_tell(): baro_tape_next() goes on with the record behind it.
 * @return 1; 0 where records are missing between both, because the segment of the position was removed: the cursor
 * stands before the first record that is left; BARO_E_SYNTAX for another text; BARO_E_RANGE where the tape has no such
 * position; negative on a read error.
 */
BARO_API int baro_tape_seek_to(struct baro_tape *tape, const char *position, struct baro_error *err);

/**
 * Tells the wall-clock time of an instant, as the recorder's machine had it: nanoseconds since 1970, UTC. Unlike
 * baro_header_realtime_ns() it knows when the clock was set and when the machine slept (BARO_EVENT_CLOCK_STEP,
 * BARO_EVENT_SUSPEND): it reads the events that the tape has by now, those that were read before not again. The cursor
 * stays where it is. A step counts from the time on at which the recorder saw it, a tick after it happened at most.
 * @return 0 or a negative code.
 */
BARO_API int baro_tape_realtime_ns(struct baro_tape *tape, uint64_t t_ns, int64_t *ret, struct baro_error *err);
/**
 * Tells when the wall clock showed a time: the inverse of baro_tape_realtime_ns(). Where the clock was set back and
 * showed a time twice, it is the first instant on the tape; where the clock was set forward over a time, or the machine
 * slept, the instant at which that was noticed. It reads the events up to the end of what is there of the tape. The
 * cursor stays where it is.
 * @param realtime_ns nanoseconds since 1970, UTC
 * @param ret nanoseconds since the tape began; negative: it was before that.
 * @return 0 or a negative code.
 */
BARO_API int baro_tape_find_realtime(struct baro_tape *tape, int64_t realtime_ns, int64_t *ret, struct baro_error *err);

/** Starts anew before the first record. */
BARO_API int baro_tape_rewind(struct baro_tape *tape, struct baro_error *err);

/** @return true once the footer that a recorder writes last has been read by baro_tape_next(). */
BARO_API bool baro_tape_complete(const struct baro_tape *tape);

/* ---- following a tape that grows ---- */
/** Whether more can come. */
enum baro_tape_state {
    BARO_TAPE_RUNNING, /**< a recorder writes it */
    BARO_TAPE_ENDED,   /**< its footer was read: the recording is complete */
    BARO_TAPE_CUT_OFF  /**< nobody writes it any more, and it has no footer: the recorder was killed, or its disk was
                          full */
};

/**
 * Tells whether the tape is still written: on the recorder's own machine by whether the process that the header names
 * lives (/proc/PID/stat), else by the lock that a recorder holds, on a network file system by when the file was written
 * last. A tape in segments has the lock as well: another recorder may have gone on with it.
 */
BARO_API enum baro_tape_state baro_tape_state(const struct baro_tape *tape);
/** @return "running", "ended" or "cut off"; "unknown" for a number that this library does not know. */
BARO_API const char *baro_tape_state_name(enum baro_tape_state state);

/**
 * Waits until the file has other bytes than when it was waited for last. To follow a tape, call baro_tape_next() until
 * it returns 0, then this, and begin again.
 * @param timeout_ms 0: check and return; negative: wait as long as it takes.
 * @return 1: read on; 0: the time passed; BARO_E_ENDED: all was read and nobody writes the tape any more; or -errno.
 */
BARO_API int baro_tape_wait(struct baro_tape *tape, int timeout_ms, struct baro_error *err);

/**
 * For programs that wait in an event loop of their own.
 * @return a descriptor that poll(2) finds readable when the file was written to (inotify(7)); -1 where there is none.
 * It belongs to the cursor. When it is readable call baro_tape_wait() with 0, which also makes it unreadable again.
 * Call that every second as well: what another host writes to a network file system is not reported, and neither is the
 * death of a recorder.
 */
BARO_API int baro_tape_poll_fd(struct baro_tape *tape);

/** @return how many bytes were stepped over so far because they were damaged. */
BARO_API uint64_t baro_tape_damage(const struct baro_tape *tape);

/**
 * @return what tells the recording from all others: 32 hexadecimal digits, chosen at random when it began. It stays the
 * same while the tape grows, in all of its segments, and when the file is renamed or copied; what `baro trim` and
 * baro_writer_new() make is another tape. Of tapes before 0.1 it is made of boot id and start. Borrowed until the
 * cursor is closed.
 */
BARO_API const char *baro_tape_id(const struct baro_tape *tape);

/** @return the header, borrowed until the cursor is closed. */
BARO_API const struct baro_header *baro_tape_header(const struct baro_tape *tape);

/* ---- kinds and metrics ---- */
/**
 * The kinds that this tape may hold: first those of this library, with their numbers of enum baro_kind, then those that
 * only the tape has: a newer barograph wrote it, or they were declared while it was recorded (--collect). The number
 * of a kind is the same as long as the cursor lives. A cursor knows a declared kind once it has read its declaration;
 * baro_tape_read_kinds() reads all of them at once. Kinds and columns can be declared at any time of a recording.
 * @return how many the cursor knows so far.
 */
BARO_API int baro_tape_kind_count(const struct baro_tape *tape);
/** @return the name of a kind, borrowed until the cursor is closed; NULL if there is no such kind. */
BARO_API const char *baro_tape_kind_name(const struct baro_tape *tape, int kind);
/** @return the kind of that name, or -1. */
BARO_API int baro_tape_kind_find(const struct baro_tape *tape, const char *name);
/**
 * Reads the declarations of all kinds that the tape has by now. The cursor stays where it is.
 * @return 0 or a negative code.
 */
BARO_API int baro_tape_read_kinds(struct baro_tape *tape, struct baro_error *err);

/**
 * The metrics that this tape may hold for a kind: first the library's own, with the ids of baro_metric_get(), then
 * those that only the tape's writer knew, with the ids that follow. Of a declared kind there may be more later.
 * @return how many.
 */
BARO_API int baro_tape_metric_count(const struct baro_tape *tape, int kind);
/** @return a descriptor, borrowed until the cursor is closed; NULL if there is no such metric. */
BARO_API const struct baro_metric *baro_tape_metric(const struct baro_tape *tape, int kind, int id);
/** @return the id of the metric with this name or stem, or -1. */
BARO_API int baro_tape_metric_find(const struct baro_tape *tape, int kind, const char *name);

/* ---- limits ---- */
/**
 * What the job may have at the cursor's position: by its control groups and those above, ulimits, affinity and what a
 * batch system says. They are found a moment after the job began, and may be others later: when the job is moved, when
 * its affinity or ulimits change, or what its control groups may have.
 */
BARO_API const struct baro_limits *baro_tape_limits(const struct baro_tape *tape);
/** What can be limited. Later versions may add some. */
enum baro_limit {
    BARO_LIMIT_MEMORY, /**< bytes */
    BARO_LIMIT_CORES,  /**< millionths of a core */
    BARO_LIMIT_PIDS    /**< processes and threads */
};
/**
 * Reads one of them.
 * @param ret the limit; 0 where there is none below what the machine has. Where the result is a reason: the least that
 * is known to bound it, or 0.
 * @param ret_source what sets it, such as "cgroup /a memory.max" or "affinity", borrowed; "" if nothing does.
 * @return BARO_PRESENT, or why it is not known whether there is a tighter one.
 */
BARO_API enum baro_absent baro_limits_get(const struct baro_limits *l, enum baro_limit which, uint64_t *ret,
                                          const char **ret_source);

#ifdef __cplusplus
}
#endif
#endif
