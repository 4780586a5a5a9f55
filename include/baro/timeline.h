/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The timeline of a recording: one list in order of time of the phases and marks that the job reported (`baro phase`,
 * `baro mark`, lines in the file $BARO_EVENTS) and of the notable events of the recording; and what the job used during
 * each phase.
 *
 * Phases nest and overlap. Example: "epoch 1" from 2 to 5 s is within "train" from 1 to 9 s; "prefetch" from 4 to 11 s
 * overlaps both. A phase is within phases of the process that reported it, and of ancestors of that process; if its
 * process is not known, within any. A phase that did not end is open: it lasts until the end of the job, or the end of
 * the tape so far.
 *
 *     for (size_t i = 0; i < baro_timeline_count(timeline); i++) {
 *         const struct baro_timeline_item *item = baro_timeline_get(timeline, i);
 *         printf("%llu %s\n", (unsigned long long)item->begin_ns, item->text);
 *     }
 *
 * Names and attributes come from the job and may contain any byte but NUL: escape them before you print them
 * (baro/text.h). A timeline belongs to one thread at a time.
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

struct baro_timeline; /**< the items of one recording: baro_fold_timeline() of baro/fold.h */

/* ---- the list ---- */
/** Kinds of items. Later versions may add kinds. */
enum baro_timeline_kind {
    BARO_TIMELINE_PHASE, /**< a phase that the job reported */
    BARO_TIMELINE_MARK,  /**< a moment that the job named */
    BARO_TIMELINE_EVENT  /**< something notable that happened to the job or to the recording */
};

/** An item. Members may be added at the end: take what baro_timeline_get() returns, make no arrays. */
struct baro_timeline_item {
    enum baro_timeline_kind kind; /**< phase, mark or event */
    /**
     * The name of a phase or mark; for an event what happened, one of: "start", "exec" (the command executed another
     * program), "end", "stopped" (from its stop to its continuation), "signal" (the wrapper forwarded one), "oom_kill",
     * "killed" (a signal that means a fault or a kill ended a process), "throttled" (by a CPU quota), "memory_limit",
     * "memory_high", "fork_limit" (the job hit that limit), "survivor" (a process outlived the command), "gap",
     * "suspend", "clock_step", "lost_events", "damage", "wrapper_lost", "warning", "unmatched_end" (of a phase that did
     * not begin). Later versions may add names.
     */
    const char *name;
    const char *text;  /**< the item in a few words, such as "OOM kill of python3", "epoch 3 loss=0.12", or for a phase
                            whose command failed "load (status 7)" */
    uint64_t begin_ns; /**< its beginning, in nanoseconds since the tape began */
    uint64_t end_ns;   /**< its end, in nanoseconds since the tape began; begin_ns if it has no duration */
    bool is_open;      /**< it is a phase that has not ended; end_ns is the end of the job or of the tape so far */
    bool is_problem;   /**< it is an event that users should know about: the job was held up or killed, or data are
                            missing */
    uint64_t error_ns; /**< begin_ns may be too late by up to this, because the line in $BARO_EVENTS has no time */
    int depth;         /**< the lane of a phase in a chart. 0: the outermost; phases in one lane do not overlap */
    ptrdiff_t parent;  /**< position of the innermost phase in which a phase or mark began, of its own process or of an
                            ancestor; -1: none */
    int32_t pid;       /**< the process that the item concerns, or that reported it; 0: none, or not known */
    uint64_t start_ticks;                   /**< start time of that process in clock ticks since boot; 0: not known */
    size_t attribute_count;                 /**< how many attributes it has */
    const struct baro_attribute *attribute; /**< attributes of a mark, or of the begin and the end of a phase */
    uint64_t duration_ns; /**< duration of a phase that the job reported as a whole; 0: it reported begin and end. If
                               such a phase began before the recording, begin_ns is 0 */
    size_t id;            /**< identifies the item, also after records were added. Ids are small numbers from 0 on */
    bool begins_before;   /**< it is a phase that began before what the tape has, when is not known: begin_ns is the
                               tape's first sample, and what it used is a lower bound */
};

/** @return how many items there are, in order of begin_ns; a phase comes before the items in it. */
BARO_API size_t baro_timeline_count(const struct baro_timeline *timeline);
/** @return item @p i, borrowed until the timeline is changed or freed; NULL if there is none. */
BARO_API const struct baro_timeline_item *baro_timeline_get(const struct baro_timeline *timeline, size_t i);
/**
 * Finds the innermost phase that the job was in at @p t_ns: of the phases that had begun and not ended, the one that
 * began last. O(log n).
 * @return its position, or -1 if the job was in no phase.
 */
