/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by perf.c and perf_attach.c; private to this folder. */
#ifndef KERNEL_EVENTS_PERF_H
#define KERNEL_EVENTS_PERF_H

#include <sys/types.h>

#include "kernel/events/thread_groups.h"
#include "kernel/events/perf_ring.h"
#include "kernel/events/source.h"

#define PERF_CPUS_MAX 128u
#define PERF_FDS_MAX 1536u    /* most open descriptors */
#define PERF_THREADS_MAX 256u /* most attached threads */
#define PERF_ENDED 16u        /* threads, or processes, that are remembered when they have ended */

enum perf_set { SET_TASKS, SET_USAGE, SETS };

/* A thread that was attached to. The kernel writes READ records only for tasks that inherited an event, not for the
 * attached thread itself; so this one has a counter of its own. */
struct perf_thread {
    int32_t pid, tid;
    int counter; /* -1: none */
};

struct perf {
    struct exits_source base; /* fd: an epoll of the rings */
    struct groups groups;
    bool foreign_proc; /* /proc is that of another PID namespace */
    size_t n_cpus, n_fds, n_threads;
    int cpus[PERF_CPUS_MAX];
    int fds[PERF_FDS_MAX];
    struct perf_thread threads[PERF_THREADS_MAX];
    /* Threads whose CPU time was read from their counters. If such a thread had inherited an event as well, its READ
     * record would count the time twice. */
    int32_t ended[PERF_ENDED];
    size_t ended_at;
    /* Processes with an unattached thread that ended before the first READ record. */
    int32_t unread[PERF_ENDED];
    size_t unread_at;
    bool has_read;           /* this kernel writes READ records */
    struct perf_ring *rings; /* SETS times n_cpus */
    uint64_t lost;           /* losses not reported yet */
};

bool perf_is_attached(const struct perf *p, int32_t pid, int32_t tid);

static inline struct perf_ring *perf_ring_of(struct perf *p, enum perf_set set, size_t cpu)
{
    return &p->rings[(size_t)set * p->n_cpus + cpu];
}

#endif
