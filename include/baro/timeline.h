/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The timeline of a recording: the phases and marks that the job named itself (`baro phase`, `baro mark`, lines in the
 * file $BARO_EVENTS), and the notable events of the recording, as one list in order of time. And what the job used
 * during each phase.
 *
 * Phases nest and overlap. Example: "epoch 1" from 2 to 5 s lies in "train" from 1 to 9 s; "prefetch" from 4 to 11 s
 * overlaps both. A phase that did not end is open: it lasts until the end of the job, or of what the tape has.
 *
 *     for (size_t i = 0; i < baro_timeline_count(timeline); i++) {
 *         const struct baro_timeline_item *item = baro_timeline_get(timeline, i);
 *         printf("%llu %s\n", (unsigned long long)item->begin_ns, item->text);
 *     }
 *
 * Names and attributes come from the job: bytes that may hold anything but NUL. Escape them before you print them.
 */
#ifndef BARO_TIMELINE_H
#define BARO_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/attribute.h"
#include "baro/error.h"
#include "baro/summary.h"
#include "baro/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

struct baro_timeline;

/* ---- making a timeline ---- */
/**
 * Reads @p tape from its beginning to its end (what is there of it). The cursor is at the end afterwards.
 * @return 0 and a timeline, to be freed with baro_timeline_free(); negative on a read error or -ENOMEM.
 */
BARO_API int baro_timeline_of_tape(struct baro_tape *tape, struct baro_timeline **ret, struct baro_error *err);
/** NULL is allowed. */
BARO_API void baro_timeline_free(struct baro_timeline *timeline);

/**
 * Begins a timeline that is kept up while records arrive, as in a live view.
 * @param header borrowed during the call.
 * @return 0 and an empty timeline, to be freed with baro_timeline_free(); -ENOMEM.
 */
BARO_API int baro_timeline_new(struct baro_timeline **ret, const struct baro_header *header, struct baro_error *err);
/** Adds one record: in the order of the tape, each once. */
BARO_API void baro_timeline_add(struct baro_timeline *timeline, const struct baro_record *record);
/**
 * Brings the list in order. Items are to be read after this call. More records may be added afterwards; then call it
 * again: items may have other positions then.
 * @return 0 or -ENOMEM.
 */
BARO_API int baro_timeline_finish(struct baro_timeline *timeline, struct baro_error *err);

/* ---- the list ---- */
/** Later versions may add kinds. */
enum baro_timeline_kind {
    BARO_TIMELINE_PHASE, /**< a phase of the job, by its own account */
    BARO_TIMELINE_MARK,  /**< a moment that the job named */
    BARO_TIMELINE_EVENT  /**< something notable that happened to the job or to the recording */
};

