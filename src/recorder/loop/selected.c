/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks: makes the processes that the selector reports members of their jobs. In an observer, one process selects for
 * all jobs.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "recorder/job/task.h"
#include "recorder/loop/recorder.h"

/* ---- unread programs ---- */

/*
 * Programs that ended before the process that selects had read their command. What taskstats reports of the end of a
 * process (its name of 15 bytes, user and CPU time) may show to which task it belonged, or that it can't have belonged
 * to one. Otherwise it may have belonged to a task, and the task counts it, with its CPU time.
 *
 * The kernel reports that before the end itself, which the process that selects has read by now.
 */

/* What is known of its end. */
struct end {
    char comm[sizeof(((struct exits_event *)0)->comm)];
    bool has_comm, has_uid, has_cpu;
    uint32_t uid;
    uint64_t cpu_ns, t_ns; /* t_ns: of CLOCK_MONOTONIC; 0: not known */
};

static void count_unread(struct recorder *r, const bool may[TASKS_MOST], const struct end *end)
{
    for (unsigned t = 0; t < r->selection.options.rules->n_tasks; t++) {
        if (may[t])
            job_task_unread(&r->job, t + 1, end->has_cpu ? &end->cpu_ns : NULL);
    }
}

static void judge(struct recorder *r, const struct watch_change *c, const struct end *end)
{
    const struct select_options *o = &r->selection.options;
    const struct known_command command = {
        .comm = end->has_comm ? end->comm : NULL, .has_uid = end->has_uid, .uid = end->uid};
    bool may[TASKS_MOST];
    unsigned task = rules_judge(o->rules, &command, may);
    if (task && (o->under || !end->t_ns)) { /* it is not known whether the program was a descendant of that process */
        may[task - 1] = true;
        task = 0;
    }
    if (!task) {
        count_unread(r, may, end);
        return;
    }
    struct watch_change join = *c;
    join.what = WATCH_JOIN;
    join.task = (uint8_t)task;
    join.end_ns = c->end_ns ? c->end_ns : end->t_ns;
    record_select_change(r, &join);
    recorder_wake(r);
}

/* Did the program end before the recording began? */
static bool is_earlier(const struct recorder *r, const struct watch_change *c)
{
    return c->end_ns && c->end_ns < r->header.start_monotonic_ns;
}

/* A program ended before its command was read. of: the recorder whose task it may be of; NULL: any */
static void unread_change(struct recorders *a, const struct recorder *of, const struct watch_change *c)
{
    struct end end = {0};
    event_read(a);
    const struct exits_event *stashed = event_find_stashed(a, c->pid, c->begin_ns);
    if (stashed) {
        const struct exits_event e = *stashed; /* another one may take its place when a process joins */
        end = (struct end){"", e.has_comm, e.uid != UINT32_MAX, true, e.uid, e.cpu_ns, e.t_ns};
        memcpy(end.comm, e.comm, sizeof(end.comm));
    }
    for (struct recorder *r = a->select.first; r; r = r->selection.next) {
        if ((of && of != r) || is_earlier(r, c))
            continue;
        sampler_advance(&r->sampler);
        judge(r, c, &end);
    }
}

#define READY_WITHIN (10 * NS_PER_SEC) /* a first scan of a machine with many processes, on a busy core */

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* Makes the member leave its task: it executed a program that fits no rule, or a rule of another task. */
static void leave(struct recorder *r, struct member *m)
{
    uint64_t now = sampler_now(&r->sampler);
    if (sampler_read_member(&r->sampler, m) < 0)
        return; /* it has ended */
    job_leave(m);
    sampler_gone(&r->sampler, m, now);
}

/* What the process had used before it joined counts for its task as well, unless the process began before the
 * recording, or had run another program for some time. Example: a shell forks, and the child executes gulpy 0.4 ms
 * later: these 0.4 ms are gulpy's. */
static void set_base(struct recorder *r, struct member *m, const struct watch_change *c)
{
    uint64_t begin = c->begin_ns ? recorder_since(r, c->begin_ns) : job_begin_ns(&r->job, m->row.key.start);
    if (c->is_late || begin == 0)
        sampler_rebase_member(&r->sampler, m);
}

