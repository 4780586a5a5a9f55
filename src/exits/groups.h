/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a thread group has ended, told from the ends of its threads. The connector reports threads, and the end of a
 * group's first thread is not the group's end: others may live on (pthread_exit() in main()), or one of them executes a
 * program and takes over the pid (de_thread() in fs/exec.c). So the threads that were seen to start are counted.
 *
 * Memory is bounded; a group that does not fit is taken to end with its first thread. Of groups that had threads before
 * anybody listened, those are not known: the end may then be told too early, and who can look at the process should.
 */
#ifndef EXITS_GROUPS_H
#define EXITS_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct group {
    int32_t tgid;     /* 0: free */
    uint32_t threads; /* beside the first */
    uint32_t status;  /* of the first, once it ended */
    bool leaderless;
};

#define GROUPS_SLOTS 4096u /* 64 KiB, touched as needed */

struct groups {
    struct group *at; /* NULL until there is a thread */
    size_t n;
};

void groups_done(struct groups *g);
void groups_clear(struct groups *g); /* events were lost: the counts are worth nothing */
void groups_process(struct groups *g,
                    int32_t tgid); /* a process with one thread begins: forked, or executed a program */
void groups_thread(struct groups *g, int32_t tgid);  /* a thread begins */
/* A thread ended. Returns true if its group did: then *ret_status_known and *ret_status are those of the group. */
bool groups_end(struct groups *g, int32_t tgid, bool leader, uint32_t status, bool *ret_status_known,
                uint32_t *ret_status);

#endif
