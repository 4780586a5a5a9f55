/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If the file system of its folder does not answer (a file server, a frozen disk), an observer waits in the kernel and
 * cannot print a warning. So another process prints it: it reads from shared memory when the observer began its current
 * call on that file system.
 */
#ifndef RECORDER_LOOP_HANGING_H
#define RECORDER_LOOP_HANGING_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

/* All zero: nobody watches. */
struct hanging {
    _Atomic uint64_t
        *since_ns; /* shared: when the observer began its current call (CLOCK_MONOTONIC); 0: it is in no call */
    unsigned depth;
    pid_t pid; /* pid of the process that watches */
};

/* Starts the process that watches. It calls `say` with a line for people. If it cannot be started, nobody watches. */
void hanging_begin(struct hanging *h, const char *dir, void (*say)(void *context, const char *line), void *context);
void hanging_end(struct hanging *h);

/* Call these around calls on the file system of the folder. They may be nested. */
void hanging_enter(struct hanging *h);
void hanging_leave(struct hanging *h);

#endif
