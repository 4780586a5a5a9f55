/* SPDX-License-Identifier: Apache-2.0 */
/* perf: opens the events of a process, one of each set per CPU and thread, and redirects their output to one ring per
 * set and CPU. */
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/span.h"
#include "kernel/events/perf.h"

#define RING_BYTES (64u << 10)
#define ROUNDS 8u

static void attr_fill(struct perf_event_attr *a, enum perf_set set)
{
    *a = (struct perf_event_attr){.type = PERF_TYPE_SOFTWARE, .size = sizeof(*a)};
    a->config = set == SET_TASKS ? PERF_COUNT_SW_DUMMY : PERF_COUNT_SW_TASK_CLOCK;
    a->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID;
    a->sample_id_all = 1;
    a->inherit = 1;
    a->exclude_kernel = a->exclude_hv = 1; /* required by perf_event_paranoid 2; has no effect on clocks and records */
    a->watermark = 1;
    a->wakeup_watermark = RING_BYTES / 8;
    a->use_clockid = 1;
    a->clockid = CLOCK_MONOTONIC;
    a->task = a->comm = a->comm_exec = set == SET_TASKS;
    a->inherit_stat = set == SET_USAGE;
}

static int event_open(const struct perf_event_attr *a, int32_t tid, int cpu)
{
    int fd = (int)syscall(SYS_perf_event_open, a, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* The first event of a set on a CPU gets the ring; later ones write to it. */
static int join_ring(struct perf *p, enum perf_set set, size_t cpu, int fd)
{
    struct perf_ring *r = perf_ring_of(p, set, cpu);
    if (r->pages)
        return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd) < 0 ? -errno : 0;
    int code = ring_map(r, fd, RING_BYTES);
    if (code < 0)
        return code;
    struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
    epoll_ctl(p->base.fd, EPOLL_CTL_ADD, fd, &e);
    return 0;
}

/* Unmaps the rings of events that are about to be closed. */
static void close_from(struct perf *p, size_t first)
{
    for (size_t i = 0; i < SETS * p->n_cpus; i++) {
        for (size_t k = first; k < p->n_fds; k++) {
            if (p->rings[i].pages && p->rings[i].fd == p->fds[k])
                ring_unmap(&p->rings[i]);
        }
    }
    while (p->n_fds > first)
        close(p->fds[--p->n_fds]);
}

static int open_set(struct perf *p, enum perf_set set, int32_t tid)
{
    struct perf_event_attr a;
    size_t first = p->n_fds;
    attr_fill(&a, set);
    for (size_t cpu = 0; cpu < p->n_cpus; cpu++) {
        int fd = p->n_fds < PERF_FDS_MAX ? event_open(&a, tid, p->cpus[cpu]) : -EMFILE;
        int code = fd < 0 ? fd : join_ring(p, set, cpu, fd);
        if (fd >= 0)
            p->fds[p->n_fds++] = fd;
        if (code < 0) {
            close_from(p, first);
            return code;
        }
    }
    return 0;
}

/* Counts the thread's own CPU time, without tasks that inherit. */
static int open_counter(int32_t tid)
{
    struct perf_event_attr a;
    attr_fill(&a, SET_USAGE);
    a.inherit = a.inherit_stat = a.sample_id_all = 0;
    a.sample_type = 0;
    a.watermark = 0;
    a.wakeup_watermark = 0;
    return event_open(&a, tid, -1);
}

static int attach_thread(struct perf *p, int32_t pid, int32_t tid)
{
    if (p->n_threads == PERF_THREADS_MAX)
        return -EMFILE;
    int code = open_set(p, SET_TASKS, tid);
    if (code < 0)
        return code;
    struct perf_thread *t = &p->threads[p->n_threads++];
    *t = (struct perf_thread){pid, tid, -1};
    /* If the kernel refuses the second set, the first still reports forks and exits. */
    if (open_set(p, SET_USAGE, tid) == 0)
        t->counter = open_counter(tid);
    if (tid != pid)
        groups_thread(&p->groups, pid);
    return 0;
}

bool perf_is_attached(const struct perf *p, int32_t pid, int32_t tid)
{
    for (size_t i = p->n_threads; i-- > 0;) {
        if (p->threads[i].tid == tid && p->threads[i].pid == pid)
            return true;
    }
    return false;
}

/* Attaches to all present threads that are not attached to yet. Returns how many were attached to; *ret_refused is
 * incremented for each living thread that could not be, and *ret_code says why. */
static int attach_threads(struct perf *p, int32_t pid, DIR *tasks, int *ret_refused, int *ret_code)
{
    int attached = 0;
    for (const struct dirent *e; (e = readdir(tasks));) {
        struct span name = span_str(e->d_name);
        uint64_t tid;
        if (!scan_u64(&name, &tid) || tid > INT32_MAX || perf_is_attached(p, pid, (int32_t)tid))
            continue;
        int one = attach_thread(p, pid, (int32_t)tid);
        attached += one == 0;
        if (one == 0 || one == -ESRCH) /* a thread may end meanwhile */
            continue;
        ++*ret_refused;
        *ret_code = one;
    }
    return attached;
}

/* While threads are being attached to, they start others, which may or may not inherit. So the list is read again until
 * it has no new thread. Threads that also inherited write each record twice; ring_is_repeated() drops one. */
static int attach_all(struct perf *p, int32_t pid, DIR *tasks, int *ret_refused, int *ret_code)
{
    int attached = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        int more = attach_threads(p, pid, tasks, ret_refused, ret_code);
        attached += more;
        if (!more || *ret_refused)
            return attached;
        rewinddir(tasks);
    }
    ++*ret_refused; /* it starts threads faster than we attach to them */
    return attached;
}

static int explain_error(int code, struct baro_error *err)
{
    if (code == -ESRCH)
        return error_set(err, code, "the process has ended");
    if (code == -EACCES || code == -EPERM)
        return error_set(err, code,
                         "perf events are refused: by kernel.perf_event_paranoid above 2, by a container's profile, or "
                         "for a process of another user");
    if (code == -EMFILE || code == -ENFILE)
        return error_set(err, code, "perf events need too many file descriptors: one per thread and CPU");
    return error_set(err, code, "perf events can't be opened: %s", strerror(-code));
}

int exits_perf_attach(struct exits_source *s, int32_t pid, struct baro_error *err)
{
    struct perf *p = (struct perf *)s;
    char path[32];
    int refused = 0, code = -ESRCH;
    if (p->foreign_proc) { /* only the first thread of each process is known */
        code = perf_is_attached(p, pid, pid) ? 0 : attach_thread(p, pid, pid);
        return code < 0 ? explain_error(code, err) : 1;
    }
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return explain_error(errno == ENOENT ? -ESRCH : -errno, err);
    int attached = attach_all(p, pid, tasks, &refused, &code);
    closedir(tasks);
    if (!attached)
        return explain_error(code, err);
    return refused > 0;
}
