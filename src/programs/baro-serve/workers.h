/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that work on requests, so that one which takes long holds up no other, and no connection. */
#ifndef PROGRAMS_BARO_SERVE_WORKERS_H
#define PROGRAMS_BARO_SERVE_WORKERS_H

#include <pthread.h>
#include <stdbool.h>

struct request;

#define WORKERS 4

struct workers {
    pthread_mutex_t lock;
    pthread_cond_t some;
    struct requests {
        struct request *first, **last;
    } small, large; /* waiting */
    int n_large;    /* being worked on */
    bool is_over;
    pthread_t thread[WORKERS];
    int n;
    void (*work)(struct request *q, bool is_over);
};

/* work is told when the threads end: then each request needs an answer, but no work. */
int workers_start(struct workers *w, void (*work)(struct request *q, bool is_over));
/* False: they were stopped. */
bool workers_add(struct workers *w, struct request *q);
/* Gives back what waits, and ends the threads. Requests may still be added, in vain. */
void workers_stop(struct workers *w);

#endif
