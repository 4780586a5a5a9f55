/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of events and what it sends, for live.c. */
#ifndef PROGRAMS_BARO_SERVE_LIVE_STREAM_H
#define PROGRAMS_BARO_SERVE_LIVE_STREAM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <microhttpd.h>

#include "base/buf.h"
#include "programs/baro-serve/catalogue.h"
#include "programs/baro-serve/instant.h"
#include "programs/baro-serve/live.h"
#include "programs/baro-serve/peer.h"

struct stream {
    struct stream *next;
    struct live *live;
    struct MHD_Connection *connection;
    int fd; /* descriptor of the connection: open until is_closed */
    struct peer peer;
    struct job *job; /* held; NULL: the list of jobs */

    /* used by the thread of the streams only */
    struct baro_tape *tape;
    struct instant_writer writer;
    struct row_source exits, events;
    bool with_exits;
    uint64_t t_ns, records;     /* time of the last sample that was sent; how many records were sent after it */
    uint64_t asked_ns, rows_ns; /* list: when it was read last; when changed rows are sent next */
    uint64_t version, turned;   /* list: versions up to which changed rows, and changes of state, were sent */
    uint64_t sent_ns;
    bool is_over; /* nothing more is made */

    /* protected by the lock */
    struct buf out;
    size_t sent;
    uint64_t taken_ns;                     /* when the client last took something */
    bool is_ended;                         /* all that was made is in out */
    bool is_suspended, is_gone, is_closed; /* gone: its place is free, and its connection ends or has ended */
    bool is_stuck;                         /* a thread that was replaced waits for its tape, and uses it */
};

struct live {
    struct catalogue *catalogue;
    pthread_mutex_t lock;
    struct stream *first;
    size_t n; /* number of streams that are not gone */
    bool is_ending, is_over;
    int wake_fd;
    pthread_t thread;
    struct runner *runner; /* the thread in charge */
    unsigned n_stuck;      /* threads that were replaced and have not ended */
    uint64_t check_ns;     /* CLOCK_MONOTONIC: time of the last live_check() */
};

/* Adds what the stream has to send: records of a job up to about `room` bytes, or the changes of the list of jobs. */
void stream_fill(struct stream *s, uint64_t now_ns, size_t room, struct buf *out);
void stream_free(struct stream *s);

#endif
