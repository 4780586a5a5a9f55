/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks of a job whose members were named otherwise (--pid, --cgroup): a member that fits a rule gets its task.
 *
 * The process that selects reports processes of the whole machine. It may report a process before the recorder has
 * found it as a member, so a report about a process that is no member is kept for WAIT. It may also report a process
 * after the process has ended, so exit records are held for HOLD.
 */
#include <poll.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "libbaro/sample/row.h"
#include "recorder/job/task.h"
#include "recorder/loop/recorder.h"

#define WAIT (2 * NS_PER_SEC)
#define WAITS_MOST 4096u
#define HOLD (1200 * NS_PER_MS) /* the process that selects may be a second behind */
#define LAST_MS 20              /* commands are read in batches of some milliseconds */
#define LAST_MOST NS_PER_SEC
#define START_SLACK (20 * NS_PER_MS) /* start times are rounded down to 10 ms */

struct label_wait {
    struct watch_change change;
    uint64_t until_ns;
};

/* ---- a member ---- */

static bool is_near(uint64_t a, uint64_t b)
{
    return a <= b + START_SLACK && b <= a + START_SLACK;
}

/* start: the start time in ticks. If it is 0, it is not known, and begin_ns decides. If begin_ns is 0, it is not known
 * either. */
static bool is_same_member(const struct recorder *r, const struct watch_change *c, uint64_t start, uint64_t begin_ns)
{
    if (c->start && start)
        return c->start == start;
    uint64_t begin = c->start ? job_begin_ns(&r->job, c->start) : recorder_since(r, c->begin_ns);
    return is_near(begin, start ? job_begin_ns(&r->job, start) : begin_ns);
}

struct member *label_member(const struct recorder *r, const struct watch_change *c)
{
    struct member *m = tree_find(&r->job.tree, c->pid);
    if (m && is_same_member(r, c, m->reading.stat_was_read ? m->row.key.start : 0, m->life.begin_ns))
        return m;
    for (m = r->job.settling.gone; m; m = m->links.list_next) {
        if (m->row.key.pid == c->pid &&
            is_same_member(r, c, m->reading.stat_was_read ? m->row.key.start : 0, m->life.begin_ns))
            return m;
    }
    return NULL;
}

/* Gives the member the task of the change. What the member has used so far belongs to its old task, or to none. */
static void label(struct recorder *r, struct member *m, const struct watch_change *c)
{
    unsigned task = c->what == WATCH_JOIN ? c->task : 0;
    uint64_t now = sampler_now(&r->sampler), begin = recorder_since(r, c->begin_ns);
    m->of_task.confirmed = true;
    if (m->of_task.number == task)
        return;
    if ((m->of_task.number || c->is_late) && !member_is_gone(m) && !member_has_ended(m))
        sampler_read_member(&r->sampler, m);
    job_label(&r->job, m, task, begin && !c->is_late ? begin : now, c->is_late);
    if (!member_is_gone(m))
        member_wake(m);
}

struct baro_exit *label_held_exit(const struct recorder *r, const struct watch_change *c)
{
    for (size_t i = 0; i < r->tasks.n_held; i++) {
        struct baro_exit *e = (struct baro_exit *)(uintptr_t)row_exit(r->tasks.held[i].row); /* a copy of our own */
        uint64_t begin = e->absent[EXIT_elapsed] ? 0 : e->t_ns - e->value[EXIT_elapsed];
        if (e->key.pid != c->pid || !e->absent[EXIT_task] || !is_same_member(r, c, e->key.start, begin))
            continue;
        return e;
    }
    return NULL;
}

static bool try(struct recorder *r, const struct watch_change *c)
{
    struct member *m = label_member(r, c);
    struct baro_exit *e = m || c->what != WATCH_JOIN ? NULL : label_held_exit(r, c);
    if (m)
        label(r, m, c);
    if (e)
        job_label_exit(&r->job, e, c->task, recorder_since(r, c->begin_ns));
    return m || e;
}

/* ---- what is reported ---- */

/* A later report about a process replaces the earlier one. */
static void drop_waiting(struct recorder *r, int32_t pid)
{
    for (size_t i = 0; i < r->label_waits.n; i++) {
        if (r->label_waits.at[i].change.pid == pid) {
            r->label_waits.at[i] = r->label_waits.at[--r->label_waits.n];
            return;
        }
    }
}

static void keep_change(struct recorder *r, const struct watch_change *c)
{
    if (r->label_waits.n == WAITS_MOST)
        return;
    struct label_wait *grown = array_room(r->label_waits.at, r->label_waits.n, &r->label_waits.cap, sizeof(*grown));
    if (!grown)
        return;
    r->label_waits.at = grown;
    r->label_waits.at[r->label_waits.n++] = (struct label_wait){*c, sampler_now(&r->sampler) + WAIT};
}

/* A new process selects and has matched all processes. Members that it did not report fit no rule any more. */
static void sweep(struct recorder *r)
{
    const struct watch_change none = {.what = WATCH_LEAVE};
    for (size_t i = 0; worker_starts(select_worker(r->selection.selector)) > 1 && i < r->job.tree.n; i++) {
        struct member *m = r->job.tree.at[i];
        if (m && record_select_sweep(r, m))
            label(r, m, &none);
    }
}

void label_change(struct recorder *r, const struct watch_change *c)
{
    sampler_advance(&r->sampler);
    if (c->what == WATCH_READY && !r->selection.all_matched)
        sweep(r);
    r->selection.all_matched |= c->what == WATCH_READY;
    if (c->what == WATCH_READY || !c->pid || c->task > r->job.n_tasks)
        return;
    drop_waiting(r, c->pid);
    if (!try(r, c) && c->what == WATCH_JOIN)
        keep_change(r, c);
}

/* ---- what waits ---- */

bool label_was_member(const struct recorder *r, const struct watch_change *c)
{
    uint64_t begin = recorder_since(r, c->begin_ns);
    return begin && job_was_reported(&r->job, c->pid, begin);
}

void label_turn(struct recorder *r)
{
    size_t kept = 0;
    sampler_advance(&r->sampler);
    uint64_t now = sampler_now(&r->sampler);
    for (size_t i = 0; i < r->label_waits.n; i++) {
        struct label_wait *w = &r->label_waits.at[i];
        bool is_over = try(r, &w->change);
        if (!is_over && now >= w->until_ns) {
            if (label_was_member(r, &w->change))
                job_label_missed(&r->job, w->change.task);
            is_over = true;
        }
        if (!is_over)
            r->label_waits.at[kept++] = *w;
    }
    r->label_waits.n = kept;
    tasks_release(r, now > HOLD ? now - HOLD : 0);
}

void label_finish(struct recorder *r)
{
    struct pollfd p = {.fd = worker_fd(select_worker(r->selection.selector)), .events = POLLIN};
    uint64_t until = clock_monotonic_ns() + LAST_MOST;
    while (p.fd >= 0 && clock_monotonic_ns() < until && poll(&p, 1, LAST_MS) > 0) {
        record_select_ready(r->all);
        p.fd = worker_fd(select_worker(r->selection.selector));
    }
    label_turn(r);
}

void label_close(struct recorder *r)
{
    free(r->label_waits.at);
    r->label_waits.at = NULL;
}
