/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If the file system of its folder does not answer (a file server, a frozen disk), an observer waits in the kernel and
 * cannot print a warning. So another process prints it: it reads from shared memory when the observer began its current
 * call on that file system.
 */
#ifndef RECORDER_LOOP_HANGING_H
#define RECORDER_LOOP_HANGING_H

#include <stdint.h>

/* All zero: nobody watches. */
struct hanging {
    struct worker *worker; /* the process that watches */
    const char *dir;
    void (*say)(void *context, const char *line);
    void *context;
    unsigned depth;
};

/* Starts the process that watches. *h stays where it is until the end. The process calls `say` with a line for people.
 * If it cannot be started, nobody watches. */
void hanging_begin(struct hanging *h, const char *dir, void (*say)(void *context, const char *line), void *context);
void hanging_end(struct hanging *h);

/* Call these around calls on the file system of the folder. They may be nested. */
void hanging_enter(struct hanging *h);
void hanging_leave(struct hanging *h);

#endif
