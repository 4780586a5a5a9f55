/* SPDX-License-Identifier: Apache-2.0 */
/* What perf.c and perf_attach.c share; nobody else includes it. */
#ifndef EXITS_PERF_H
#define EXITS_PERF_H

#include <sys/types.h>

#include "exits/groups.h"
#include "exits/perf_ring.h"
#include "exits/source.h"

#define PERF_CPUS_MAX 128u
#define PERF_FDS_MAX 1536u    /* descriptors that may be held */
#define PERF_THREADS_MAX 256u /* attached threads */
#define PERF_OWN 16u          /* attached threads that ended lately */

enum perf_set { SET_TASKS, SET_USAGE, SETS };

/* A thread that was attached to. The kernel writes no READ record for it, only for those that inherited; so it has a
 * counter. */
struct perf_thread {
    int32_t pid, tid;
    int counter; /* -1: none */
};

struct perf {
    struct exits_source base; /* fd: an epoll of the rings */
    struct groups groups;
    bool foreign_proc; /* it is of another PID namespace */
    size_t n_cpus, n_fds, n_threads;
    int cpus[PERF_CPUS_MAX];
    int fds[PERF_FDS_MAX];
    struct perf_thread threads[PERF_THREADS_MAX];
    int32_t own[PERF_OWN]; /* whose use was read from their counters: READ records of theirs are of an event that they
                              had inherited besides */
    size_t own_at;
    struct perf_ring *rings; /* SETS times n_cpus */
    uint64_t lost;           /* times, not told yet */
};

bool perf_is_attached(const struct perf *p, int32_t pid, int32_t tid);

static inline struct perf_ring *perf_ring_of(struct perf *p, enum perf_set set, size_t cpu)
{
    return &p->rings[(size_t)set * p->n_cpus + cpu];
}

#endif
