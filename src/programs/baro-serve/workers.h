/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that work on requests, so that a slow request holds up neither others nor the thread of the connections. If
 * the file system of a tape does not answer, another thread takes the place of the one that waits for it.
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
    } small, tapes; /* queues: requests that read no tape, and the others */
    int n_tapes;    /* requests that read a tape and are being worked on */
    bool is_over;
    struct worker *at[WORKERS];
    int n;
    struct worker *stuck; /* threads that were replaced */
    unsigned n_stuck;
    uint64_t check_ns; /* CLOCK_MONOTONIC: time of the last workers_check() */
    void (*work)(struct request *q, bool is_over);
    void (*hangs)(struct request *q);
};

/*
 * Starts the threads. They call work() for each request; is_over: the threads end, and the request gets an error.
 * workers_check() calls hangs() for a request whose worker waits for a file system: it must answer at once, while the
 * worker continues with its copy of the request.
 */
int workers_start(struct workers *w, void (*work)(struct request *q, bool is_over), void (*hangs)(struct request *q));
/* Adds a request to the queue. Returns false if the threads were stopped. */
bool workers_add(struct workers *w, struct request *q);

/* work() calls this before it reads tapes. */
void workers_begin(struct workers *w, struct request *q);
/* work() calls this when it reads tapes no more. Returns false if hangs() has answered meanwhile. */
bool workers_end(struct workers *w, struct request *q);
/* Call it before reading the tape of a job. Returns false if other threads wait for this tape, or for its file
 * system. */
bool workers_read(struct workers *w, struct request *q, struct job *job);
/* Sets the child process that reads the tape for the worker; 0: none. It is killed if it hangs. */
void workers_child(struct workers *w, struct request *q, int pid);

/* Finds workers that hang. Call it several times a second while there are requests. */
void workers_check(struct workers *w);
/* Fails the requests in the queues, and ends the threads; workers_add() returns false from then on. Returns false if
 * some threads wait for a file system; then their memory must not be freed. */
bool workers_stop(struct workers *w);

#endif
