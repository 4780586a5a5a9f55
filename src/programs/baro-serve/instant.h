/* SPDX-License-Identifier: Apache-2.0 */
/* An instant of a tape as JSON: the job, the machine and the tasks, with what they used since the sample before. */
#ifndef PROGRAMS_BARO_SERVE_INSTANT_H
#define PROGRAMS_BARO_SERVE_INSTANT_H

#include "baro/baro.h"
#include "base/json.h"
#include "output/rows/row.h"

struct request;
struct instant_writer;

/* For one tape, which it borrows. NULL: no memory. */
struct instant_writer *instant_new(struct baro_tape *tape);
void instant_free(struct instant_writer *w);
/* Takes a sample for the rates of the next one. */
void instant_note(struct instant_writer *w, const struct baro_sample *s);
/* Writes a sample as an object. */
void instant_write(struct instant_writer *w, const struct baro_sample *s, struct json *j);
void instant_event(struct instant_writer *w, const struct columns *c, const struct baro_event *e, struct json *j);
void instant_exit(struct instant_writer *w, const struct columns *c, const struct baro_row *e, struct json *j);

/* The columns that rows of a kind have where a client names none: all that the tape has, and the derived metrics. */
int instant_columns(struct columns *ret, int kind, const char *list, const struct baro_tape *tape,
                    struct baro_error *err);

/* The sample that a request asks for by `at` and `pick`, and the one before it; each NULL where there is none. */
struct instant {
    struct baro_sample *now, *before;
};
/* False: the request has failed. */
bool instant_find(struct request *q, struct baro_tape *tape, struct instant *ret);
void instant_done(struct instant *i);
/* A time of a request, `+90s`, `50%`, `start`, `12:30:05` or nanoseconds since the tape began; false: it has failed. */
bool instant_moment(struct request *q, struct baro_tape *tape, const char *name, const char *text, uint64_t *ret);

#endif
