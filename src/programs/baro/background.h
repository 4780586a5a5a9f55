/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record --background: the recorder is a process that nobody waits for, in a session of its own, without any descriptor
 * of the program that started it.
 *
 * The process that was started ends at once, and the recorder waits a moment until it has been reaped. So if the target
 * is the program that started us, the starter is neither a member of the job nor part of what the job used. So success
 * and failure are reported on standard output and error and not by an exit status.
 */
#ifndef PROGRAMS_BARO_BACKGROUND_H
#define PROGRAMS_BARO_BACKGROUND_H

#include "base/error.h"
#include "libbaro/sample/sample.h"
#include "recorder/marks/marks_file.h"

/* Returns only in the recorder: 0 or -errno. *ret_starter: the process that was started, which its parent may reap
 * after this has returned; start 0: not known. */
int background_begin(struct baro_key *ret_starter, struct baro_error *err);
/* The recorder has begun: writes one line of JSON to standard output, then connects 0, 1 and 2 to nothing. */
void background_report(const char *tape, const struct marks_file *marks);

#endif
