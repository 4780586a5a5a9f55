/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An observer waits in the kernel while the file system of its folder does not answer (a file server, a frozen disk),
 * and can say nothing. So a process beside it does: it reads from shared memory since when the observer has been at a
 * call there.
 */
#ifndef RECORDER_LOOP_HANGING_H
#define RECORDER_LOOP_HANGING_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

/* All zero: nobody watches. */
struct hanging {
    _Atomic uint64_t *since_ns; /* shared: CLOCK_MONOTONIC; 0: it is at no call */
    unsigned depth;
    pid_t pid; /* of the process that watches */
};

/* Starts it; say is called there with a line for people. If that fails, nobody watches. */
void hanging_begin(struct hanging *h, const char *dir, void (*say)(void *context, const char *line), void *context);
void hanging_end(struct hanging *h);

/* Around calls on the file system of the folder; they may be nested. */
void hanging_enter(struct hanging *h);
void hanging_leave(struct hanging *h);

#endif
