/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a sample as JSON: the job, the machine and the tasks, with what they used since the previous sample. */
#ifndef PROGRAMS_BARO_SERVE_INSTANT_H
#define PROGRAMS_BARO_SERVE_INSTANT_H

#include "baro/baro.h"
#include "base/json.h"
#include "output/rows/row.h"

struct request;
struct instant_writer;

/* Makes a writer for one tape, which it borrows. Returns NULL if memory ran out. */
struct instant_writer *instant_new(struct baro_tape *tape);
void instant_free(struct instant_writer *w);
/* Takes a sample for the rates of the next one. */
void instant_note(struct instant_writer *w, const struct baro_sample *s);
/* Writes a sample as an object. */
void instant_write(struct instant_writer *w, const struct baro_sample *s, struct json *j);
void instant_event(struct instant_writer *w, const struct columns *c, const struct baro_event *e, struct json *j);
void instant_exit(struct instant_writer *w, const struct columns *c, const struct baro_row *e, struct json *j);

/* Chooses columns. list NULL: the default, all columns that the tape has and the derived metrics. */
int instant_columns(struct columns *ret, int kind, const char *list, const struct baro_tape *tape,
                    struct baro_error *err);

/* The sample that a request asks for with `at` and `pick`, and the one before it; NULL: there is none. */
struct instant {
    struct baro_sample *now, *before;
};
/* Finds these samples. Returns false if the request has failed. */
bool instant_find(struct request *q, struct baro_tape *tape, struct instant *ret);
void instant_done(struct instant *i);
/* Parses a time of a request: `+90s`, `50%`, `start`, `12:30:05`, or nanoseconds since the tape began. Returns false if
 * the request has failed. */
bool instant_moment(struct request *q, struct baro_tape *tape, const char *name, const char *text, uint64_t *ret);

#endif
