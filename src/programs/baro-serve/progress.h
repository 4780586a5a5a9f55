/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether a thread that reads a tape makes progress, or waits for a file system that does not answer. */
#ifndef PROGRAMS_BARO_SERVE_PROGRESS_H
#define PROGRAMS_BARO_SERVE_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct progress {
    pthread_t thread;
    pid_t tid;
    uint64_t cpu_ns, moved_ns; /* CPU time of it and its child at the last progress; when that was */
};

/* The thread calls this first. */
void progress_init(struct progress *p);
/* The thread calls this before it does something that may hang. */
void progress_begin(struct progress *p);
/*
 * Have the thread and its child (0: none) used no CPU time for some seconds, although they did not wait for a CPU? Call
 * it several times a second, while the thread exists.
 */
bool progress_hangs(struct progress *p, pid_t child);

#endif
