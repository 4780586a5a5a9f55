/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects child processes that hang, and keeps a list of those that were killed and have not ended yet. A process in
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
        uint64_t cpu_ns; /* CPU time that it had used when it was killed */
    } at[ENDING_MOST];
    size_t n;
    uint64_t reaped_cpu_ns; /* of all children that were reaped here */
};

/* Reaps a child that may have ended. Returns true if it has, here or elsewhere. */
bool ending_reap(struct ending *e, pid_t pid);
/* Kills a child, and adds it to the list. The list has room: the caller starts no child while ENDING_MOST have not
 * ended. */
void ending_kill(struct ending *e, pid_t pid);
/* Reaps the killed children that have ended. */
void ending_reap_all(struct ending *e);
/* Returns the CPU time of all children that were killed or reaped. */
uint64_t ending_cpu_ns(const struct ending *e);
/* Waits for killed children that are about to end, up to 0.5 s on a busy machine, and 20 ms for one in uninterruptible
 * sleep. Otherwise they would be left to process 1, which may not reap them. */
void ending_wait(struct ending *e);

/* What a child has been doing for too long, and the CPU time that it had used when this was noticed. All zero:
 * nothing. */
struct ending_late {
    uint64_t what, cpu_ns;
    bool found;
};

/* Does a child hang that has worked on `what` (any number that identifies the work) for too long? It does if it sleeps,
 * or has used most_ns of CPU time since the first call with this `what`. It does not if it waits for a CPU. Example:
 * with a quota of 1 ms of CPU time per second, a read that takes 3 ms of it takes 3 s. */
bool ending_hangs(struct ending_late *late, pid_t pid, uint64_t what, uint64_t most_ns);

#endif
