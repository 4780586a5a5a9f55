/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Events: what happened between samples.
 *
 * An event has a kind, a time, attributes (baro/attribute.h), and the process that it concerns, if there is one. The
 * attributes of each kind are listed beside it below. Later versions may add kinds and attributes: use the ones that
 * you know and skip the rest.
 *
 * Marks and phases have the attributes that the job gave, and may have time_error_ns, if the event may have happened
 * earlier by up to that much. An attribute of the job that has this name has the type JSON.
 *
 * An event, and text that the functions here return, is borrowed from the cursor that delivered the event. It is valid
 * until the next call that takes the cursor non-const (baro/tape.h). The functions are pure: several threads may read
 * one event as long as none moves the cursor.
 */
#ifndef BARO_EVENT_H
#define BARO_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/attribute.h"
#include "baro/error.h"
#include "baro/metric.h"

#ifdef __cplusplus
extern "C" {
#endif

struct baro_event; /**< what happened at one instant */

/** Kinds of events. Their numbers are part of the tape's format; a number is never reused. */
enum baro_event_kind {
    BARO_EVENT_START,        /**< the command was started, or the recorder attached to a target. name; cpu_ns: the CPU
                                time that the target had used before */
    BARO_EVENT_EXEC,         /**< a process executed another program. name: its new name. Where it is known:
                                  program: the name of the one before; cpu_ns, rss_peak_bytes: the CPU time that
                                  the process had used until then in the recording, and its highest memory */
    BARO_EVENT_SIGNAL,       /**< the wrapper forwarded a signal to the command. signal */
    BARO_EVENT_STOP,         /**< the command was stopped. signal */
    BARO_EVENT_CONT,         /**< the command was continued */
    BARO_EVENT_GAP,          /**< nothing could be recorded. duration_ns, reason */
    BARO_EVENT_MISSED,       /**< samples were due and were not taken in time. samples: how many */
    BARO_EVENT_LOSSY,        /**< an event source lost events. times, source */
    BARO_EVENT_THINNED,      /**< the recorder leaves out reads to stay within the overhead budget. level, what */
    BARO_EVENT_CLOCK_STEP,   /**< the wall clock was set. step_ns (signed), message */
    BARO_EVENT_SUSPEND,      /**< the machine was suspended. duration_ns, message */
    BARO_EVENT_WARNING,      /**< something went wrong in the recorder. number, message */
    BARO_EVENT_WRAPPER_LOST, /**< the wrapper ended before the job. message */
    BARO_EVENT_SURVIVOR,     /**< a process outlived the command. name; reason: why a limit could not end it */
    BARO_EVENT_END, /**< the command or the last target ended. status (of wait4(2)), how: "", "unknown" or "detached";
                         ended_by: the name of the limit (see limit) that ended the job */
    BARO_EVENT_SOURCE, /**< an event source was opened after the recording began. source; forks: 1 if it reports forks,
                          too */
    BARO_EVENT_OOM,    /**< the recorder read the kernel's log for OOM kills. victims: how many processes of the job it
                          names; names: the names of the first of them. On a machine each is an event of its own; group:
                          the control group that ran out of memory, limit_bytes: its limit */
    BARO_EVENT_MARK,   /**< a moment that the job named. name, and the attributes that the job gave */
    BARO_EVENT_PHASE_BEGIN, /**< a phase of the job began. name, and the attributes that the job gave; id: tells the
                               phase from others with the same name */
    BARO_EVENT_PHASE_END,   /**< a phase ended: the one that was begun last with this name and id. name, id, and the
                               attributes that the job gave; duration_ns: only of a phase that the job reported as a
                               whole, which has no phase_begin */
    /** A limit of `baro run --limit` was reached. value: what was in use, in bytes (memory, rss), nanoseconds (cpu,
     * wall) or processes; limit: its name; most: what was allowed; action: the signal that ends the job, or mark; by:
     * what it was noticed by, kernel, sample, timer, event or exit; holder_1 to holder_3: the names of the processes
     * that held most, and held_1 to held_3: how much (processes: how many have this name; wall: their CPU time). A
     * second one, with left: the grace was over, and so many processes got SIGKILL. */
    BARO_EVENT_LIMIT
};

/** @return the kind of an event; later versions may return kinds that are not listed above. */
BARO_API enum baro_event_kind baro_event_kind_of(const struct baro_event *e);
/** @return the name of a kind, a constant: "start", "exec", ...; "unknown" for another number. */
BARO_API const char *baro_event_kind_name(enum baro_event_kind kind);
/** @return when it happened, in nanoseconds since the tape began. */
BARO_API uint64_t baro_event_t_ns(const struct baro_event *e);
/** @return the pid of the process that the event concerns; 0 if it concerns none. */
BARO_API int32_t baro_event_pid(const struct baro_event *e);
/** @return the start time of that process in clock ticks since boot (proc(5)); 0 if it is not known. */
BARO_API uint64_t baro_event_start_ticks(const struct baro_event *e);

/** @return how many attributes the event has. */
BARO_API size_t baro_event_attribute_count(const struct baro_event *e);
/** @return 0 and attribute @p i in @p ret, its texts borrowed from the event; BARO_E_RANGE if there is none. */
BARO_API int baro_event_attribute(const struct baro_event *e, size_t i, struct baro_attribute *ret);
/** @return 0 and the attribute called @p name, its texts borrowed from the event; BARO_E_RANGE if there is none. */
BARO_API int baro_event_attribute_find(const struct baro_event *e, const char *name, struct baro_attribute *ret);

/** @return the number that the tape has for the event, whose meaning depends on the kind: prefer the attributes. */
BARO_API uint64_t baro_event_number(const struct baro_event *e);
/** @return the text that the tape has for the event, "" if it has none: prefer the attributes. */
BARO_API const char *baro_event_text(const struct baro_event *e);

#ifdef __cplusplus
}
#endif
#endif
