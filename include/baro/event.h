/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Events: what happened between samples.
 *
 * An event has a kind, a time, perhaps a process that it concerns, and attributes: named values with a type. The
 * attributes of each kind are listed beside it below. Later versions may add kinds and attributes; take the ones that
 * you know and skip the rest.
 *
 * An event is borrowed from the cursor that delivered it, as baro_tape_next() says.
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

struct baro_event;

/** Numbers are part of the format and are never used again. */
enum baro_event_kind {
    BARO_EVENT_START,      /**< the command was started, or a target attached to. cpu_ns: used before (attach); name */
    BARO_EVENT_EXEC,       /**< a process executed another program. name: its new name */
    BARO_EVENT_SIGNAL,     /**< the wrapper passed on a signal. signal */
    BARO_EVENT_STOP,       /**< the command was stopped. signal */
    BARO_EVENT_CONT,       /**< the command was continued */
    BARO_EVENT_GAP,        /**< nothing could be recorded. duration_ns, reason */
    BARO_EVENT_MISSED,     /**< samples were due and not taken. samples */
    BARO_EVENT_LOSSY,      /**< an event source lost events. times, source */
    BARO_EVENT_THINNED,    /**< reads are left out to stay within the overhead budget. level, what */
    BARO_EVENT_CLOCK_STEP, /**< the wall clock was set. step_ns (signed), message */
    BARO_EVENT_SUSPEND,    /**< the machine slept. duration_ns, message */
    BARO_EVENT_WARNING,    /**< something went wrong in the recorder. number, message */
    BARO_EVENT_WRAPPER_LOST, /**< the wrapper ended before the job. message */
    BARO_EVENT_SURVIVOR,     /**< a process outlived the command. name */
    BARO_EVENT_END, /**< the command or the last target ended. status (of wait4(2)), how: "", "unknown" or "detached" */
    BARO_EVENT_SOURCE, /**< an event source was opened later. forks (1: it tells forks, too), source */
    BARO_EVENT_OOM, /**< the kernel's log was read for OOM kills. victims: processes of the job that it names; names: of
                       the first ones */
    BARO_EVENT_MARK,        /**< a moment that the job named. name, and whatever attributes it was given */
    BARO_EVENT_PHASE_BEGIN, /**< a phase of the job began. name, and whatever attributes it was given; id: of this phase
                               among others of its name */
    BARO_EVENT_PHASE_END    /**< a phase ended: the last that was begun with this name and id. name, id, whatever
                               attributes it was given; duration_ns: of a phase that is reported as a whole, which has
                               no phase_begin. Of marks and phases time_error_ns: it may have happened up to that much
                               earlier. Of lines of a RunLog written_ts (text) and written_seconds (a number): its "ts"
                               and "seconds" as they were given; attributes_beside (boolean): its attributes did not
                               stand in "data". An attribute of the job's own with one of these names has the type
                               JSON */
};

/** @return what happened. */
BARO_API enum baro_event_kind baro_event_kind_of(const struct baro_event *e);
/** @return "start", "exec", ...: the name of its kind. */
BARO_API const char *baro_event_name(const struct baro_event *e);
/** @return the name of a kind; "" if this library does not know it. */
BARO_API const char *baro_event_kind_name(enum baro_event_kind kind);
/** @return when it happened, in nanoseconds since the tape began. */
BARO_API uint64_t baro_event_t_ns(const struct baro_event *e);
/** @return the pid of the process that it concerns, 0 if it concerns none. */
BARO_API int32_t baro_event_pid(const struct baro_event *e);
/** @return the start time of that process in clock ticks since boot; 0 if it is not known. */
BARO_API uint64_t baro_event_start_ticks(const struct baro_event *e);

/** @return how many attributes it has. */
BARO_API size_t baro_event_attribute_count(const struct baro_event *e);
/** @return 0 and attribute @p i, its texts borrowed from the event; BARO_E_RANGE if there is no such attribute. */
BARO_API int baro_event_attribute(const struct baro_event *e, size_t i, struct baro_attribute *ret);
/** @return 0 and the attribute of that name, its texts borrowed from the event; BARO_E_RANGE if there is none. */
BARO_API int baro_event_attribute_find(const struct baro_event *e, const char *name, struct baro_attribute *ret);

/** The number and the text as they stand on the tape; the attributes say what they mean. */
BARO_API uint64_t baro_event_number(const struct baro_event *e);
BARO_API const char *baro_event_text(const struct baro_event *e); /**< its text; "" if it has none */

#ifdef __cplusplus
}
#endif
#endif
