/* SPDX-License-Identifier: Apache-2.0 */
/* Moments on a tape, as a user names them. */
#ifndef PROGRAMS_COMMON_MOMENT_H
#define PROGRAMS_COMMON_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "baro/tape.h"
#include "base/error.h"

/* Which sample is taken for a moment without a sample. The order is that of the words of --pick. */
enum baro_pick { PICK_BEFORE, PICK_NEAREST, PICK_AFTER };

enum moment_kind { MOMENT_TIME, MOMENT_START, MOMENT_END, MOMENT_PEAK };

struct moment {
    enum moment_kind kind;
    int64_t ns;       /* for MOMENT_TIME: since the tape began; may be negative or after the end */
    uint64_t unit_ns; /* how exactly it was written: 10 ms of "+4.83s", a minute of "12:30" */
    bool is_wall;     /* it was given as wall-clock time; ns is valid if the clock was not set during the recording */
    bool is_of_a_day; /* only the time of day was given */
};

/* The forms for help and errors. A command that takes a moment, no edge of a stretch, has peak, too. */
#define MOMENT_FORMS                                                                                                   \
    "90s (since the start), -10s (before the end), 50%, start, end, 12:30:05, 'yesterday 12:30' or ISO 8601"

/*
 * "90s" or "+90s" since the tape began, "-10s" before its end, "50%" of its length, "0" and "start", "end", "peak",
 * "12:30" or "12:30:05" on the last local day on which the tape has it, "yesterday 12:30", ISO 8601 with or without
 * zone (without: local time). All forms in which moments are printed are among them. Returns 0 or BARO_E_SYNTAX.
 */
int moment_parse(const char *text, int64_t start_realtime_ns, uint64_t end_ns, struct moment *ret,
                 struct baro_error *err);

/* Does the same for a tape, and takes into account that its wall clock was set or the machine suspended. origin_ns:
 * the instant from which moments count, since the tape began. Returns 0, BARO_E_SYNTAX, or an error of reading the
 * tape. */
int moment_on_tape(const char *text, struct baro_tape *tape, uint64_t origin_ns, uint64_t end_ns, struct moment *ret,
                   struct baro_error *err);

/* Returns 0 if the tape has the moment, else BARO_E_RANGE with a line that says which moments it has. One that was
 * given less exactly may be a little outside: "12:30" of a run that began at 12:30:20. */
int moment_outside(const char *text, const struct moment *m, const struct baro_header *header, uint64_t end_ns,
                   struct baro_error *err);

/* Moments are printed with milliseconds, rounded down: a sample up to this much later is the requested one. 0 if it was
 * written more exactly. */
uint64_t moment_tolerance(const struct moment *m);

#endif
