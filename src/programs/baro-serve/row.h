/* SPDX-License-Identifier: Apache-2.0 */
/* What the list of jobs has of one: a JSON object. */
#ifndef PROGRAMS_BARO_SERVE_ROW_H
#define PROGRAMS_BARO_SERVE_ROW_H

#include "base/json.h"
#include "programs/baro-serve/follow.h"

/* Makes row and title of a job, with what is kept of it. Called with the lock of the job. */
void row_make(const struct job *job, const struct baro_tape *tape, struct found *f);
/* How it ended, as the row says it: a text or null. */
void row_result(struct json *j, const struct baro_tape_end *end);
/* The row of a tape that can't be read; found says so. */
void row_error(const struct job *job, const char *text, struct found *f);

#endif
