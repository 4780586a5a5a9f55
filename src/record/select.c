/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks: makes the processes that the selector reports members of the job. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "job/task.h"
#include "record/recorder.h"

#define READY_WITHIN (10 * NS_PER_SEC) /* a first scan of a machine with many processes, on a busy core */

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* It executed a program that fits no rule, or that of another task. */
static void leave(struct recorder *r, struct member *m)
{
    uint64_t now = sampler_now(&r->sampler);
    if (sampler_read_member(&r->sampler, m) < 0)
        return; /* it has ended */
    job_leave(&r->job, m);
    sampler_gone(&r->sampler, m, now);
}

/* What it had used before counts for its task as well, unless it began before the recording, or had run another program
 * for some time. Example: a shell forks, and the child executes gulpy 0.4 ms later: these 0.4 ms are gulpy's. */
static void set_base(struct recorder *r, struct member *m, const struct watch_change *c)
{
    uint64_t begin = c->begin_ns ? recorder_since(r, c->begin_ns) : job_begin_ns(&r->job, m->row.key.start);
    if (c->is_late || begin == 0)
        job_rebase(m);
}

/* Start times are rounded down to ticks of 10 ms. */
#define START_SLACK (20 * NS_PER_MS)

/* Has that pid still the process that the change is about? A busy machine reuses a pid within seconds. */
static bool is_there(const struct recorder *r, const struct watch_change *c)
{
    struct pid_stat st;
    char text[1024];
    ssize_t n = proc_read_record(r->proc_fd, c->pid, "stat", text, sizeof(text));
    if (n <= 0 || pid_stat_parse(span_of(text, (size_t)n), &st) < 0)
        return false;
    if (c->start)
        return st.starttime == c->start;
    return job_begin_ns(&r->job, st.starttime) <= recorder_since(r, c->begin_ns) + START_SLACK;
}

static void join(struct recorder *r, const struct watch_change *c)
{
    uint64_t now = sampler_now(&r->sampler), begin = recorder_since(r, c->begin_ns);
    bool there = is_there(r, c);
    struct member *m = job_add(&r->job, c->pid, NULL, c->begin_ns ? BARO_ORIGIN_EVENT : BARO_ORIGIN_SCAN, now);
    if (!m)
        return;
    m->begin_ns = begin;
    m->covered = true;
    job_join(&r->job, m, c->task, begin && !c->is_late ? begin : now);
    if (c->has_ended) {
        job_ended(&r->job, m, recorder_since(r, c->end_ns));
        m->end_reported = true;
        m->status_known = c->has_status;
        m->status = c->status;
    }
    if (r->all->usage)
        event_take_stashed(r, m);
    if (!there)
        sampler_gone(&r->sampler, m, now);
    if (!there || sampler_read_member(&r->sampler, m) < 0)
        return;
    set_base(r, m, c);
    member_wake(m);
}

/* What a process of the task starts belongs to it as well, and its own command need not fit. */
static bool is_whole(const struct recorder *r, unsigned task)
{
    const struct select_options *o = r->options->select;
    bool whole = o->rules->whole[task - 1];
    for (size_t i = 0; i < o->n_pins; i++)
        whole |= o->pins[i].task == task;
    return whole;
}

/* Another process selects and has matched all that there are. Members that fit no rule any more executed another
 * program meanwhile. Of a whole task that is not known. */
static void sweep(struct recorder *r)
{
    if (select_starts(r->selector) == 1)
        return;
    sampler_advance(&r->sampler);
    for (size_t i = r->job.tree.n; i-- > 0;) {
        struct member *m = i < r->job.tree.n ? r->job.tree.at[i] : NULL;
        if (m && record_select_sweep(r, m))
            leave(r, m);
    }
}

bool record_select_sweep(const struct recorder *r, const struct member *m)
{
    bool unconfirmed = m->task && !m->confirmed && !m->task_over && !is_whole(r, m->task);
    return unconfirmed && !select_is_barred(r->selector, m->row.key);
}

void record_select_change(void *recorder, const struct watch_change *c)
{
    struct recorder *r = recorder;
    if (c->what == WATCH_UNREAD) {
        unread_change(r, c);
        return;
    }
    if (!r->job.selected) {
        label_change(r, c);
        return;
    }
    if (c->what == WATCH_READY && !r->selected) {
        sweep(r);
        r->selected = true;
    }
    const struct sampling *g = &r->sampler.sampling;
    if (c->what == WATCH_READY || !c->pid || c->task > r->job.n_tasks || sampling_is_own(g, c->pid) ||
        collectors_own(&g->collectors, c->pid))
        return;
    sampler_advance(&r->sampler);
    struct member *m = tree_find(&r->job.tree, c->pid);
    bool same = m && (!c->start || !m->stat_was_read || m->row.key.start == c->start);
    if (m && !same && c->what == WATCH_LEAVE)
        return;
    if (m && same && !r->selected && c->what == WATCH_JOIN && m->task == c->task) {
        m->confirmed = true; /* it joined before the process that selects was started again */
        return;
    }
    if (m)
        leave(r, m);
    if (c->what == WATCH_JOIN)
        join(r, c);
}

