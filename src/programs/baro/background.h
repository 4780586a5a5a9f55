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

/* Returns in the recorder alone: 0 or -errno. */
int background_begin(struct baro_error *err);
/* It records: one line of JSON on standard output. Then 0, 1 and 2 lead nowhere. */
void background_report(const char *tape, const struct marks_file *marks);

#endif
