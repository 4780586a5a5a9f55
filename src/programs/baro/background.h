/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record --background: the recorder is a process that nobody waits for, in a session of its own, without any descriptor
 * of the program that started it.
 *
 * The process that was started waits until it is known that there is something to record and where to, and ends with
 * the status of the recorder if there is not. Then it ends with 0, and the recorder waits a moment until it has been
 * reaped: if the target is the program that started us, the starter is neither a member of the job nor part of what the
 * job used. Of what fails later standard error has the message alone.
 */
#ifndef PROGRAMS_BARO_BACKGROUND_H
#define PROGRAMS_BARO_BACKGROUND_H

#include "base/error.h"
#include "libbaro/sample/sample.h"
#include "recorder/marks/marks_file.h"

struct background {
    struct baro_key starter; /* the process that was started; start 0: not known */
    int32_t parent;          /* its parent */
    int starter_fd;          /* it reads from this pipe */
};

/* Returns only in the recorder: 0 or -errno. */
int background_begin(struct background *ret, struct baro_error *err);
/* Lets the starter end, which its parent may reap after this has returned. */
void background_accept(struct background *b);
/* The recorder has begun: writes one line of JSON to standard output, then connects 0, 1 and 2 to nothing. */
void background_report(const char *tape, const struct marks_file *marks);

#endif