static void watch(struct recorder *r, int fd)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = (uint64_t)fd};
    epoll_ctl(r->all->epoll_fd, EPOLL_CTL_ADD, fd, &e);
}

/* --under: the recording ends with that process. */
static int watch_under(struct recorder *r, struct baro_error *err)
{
    int32_t under = r->options->select->under;
    if (!under)
        return 0;
    r->under_fd = (int)syscall(SYS_pidfd_open, under, 0);
    if (r->under_fd < 0 && errno == ESRCH)
        return error_set(err, -ESRCH, "no process has the pid %d", under);
    if (r->under_fd < 0 && errno == EINVAL)
        return error_set(err, -EINVAL, "%d is a thread: give the pid of the process", under);
    if (r->under_fd >= 0) /* before 5.3 the recording goes on until it is stopped */
        watch(r, r->under_fd);
    return 0;
}

/* A process that joins may have any ancestors, so no event may be dropped, and perf does not cover it. */
static void hear_all(struct recorder *r)
{
    r->all->stash_long = true;
    r->all->filter_tried = true;
    if (r->all->forks)
        event_open_usage(r);
    r->perf_due_ns = 0;
}

int record_select_open(struct recorder *r, struct baro_error *err)
{
    struct select_options o = *r->options->select;
    bool selects = recorder_selects(r->options);
    o.proc_fd = r->proc_fd;
    o.root_fd = r->root_fd;
    o.overhead_ppm = r->options->overhead_ppm;
    o.no_events = r->options->no_events || !r->all->forks;
    int code = selects ? watch_under(r, err) : 0;
    if (code == 0)
        code = task_row_use(&r->sampler.tasks, &o, selects, err);
    if (code == 0)
        code = record_sandboxes(r, err);
    o.pins = r->sampler.tasks.pins;
    if (code == 0)
        code = select_start(&r->selector, &o, err);
    if (code < 0)
        return code;
    r->sampler.tasks.selector = r->selector;
    if (selects)
        hear_all(r);
    uint64_t until = clock_monotonic_ns() + READY_WITHIN;
    while (!r->selected && !select_is_stuck(r->selector) && clock_monotonic_ns() < until) {
        struct pollfd p = {.fd = select_fd(r->selector), .events = POLLIN};
        poll(&p, 1, 100);
        if (select_read(r->selector, record_select_change, r) < 0)
            return error_set(err, -EPIPE, "the process that selects has ended");
    }
    watch(r, select_fd(r->selector));
    return 0;
}

void record_select_ready(struct recorder *r)
{
    select_read(r->selector, record_select_change, r); /* if it has ended, record_select_turn() says so */
}

static void say(struct recorder *r, const char *line)
{
    recorder_event(r, BARO_EVENT_WARNING, NULL, 0, line);
    if (r->options->on_error)
        r->options->on_error(r->options->observer.context, line);
}

static void say_trouble(struct recorder *r, enum select_trouble trouble, int32_t hung)
{
    char line[160];
    if (trouble == SELECT_HUNG && hung < 0) {
        snprintf(line, sizeof(line), "reading the PID file %.80s hangs: it is not followed any more",
                 r->options->select->pins[-1 - hung].path);
        say(r, line);
    } else if (trouble == SELECT_HUNG) {
        snprintf(line, sizeof(line), "reading the command of process %d hangs: whether it belongs to a task is not "
                 "known", hung);
        say(r, line);
    } else if (trouble == SELECT_ENDED) {
        say(r, "the process that selects has ended or can't be started; it is tried again");
    } else if (trouble == SELECT_GIVEN_UP) {
        say(r, "too many processes that select hang: no more processes join a task");
    }
}

/* Another process selects: it reports all members anew. */
static void begin_again(struct recorder *r)
{
    for (size_t i = 0; i < r->job.tree.n; i++) {
        if (r->job.tree.at[i])
            r->job.tree.at[i]->confirmed = false;
    }
    r->selected = false;
    watch(r, select_fd(r->selector));
}

void record_select_turn(struct recorder *r)
{
    struct baro_key hung = {0};
    uint64_t starts = select_starts(r->selector);
    say_trouble(r, select_turn(r->selector, &hung), hung.pid);
    if (select_starts(r->selector) != starts)
        begin_again(r);
    uint64_t lost = select_events_lost(r->selector);
    if (lost > r->select_lost) {
        r->job.lossy = true;
        sampler_lost_events(&r->sampler, false); /* it looks at all processes again itself */
        recorder_event(r, BARO_EVENT_LOSSY, NULL, lost - r->select_lost, "connector of the process that selects");
        r->select_lost = lost;
    }
    record_select_ready(r);
    unread_turn(r, false);
    if (!r->job.selected)
        label_turn(r);
}

void record_select_close(struct recorder *r)
{
    select_free(r->selector);
    r->selector = NULL;
    r->under_fd = fd_close(r->under_fd);
}
