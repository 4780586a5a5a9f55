/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of events (Server-Sent Events). Each stream has a cursor of its own, and the tape is its queue: a client that
 * reads slowly lags behind, and one that comes back continues where it was.
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
/* Ends all streams after their clients have got what was made for them. */
void live_end(struct live *live);
void live_free(struct live *live);

/* Handlers: each makes a stream of the events of a job, or of the list of jobs. */
void live_job(struct request *q);
void live_jobs(struct request *q);
/* Gives the stream a place; if there is none, the request fails. */
void live_attach(struct request *q);
/* Frees a stream that was not attached. */
void live_drop(struct stream *s);
/* Returns the number of streams. */
size_t live_count(struct live *live);

/* Called by libmicrohttpd in the thread of the connections. */
ssize_t live_read(void *context, uint64_t at, char *to, size_t most);
void live_close(void *context);

#endif