/* Start times are rounded down to ticks of 10 ms. */
#define START_SLACK (20 * NS_PER_MS)

/* Does the pid still belong to the process that the change is about? A busy machine reuses a pid within seconds. */
static bool process_exists(const struct recorder *r, const struct watch_change *c)
{
    struct pid_stat st;
    if (proc_read_stat(r->proc_fd, c->pid, &st) < 0)
        return false;
    if (c->start)
        return st.starttime == c->start;
    return job_begin_ns(&r->job, st.starttime) <= recorder_since(r, c->begin_ns) + START_SLACK;
}

static void join(struct recorder *r, const struct watch_change *c)
{
    uint64_t now = sampler_now(&r->sampler), begin = recorder_since(r, c->begin_ns);
    bool there = process_exists(r, c);
    struct member *m = job_add(&r->job, c->pid, NULL, c->begin_ns ? BARO_ORIGIN_EVENT : BARO_ORIGIN_SCAN, now);
    if (!m)
        return;
    m->life.begin_ns = begin;
    m->events.covered = true;
    m->of_task.confirmed = true; /* by the process that selects now */
    job_label(m, &r->job, c->task);
    job_note_late(&r->job, c->is_late ? 0 : begin);
    if (c->has_ended) {
        job_ended(&r->job, m, recorder_since(r, c->end_ns));
        m->life.end_reported = true;
        m->life.status_known = c->has_status;
        m->life.status = c->status;
    }
    if (r->all->events.usage)
        event_take_stashed(r, m);
    if (!there)
        sampler_gone(&r->sampler, m, now);
    if (!there || sampler_read_member(&r->sampler, m) < 0)
        return;
    set_base(r, m, c);
    member_wake(m);
    if (!r->job.source.events)
        return;
    event_read(r->all); /* processes that have ended by now do not count as alive at the same time */
    job_note_peak(&r->job);
}

/* Do all descendants of a process of the task belong to the task, even if their own commands do not fit? */
static bool is_whole(const struct recorder *r, unsigned task)
{
    const struct select_options *o = &r->selection.options;
    bool whole = o->rules->task[task - 1].whole;
    for (size_t i = 0; i < o->n_pins; i++)
        whole |= o->pins[i].task == task;
    return whole;
}

/* A new process selects and did not report the member. Does the member no longer belong to its task? */
static bool is_unconfirmed(const struct recorder *r, const struct member *m)
{
    bool unconfirmed =
        m->of_task.number && !m->of_task.confirmed && !member_has_ended(m) && !is_whole(r, m->of_task.number);
    return unconfirmed && !select_is_barred(r->selection.selector, m->row.key);
}

/* A new process selects and has matched all processes. Members that it did not report executed another program
 * meanwhile, and fit no rule any more. This does not hold for members of a whole task, which need not fit a rule. */
static void sweep(struct recorder *r)
{
    if (worker_starts(select_worker(r->selection.selector)) == 1)
        return;
    sampler_advance(&r->sampler);
    for (size_t i = r->job.tree.n; i-- > 0;) {
        struct member *m = i < r->job.tree.n ? r->job.tree.at[i] : NULL;
        if (m && is_unconfirmed(r, m))
            leave(r, m);
    }
}

/* All existing processes have been matched: a first sample that has waited for that is taken now. */
static void take_first(struct recorder *r)
{
    if (!r->pace.is_first_due)
        return;
    r->pace.tick_due_ns = sampler_now(&r->sampler);
    recorders_place(r->all, r);
}

void record_select_change(struct recorder *r, const struct watch_change *c)
{
    if (c->what == WATCH_READY && !r->selection.all_matched) {
        sweep(r);
        r->selection.all_matched = true;
        take_first(r);
    }
    const struct sampling *g = &r->sampler.sampling;
    if (c->what == WATCH_READY || !c->pid || c->task > r->job.n_tasks || sampling_is_own(g, c->pid))
        return;
    sampler_advance(&r->sampler);
    struct member *m = tree_find(&r->job.tree, c->pid);
    bool same = m && (!c->start || !m->reading.stat_was_read || m->row.key.start == c->start);
    if (m && !same && c->what == WATCH_LEAVE)
        return;
    if (m && same && !r->selection.all_matched && c->what == WATCH_JOIN && m->of_task.number == c->task) {
        m->of_task.confirmed = true; /* it joined before the process that selects was started again */
        return;
    }
    if (m)
        leave(r, m);
    if (c->what == WATCH_JOIN)
        join(r, c);
}

