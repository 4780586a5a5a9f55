/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events as they come (Server-Sent Events). Each stream has a cursor of its own, and the tape is its queue: a client
 * that reads slowly only lags behind, and one that comes back goes on where it was.
 */
#ifndef PROGRAMS_BARO_SERVE_LIVE_H
#define PROGRAMS_BARO_SERVE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "baro/error.h"

struct catalogue;
struct live;
struct request;
struct stream;

int live_start(struct live **ret, struct catalogue *c, struct baro_error *err);
/* Ends all streams: their clients get what is left, and the end. */
void live_end(struct live *live);
void live_free(struct live *live);

/* To be called several times a second while there are streams: another thread takes the place of one that waits for a
 * file system. */
void live_check(struct live *live);
/* Does one still wait? Then what it uses has to stay. */
bool live_is_stuck(struct live *live);

/* Handlers: the events of a job, and those of the list of jobs. They make a stream, */
void live_job(struct request *q);
void live_jobs(struct request *q);
/* which gets a place, or the request fails; or it is not wanted any more. */
void live_attach(struct request *q);
void live_drop(struct stream *s);
/* Returns the number of streams. */
size_t live_count(struct live *live);

/* For the thread of the connections. */
ssize_t live_read(void *context, uint64_t at, char *to, size_t most);
void live_close(void *context);

#endif