BARO_API ptrdiff_t baro_timeline_phase_at(const struct baro_timeline *timeline, uint64_t t_ns);
/** @return how many lanes the phases need: the largest depth plus 1; 0 if there are no phases. */
BARO_API int baro_timeline_lanes(const struct baro_timeline *timeline);

/**
 * Writes the path of a phase: the names of the phases in which it began and its own, with slashes between them:
 * "test/flaky". A phase that began in one of the same name stands beside it: workers that load at the same time are
 * "load", and not "load/load". A slash in a name is kept. As with snprintf(3), the text is complete if the result is
 * less than size.
 * @param item position of the phase in the list; for another item the path is "".
 * @return the length of the whole text without the NUL at its end.
 */
BARO_API size_t baro_timeline_path(const struct baro_timeline *timeline, size_t item, char *ret, size_t size);
/**
 * Reads the wait status (wait4(2)) of the command of a phase, from the attribute `status` or `signal` that `baro phase
 * NAME -- COMMAND` gives it at its end.
 * @param item position of the phase in the list
 * @return BARO_PRESENT; BARO_ABSENT_NONE for a phase that ended without one; BARO_ABSENT_NOT_YET for an open phase;
 * BARO_ABSENT_UNKNOWN for a signal without a name; BARO_ABSENT_UNSUPPORTED for an item that is not a phase.
 */
BARO_API enum baro_absent baro_timeline_status(const struct baro_timeline *timeline, size_t item, int *ret);
/**
 * Writes the attributes of an item as a JSON object; "" if there are none. As with snprintf(3), the text is complete if
 * the result is less than size.
 * @return the length of the whole text without the NUL at its end.
 */
BARO_API size_t baro_timeline_given_json(const struct baro_timeline *timeline, size_t item, char *ret, size_t size);

/* ---- what the job used during a phase ---- */
/**
 * Counts the facts of a phase. They are in no section (-1).
 *
 * The value of a counter is its growth from the beginning to the end of the phase. There is rarely a sample at these
 * times, so the growth between two samples is spread evenly over the time between them; but CPU time of processes that
 * ended is that of their lives, as far as their exits say so. A value that may be wrong by more than a twentieth is
 * marked as an estimate. Example: samples at 1, 2 and 3 s have 0, 2 and 3 s of CPU time, and a phase lasts from 1.5 to
 * 3 s. Half of the first 2 s and all of the last second make 2 s. The true value is between 1 and 3 s, so it is an
 * estimate. If eight processes that lived from 1.6 to 1.9 s used the first 2 s, it is 3 s, and exact.
 *
 * A peak is the highest value of the samples during the phase; without a sample it is absent (BARO_ABSENT_NOT_YET). The
 * resident memory of a process that began and ended during the phase counts, too.
 */
BARO_API int baro_timeline_fact_count(void);
/** @return fact @p fact of phases, a constant; NULL if there is none. */
BARO_API const struct baro_fact *baro_timeline_fact(baro_fact_id fact);
/** @return the number of the fact of phases with this name, such as "cpu_ns", or -1. */
BARO_API baro_fact_id baro_timeline_fact_find(const char *name);
/**
 * Reads the value of a fact of a phase.
 * @param item position of the phase in the list
 * @param ret gets the value, or if it is absent the reason and zeros. Its text is borrowed from the timeline.
 * @return ret->absent: BARO_PRESENT (0), or why the value is absent; BARO_ABSENT_UNSUPPORTED for a fact that does not
 * exist, or an item that is not a phase.
 */
BARO_API enum baro_absent baro_timeline_value(const struct baro_timeline *timeline, size_t item, baro_fact_id fact,
                                              struct baro_value *ret);
/**
 * Writes the names of the facts of a phase whose values have the mark of a flag (baro_value_mark()), with blanks
 * between them: "cpu_ns rss_peak_bytes". As with snprintf(3), the text is complete if the result is less than size.
 * @param flag BARO_VALUE_LOWER_BOUND or BARO_VALUE_ESTIMATE
 * @return the length of the whole text without the NUL at its end.
 */
BARO_API size_t baro_timeline_marked(const struct baro_timeline *timeline, size_t item, unsigned flag, char *ret,
                                     size_t size);

#ifdef __cplusplus
}
#endif
#endif
