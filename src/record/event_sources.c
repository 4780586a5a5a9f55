/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the event sources are read, and what is read of processes after that (event_apply.c applies the events).
 *
 * One source reports forks, execs and exits (forks), one reports what ended processes had used (usage); perf can be
 * both. Each drain has three steps: read all of forks, then all of usage, then read each member that an event was
 * about. The kernel sends the usage of a process before its exit event (in do_exit(), taskstats_exit() comes before
 * proc_exit_connector()). So when an exit was read from forks, its usage is found when usage is read after that. Usage
 * may also be ahead: what it reports of a process that is not known yet is stashed until its fork is read.
 *
 * After the first event, the recorder waits a little before it drains, so that a burst is read in batches. It waits as
 * long as events can't fill more than a quarter of the buffer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/recorder.h"

#define EVENTS_PER_MS 12u /* a fork, an exec and an exit every 250 us on each of two cores: more was not seen */
#define DELAY_LEAST (1 * NS_PER_MS)
#define DELAY_MOST (50 * NS_PER_MS)
#define PERF_AFTER (20 * NS_PER_MS) /* the first perf_event_open() after boot can take 5 to 35 ms */
#define FOREIGN_MOST 6u             /* drains in a row without an event of a member: each doubles the delay */
#define SETTLE_AT 128u              /* ended members that may wait to be accounted */
/* Most processes of a compile have ended 40 ms after their exec, and the exit event has their name. */
#define EXEC_READ_AFTER (40 * NS_PER_MS)

/* Opening takes 0.15 to 0.9 ms: the command does not wait for it, and the first children have not ended by then. */
void event_open_usage(struct recorder *r)
{
    struct exits_source *source;
    r->taskstats_tried = true;
    if (geteuid() != 0 || r->usage)
        return;
    r->job.ends_reported = exits_taskstats_open(&source, NULL) == 0;
    if (r->job.ends_reported) {
        r->usage = source;
        event_filter_usage(r);
    } else {
        r->perf_due_ns = clock_monotonic_ns() + PERF_AFTER;
    }
}

/* ---- after a drain ---- */

static void report_exec(struct recorder *r, struct member *m)
{
    if (*m->row.name)
        job_event(&r->job, m->executed_ns, BARO_EVENT_EXEC, m, 0, m->row.name);
    m->executed_ns = 0;
}

/* The first file of a process that is opened in /proc makes the kernel build dentries and inodes, which it tears down
 * when the process ends (proc_flush_pid()). If exit events have names, reading can wait: recording a compile takes a
 * sixth less CPU. */
static bool can_defer(struct recorder *r, const struct member *m)
{
    if (!r->job.ends_reported || r->finishing || sampler_tick_ns(&r->sampler) >= m->executed_ns + EXEC_READ_AFTER ||
        r->n_deferred_execs == DEFERRED_EXECS_MAX)
        return false;
    r->deferred_execs[r->n_deferred_execs++] = m->row.key.pid;
    if (!r->drain_due_ns)
        r->drain_due_ns = clock_monotonic_ns() + EXEC_READ_AFTER;
    return true;
}

static void read_executed(struct recorder *r, struct member *m)
{
    uint64_t clock_ns;
    bool known = m->stat_was_read && m->row.read_ns > m->executed_ns;
    if (!known && can_defer(r, m))
        return;
    /* If it has ended, its exit is queued, with the status, and is read with the next drain. */
    if (known || (process_clock(m, &clock_ns) == 0 && sampler_read_member(&r->sampler, m) == 0))
        report_exec(r, m);
}

static void read_touched_member(struct recorder *r, struct member *m)
{
    uint64_t clock_ns;
    if (member_is_gone(m)) {
        if (m->executed_ns && (m->stat_was_read || m->named)) /* otherwise it still has its parent's name */
            report_exec(r, m);
        return;
    }
    if (!member_has_ended(m)) {
        if (m->executed_ns)
            read_executed(r, m);
        return;
    }
    if (r->usage && !member_usage(m)->has_cpu)
        event_take_stashed(r, m);
    if (m->executed_ns && !m->stat_was_read && !m->named)
        member_set_name(m, ""); /* the name of the program that it executed is not known */
    if (m->executed_ns)
        report_exec(r, m);
    if (!m->parent && r->job.wrapper.pid)
        return; /* the wrapper reads the zombie before it reaps it */
    if (process_clock(m, &clock_ns) < 0) {
        sampler_gone(&r->sampler, m, m->end_ns);
        return;
    }
    /* Still a zombie: its counters are final. */
    if (sampler_read_member(&r->sampler, m) == 0)
        member_wake(m);
}

static void touch_deferred_execs(struct recorder *r)
{
    for (size_t i = 0; i < r->n_deferred_execs; i++) {
        struct member *m = tree_find(&r->job.tree, r->deferred_execs[i]);
        if (m && m->executed_ns)
            event_touch(r, m);
    }
    r->n_deferred_execs = 0;
}

/* In the order of the events, so that a child that was reaped is accounted before its parent. */
static void read_touched(struct recorder *r)
{
    while (r->touched) {
        struct member *m = r->touched;
        r->touched = m->touched_next;
        m->touched = false;
        read_touched_member(r, m);
    }
}

