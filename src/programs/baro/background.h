/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record --background: the recorder is a process that nobody waits for, in a session of its own, without any descriptor
 * of the program that started it.
 *
 * The process that was started ends at once, and the recorder waits until it was reaped: where the target is the
 * program that started us, our start is neither a member of the job nor part of its CPU time. So success and failure
 * are reported on standard output and error and not by an exit status.
 */
#ifndef PROGRAMS_BARO_BACKGROUND_H
#define PROGRAMS_BARO_BACKGROUND_H

#include "base/error.h"
#include "recorder/marks/marks_file.h"

/* Returns only in the recorder: 0 or -errno. */
int background_begin(struct baro_error *err);
/* The recorder has begun: writes one line of JSON to standard output, then connects 0, 1 and 2 to nothing. */
void background_report(const char *tape, const struct marks_file *marks);

#endif
