/* SPDX-License-Identifier: Apache-2.0 */
/* A sample: which one a request asks for, and its JSON, with what was used since the previous sample. */
#ifndef PROGRAMS_BARO_SERVE_INSTANT_H
#define PROGRAMS_BARO_SERVE_INSTANT_H

#include "baro/baro.h"
#include "base/json.h"
#include "output/rows/source.h"

struct request;

#define INSTANT_PARTS 4

struct instant_writer {
    struct row_source part[INSTANT_PARTS]; /* the job, the machine, tasks, directories */
};

/* Call instant_done() also if it fails. */
int instant_init(struct instant_writer *w, struct baro_tape *tape, struct baro_error *err);
void instant_done(struct instant_writer *w);
/* Writes a sample as an object. j NULL: it is only noted, for the rates of the next one. */
void instant_write(struct instant_writer *w, const struct baro_sample *s, struct json *j);

/* Rows with columns by name; list NULL or "": all columns that the tape has, and the derived metrics. */
int instant_rows(struct row_source *ret, struct baro_tape *tape, int kind, const char *list, struct baro_error *err);

/* Finds the sample that a request asks for with `at` and `pick`, and the one before it (NULL: there is none). Returns
 * false if the request has failed. Free both with baro_sample_free(). */
bool instant_find(struct request *q, struct baro_tape *tape, struct baro_sample **ret, struct baro_sample **ret_before);
/* Parses a time of a request: `+90s`, `50%`, `start`, `12:30:05`, or nanoseconds since the tape began; does nothing if
 * there is no such parameter. Returns false if the request has failed. */
bool instant_moment(struct request *q, struct baro_tape *tape, const char *name, uint64_t *ret);

#endif
