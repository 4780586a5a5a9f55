/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf: forks, names, execs and exits of chosen processes and of their descendants, and the CPU time of those that
 * ended; for any user if kernel.perf_event_paranoid is at most 2, in any namespace.
 *
 * An inherited event with a ring must be bound to a CPU (perf_mmap()), so there is one per CPU, and each makes forks
 * more expensive. There are two sets of events with a ring each, because of READ records (attr.inherit_stat): a task
 * that ends writes them to the rings of all its events, also to those of other CPUs. Rings have no lock against that;
 * records written at the same time are lost, and the ring may stay stuck. Records of forks, names and exits are only
 * written by the ring's own CPU. Measured with two CPUs on 6.18, four shells that run `true` 500 times each:
 *
 *   one set:   fork, exec, exit 1,267 to 1,871 of 2,004; READ 2,622 to 3,151 of 4,008 (one per task and CPU)
 *   two sets:  all of fork, exec, exit and READ, in each of six runs; the same with `make -j2` of 900 processes
 *
 * READ is written before the memory is torn down, so it misses that time: it had 87 % (shells) and 92 % (make) of the
 * CPU time that wait4() returned.
 *
 * Some kernels write no READ record when a task exits: Debian's 6.1.192 (x86-64 and arm64) does not, 6.18.44 does.
 * There the CPU time of tasks that inherited the events is unknown. For a process that was attached to, only the
 * counters of its attached threads are known, e.g. 2.4 s of the 8.4 s that it had used. They are withdrawn
 * (EVENT_USAGE_PARTIAL) when another of its threads has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/namespace.h"
#include "kernel/events/perf.h"

#define BYTES_PER_EVENT 56u /* FORK and EXIT; COMM and READ have 48 to 56 */
#define RECORDS_PER_DRAIN 200000u

/* ---- events ---- */

static int report_event(struct exits_event *e, exits_event_fn *fn, void *context)
{
    e->uid = UINT32_MAX;
    fn(context, e);
    return 1;
}

static bool is_among(const int32_t ids[PERF_ENDED], int32_t id)
{
    for (size_t i = 0; i < PERF_ENDED; i++) {
        if (ids[i] == id)
            return true;
    }
    return false;
}

/* perf's clock also runs while a hypervisor or an interrupt has the CPU; the scheduler's clock does not. Example: 88
 * ms by perf where the kernel counted 82 ms, in a virtual machine whose host was busy. That time can't be read. It
 * is assumed to be 10 ms, about a time slice of the host, plus 3 % of the CPU time. */
#define UNSURE_NS 10000000u
#define UNSURE_SHARE 32u
static uint64_t unsure_of(uint64_t cpu_ns)
{
    uint64_t unsure = UNSURE_NS + cpu_ns / UNSURE_SHARE;
    return unsure < cpu_ns ? unsure : cpu_ns;
}

/* If an attached thread has ended, reads its counter and closes it. */
static int report_attached(struct perf *p, const struct perf_record *r, exits_event_fn *fn, void *context)
{
    for (size_t i = 0; i < p->n_threads; i++) {
        struct perf_thread *t = &p->threads[i];
        if (t->tid != r->tid || t->pid != r->pid)
            continue;
        struct exits_event e = {.kind = EVENT_USAGE, .pid = r->pid, .t_ns = r->t_ns, .has_usage = true};
        bool known = t->counter >= 0 && read(t->counter, &e.cpu_ns, sizeof(e.cpu_ns)) == (ssize_t)sizeof(e.cpu_ns);
        e.cpu_unsure_ns = unsure_of(e.cpu_ns);
        fd_close(t->counter);
        if (known)
            p->ended[p->ended_at++ % PERF_ENDED] = t->tid;
        *t = p->threads[--p->n_threads];
        if (!p->has_read && is_among(p->unread, r->pid)) {
            e = (struct exits_event){.kind = EVENT_USAGE_PARTIAL, .pid = r->pid, .t_ns = r->t_ns};
            return report_event(&e, fn, context);
        }
        return known && e.cpu_ns ? report_event(&e, fn, context) : 0;
    }
    return 0;
}

