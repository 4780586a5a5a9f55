/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out when a thread group has ended, from the exits of its threads. The connector reports threads, and the exit
 * of the first thread is not the end of its group: other threads may live on (pthread_exit() in main()), or one of them
 * executes a program and takes over the pid (de_thread() in fs/exec.c). So the threads that were seen to start are
 * counted.
 *
 * Example: a process starts two threads (threads = 2). Its first thread exits: the group lives. Both others exit: the
 * group has ended.
 *
 * Memory is bounded; a group that does not fit is taken to end with its first thread. Threads that started before the
 * source was opened are not counted; for their groups the end may be reported too early, and callers that can read
 * /proc should check.
 */
#ifndef KERNEL_EVENTS_THREAD_GROUPS_H
#define KERNEL_EVENTS_THREAD_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_group {
    int32_t tgid;     /* 0: free */
    uint32_t threads; /* not counting the first */
    uint32_t status;  /* status of the first thread, once that has ended */
    bool leaderless;  /* the first thread has ended */
};

#define GROUPS_SLOTS 4096u /* 64 KiB, touched as needed */

struct groups {
    struct event_group *at; /* NULL until a second thread is seen */
    size_t n;
};

void groups_done(struct groups *g);
void groups_clear(struct groups *g); /* after lost events: the counts can't be trusted any more */
/* A process has exactly one thread: it was forked, or it executed a program. */
void groups_process(struct groups *g, int32_t tgid);
void groups_thread(struct groups *g, int32_t tgid); /* a thread started */
/* A thread ended. Returns true if its group ended with it; *ret_status_known and *ret_status are then the group's. */
bool groups_end(struct groups *g, int32_t tgid, bool leader, uint32_t status, bool *ret_status_known,
                uint32_t *ret_status);

#endif
