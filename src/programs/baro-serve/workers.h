/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that work on requests, so that a slow request holds up neither others nor the thread of the connections. */
#ifndef PROGRAMS_BARO_SERVE_WORKERS_H
#define PROGRAMS_BARO_SERVE_WORKERS_H

#include <pthread.h>
#include <stdbool.h>

#include "programs/baro-serve/peer.h"

struct request;

#define WORKERS 4

struct worker {
    struct workers *w;
    pthread_t thread;
    struct peer peer; /* who sent the request, if has_tape */
    bool has_tape;    /* it works on a request that may read a tape */
};

struct workers {
    pthread_mutex_t lock;
    pthread_cond_t some;
    struct requests {
        struct request *first, **last;
    } small, tapes; /* queues: requests that read no tape, and the others */
    int n_tapes;    /* requests that read a tape and are being worked on */
    bool is_over;
    struct worker at[WORKERS];
    int n;
    void (*work)(struct request *q, bool is_over);
};

/* Starts the threads. They call work() for each request; is_over: the threads end, and the request gets an error. */
int workers_start(struct workers *w, void (*work)(struct request *q, bool is_over));
/* Adds a request to the queue. Returns false if the threads were stopped. */
bool workers_add(struct workers *w, struct request *q);
/* Fails the requests in the queues, and ends the threads; workers_add() returns false from then on. */
void workers_stop(struct workers *w);

#endif
