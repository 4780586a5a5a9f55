/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line of the file $BARO_EVENTS: a mark, or the begin or end of a phase. Text is a mark of that name; JSON is
 *
 *     {"mark": "checkpoint", "loss": 0.12}
 *     {"begin": "load"}    {"end": "load", "rows": 1000}
 *     {"phase": "fit", "seconds": 1.25}                      a phase that has just ended, as a whole
 *
 *     {"run_task": "load", "pid": 12, "start_ticks": 3400}   descendants of that process belong to this task
 *     {"run_task": "load", "itself": true, "pid": 12, ...}   and the process itself, from now on
 *     {"task_end": "load", "wait_status": 2304, ...}         it has ended; wait_status is that of wait4(2)
 *
 * Lines of a RunLog are taken as well:
 *
 *     {"ts": "2026-01-02T03:04:05.678+00:00", "type": "phase", "name": "fit", "seconds": 1.25, "rows": 7}
 *     {"ts": "2026-01-02T03:04:06.000+00:00", "type": "event", "event": "saved", "data": {"step": 3}}
 *
 * Other members are attributes, and so are those of "data" if nothing stands beside it. A value that is no boolean,
 * number or text, or could not be written back from one, is kept as JSON: {"rows": [1, 2]}. "id" distinguishes phases
 * of the same name. The time of the mark is "monotonic_ns", "monotonic" (seconds of CLOCK_MONOTONIC) or "time" (seconds
 * since 1970). "pid" with "start_ticks" is the process that reports it. In lines of a RunLog these four are attributes
 * as any other.
 *
 * The parser is pure: bytes in, struct out; no system call, no allocation.
 */
#ifndef RECORDER_MARKS_MARK_H
#define RECORDER_MARKS_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "baro/attribute.h"
#include "base/span.h"

#define MARK_LINE 16384u /* the longest line; what is beyond is left out */
#define MARK_NAME 1024u  /* bytes of a name, with its NUL; what is beyond is left out */
#define MARK_ATTRIBUTES 30u
#define MARK_ATTRIBUTE_NAME 256u  /* with its NUL; a longer one is left out with its value */
#define MARK_ATTRIBUTE_TEXT 4096u /* with its NUL; a longer one is kept as JSON */
#define MARK_LEFT_OUT 64u

enum mark_kind { MARK_POINT, MARK_BEGIN, MARK_END, MARK_WHOLE, MARK_TASK, MARK_TASK_END };
enum mark_clock { MARK_UNTIMED, MARK_MONOTONIC, MARK_REALTIME };

struct mark {
    enum mark_kind kind;
    enum mark_clock clock;
    uint64_t time_ns;      /* on that clock */
    uint64_t duration_ns;  /* of MARK_WHOLE */
    int wait_status;       /* of MARK_TASK_END */
    bool itself;           /* of MARK_TASK */
    const char *name, *id; /* "" if there is none */
    int32_t pid;           /* with start_ticks; 0: not given */
    uint64_t start_ticks;
    size_t n_attributes, left_out;      /* left out: members that can't be kept */
    char first_left_out[MARK_LEFT_OUT]; /* the name of the first of them, truncated to this length; may be no UTF-8 */
    const char *why_left_out;
    struct baro_attribute attribute[MARK_ATTRIBUTES];
    size_t text_len;
    char text[MARK_LINE + 64]; /* the texts that the members above point to; no longer than the line */
};

enum mark_result { MARK_GOOD, MARK_EMPTY, MARK_BAD };
/* line: without its newline. MARK_EMPTY: nothing but blanks. MARK_BAD: it begins with '{' and is no JSON object. */
enum mark_result mark_parse(struct span line, struct mark *ret);

#endif