static void watch_fd(struct recorders *a, int fd)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = (uint64_t)(unsigned)fd};
    epoll_ctl(a->epoll_fd, EPOLL_CTL_ADD, fd, &e);
}

int record_watch_under(struct recorder *r, int32_t under, struct baro_error *err)
{
    if (!under)
        return 0;
    r->selection.under_fd = (int)syscall(SYS_pidfd_open, under, 0);
    if (r->selection.under_fd < 0 && errno == ESRCH)
        return error_set(err, -ESRCH, "no process has the pid %d", under);
    if (r->selection.under_fd < 0 && errno == EINVAL)
        return error_set(err, -EINVAL, "%d is a thread: give the pid of the process", under);
    if (r->selection.under_fd >= 0) /* before 5.3 the recording goes on until it is stopped */
        watch_fd(r->all, r->selection.under_fd);
    return 0;
}

/* Lets all events be read: a process that joins may have any ancestors, so no event may be dropped, and perf does not
 * cover it. */
static void hear_all(struct recorder *r)
{
    r->all->events.stash_long = true;
    r->all->filter.tried = true;
    if (r->all->events.forks)
        event_open_usage(r);
    r->events.perf_due_ns = 0;
}

static void on_change(void *recorders, void *owner, const struct watch_change *c)
{
    struct recorder *r = owner;
    if (c->what == WATCH_UNREAD) {
        unread_change(recorders, r, c);
        return;
    }
    if (!r)
        return;
    record_select_change(r, c);
    recorder_wake(r);
}

/* Starts the process that selects for all recorders. */
static int open_selector(struct recorders *a, const struct recorder *r, struct baro_error *err)
{
    const struct select_setup setup = {
        .proc_fd = r->proc_fd,
        .root_fd = a->only ? r->root_fd : a->root_fd,
        .overhead_ppm = a->only ? r->options->pace.overhead_ppm : a->account.budget.ppm,
        .no_events = r->options->no_events || !a->events.forks,
        .many = !a->only,
    };
    if (a->select.selector)
        return 0;
    int code = select_new(&a->select.selector, &setup, err);
    if (code == 0 && !a->only) /* else it is the recorder's own */
        account_add(&a->account, select_worker(a->select.selector));
    return code;
}

/* Adds the descriptor of the process that was started to the epoll. */
static void watch_selector(struct recorders *a)
{
    if (worker_starts(select_worker(a->select.selector)) == a->select.starts)
        return;
    a->select.starts = worker_starts(select_worker(a->select.selector));
    watch_fd(a, worker_fd(select_worker(a->select.selector)));
}

/* Adds what this recorder selects. An observer's is matched later: its job begins without members. */
static int add_selection(struct recorder *r, struct baro_error *err)
{
    struct recorders *a = r->all;
    int code = select_add(a->select.selector, &r->selection.options, r, &r->selection.id, err);
    if (!r->selection.id || (code < 0 && a->only))
        return code;
    r->selection.selector = r->sampler.tasks.selector = a->select.selector;
    r->selection.next = a->select.first;
    a->select.first = r;
    watch_selector(a);
    return 0;
}

static int await_members(struct recorder *r, struct baro_error *err)
{
    uint64_t until = clock_monotonic_ns() + READY_WITHIN;
    while (!r->selection.all_matched && !select_is_stuck(r->selection.selector) && clock_monotonic_ns() < until) {
        struct pollfd p = {.fd = worker_fd(select_worker(r->selection.selector)), .events = POLLIN};
        poll(&p, 1, 100);
        if (select_read(r->selection.selector, on_change, r->all) < 0)
            return error_set(err, -EPIPE, "the process that selects has ended");
    }
    return 0;
}

