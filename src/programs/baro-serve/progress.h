/* SPDX-License-Identifier: Apache-2.0 */
/* Does a thread that reads a tape get on, or does it wait for a file system that does not answer? */
#ifndef PROGRAMS_BARO_SERVE_PROGRESS_H
#define PROGRAMS_BARO_SERVE_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct progress {
    pthread_t thread;
    pid_t tid;
    uint64_t cpu_ns, moved_ns; /* what it and its child had used when it had got on last, and when that was */
};

/* Called by the thread itself. */
void progress_init(struct progress *p);
/* It begins something that may hang. */
void progress_begin(struct progress *p);
/*
 * Has it used no CPU time for some seconds, nor its child (0: it has none), without waiting for a CPU? To be asked
 * several times a second, while the thread exists.
 */
bool progress_hangs(struct progress *p, pid_t child);

#endif
