/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reading tapes: complete, damaged, or still growing.
 *
 * A cursor (struct baro_tape) reads a tape record by record: samples, exits, events and limits in the order in which
 * they were written. It keeps the state of every process that is alive at its position, so that each sample is
 * complete. A cursor belongs to one thread at a time; any number of cursors may read the same file. Nothing here writes
 * to a tape. The size of the file limits the memory that a cursor uses, whatever the file contains.
 *
 * Lifetimes: what a function returns is borrowed from the cursor and valid until the next call that takes the cursor
 * non-const, unless the function says otherwise.
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
struct baro_limits; /**< the limits of the job: memory, CPU, processes */

/** Kinds of records. */
enum baro_record_kind {
    BARO_RECORD_NONE,   /**< no record: the end, for now */
    BARO_RECORD_SAMPLE, /**< the values at one instant */
    BARO_RECORD_EXIT,   /**< a process ended */
    BARO_RECORD_EVENT,  /**< something happened */
    BARO_RECORD_DAMAGE, /**< damaged bytes were stepped over: baro_tape_damage() */
    BARO_RECORD_LIMITS  /**< the limits of the job were found, or have changed: baro_limits_get() */
};

/** One record of a tape. The caller allocates the struct; what it points to is borrowed until the cursor is moved. */
struct baro_record {
    enum baro_record_kind kind; /**< which member of `u` is set */
    uint64_t t_ns;              /**< time of the record, in nanoseconds since the tape began */
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
 * A tape is a regular file, or a folder of segments (`--keep`). A cursor reads the segments one after the other as if
 * they were one file. It leaves out segments that the recorder removes before the cursor has reached them.
 * baro_header_segment() tells whether the beginning was removed. Where one recorder after the other has written the
 * tape (`baro observe` was started again), the cursor joins the parts: times, ids and counters of the job go on, and
 * the header is that of the first part.
 * @param path a file or a folder.
 * @return 0 and a cursor that stands before the first record, to be closed with baro_tape_close(); -errno,
 * BARO_E_NOT_TAPE, BARO_E_EMPTY (too short to hold a header), BARO_E_VERSION or BARO_E_CORRUPT (a damaged header).
 */
BARO_API int baro_tape_open(struct baro_tape **ret, const char *path, struct baro_error *err);

/**
 * Opens a tape through a descriptor of a regular file or of a folder of segments (not O_PATH). The cursor keeps a
 * duplicate, so the caller may close the descriptor. It does not use or change the file offset.
 * @param name what error messages call the tape; NULL: "the tape".
 * @return as baro_tape_open().
 */
BARO_API int baro_tape_open_fd(struct baro_tape **ret, int fd, const char *name, struct baro_error *err);

/**
 * Opens a tape that is in memory.
 * @param data borrowed during the call: the cursor has a copy, which it shares with what is made from it.
 * @return as baro_tape_open().
 */
BARO_API int baro_tape_open_memory(struct baro_tape **ret, const void *data, size_t size, struct baro_error *err);

/**
 * Limits the CPU time that the calling thread may spend on this tape from now on (CLOCK_THREAD_CPUTIME_ID). Once it is
 * spent, each call that reads the tape returns -ETIME. A program that reads tapes of other users sets a limit, so that
 * a damaged or malicious tape cannot hold it up.
 * @param cpu_ns in nanoseconds; 0: no limit.
 */
BARO_API void baro_tape_limit_cpu(struct baro_tape *tape, uint64_t cpu_ns);

/**
 * Gives processes to tasks by rules, whatever tasks the recorder knew. From then on each process has its task, and each
 * sample a row for each task: what its processes used themselves while they belonged to it.
 *
 * A process belongs to the first task with a rule that its command fits; if none fits, and the task of its parent has
 * `children`, to that one; a program that it executes is matched anew. Where a rule needs a command line and the tape
 * has none, the process belongs to no task, and the tasks that it may belong to have it in commands_unread, with its
 * CPU time in commands_unread_cpu. Secrets in command lines are not on the tape, and no rule finds them.
 *
 * The cursor is moved to the beginning. Each baro_tape_seek() reads the tape from its beginning from now on. Cursors
 * that the library opens on the same tape, such as for baro_tape_arrow(), have the same rules.
 * @param rules lines of JSON, as `baro tasks --json FILE` writes them:
 *
 *     {"task": "cc", "on": "either", "children": true}
 *     {"match": "^cc1"}
 *
 * Or one line, {"by": "service"}: the task of each process is its service; or its "container", "user", "command" (the
 * name of its program) or "cgroup". Only tapes of all processes of a machine have control groups (record --all).
 *
 * `on` is what `match` is matched with: "cmdline" (the default), "comm", or "either"; {"exact": NAME} is a program's
 * name. NULL: the rules of the recorder, if it has written any, else the tasks that it knew.
 * @return 0; BARO_E_SYNTAX, BARO_E_RANGE (too many or too large); -ENOMEM; or as baro_tape_rewind().
 */
BARO_API int baro_tape_set_tasks(struct baro_tape *tape, const char *rules, struct baro_error *err);

/** Closes a cursor and frees all that was borrowed from it. NULL is allowed. */
BARO_API void baro_tape_close(struct baro_tape *tape);

/**
 * Reads the next record. It steps over damage, and reports each place once as BARO_RECORD_DAMAGE.
 * @return 1 and a record; 0 and BARO_RECORD_NONE at the end of the last whole frame (if the tape is growing, call again
 * later); negative on a read error.
 */
BARO_API int baro_tape_next(struct baro_tape *tape, struct baro_record *ret, struct baro_error *err);

/**
 * Moves to the last sample at or before @p t_ns; if all are later, to the first one. Uses the index if the tape has
 * one.
 * @return 1 and that sample; 0 if the tape has no sample; negative on error. baro_tape_next() continues from there.
 */
BARO_API int baro_tape_seek(struct baro_tape *tape, uint64_t t_ns, struct baro_record *ret, struct baro_error *err);

/**
 * Moves to the sample before the one that the cursor delivered last.
 * @return 1 and that sample; 0 if it was the first; negative on error. baro_tape_next() continues from there.
 */
BARO_API int baro_tape_previous(struct baro_tape *tape, struct baro_record *ret, struct baro_error *err);

/** Which sample baro_tape_at() takes for a time between two samples. */
enum baro_at {
    BARO_AT_EXACT,      /**< only a sample of exactly that time */
    BARO_AT_BEFORE,     /**< the last sample at or before it */
    BARO_AT_AFTER,      /**< the first sample at or after it */
    BARO_AT_NEAREST,    /**< the nearer one of these two; the earlier one if both are equally near */
    BARO_AT_INTERPOLATE /**< a sample that is interpolated linearly between these two */
};

/**
 * Makes a copy of the sample at @p t_ns: the job, its processes, the machine and all entities. It moves the cursor.
 *
 * An interpolated sample has the processes that are in both samples. Counters and gauges are interpolated; a value that
 * one of the samples lacks is absent. Values that are no numbers (BARO_SEM_INFO) are those of the earlier sample.
 * @return 1 and a sample, to be freed with baro_sample_free(); 0 if the tape has no such sample: there is none before
 * the first or after the last one, and no interpolation there; negative on error.
 */
BARO_API int baro_tape_at(struct baro_tape *tape, uint64_t t_ns, enum baro_at how, struct baro_sample **ret,
                          struct baro_error *err);

/**
 * Reads the times of the first and of the last sample that the tape has by now, in nanoseconds since it began. It does
 * not move the cursor.
 * @return 1; 0 if there is no sample; negative on error.
 */
BARO_API int baro_tape_range(struct baro_tape *tape, uint64_t *ret_first_ns, uint64_t *ret_last_ns,
                             struct baro_error *err);

/** Size of the text that baro_tape_tell() writes, with the NUL at its end. */
#define BARO_POSITION_SIZE 64

/**
 * Writes the position of the cursor, which is after the record that it delivered last, as text. A program that saves
 * the text can continue there after a restart, and gets each sample, exit and event once. Limits that are valid there,
 * and damage that was reported before, may be delivered again. A cursor that has delivered nothing has a position, too.
 *
 * To get each record once even if it is killed at any time, a program saves the position in one step with what it makes
 * of the record: in one transaction of a database, or in the line that it appends to its output.
 * @param ret a word without blanks. It is valid only for this recording, and stays valid when its file grows, or is
 * renamed or copied. baro_tape_seek_to() refuses a position of another recording: the program then begins anew, without
 * a position.
 */
BARO_API void baro_tape_tell(const struct baro_tape *tape, char ret[BARO_POSITION_SIZE]);
/**
 * Moves to a position of baro_tape_tell(): baro_tape_next() delivers the record after it.
 * @return 1; 0 if the segment of the position was removed: the cursor is before the first record that is left, and
 * records in between are missing; BARO_E_SYNTAX for a text that is not a position; BARO_E_RANGE if the tape has no such
 * position, or if it is one in another recording; negative on a read error.
 */
BARO_API int baro_tape_seek_to(struct baro_tape *tape, const char *position, struct baro_error *err);

/**
 * Computes the wall-clock time of an instant, as the recorder's machine had it: nanoseconds since 1970-01-01, UTC.
 * Unlike baro_header_realtime_ns() it takes into account that the clock was set or the machine suspended
 * (BARO_EVENT_CLOCK_STEP, BARO_EVENT_SUSPEND). A step counts from the time at which the recorder noticed it, at most
 * one tick after it happened. The function reads the events that were added to the tape since the last call. It does
 * not move the cursor.
 * @return 0, or a negative code.
 */
BARO_API int baro_tape_realtime_ns(struct baro_tape *tape, uint64_t t_ns, int64_t *ret, struct baro_error *err);
/**
 * Finds the instant at which the wall clock showed a time: the inverse of baro_tape_realtime_ns(). If the clock was set
 * back and showed the time twice, it is the first of these instants, in a folder of segments one of them. If the clock
 * was set forward over the time, or the machine was suspended at that time, it is the instant at which the recorder
 * noticed it. The function reads the events up to the present end of the tape; of a folder of segments, only where the
 * time is. It does not move the cursor.
 * @param realtime_ns nanoseconds since 1970, UTC
 * @param ret nanoseconds since the tape began; negative: before the tape began.
 * @return 0 or a negative code.
 */
BARO_API int baro_tape_find_realtime(struct baro_tape *tape, int64_t realtime_ns, int64_t *ret, struct baro_error *err);

/** Moves the cursor before the first record. @return 0, or a negative code. */
BARO_API int baro_tape_rewind(struct baro_tape *tape, struct baro_error *err);

/** @return whether baro_tape_next() has read the footer, which a recorder writes last. */
BARO_API bool baro_tape_complete(const struct baro_tape *tape);

/* ---- following a tape that grows ---- */
/** Whether records may still be added to a tape. */
enum baro_tape_state {
    BARO_TAPE_RUNNING, /**< a recorder is writing it */
    BARO_TAPE_ENDED,   /**< its footer was read: the recording is complete */
    BARO_TAPE_CUT_OFF  /**< no recorder is writing it, and it has no footer: the recorder was killed, or its disk was
                          full */
};

/**
 * Tells whether a recorder is writing the tape. On the recorder's machine it checks whether the process that the header
 * names is alive (/proc/PID/stat). Otherwise it checks the lock that a recorder holds, and on a network file system the
 * time of the last write. For a tape in segments it checks the lock in any case, because another recorder may have
 * continued it.
 */
BARO_API enum baro_tape_state baro_tape_state(const struct baro_tape *tape);
/** @return "running", "ended" or "cut off"; "unknown" for another number. */
BARO_API const char *baro_tape_state_name(enum baro_tape_state state);

/**
 * Waits until the file has changed since the previous call. To follow a tape, call baro_tape_next() until it returns 0,
 * then this function, and so on.
 * @param timeout_ms milliseconds; 0: check and return; negative: no limit.
 * @return 1 if there may be more to read; 0 on timeout; BARO_E_ENDED if everything was read and no recorder is writing
 * the tape; -errno.
 */
BARO_API int baro_tape_wait(struct baro_tape *tape, int timeout_ms, struct baro_error *err);

/**
 * Returns a descriptor for programs that have their own event loop. It is readable (poll(2)) after the file was written
 * to (inotify(7)). Then call baro_tape_wait() with a timeout of 0, which also makes the descriptor unreadable again.
 * Call that every second as well: inotify(7) reports neither writes of another host on a network file system, nor the
 * death of a recorder.
 * @return the descriptor, which belongs to the cursor: do not close it. -1 if there is none.
 */
BARO_API int baro_tape_poll_fd(struct baro_tape *tape);

/** @return how many damaged bytes the cursor has stepped over so far. */
BARO_API uint64_t baro_tape_damage(const struct baro_tape *tape);

/**
 * @return the id of the recording: 32 hexadecimal digits, chosen at random when it began. It stays the same while the
 * tape grows, in all of its segments, and when the file is renamed or copied. Tapes that `baro trim` and
 * baro_writer_new() make have ids of their own. The id of a tape that has none, as programs before 0.1 wrote them, is
 * computed from its boot id and the time of its start. Borrowed until the cursor is closed.
 */
BARO_API const char *baro_tape_id(const struct baro_tape *tape);

/** @return the header, borrowed until the cursor is closed. */
BARO_API const struct baro_header *baro_tape_header(const struct baro_tape *tape);

/* ---- kinds and metrics ---- */
/**
 * Counts the kinds that this tape may have. The kinds of this library come first, with the numbers that
 * baro_kind_find() returns. They are followed by those that only the tape has: kinds of a newer barograph, and kinds
 * that were declared during the recording. Kinds and their metrics can be declared at any time of a
 * recording. A cursor knows a declared kind after it has read the declaration; baro_tape_read_kinds() reads all
 * declarations. The number of a kind does not change while the cursor is open.
 * @return how many kinds the cursor knows so far.
 */
BARO_API int baro_tape_kind_count(const struct baro_tape *tape);
/** @return the name of a kind, borrowed until the cursor is closed; "unknown" for another number. */
BARO_API const char *baro_tape_kind_name(const struct baro_tape *tape, baro_kind_id kind);
/** @return the kind with this name, or -1. */
BARO_API baro_kind_id baro_tape_kind_find(const struct baro_tape *tape, const char *name);
/**
 * Reads the declarations of all kinds that the tape has by now. It does not move the cursor.
 * @return 0, or a negative code.
 */
BARO_API int baro_tape_read_kinds(struct baro_tape *tape, struct baro_error *err);

/**
 * Counts the metrics that this tape may have for a kind. The metrics of this library come first, with the ids of
 * baro_metric_get(). They are followed by metrics that this library does not have, but the program that wrote the tape
 * had. A declared kind may get more metrics as the cursor moves on.
 * @return how many metrics of the kind the cursor knows so far.
 */
BARO_API int baro_tape_metric_count(const struct baro_tape *tape, baro_kind_id kind);
/** @return a descriptor, borrowed until the cursor is closed; NULL if there is no such metric. */
BARO_API const struct baro_metric *baro_tape_metric(const struct baro_tape *tape, baro_kind_id kind, baro_metric_id id);
/** @return the id of the metric with this name or stem, or -1. */
BARO_API baro_metric_id baro_tape_metric_find(const struct baro_tape *tape, baro_kind_id kind, const char *name);

/* ---- limits ---- */
/**
 * Returns the limits of the job at the cursor's position: those of its control groups and of all groups above them
 * (cgroups(7)), of its affinity (sched_setaffinity(2)) and resource limits (getrlimit(2)), and those that a batch
 * system sets. The recorder finds them shortly after the job began. They change when the job is moved to another
 * control group, or when one of them is set.
 */
BARO_API const struct baro_limits *baro_tape_limits(const struct baro_tape *tape);
/** What can be limited. Later versions may add values. */
enum baro_limit {
    BARO_LIMIT_MEMORY, /**< memory in bytes */
    BARO_LIMIT_CORES,  /**< CPU time in millionths of a core: 1 500 000 are 1.5 cores */
    BARO_LIMIT_PIDS    /**< number of processes and threads */
};
/**
 * Reads a limit.
 * @param ret the limit; 0 if nothing but the machine limits the job. If the function returns a reason: the lowest limit
 * that is known, or 0.
 * @param ret_source what sets the limit, such as "cgroup /a memory.max" or "affinity", borrowed; "" if nothing does.
 * @return BARO_PRESENT, or why it is not known whether there is a lower limit.
 */
BARO_API enum baro_absent baro_limits_get(const struct baro_limits *l, enum baro_limit which, uint64_t *ret,
                                          const char **ret_source);

#ifdef __cplusplus
}
#endif
#endif