static int report_exit(struct perf *p, const struct perf_record *r, exits_event_fn *fn, void *context)
{
    struct exits_event e = {.kind = EVENT_EXIT, .pid = r->pid, .t_ns = r->t_ns};
    bool known;
    uint32_t status;
    if (!p->has_read && r->pid != r->tid && !perf_is_attached(p, r->pid, r->tid))
        p->unread[p->unread_at++ % PERF_ENDED] = r->pid;
    int events = report_attached(p, r, fn, context);
    if (groups_end(&p->groups, r->pid, r->pid == r->tid, 0, &known, &status))
        events += report_event(&e, fn, context);
    return events;
}

static int report_fork(struct perf *p, const struct perf_record *r, exits_event_fn *fn, void *context)
{
    struct exits_event e = {.kind = EVENT_FORK, .pid = r->pid, .ppid = r->ppid, .t_ns = r->t_ns};
    if (r->pid != r->tid) {
        if (!perf_is_attached(p, r->pid, r->tid)) /* an attached thread was counted when it was attached */
            groups_thread(&p->groups, r->pid);
        return 0;
    }
    groups_process(&p->groups, r->pid);
    return report_event(&e, fn, context);
}

static int report_comm(struct perf *p, const struct perf_record *r, exits_event_fn *fn, void *context)
{
    struct exits_event e = {.kind = EVENT_COMM, .pid = r->pid, .t_ns = r->t_ns, .has_comm = true};
    size_t n = r->comm.len < sizeof(e.comm) - 1 ? r->comm.len : sizeof(e.comm) - 1;
    memcpy(e.comm, r->comm.at, n);
    if (r->what == PERF_EXECUTED) {
        groups_process(&p->groups, r->pid);
        e.kind = EVENT_EXEC;
    } else if (r->pid != r->tid) {
        return 0;
    }
    return report_event(&e, fn, context);
}

static int report_record(struct perf *p, const struct perf_record *r, exits_event_fn *fn, void *context)
{
    struct exits_event e = {.kind = EVENT_USAGE,
                            .pid = r->pid,
                            .t_ns = r->t_ns,
                            .has_usage = true,
                            .cpu_ns = r->value,
                            .cpu_unsure_ns = unsure_of(r->value)};
    switch (r->what) {
    case PERF_FORKED: return report_fork(p, r, fn, context);
    case PERF_EXITED: return report_exit(p, r, fn, context);
    case PERF_NAMED:
    case PERF_EXECUTED: return report_comm(p, r, fn, context);
    case PERF_USED:
        p->has_read = true;
        /* There is one record per CPU; it is 0 for CPUs that the thread did not run on. */
        return r->value && !is_among(p->ended, r->tid) ? report_event(&e, fn, context) : 0;
    case PERF_MISSED: p->lost++; return 0;
    case PERF_OTHER: break;
    }
    return 0;
}

/* ---- draining ---- */

/* Returns the ring with the oldest record, or NULL. The fork of a child and its exit may be in the rings of two
 * CPUs. If one ring is read before the fork and the other after the exit, the exit would come without its fork. The
 * kernel writes the fork before the child runs, so only forks and exits before until_ns (taken before any ring is
 * read) are used: then no exit comes before its fork. */
static struct perf_ring *oldest(struct perf *p, uint64_t until_ns)
{
    struct perf_ring *found = NULL;
    for (size_t i = 0; i < SETS * p->n_cpus; i++) {
        struct perf_ring *r = &p->rings[i];
        if (!ring_peek(r, &p->lost) || (i < p->n_cpus && r->next.t_ns > until_ns))
            continue;
        if (!found || r->next.t_ns < found->next.t_ns)
            found = r;
    }
    return found;
}

/* Once all tasks of an event have ended, its descriptor reports EPOLLHUP for ever, so it is removed. From then on
 * its ring is read when another event wakes the recorder, and with every sample. */
