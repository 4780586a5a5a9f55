/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that work on requests, so that one which takes long holds up no other, and no connection. Where the file
 * system of a tape does not answer, another thread takes the place of the one that waits for it.
 */
#ifndef PROGRAMS_BARO_SERVE_WORKERS_H
#define PROGRAMS_BARO_SERVE_WORKERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct job;
struct request;
struct worker;

#define WORKERS 4

struct workers {
    pthread_mutex_t lock;
    pthread_cond_t some;
    struct requests {
        struct request *first, **last;
    } small, tapes; /* waiting: those that read no tape, and the others, */
    int n_tapes;    /* requests of tapes that are being worked on */
    bool is_over;
    struct worker *at[WORKERS];
    int n;
    struct worker *stuck; /* those that were replaced */
    unsigned n_stuck;
    uint64_t check_ns; /* CLOCK_MONOTONIC: of the last workers_check() */
    void (*work)(struct request *q, bool is_over);
    void (*hangs)(struct request *q);
};

/*
 * work is told when the threads end: then each request needs an answer, but no work. hangs is called, by
 * workers_check(), for a request whose worker waits for a file system: it gets an answer at once. The worker goes on
 * with what it has of the request.
 */
int workers_start(struct workers *w, void (*work)(struct request *q, bool is_over), void (*hangs)(struct request *q));
/* False: they were stopped. */
bool workers_add(struct workers *w, struct request *q);

/* For work(): from here to workers_end() it may read tapes. */
void workers_begin(struct workers *w, struct request *q);
/* False: hangs() has given an answer meanwhile. */
bool workers_end(struct workers *w, struct request *q);
/* Call it before reading the tape of a job. Returns false if other threads wait for this tape, or for its file
 * system. */
bool workers_read(struct workers *w, struct request *q, struct job *job);
/* The process that reads the tape in its place; 0: none. It is killed where that takes for ever. */
void workers_child(struct workers *w, struct request *q, int pid);

/* To be called several times a second while there are requests. */
void workers_check(struct workers *w);
/* Gives back what waits, and ends the threads. Requests may still be added, in vain. False: some still wait for a file
 * system, and what they use has to stay. */
bool workers_stop(struct workers *w);

#endif
