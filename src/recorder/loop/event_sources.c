/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the event sources are read, and what is read of processes after that (event_apply.c applies the events).
 *
 * One source reports forks, execs and exits (forks), one reports what ended processes had used (usage); perf can be
 * both. Each drain has three steps: read all of forks, then all of usage, then read each member that an event was
 * about. The kernel sends the usage of a process before its exit event (in do_exit(), taskstats_exit() comes before
 * proc_exit_connector()). So if usage is read after an exit was read from forks, usage has the record of that exit.
 * Usage may also be ahead of forks: its record of a process that is not known yet is stashed until the process's fork
 * is read.
 *
 * After the first event, the recorder waits a little before it drains, so that a burst is read in batches. It waits as
 * long as events can't fill more than a quarter of the buffer.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "libbaro/metric/ids.h"
#include "recorder/collectors/sockets/sockets.h"
#include "recorder/loop/recorder.h"

#define EVENTS_PER_MS 12u /* a fork, an exec and an exit every 250 us on each of two cores: more was not seen */
#define DELAY_LEAST (1 * NS_PER_MS)
#define DELAY_MOST (50 * NS_PER_MS)
#define PERF_AFTER (20 * NS_PER_MS) /* the first perf_event_open() after boot can take 5 to 35 ms */
#define FOREIGN_MOST 6u             /* drains in a row without an event of a member: each doubles the delay */
#define SETTLE_AT 128u              /* ended members that may wait to be accounted */
/* Most processes of a compile have ended by then, or a sample has read them; the exit event has their name. */
#define EXEC_READ_AFTER (40 * NS_PER_MS)

/* Opens the source of usage. This takes 0.15 to 0.9 ms, so it is not done before the command starts, but after the
 * first fork, or after 20 ms: children of a job that forks in its last millisecond have ended when the fork is read. */
void event_open_usage(struct recorder *r)
{
    struct recorders *a = r->all;
    struct exits_source *source;
    a->events.usage_tried = true;
    if (geteuid() != 0 || a->events.usage)
        return;
    r->events.perf_due_ns = 0;
    r->job.source.ends_reported = exits_taskstats_open(&source, NULL) == 0;
    if (r->job.source.ends_reported) {
        a->events.usage = source;
        event_filter_usage(a);
    } else {
        r->events.perf_due_ns = clock_monotonic_ns() + PERF_AFTER;
    }
}

/* ---- after a drain ---- */

/* The first file of a process that is opened in /proc makes the kernel build dentries and inodes, which it tears down
 * when the process ends (proc_flush_pid()). If exit events have names, reading can wait: recording a compile takes a
 * sixth less CPU. */
static bool can_defer(struct recorder *r, const struct member *m)
{
    struct recorders *a = r->all;
    if (!r->job.source.ends_reported || r->end.finishing ||
        sampler_tick_ns(&r->sampler) >= m->events.executed_ns + EXEC_READ_AFTER ||
        a->events.n_deferred_execs == DEFERRED_EXECS_MAX)
        return false;
    a->events.deferred_execs[a->events.n_deferred_execs++] = (struct deferred_exec){r, m->row.key.pid};
    if (!a->events.drain_due_ns)
        a->events.drain_due_ns = clock_monotonic_ns() + EXEC_READ_AFTER;
    return true;
}

static void read_executed(struct recorder *r, struct member *m)
{
    uint64_t clock_ns;
    bool known = m->reading.stat_was_read && m->row.read_ns > m->events.executed_ns;
    if (!known && can_defer(r, m))
        return;
    /* If the process has ended, its exit event, which has its status, is queued and will be read by the next drain. */
    if (known || (process_clock(m, &clock_ns) == 0 && sampler_read_member(&r->sampler, m) == 0))
        exec_report(r, m);
}

/* Reads the name of the member's parent first, if the parent has executed no other program since the fork. Example: 20
 * executes `make` at 1.2 ms and forks 21 at 2.0 ms, and both events are read at 2.3 ms, when 21 has ended: its name is
 * the name of 20 as it is read now. If 20 had executed `cc` at 2.1 ms, the name of 21 would not be known:
 * lose_late_names(). */
