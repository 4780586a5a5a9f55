/* SPDX-License-Identifier: Apache-2.0 */
/* Moments on a tape, as a user names them. */
#ifndef CLI_MOMENT_H
#define CLI_MOMENT_H

#include <stdint.h>

#include "base/error.h"

/* Which sample stands for a moment at which there is none. The order is that of the words of --pick. */
enum baro_pick { PICK_BEFORE, PICK_NEAREST, PICK_AFTER };

/*
 * "+90s" since the tape began, "-10s" before its end, "12:30" or "12:30:05" on the local day on which the tape began (or the next one,
 * if that is not before its end), ISO 8601 with or without zone (without: local time). Returns 0 and the time since the tape began, which may be negative
 * or after the end; BARO_E_SYNTAX.
 */
int moment_parse(const char *text, int64_t start_realtime_ns, uint64_t end_ns, int64_t *ret_ns, struct baro_error *err);

#endif
