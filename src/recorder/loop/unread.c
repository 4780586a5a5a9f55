/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that ended before the process that selects had read their command. What the kernel reports of the end of a
 * process (its name of 15 bytes, user and CPU time) may show to which task it belonged, or that it can't have belonged
 * to one. Otherwise it may have belonged to a task, and the task counts it, with its CPU time.
 *
 * The two reports come in any order, so the first one waits for the other.
 */
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "recorder/job/task.h"
#include "recorder/loop/recorder.h"

#define WAIT (2 * NS_PER_SEC)
#define UNREAD_MOST 4096u

struct unread {
    struct watch_change change;
    struct recorder *of; /* NULL: it may belong to a task of each */
    uint64_t until_ns;   /* CLOCK_MONOTONIC */
};

/* What is known of its end. */
struct end {
    const char *comm; /* NULL: not known */
    bool has_uid, has_cpu;
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
    const struct known_command command = {.comm = end->comm, .has_uid = end->has_uid, .uid = end->uid};
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

static bool find_stashed(const struct recorders *a, const struct watch_change *c, struct end *ret)
{
    const struct exits_event *e = event_find_stashed(a, c->pid, c->begin_ns);
    if (e)
        *ret = (struct end){e->has_comm ? e->comm : NULL, e->uid != UINT32_MAX, true, e->uid, e->cpu_ns, e->t_ns};
    return e;
}

/* For one recorder. Returns false if its end is not known yet. */
static bool resolve(struct recorder *r, const struct watch_change *c, bool last)
{
    struct end end = {0};
    if (!find_stashed(r->all, c, &end) && !last && r->all->events.usage)
        return false;
    sampler_advance(&r->sampler);
    judge(r, c, &end);
    return true;
}

/* Did the program end before the recording began? */
static bool is_earlier(const struct recorder *r, const struct watch_change *c)
{
    return c->end_ns && c->end_ns < r->header.start_monotonic_ns;
}

static bool resolve_for(struct recorders *a, const struct unread *u, bool last)
{
    struct end end;
    if (a->only)
        return resolve(a->only, &u->change, last);
    if (!last && a->events.usage && !find_stashed(a, &u->change, &end))
        return false;
    for (struct recorder *r = a->select.first; r; r = r->selection.next) {
        if ((!u->of || u->of == r) && !is_earlier(r, &u->change))
            resolve(r, &u->change, true);
    }
    return true;
}

static bool reserve_ends(struct recorders *a)
{
    struct unread *at = NULL;
    if (a->select.n_unread < UNREAD_MOST)
        at = array_room(a->select.unread, a->select.n_unread, &a->select.cap_unread, sizeof(*at));
    a->select.unread = at ? at : a->select.unread;
    return at;
}

void unread_change(struct recorders *a, struct recorder *r, const struct watch_change *c)
{
    const struct unread u = {*c, r, clock_monotonic_ns() + WAIT};
    if (resolve_for(a, &u, false))
        return;
    if (reserve_ends(a))
        a->select.unread[a->select.n_unread++] = u;
    else
        resolve_for(a, &u, true);
}

void unread_turn(struct recorders *a)
{
    size_t kept = 0, n = a->select.n_unread;
    uint64_t now = n ? clock_monotonic_ns() : 0;
    for (size_t i = 0; i < n; i++) {
        const struct unread u = a->select.unread[i];
        if (!resolve_for(a, &u, now >= u.until_ns))
            a->select.unread[kept++] = u;
    }
    a->select.n_unread = kept;
}

void unread_finish(struct recorder *r)
{
    struct recorders *a = r->all;
    size_t kept = 0;
    for (size_t i = 0; i < a->select.n_unread; i++) {
        const struct unread u = a->select.unread[i];
        if ((!u.of || u.of == r) && !is_earlier(r, &u.change))
            resolve(r, &u.change, true);
        if (!a->only && u.of != r)
            a->select.unread[kept++] = u;
    }
    a->select.n_unread = kept;
}

void unread_close(struct recorders *a)
{
    free(a->select.unread);
    a->select.unread = NULL;
    a->select.n_unread = a->select.cap_unread = 0;
}