static void take_late_name(struct recorder *r, struct member *m)
{
    struct member *parent = m->links.parent;
    m->events.name_is_late = false;
    if (m->reading.stat_was_read || m->events.named || m->events.executed_ns)
        return;
    if (parent && parent->events.name_is_late)
        member_set_name(parent, "");
    if (parent && parent->events.executed_ns && sampler_read_member(&r->sampler, parent) == 0)
        exec_report(r, parent);
    member_set_name(m, parent && !parent->events.executed_ns ? parent->row.name : "");
}

static void read_touched_member(struct recorder *r, struct member *m)
{
    uint64_t clock_ns;
    if (m->events.name_is_late)
        take_late_name(r, m);
    if (member_is_gone(m)) {
        if (m->events.executed_ns &&
            (m->reading.stat_was_read || m->events.named)) /* otherwise it still has its parent's name */
            exec_report(r, m);
        return;
    }
    if (!member_has_ended(m)) {
        if (m->events.executed_ns)
            read_executed(r, m);
        return;
    }
    if (r->all->events.usage && !member_usage(m)->has_cpu)
        event_take_stashed(r, m);
    if (m->events.executed_ns && !m->reading.stat_was_read && !m->events.named)
        member_set_name(m, ""); /* the name of the program that it executed is not known */
    if (m->events.executed_ns)
        exec_report(r, m);
    if (!m->links.parent && r->job.wrapper.pid)
        return; /* the wrapper reads the zombie before it reaps it */
    if (process_clock(m, &clock_ns) < 0) {
        sampler_gone(&r->sampler, m, m->life.end_ns);
        return;
    }
    /* Still a zombie: its counters are final. */
    if (sampler_read_member(&r->sampler, m) == 0)
        member_wake(m);
}

static void touch_deferred_execs(struct recorders *a)
{
    for (size_t i = 0; i < a->events.n_deferred_execs; i++) {
        struct recorder *r = a->events.deferred_execs[i].recorder;
        struct member *m = tree_find(&r->job.tree, a->events.deferred_execs[i].pid);
        if (m && m->events.executed_ns)
            event_touch(r, m);
    }
    a->events.n_deferred_execs = 0;
}

/* Reads the members in the order of the events, so that a child that was reaped is accounted before its parent. */
static void read_touched(struct recorder *r)
{
    while (r->events.touched) {
        struct member *m = r->events.touched;
        r->events.touched = m->events.touched_next;
        m->events.touched = false;
        read_touched_member(r, m);
    }
}

void event_catch_up(void *recorder)
{
    struct recorder *r = recorder;
    struct recorders *a = r->all;
    if (!a->events.forks)
        return;
    a->ticking = r;
    event_read(a);
    a->ticking = NULL;
    if (!a->only && !a->events.drain_due_ns)
        event_ready(a); /* members of other jobs are to be read, too */
    for (struct member *m = r->job.settling.gone; a->events.usage && m; m = m->links.list_next) {
        if (!member_usage(m)->has_cpu)
            event_take_stashed(r, m);
    }
    read_touched(r);
}

void event_activate(struct recorder *r)
{
    if (r->events.is_active)
        return;
    r->events.is_active = true;
    r->events.next_active = r->all->events.active;
    r->all->events.active = r;
}

static void advance_active(struct recorders *a)
{
    if (a->only)
        event_activate(a->only);
    for (struct recorder *r = a->events.active; r; r = r->events.next_active)
        sampler_advance(&r->sampler);
}

static bool any_touched(const struct recorders *a)
{
    for (const struct recorder *r = a->events.active; r; r = r->events.next_active) {
        if (r->events.touched)
            return true;
    }
    return false;
}

static void read_active(struct recorders *a)
{
    for (struct recorder *r = a->events.active; r; r = a->events.active) {
        a->events.active = r->events.next_active;
        r->events.is_active = false;
        read_touched(r);
        if (r->job.settling.n_gone >= r->job.settling.n_held + SETTLE_AT)
            sampler_settle(&r->sampler);
        if (r->job.tree.holes > tree_count(&r->job.tree) + SETTLE_AT)
            tree_compact(&r->job.tree); /* otherwise the arrays would grow with each process between two ticks */
        recorder_wake(r);
        if (targets_check_empty(r))
            recorder_place(r);
    }
}