/** Members may be added at the end: take what baro_timeline_get() returns, make no arrays. */
struct baro_timeline_item {
    enum baro_timeline_kind kind; /**< phase, mark or event */
    /**
     * The name of a phase or mark; for an event what happened, one of: "start", "exec" (the command executed another
     * program), "end", "stopped" (from its stop to its continuation), "signal" (the wrapper forwarded one), "oom_kill",
     * "killed" (a process was ended by a signal that means a fault or a kill), "throttled" (by a CPU quota),
     * "memory_limit", "memory_high", "fork_limit" (the job hit that limit), "survivor" (a process outlived the
     * command), "gap", "suspend", "clock_step", "lost_events", "damage", "wrapper_lost", "warning",
     * "unmatched_end" (of a phase that was not begun). Later versions may add some.
     */
    const char *name;
    const char *text;  /**< the same for people, such as "OOM kill of python3", "epoch 3 loss=0.12", or of a phase whose
                            command failed "load (status 7)" */
    uint64_t begin_ns; /**< since the tape began */
    uint64_t end_ns;   /**< since the tape began; begin_ns for what has no duration */
    bool is_open;      /**< a phase that has not ended; end_ns is the end of the job or of the tape so far */
    bool is_problem;   /**< an event that users should know about: the job was held back or killed, or data
                            are missing */
    uint64_t error_ns; /**< begin_ns may be late by that much: when the line was written is not known better */
    int depth;         /**< of a phase: the lane to draw it in. 0: the outermost; no two phases of a lane overlap */
    ptrdiff_t parent;  /**< of a phase and a mark: the position of the innermost phase in which it began; -1: none */
    int32_t pid;       /**< the process that it is about, or that reported it; 0: none, or not known */
    uint64_t start_ticks;                   /**< its start time in clock ticks since boot; 0: not known */
    size_t attribute_count;                 /**< how many they are */
    const struct baro_attribute *attribute; /**< what was given with a phase (begin and end) or a mark */
    uint64_t duration_ns; /**< of a phase that was reported as a whole: how long it took, also where it began before the
                               recording, and begin_ns is 0; 0: its begin and end were reported */
    size_t id; /**< tells it from all other items; it stays the same when records are added. Small numbers from 0 on */
    const char *written_ts; /**< of a line of a RunLog: its "ts" as it was written, which may be before the recording
                                 began; "": there is none */
    struct baro_attribute written_seconds; /**< of a phase that was reported as a whole: its "seconds" as they were
                                                written, if they are not duration_ns in milliseconds: a number; its name
                                                is NULL: they are */
    bool attributes_beside; /**< of a line of a RunLog: the attributes of an event stood beside "data", not in it */
};

/** @return how many items there are, in order of begin_ns; a phase stands before what lies in it. */
BARO_API size_t baro_timeline_count(const struct baro_timeline *timeline);
/** @return one of them, borrowed until the timeline is changed or freed; NULL if there is no such one. */
BARO_API const struct baro_timeline_item *baro_timeline_get(const struct baro_timeline *timeline, size_t i);
/**
 * Finds the phase that the job was in: the innermost, which is the one that began last of those that had begun and not
 * ended. O(log n).
 * @return its position, or -1 if it was in none.
 */
BARO_API ptrdiff_t baro_timeline_phase_at(const struct baro_timeline *timeline, uint64_t t_ns);
/** @return how many lanes the phases need: the largest depth plus 1; 0 without phases. */
BARO_API int baro_timeline_lanes(const struct baro_timeline *timeline);

/* ---- what the job used during a phase ---- */
/**
 * The facts of a phase: constant, as those of baro_summary_fact(), but that they belong to no section (-1).
 *
 * A counter's value is its growth between the phase's edges. Samples lie beside the edges, not on them: growth between
 * two samples is spread evenly over the time between them, and a value that could be off by more than a twentieth
 * because of that is marked as an estimate. Example: samples at 1, 2 and 3 s with 0, 2 and 3 s of CPU time, a phase
 * from 1.5 to 3 s: half of the first 2 s and all of the last second make 2 s. Between 1 and 3 s are possible, so it is
 * an estimate.
 *
 * A peak is the largest of the samples during the phase; of one without a sample it is absent (BARO_ABSENT_NOT_YET).
 * The resident memory of a process that began and ended during the phase counts, too.
 */
BARO_API int baro_timeline_fact_count(void);
/** @return a fact, constant; NULL if there is no such one. */
BARO_API const struct baro_fact *baro_timeline_fact(int fact);
/** @return the fact with this name, such as "cpu_ns", or -1. */
BARO_API int baro_timeline_fact_find(const char *name);
/**
 * Reads a fact of a phase.
 * @param item its position in the list
 * @return BARO_PRESENT (0), or the reason why there is no value, which is in @p ret as well; BARO_ABSENT_UNSUPPORTED
 * for a fact that does not exist or an item that is no phase.
 */
BARO_API enum baro_absent baro_timeline_value(const struct baro_timeline *timeline, size_t item, int fact,
                                              struct baro_value *ret);

#ifdef __cplusplus
}
#endif
#endif