int record_select_open(struct recorder *r, struct baro_error *err)
{
    r->selection.options = *r->options->attach.select;
    int code = record_watch_under(r, r->options->attach.select->under, err);
    if (code == 0)
        code = task_row_use(&r->sampler.tasks, &r->selection.options, r->root_fd, true, err);
    if (code == 0)
        code = record_sandboxes(r, &r->selection.options, err);
    r->selection.options.pins = r->sampler.tasks.pins;
    if (code == 0)
        code = open_selector(r->all, r, err);
    if (code == 0)
        code = add_selection(r, err);
    if (code < 0)
        return code;
    hear_all(r);
    return r->all->only ? await_members(r, err) : 0;
}

void record_select_ready(struct recorders *a)
{
    if (a->select.selector)
        select_read(a->select.selector, on_change, a); /* if it has ended, record_select_turn() says so */
}

/* ---- trouble ---- */

static void report_line(struct recorder *r, const char *line)
{
    sampler_advance(&r->sampler);
    recorder_event(r, BARO_EVENT_WARNING, NULL, 0, line);
}

/* r: the recorder that the line is about; NULL: all recorders that select. */
static void report_to_people(struct recorders *a, struct recorder *r, const char *line)
{
    for (struct recorder *one = a->select.first; one; one = one->selection.next) {
        if (!r || one == r)
            report_line(one, line);
    }
    if (a->say)
        a->say(a->say_context, line);
    else if (a->only && a->only->options->on.error)
        a->only->options->on.error(a->only->options->observer.context, line);
}

static void say_trouble(struct recorders *a, enum worker_trouble trouble, struct baro_key hung)
{
    char line[160];
    struct recorder *r = hung.pid < 0 ? select_owner(a->select.selector, (uint32_t)hung.start) : NULL;
    if (trouble == WORKER_HUNG && r) {
        snprintf(line, sizeof(line), "reading the PID file %.80s hangs: it is followed again when it can be read",
                 r->selection.options.pins[-1 - hung.pid].path);
        report_to_people(a, r, line);
    } else if (trouble == WORKER_HUNG && hung.pid > 0) {
        snprintf(line, sizeof(line),
                 "reading the command of process %d hangs: whether it belongs to a task is not known until it is read",
                 (int)hung.pid);
        report_to_people(a, NULL, line);
    } else if (trouble == WORKER_ENDED) {
        report_to_people(a, NULL, "the process that selects has ended or can't be started; it is tried again");
    } else if (trouble == WORKER_GIVEN_UP) {
        report_to_people(a, NULL, "too many processes that select hang: no more processes join a task");
    }
}

/* Another process selects: it reports all members anew. */
static void begin_again(struct recorder *r)
{
    for (size_t i = 0; i < r->job.tree.n; i++) {
        if (r->job.tree.at[i])
            r->job.tree.at[i]->of_task.confirmed = false;
    }
    r->selection.all_matched = false;
}

static void note_lost(struct recorder *r, uint64_t lost)
{
    sampler_advance(&r->sampler);
    job_lose(&r->job);
    sampler_lost_events(&r->sampler, false); /* the process that selects scans all processes again itself */
    recorder_event(r, BARO_EVENT_LOSSY, NULL, lost, "connector of the process that selects");
}

void record_select_turn(struct recorders *a)
{
    struct baro_key hung = {0};
    if (!a->select.selector)
        return;
    enum worker_trouble trouble = select_turn(a->select.selector, &hung);
    say_trouble(a, trouble, hung);
    bool again = worker_starts(select_worker(a->select.selector)) != a->select.starts;
    watch_selector(a);
    uint64_t lost = select_events_lost(a->select.selector);
    for (struct recorder *r = a->select.first; r; r = r->selection.next) {
        if (again)
            begin_again(r);
        if (lost > a->select.lost)
            note_lost(r, lost - a->select.lost);
    }
    a->select.lost = lost;
    record_select_ready(a);
}

void record_select_close(struct recorder *r)
{
    struct recorders *a = r->all;
    struct recorder **at = &a->select.first;
    while (*at && *at != r)
        at = &(*at)->selection.next;
    if (*at)
        *at = r->selection.next;
    if (a->select.selector && r->selection.id)
        select_remove(a->select.selector, r->selection.id);
    if (a->only) {
        select_free(a->select.selector);
        a->select.selector = NULL;
    }
    r->selection.selector = NULL;
    r->selection.under_fd = fd_close(r->selection.under_fd);
}