/* Lets the next event wake the recorder if no event was read now. During a burst only the timer wakes it, once for many
 * events. */
static void listen_again(struct recorders *a, int events)
{
    int fd = exits_fd(a->events.forks);
    struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = (uint64_t)fd};
    if (fd >= 0 && !a->events.unpollable && events == 0 && !a->events.listening)
        a->events.listening = epoll_ctl(a->epoll_fd, EPOLL_CTL_MOD, fd, &e) == 0;
    if (fd < 0 || a->events.unpollable || events > 0 || !a->events.listening)
        event_ready(a);
}

void event_drain(struct recorders *a)
{
    a->events.drain_due_ns = 0;
    if (!a->events.forks)
        return;
    if (a->only && !a->only->wrapper.started) {
        /* The command's pid is not known yet, so its forks could not be attributed to the job. The buffer holds far
         * more events than arrive until then. */
        event_ready(a);
        return;
    }
    advance_active(a);
    int events = event_read(a);
    if (a->only)
        event_filter(a->only, events);
    if (any_touched(a))
        a->events.foreign_drains = 0;
    else if (events > 0)
        a->events.foreign_drains += a->events.foreign_drains < FOREIGN_MOST;
    touch_deferred_execs(a);
    read_active(a);
    listen_again(a, events);
}

/* The ring of a perf event wakes the recorder only when an eighth of it is full, and not at all once the process that
 * it was opened for has ended. */
bool event_is_silent(const struct recorders *a)
{
    return a->events.listening && !a->reads_sockets && exits_kind(a->events.forks) != EXITS_PERF;
}

/* Without a usage source, which reports names, a process that executes a program must be read before it ends. The
 * source is opened when the first fork is read, so that fork should be read soon. But the connector reports the whole
 * machine: a job that has not forked yet must not pay for each foreign process. */
void event_ready(struct recorders *a)
{
    bool forked = a->events.usage_tried, first = (!a->only || a->only->wrapper.started) && !forked && geteuid() == 0;
    uint64_t delay = a->events.usage ? a->events.drain_delay_ns : first ? 0 : DELAY_LEAST;
    uint64_t patience = forked || !a->events.foreign_drains ? 0 : DELAY_LEAST << a->events.foreign_drains;
    patience = patience < a->events.drain_delay_ns ? patience : a->events.drain_delay_ns;
    a->events.drain_due_ns = clock_monotonic_ns() + (delay > patience ? delay : patience);
}

/* ---- opening ---- */

static void use_source(struct recorders *a, struct exits_source *source)
{
    a->events.forks = source;
    uint64_t delay = exits_capacity(source) / 4 / EVENTS_PER_MS * NS_PER_MS;
    a->events.drain_delay_ns = delay < DELAY_LEAST ? DELAY_LEAST : delay > DELAY_MOST ? DELAY_MOST : delay;
    int fd = exits_fd(source);
    if (fd < 0) {
        event_ready(a);
        return;
    }
    struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = (uint64_t)fd};
    a->events.listening = epoll_ctl(a->epoll_fd, EPOLL_CTL_ADD, fd, &e) == 0;
    a->events.unpollable = !a->events.listening; /* then it is drained by timer */
}

void event_use(struct recorder *r, struct exits_source *source)
{
    use_source(r->all, source);
    r->job.source.events = true;
}

/* Opens the event sources of an observer, without a filter (kernel/events/filter.h): jobs begin while the observer
 * runs, with processes that a filter would not know yet. */
void event_open_all(struct recorders *a)
{
    struct exits_source *source;
    a->events.usage_tried = true;
    if (exits_connector_open(&source, NULL) < 0)
        return;
    use_source(a, source);
    if (geteuid() == 0 && exits_taskstats_open(&source, NULL) == 0)
        a->events.usage = source;
}

static void name_source(char *to, size_t cap, const char *name)
{
    snprintf(to, cap, "%s", name);
}

void record_listen(struct record_options *options)
{
    int fd = options->no_events ? -1 : exits_connector_listen((uint32_t)getpid(), NULL);
    options->run.events_fd = fd < 0 ? -1 : fd;
}