void event_catch_up(void *recorder)
{
    struct recorder *r = recorder;
    if (!r->forks)
        return;
    event_read(r);
    for (struct member *m = r->job.gone; r->usage && m; m = m->list_next) {
        if (!member_usage(m)->has_cpu)
            event_take_stashed(r, m);
    }
    read_touched(r);
}

void event_drain(struct recorder *r)
{
    r->drain_due_ns = 0;
    if (!r->forks)
        return;
    if (!r->started) {
        /* The command's pid is not known yet, so its forks could not be attributed to the job. The buffer holds far
         * more events than arrive until then. */
        event_ready(r);
        return;
    }
    sampler_advance(&r->sampler);
    int events = event_read(r);
    event_filter(r, events);
    if (r->touched)
        r->foreign = 0;
    else if (events > 0)
        r->foreign += r->foreign < FOREIGN_MOST;
    touch_deferred_execs(r);
    read_touched(r);
    if (r->job.n_gone >= r->job.n_held + SETTLE_AT)
        sampler_settle(&r->sampler);
    if (r->job.tree.holes > tree_count(&r->job.tree) + SETTLE_AT)
        tree_compact(&r->job.tree); /* otherwise it would grow with each process since the last tick */
    int fd = exits_fd(r->forks);
    /* Quiet: the next event wakes the recorder. In a burst only the timer does, once for many events. */
    struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = (uint64_t)fd};
    if (fd >= 0 && !r->unpollable && events == 0 && !r->listening)
        r->listening = epoll_ctl(r->epoll_fd, EPOLL_CTL_MOD, fd, &e) == 0;
    if (fd < 0 || r->unpollable || events > 0 || !r->listening)
        event_ready(r);
}

/* The ring of a perf event wakes the recorder only when an eighth of it is full, and not at all once the process that
 * it was opened for has ended. */
bool event_is_silent(const struct recorder *r)
{
    return r->listening && exits_kind(r->forks) != EXITS_PERF;
}

/* Without a usage source, which reports names, a process that executes a program must be read before it ends. The first
 * fork opens that source, so it should be seen soon. But the connector reports the whole machine: a job that has not
 * forked yet must not pay for each process of others. */
void event_ready(struct recorder *r)
{
    bool forked = r->taskstats_tried, first = r->started && !forked && geteuid() == 0;
    uint64_t delay = r->usage ? r->drain_delay_ns : first ? 0 : DELAY_LEAST;
    uint64_t patience = forked || !r->foreign ? 0 : DELAY_LEAST << r->foreign;
    patience = patience < r->drain_delay_ns ? patience : r->drain_delay_ns;
    r->drain_due_ns = clock_monotonic_ns() + (delay > patience ? delay : patience);
}

/* ---- opening ---- */

void event_use(struct recorder *r, struct exits_source *source)
{
    r->forks = source;
    r->job.events = true;
    uint64_t delay = exits_capacity(source) / 4 / EVENTS_PER_MS * NS_PER_MS;
    r->drain_delay_ns = delay < DELAY_LEAST ? DELAY_LEAST : delay > DELAY_MOST ? DELAY_MOST : delay;
    int fd = exits_fd(source);
    if (fd < 0) {
        event_ready(r);
        return;
    }
    struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = (uint64_t)fd};
    r->listening = epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, fd, &e) == 0;
    r->unpollable = !r->listening; /* then it is drained by timer */
}

static void name_source(char *to, size_t cap, const char *name)
{
    snprintf(to, cap, "%s", name);
}

int record_listen(const struct record_options *options)
{
    int fd = options->no_events ? -1 : exits_connector_listen((uint32_t)getpid(), NULL);
    return fd < 0 ? -1 : fd;
}

static int open_connector(struct recorder *r, struct exits_source **ret)
{
    if (!r->wrapper)
        return exits_connector_open(ret, NULL);
    return r->options->events_fd < 0 ? -1
                                     : exits_connector_take(ret, r->options->events_fd, (uint32_t)r->wrapper, NULL);
}

void event_open(struct recorder *r)
{
    struct exits_source *source;
    name_source(r->header.event_source, sizeof(r->header.event_source), "scan");
    name_source(r->header.exit_source, sizeof(r->header.exit_source), r->wrapper ? "wait4" : "none");
    sampler_scan_always(&r->sampler, true);
    if (r->options->no_events)
        return;
    if (open_connector(r, &source) == 0) {
        event_use(r, source);
        sampler_scan_always(&r->sampler, false);
        name_source(r->header.event_source, sizeof(r->header.event_source), exits_name(source));
    }
    /* The header names the source of usage now. The source is opened when there is a process that can end, so not for a
     * command that forks nothing. */
    if (!r->forks)
        event_note_pid(r);
    if (r->forks && geteuid() == 0)
        name_source(r->header.exit_source, sizeof(r->header.exit_source), "taskstats");
    else
        r->perf_due_ns = clock_monotonic_ns() + PERF_AFTER;
}

void event_close(struct recorder *r)
{
    if (r->usage != r->forks)
        exits_close(r->usage);
    exits_close(r->forks);
    exits_filter_close(r->filter);
    r->filter = NULL;
    r->usage = r->forks = NULL;
    free(r->stash);
    r->stash = NULL;
}
