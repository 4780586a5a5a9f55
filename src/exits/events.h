/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources of fork, exec and exit events behind one interface. A source only reports; who is a member is job/'s
 * business. Sources never block. Memory is bounded; what is lost is counted and reported as EVENT_LOST.
 */
#ifndef EXITS_EVENTS_H
#define EXITS_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum exits_event_kind {
    EVENT_FORK, /* pid is a new process (not a thread); ppid its parent */
    EVENT_EXEC, /* pid executed a program; comm if has_comm */
    EVENT_COMM, /* pid's main thread changed its name */
    EVENT_EXIT, /* the thread group of pid ended; status if has_status; the fields below if has_usage */
    EVENT_USAGE, /* usage of one thread or process that ended, from perf READ (cpu_ns only); adds up over threads */
    EVENT_LOST, /* events were lost; number of times in count */
};

struct exits_event {
    enum exits_event_kind kind;
    int32_t pid, ppid;
    uint64_t t_ns; /* CLOCK_MONOTONIC absolute, of the event itself where the source tells, else of its reading */
    bool has_comm, has_status, has_usage;
    char comm[64]; /* NUL-terminated raw bytes */
    int32_t status; /* wait status */
    uint32_t uid;   /* UINT32_MAX: not told */
    uint64_t start_boottime_ns; /* start of the process on CLOCK_BOOTTIME, 0: not told */
    uint64_t elapsed_ns, cpu_ns, user_ns, system_ns, rss_peak_bytes; /* taskstats: group totals */
    uint64_t io_read, io_write, io_rchar, io_wchar, faults_minor, faults_major, run_delay_ns;
    bool has_io, has_delay;
    uint64_t count;
};

typedef void exits_event_fn(void *context, const struct exits_event *event);

struct exits_source; /* one open source */

enum exits_source_kind { EXITS_CONNECTOR, EXITS_PERF, EXITS_TASKSTATS };

/* Opens the process connector: all forks, execs and exits of the machine (initial namespaces; root, any user
 * since 6.6). Asks for a large receive buffer. Returns 0 or -errno with the reason a person understands in err. */
int exits_connector_open(struct exits_source **ret, struct baro_error *err);
/* The same in two halves, for a process that starts what is to be recorded and another that reads: the first listens,
 * at the cost of four system calls, and returns the descriptor or -errno; the second takes it over. cookie is any
 * number, the same for both. */
int exits_connector_listen(uint32_t cookie, struct baro_error *err);
int exits_connector_take(struct exits_source **ret, int fd, uint32_t cookie, struct baro_error *err);

/* Opens taskstats exit records of all CPUs (CAP_NET_ADMIN in the initial user namespace). */
int exits_taskstats_open(struct exits_source **ret, struct baro_error *err);

/* Makes an empty perf source; exits_perf_attach() adds a process with all its threads, and what they fork from then on.
 * A process that has inherited already may be attached to as well: what is told twice is told once, but it costs its
 * forks twice as much. Two events per thread and online CPU; rings are per CPU and shared (PERF_EVENT_IOC_SET_OUTPUT).
 * Refuses (-E2BIG) where there are more than max_cpus CPUs. exits_perf_attach() returns 0, 1 if some of the threads
 * could not be attached to, or -errno if none could. A child is told of (EVENT_FORK) but does not inherit if it was
 * being forked as its parent was attached to: only what is told by itself (EVENT_EXEC, EVENT_EXIT, forks of its own)
 * shows that it has. */
int exits_perf_open(struct exits_source **ret, unsigned max_cpus, struct baro_error *err);
int exits_perf_attach(struct exits_source *s, int32_t pid, struct baro_error *err);

enum exits_source_kind exits_kind(const struct exits_source *s);
const char *exits_name(const struct exits_source *s); /* "connector", "perf", "taskstats" */
int exits_fd(const struct exits_source *s);           /* pollable, -1 if only drained by time */
/* How many events may wait unread, in the worst case, before some are lost: from the buffer that the kernel granted. */
uint64_t exits_capacity(const struct exits_source *s);
/* Reads all that is there and calls fn for each, in order of time as far as one source can tell. Returns the number of
 * events or -errno. */
int exits_drain(struct exits_source *s, exits_event_fn *fn, void *context);
/* Kernel memory held for it (buffers), in bytes, as far as known. */
uint64_t exits_memory(const struct exits_source *s);
void exits_close(struct exits_source *s); /* NULL allowed */

#endif