static void drop_hung_up(struct perf *p)
{
    struct epoll_event e[16];
    int n = epoll_wait(p->base.fd, e, 16, 0);
    for (int i = 0; i < n; i++) {
        if (e[i].events & (EPOLLHUP | EPOLLERR))
            epoll_ctl(p->base.fd, EPOLL_CTL_DEL, e[i].data.fd, NULL);
    }
}

static int perf_drain(struct exits_source *s, exits_event_fn *fn, void *context)
{
    struct perf *p = (struct perf *)s;
    struct perf_ring *r;
    int events = 0;
    uint64_t until_ns = clock_monotonic_ns() - (uint64_t)s->clock_offset_ns;
    /* READ follows EXIT, so the rings of READ are refreshed last: then the usage of ended processes is there, except
     * for the last microseconds. */
    for (size_t i = 0; i < SETS * p->n_cpus; i++)
        ring_refresh(&p->rings[i]);
    for (unsigned n = 0; n < RECORDS_PER_DRAIN && (r = oldest(p, until_ns)); n++) {
        struct perf_record one = r->next;
        one.t_ns += (uint64_t)s->clock_offset_ns;
        if (one.what == PERF_OTHER || one.what == PERF_MISSED || !ring_is_repeated(r, &one))
            events += report_record(p, &one, fn, context);
        ring_advance(r);
    }
    drop_hung_up(p);
    if (p->lost) {
        struct exits_event e = {.kind = EVENT_LOST, .t_ns = clock_monotonic_ns(), .count = p->lost};
        p->lost = 0;
        groups_clear(&p->groups);
        events += report_event(&e, fn, context);
    }
    return events;
}

/* ---- life ---- */

/* The worst case: all events on one CPU. */
static uint64_t perf_capacity(const struct exits_source *s)
{
    const struct perf *p = (const struct perf *)s;
    return p->rings[0].size / BYTES_PER_EVENT;
}

static void perf_close(struct exits_source *s)
{
    struct perf *p = (struct perf *)s;
    for (size_t i = 0; p->rings && i < SETS * p->n_cpus; i++)
        ring_unmap(&p->rings[i]);
    for (size_t i = 0; i < p->n_fds; i++)
        close(p->fds[i]);
    for (size_t i = 0; i < p->n_threads; i++)
        fd_close(p->threads[i].counter);
    groups_done(&p->groups);
    free(p->rings);
    free(p);
}

static int find_cpus(struct perf *p, unsigned max_cpus, struct baro_error *err)
{
    char text[1024];
    ssize_t n = fd_read_file(AT_FDCWD, "/sys/devices/system/cpu/online", text, sizeof(text));
    int cpus = n < 0 ? (int)n : cpu_list_parse(span_of(text, (size_t)n), p->cpus, PERF_CPUS_MAX);
    if (cpus <= 0)
        return error_set(err, cpus < 0 ? cpus : -EIO, "can't read which CPUs are online");
    if ((unsigned)cpus > max_cpus || (unsigned)cpus > PERF_CPUS_MAX)
        return error_set(err, -E2BIG, "perf events cost too much with %d CPUs: each CPU needs an event and a ring",
                         cpus);
    p->n_cpus = (size_t)cpus;
    return 0;
}

int exits_perf_open(struct exits_source **ret, unsigned max_cpus, struct baro_error *err)
{
    struct perf *p = calloc(1, sizeof(*p));
    if (!p)
        return error_set(err, -ENOMEM, "out of memory");
    p->base = (struct exits_source){
        EXITS_PERF, -1, perf_drain, perf_capacity, perf_close, namespace_monotonic_offset_ns(), false};
    int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    p->foreign_proc = !namespace_proc_is_own(proc);
    fd_close(proc);
    int code = find_cpus(p, max_cpus, err);
    if (code == 0 && !(p->rings = calloc(SETS * p->n_cpus, sizeof(*p->rings))))
        code = error_set(err, -ENOMEM, "out of memory");
    if (code == 0 && (p->base.fd = epoll_create1(EPOLL_CLOEXEC)) < 0)
        code = error_set(err, -errno, "can't create an epoll descriptor: %s", strerror(errno));
    if (code < 0) {
        exits_close(&p->base);
        return code;
    }
    *ret = &p->base;
    return 0;
}
