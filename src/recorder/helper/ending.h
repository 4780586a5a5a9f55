/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Child processes that hang: whether one does, and those that were killed and have not ended yet. One in an
 * uninterruptible sleep (a file server does not answer) may never end.
 */
#ifndef RECORDER_HELPER_ENDING_H
#define RECORDER_HELPER_ENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ENDING_MOST 8u

struct ending {
    struct {
        pid_t pid;
        uint64_t cpu_ns; /* that it had used when it was killed */
    } at[ENDING_MOST];
    size_t n;
    uint64_t reaped_cpu_ns; /* of all children that were reaped here */
};

/* Reaps a child that may have ended. Returns true if it has, here or elsewhere. */
bool ending_reap(struct ending *e, pid_t pid);
/* Kills a child. There is room for it: the caller starts none when ENDING_MOST have not ended. */
void ending_kill(struct ending *e, pid_t pid);
/* Reaps those that have ended meanwhile. */
void ending_reap_all(struct ending *e);
/* Sum over all that were killed or reaped. */
uint64_t ending_cpu_ns(const struct ending *e);
/* Waits for those that are about to end, else they would be left to process 1, which may not reap: up to 0.5 s on a
 * busy machine, 20 ms for one in an uninterruptible sleep. */
void ending_wait(struct ending *e);

/* What a child has been doing for too long, and the CPU time that it had used when this was noticed. All zero:
 * nothing. */
struct ending_late {
    uint64_t what, cpu_ns;
    bool found;
};

/* Whether a child that has been at `what` (any number that says what it is) for too long hangs: it sleeps, or has used
 * most_ns of CPU time since the first call for that. Not: it waits for a CPU. Example: with a quota of 1 ms of CPU time
 * per second, a read that takes 3 ms of it takes 3 s. */
bool ending_hangs(struct ending_late *late, pid_t pid, uint64_t what, uint64_t most_ns);

#endif
