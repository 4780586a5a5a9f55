/* SPDX-License-Identifier: Apache-2.0 */
/* The row of a job in the list of jobs: a JSON object. */
#ifndef PROGRAMS_BARO_SERVE_JOB_ROW_H
#define PROGRAMS_BARO_SERVE_JOB_ROW_H

#include "base/json.h"
#include "programs/baro-serve/follow.h"

/* Makes row and title of a job. Needs the lock of the job. */
void row_make(const struct job *job, const struct baro_tape *tape, struct found *f);
/* Writes how a job ended: a text or null. */
void row_result(struct json *j, const struct baro_tape_end *end);
/* Makes the row of a tape that cannot be read, with the error. */
void row_error(const struct job *job, const char *text, struct found *f);

#endif