void record_note_namespaces(struct record_options *options, struct namespaces *ret)
{
    int fd = metric_need(options->scope.wanted) & BARO_SOURCE_SOCK_DIAG
                 ? open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC)
                 : -1;
    if (fd < 0)
        return;
    namespaces_list(ret, fd);
    options->run.namespaces = ret;
    fd_close(fd);
}

static int open_forks(const struct recorder *r, struct exits_source **ret)
{
    int fd = r->options->run.events_fd;
    if (!r->wrapper.pid)
        return exits_connector_open(ret, NULL);
    return fd < 0 ? -1 : exits_connector_take(ret, fd, (uint32_t)r->wrapper.pid, NULL);
}

/* The sources of an observer are open already. */
static void join(struct recorder *r)
{
    const struct recorders *a = r->all;
    r->job.source.events = a->events.forks != NULL;
    r->job.source.ends_reported = a->events.usage != NULL;
    sampler_scan_always(&r->sampler, !a->events.forks);
    if (a->events.forks)
        name_source(r->header.event_source, sizeof(r->header.event_source), exits_name(a->events.forks));
    if (a->events.usage)
        name_source(r->header.exit_source, sizeof(r->header.exit_source), exits_name(a->events.usage));
}

void event_count_pids(struct recorder *r, int32_t pid)
{
    const struct record_options *o = r->options;
    if (!r->all->events.forks && !o->attach.cgroup && !o->attach.host_alone && !recorder_selects(o) && !r->foreign_proc)
        sampler_count_pids(&r->sampler, pid);
}

void event_poll(struct recorder *r)
{
    const struct births *b = &r->sampler.processes.scan.births;
    sampler_poll(&r->sampler);
    int fd = b->library.fd;
    bool listens = births_listen(b);
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = (uint64_t)fd};
    if (fd < 0 || listens == r->events.library_listens)
        return;
    /* Removed, as with a mask of 0 each event still wakes epoll_wait(2) in the kernel: inotify does not say which event
     * it wakes for. Example: 2,000 programs of others in a second took 20 ms. */
    if (epoll_ctl(r->all->epoll_fd, listens ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd, &e) < 0)
        return;
    r->events.library_fd = fd;
    r->events.library_listens = listens;
}

void event_open(struct recorder *r)
{
    struct exits_source *source;
    r->job.source.events_ns = &r->all->events.read_until_ns;
    r->all->reads_sockets |= (metric_need(r->options->scope.wanted) & BARO_SOURCE_SOCK_DIAG) != 0;
    name_source(r->header.event_source, sizeof(r->header.event_source), "scan");
    name_source(r->header.exit_source, sizeof(r->header.exit_source), r->wrapper.pid ? "wait4" : "none");
    sampler_scan_always(&r->sampler, true);
    if (!r->all->only) {
        join(r);
        return;
    }
    if (!r->options->no_events && open_forks(r, &source) == 0) {
        event_use(r, source);
        sampler_scan_always(&r->sampler, false);
        name_source(r->header.event_source, sizeof(r->header.event_source), exits_name(source));
    }
    if (r->options->no_events)
        return;
    if (!r->wrapper.pid)
        event_count_pids(r, 0); /* a command has its own pid */
    /* The header names the source of usage now: it is opened later. */
    if (r->all->events.usage || (r->all->events.forks && geteuid() == 0 && !r->all->events.usage_tried))
        name_source(r->header.exit_source, sizeof(r->header.exit_source), "taskstats");
    r->all->filter.tried |= r->options->attach.all;       /* no event is foreign */
    if (!r->all->events.usage && !r->options->attach.all) /* perf would be attached to each process */
        r->events.perf_due_ns = clock_monotonic_ns() + PERF_AFTER;
}

void event_close(struct recorders *a)
{
    if (a->events.usage != a->events.forks)
        exits_close(a->events.usage);
    exits_close(a->events.forks);
    exits_filter_close(a->filter.in_kernel);
    a->filter.in_kernel = NULL;
    a->events.usage = a->events.forks = NULL;
    free(a->events.stash);
    a->events.stash = NULL;
}
