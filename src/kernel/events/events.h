/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources of fork, exec and exit events behind one interface. A source only reports; job/ decides which processes are
 * members. Sources never block and their memory is bounded. Lost events are counted and reported as EVENT_LOST.
 */
#ifndef KERNEL_EVENTS_EVENTS_H
#define KERNEL_EVENTS_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum exits_event_kind {
    EVENT_FORK, /* pid is a new process (not a thread); ppid its parent */
    EVENT_EXEC, /* pid executed a program; comm if has_comm */
    EVENT_COMM, /* pid's main thread changed its name */
    EVENT_EXIT, /* the thread group of pid ended; status if has_status; the fields below if has_usage */
    /* CPU time of one thread or process that ended (cpu_ns only, from perf's READ records). The values of the threads
     * of a process add up: 3 ms and 4 ms for the same pid are 7 ms of that process. */
    EVENT_USAGE,
    /* A process ended, and its EVENT_USAGE are not all of its CPU time: some of its threads had none. */
    EVENT_USAGE_PARTIAL,
    EVENT_LOST, /* events were lost; count says how often */
};

struct exits_event {
    enum exits_event_kind kind;
    int32_t pid, ppid;
    uint64_t t_ns; /* CLOCK_MONOTONIC: time of the event if the source reports it, else time of reading */
    bool has_comm, has_status, has_usage;
    char comm[64];                                                   /* NUL-terminated raw bytes */
    int32_t status;                                                  /* wait status */
    uint32_t uid;                                                    /* the real one; UINT32_MAX: not known */
    uint64_t elapsed_ns, cpu_ns, user_ns, system_ns, rss_peak_bytes; /* taskstats: totals of the thread group */
    /* The part of cpu_ns that a hypervisor or an interrupt may have had. The scheduler counts that for no process. */
    uint64_t cpu_unsure_ns;
    uint64_t io_read, io_write, io_rchar, io_wchar, faults_minor, faults_major, run_delay_ns;
    bool has_io, has_delay;
    uint64_t count;
};

typedef void exits_event_fn(void *context, const struct exits_event *event);

struct exits_source; /* one open source */

enum exits_source_kind { EXITS_CONNECTOR, EXITS_PERF, EXITS_TASKSTATS };

/* Opens the process connector: all forks, execs and exits of the machine (initial namespaces only; root, every user
 * since 6.6). Asks for a large receive buffer. Returns 0 or -errno with an explanation in err. */
int exits_connector_open(struct exits_source **ret, struct baro_error *err);
/* The same in two steps, for two processes: the wrapper starts the command and must not miss its forks, the recorder
 * reads them. exits_connector_listen() subscribes with four system calls and returns the descriptor or -errno;
 * exits_connector_take() makes a source of it. cookie is any number, but the same in both calls. */
int exits_connector_listen(uint32_t cookie, struct baro_error *err);
int exits_connector_take(struct exits_source **ret, int fd, uint32_t cookie, struct baro_error *err);

/* Opens taskstats exit records of all CPUs (CAP_NET_ADMIN in the initial user namespace). */
int exits_taskstats_open(struct exits_source **ret, struct baro_error *err);

/* Makes a perf source that is not attached to anything yet. exits_perf_attach() adds a process with all its threads,
 * and all that they fork from then on. There are two perf events per thread and online CPU; the rings are per CPU and
 * shared (PERF_EVENT_IOC_SET_OUTPUT). Fails with -E2BIG if there are more than max_cpus CPUs.
 *
 * A process that has inherited events may be attached to as well. It then has two events of each kind; their duplicate
 * records are dropped, but each of its forks costs twice as much.
 *
 * exits_perf_attach() returns 0, 1 if some of the threads could not be attached to, or -errno if none could. Race: if a
 * child is being forked while its parent is attached to, its EVENT_FORK is reported although the child did not inherit
 * the events. Only events that the child itself causes (EVENT_EXEC, EVENT_EXIT, its own forks) show that it did. */
int exits_perf_open(struct exits_source **ret, unsigned max_cpus, struct baro_error *err);
int exits_perf_attach(struct exits_source *s, int32_t pid, struct baro_error *err);

enum exits_source_kind exits_kind(const struct exits_source *s);
const char *exits_name(const struct exits_source *s); /* "connector", "perf", "taskstats" */
int exits_fd(const struct exits_source *s);           /* pollable, -1 if only drained by time */
/* The number of events that can be queued in the worst case before some are lost; follows from the granted buffer. */
uint64_t exits_capacity(const struct exits_source *s);
/* Reads all queued events and calls fn for each, ordered by time as far as one source can order them. Returns the
 * number of events or -errno. */
int exits_drain(struct exits_source *s, exits_event_fn *fn, void *context);
void exits_close(struct exits_source *s); /* NULL allowed */

#endif
