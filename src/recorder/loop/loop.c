/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's loop: waits for a message, an event or the next tick, and handles it. */
#include <errno.h>
#include <limits.h>
#include <linux/time_types.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/min_max.h"
#include "recorder/loop/recorder.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

int loop_open(struct recorders *a, int stop_fd, struct baro_error *err)
{
    sigset_t set;
    prctl(PR_SET_NAME, "baro-recorder"); /* other recorders know it by that, inside of whose jobs it is begun */
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    a->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (a->epoll_fd < 0)
        return error_set(err, -errno, "can't create an event loop: %s", strerror(errno));
    if (stop_fd < 0) {
        sigprocmask(SIG_BLOCK, &set, NULL);
        stop_fd = a->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    }
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = (uint64_t)stop_fd};
    if (stop_fd < 0 || epoll_ctl(a->epoll_fd, EPOLL_CTL_ADD, stop_fd, &e) < 0)
        return error_set(err, -errno, "can't create an event loop: %s", strerror(errno));
    return 0;
}

/* The absolute time at which something has to be done even if no descriptor is ready. */
static uint64_t next_due(const struct recorder *r)
{
    uint64_t due = r->wrapper.started ? r->pace.tick_due_ns + r->header.start_monotonic_ns : UINT64_MAX;
    if (limits_wanted(r))
        return 0;
    if (r->all->events.drain_due_ns && r->all->events.drain_due_ns < due)
        due = r->all->events.drain_due_ns;
    if (r->wrapper.started && r->events.perf_due_ns && r->events.perf_due_ns < due)
        due = r->events.perf_due_ns;
    if (r->wrapper.started && sampler_poll_due_ns(&r->sampler) != UINT64_MAX)
        due = min_u64(due, sampler_poll_due_ns(&r->sampler) + r->header.start_monotonic_ns);
    if (r->options->attach.for_ns && r->options->attach.for_ns + r->header.start_monotonic_ns < due)
        due = r->options->attach.for_ns + r->header.start_monotonic_ns;
    return min_u64(due, enforce_due_ns(r));
}

/* epoll_pwait2(2) takes one system call where a timerfd would take three. If the process is stopped and continued, or
 * frozen and thawed, it is interrupted (signal(7)), while ppoll(2) would continue with the time that was left. It
 * exists since 5.11; before that, or if a sandbox forbids it (or says EINTR each time), the wait is rounded up to
 * milliseconds. */
int loop_wait(struct recorders *a, uint64_t due_ns, struct epoll_event *events, int most)
{
    uint64_t now = due_ns == UINT64_MAX ? 0 : clock_monotonic_ns(), left = due_ns > now ? due_ns - now : 0;
    struct __kernel_timespec t = {(int64_t)(left / NS_PER_SEC), (int64_t)(left % NS_PER_SEC)};
    if (!a->coarse) {
        int n = (int)syscall(SYS_epoll_pwait2, a->epoll_fd, events, most, due_ns == UINT64_MAX ? NULL : &t, NULL,
                             (size_t)0);
        bool was_interrupted = a->is_interrupted;
        a->is_interrupted = n < 0 && errno == EINTR;
        if (n >= 0 || (a->is_interrupted && !was_interrupted))
            return n;
        a->coarse = true;
    }
    uint64_t ms = (left + NS_PER_MS - 1) / NS_PER_MS;
    return epoll_wait(a->epoll_fd, events, most, due_ns == UINT64_MAX ? -1 : ms < INT_MAX ? (int)ms : INT_MAX);
}

static void run_turn(struct recorder *r, bool quiet)
{
    if (!quiet || !event_is_silent(r->all)) {
        wrapper_drain(r); /* so that this tick does not miss processes that the wrapper has reported */
        if (r->end.finishing)
            return;
        event_drain(r->all);
    }
    limits_find(r);
    marks_turn(r);
    tasks_look(r);
    if (r->selection.selector)
        record_select_turn(r->all);
    recorder_scheduled_tick(r);
    limits_turn(r);
    targets_check(r);
    event_verify(r);
}

/* quiet: no descriptor was ready just before. */
static void on_time(struct recorder *r, bool quiet)
{
    uint64_t now = clock_monotonic_ns();
    if (r->all->events.drain_due_ns && now >= r->all->events.drain_due_ns)
        event_drain(r->all);
    if (r->wrapper.started && r->events.perf_due_ns && now >= r->events.perf_due_ns)
        event_open_late(r);
    if (r->options->attach.for_ns && recorder_since(r, now) >= r->options->attach.for_ns) {
        r->end.detached = true;
        r->end.finishing = true;
        return;
    }
    bool awake = r->pace.is_resting && sampler_is_stirred(&r->sampler); /* an event was about a member */
    if (r->wrapper.started && recorder_since(r, now) >= sampler_poll_due_ns(&r->sampler))
        event_poll(r);
    if (r->wrapper.started && (awake || recorder_since(r, now) >= r->pace.tick_due_ns))
        run_turn(r, quiet);
    if (now >= enforce_due_ns(r) && !r->end.finishing)
        enforce_turn(r, now);
}

static void dispatch(struct recorder *r, uint64_t what)
{
    if (targets_of_tag(what)) {
        targets_group_ended(r);
        return;
    }
    if (what >> 32) {
        event_drain(r->all);
        targets_ended(r, (size_t)(what & UINT32_MAX));
        return;
    }
    int fd = (int)what;
    if (fd == r->wrapper.link_fd) {
        wrapper_drain(r);
    } else if (fd == r->marks.watch_fd) {
        marks_ready(r);
    } else if (fd == r->events.library_fd) {
        event_poll(r);
    } else if (r->selection.selector && fd == worker_fd(select_worker(r->selection.selector))) {
        event_drain(r->all); /* so that a process that has ended does not count as alive when the next one joins */
        record_select_ready(r->all);
    } else if (fd == r->all->signal_fd || fd == r->selection.under_fd) {
        r->end.detached = true;
        r->end.finishing = true;
    } else {
        r->all->events.listening = false; /* EPOLLONESHOT */
        event_ready(r->all);
    }
}

/* Zombies that nobody reaps do not keep the recording going. */
static bool all_ended(const struct recorder *r)
{
    return tree_count(&r->job.tree) == r->job.counts.ended_members;
}

bool loop_is_over(const struct recorder *r)
{
    if (r->end.finishing)
        return true;
    if (!r->wrapper.started)
        return false;
    if (r->wrapper.pid)
        return r->wrapper.is_lost && all_ended(r);
    if (recorder_selects(r->options))
        return r->options->attach.select->ends && r->selection.all_matched && all_ended(r);
    if (r->options->attach.pinned || r->options->attach.until_all)
        return all_ended(r);
    const struct record_subject *o = &r->options->attach;
    return r->job.counts.targets == 0 && !o->host_alone && !o->all && !o->cgroup;
}

void loop_run(struct recorders *a)
{
    struct recorder *r = a->only;
    while (!loop_is_over(r)) {
        struct epoll_event events[16];
        births_rest(&r->sampler.processes.scan.births);
        int n = loop_wait(a, next_due(r), events, 16);
        if (n < 0 && errno != EINTR)
            return;
        if (n == 0 && limits_wanted(r))
            limits_find(r);
        for (int i = 0; i < n && !r->end.finishing; i++)
            dispatch(r, events[i].data.u64);
        if (!r->end.finishing)
            on_time(r, n == 0);
    }
}
