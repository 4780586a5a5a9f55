/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job of an observer whose tasks are named processes (select/pin.h) and control groups: no command decides, so no
 * process has to select. The processes that are named are members with all that they start, as of --pid, and what is
 * below each of them belongs to its task. Groups are walked again and again: what has come joins their task, and what
 * has left is a member without a task.
 */
#include <errno.h>
#include <stdlib.h>

#include "job/task.h"
#include "record/recorder.h"

struct pinned {
    bool ends; /* there are no groups, which processes can join at any time */
    size_t n;
    uint64_t walked_ns;
    struct pinned_group {
        struct cgroup_walk walk;
        unsigned task;
        bool over; /* it was removed */
    } at[];
};

struct walked {
    struct recorder *r;
    unsigned task;
};

static int place_error(const struct recorder *r, const struct pin *pin, const struct baro_error *why,
                       struct baro_error *err)
{
    return error_set(err, why->code, "%s:%u:%u: %s", r->options->task_file, pin->line, pin->column, why->text);
}

static void put_into(struct recorder *r, struct member *m, unsigned task, bool from_now)
{
    job_label(&r->job, m, task, sampler_now(&r->sampler), from_now);
    job_label_below(&r->job, m, task);
}

static int add_process(struct recorder *r, const struct pin *pin, struct baro_error *err)
{
    struct baro_error why = BARO_ERROR_INIT;
    struct member *m = targets_add(r, pin->pid, &why);
    if (m && pin->start && m->row.key.start != pin->start) {
        error_set(&why, -ESRCH, "process %d ended before it could be read", (int)pin->pid);
        m = NULL;
    }
    if (!m)
        return place_error(r, pin, &why, err);
    put_into(r, m, pin->task, false);
    return 0;
}

/* ---- groups ---- */

/* A process that began before the previous walk, and was not in the group then, was moved into it: what it has used
 * until now is not the group's. */
static int read_new(struct recorder *r, struct member *m)
{
    int code = sampler_read_member(&r->sampler, m);
    if (code < 0 || !job_began_before(&r->job, m->row.key.start, r->pinned->walked_ns))
        return code;
    return sampler_rebase_member(&r->sampler, m);
}

static void in_group(void *context, int32_t pid)
{
    const struct walked *w = context;
    struct recorder *r = w->r;
    struct member *m = tree_find(&r->job.tree, pid);
    bool is_new = !m;
    if (is_new)
        m = job_add(&r->job, pid, NULL, BARO_ORIGIN_SCAN, sampler_now(&r->sampler));
    if (!m)
        return;
    m->confirmed = true;
    if (m->task == w->task || (is_new && read_new(r, m) < 0) ||
        (m->task && sampler_read_member(&r->sampler, m) < 0))
        return;
    put_into(r, m, w->task, !is_new);
}

static bool is_in_group_task(const struct recorder *r, const struct member *m)
{
    return m && m->task && r->job.tasks[m->task - 1].is_group;
}

/* What was there before the walk and was not met has moved to another group, unless it has ended. */
static void drop_unmet(struct recorder *r)
{
    for (size_t i = 0; i < r->job.tree.n; i++) {
        struct member *m = r->job.tree.at[i];
        if (!is_in_group_task(r, m) || m->confirmed || sampler_read_member(&r->sampler, m) < 0 || member_has_ended(m))
            continue;
        m->below = 0;
        job_label(&r->job, m, 0, sampler_now(&r->sampler), false);
        member_wake(m);
    }
}

void pinned_turn(struct recorder *r)
{
    char text[4096];
    struct pinned *p = r->pinned;
    if (!p || !p->n)
        return;
    sampler_advance(&r->sampler);
    for (size_t i = 0; i < r->job.tree.n; i++) {
        if (is_in_group_task(r, r->job.tree.at[i]))
            r->job.tree.at[i]->confirmed = false;
    }
    for (size_t i = 0; i < p->n; i++) {
        struct pinned_group *g = &p->at[i];
        struct walked w = {r, g->task};
        g->over = g->over || cgroup_walk_groups(&g->walk) < 0;
        if (!g->over)
            cgroup_walk_processes(&g->walk, text, sizeof(text), in_group, &w);
    }
    drop_unmet(r);
    p->walked_ns = sampler_now(&r->sampler);
}

static struct pinned *pinned_new(struct recorder *r)
{
    const struct task_row *row = &r->sampler.tasks;
    const struct select_options *o = r->options->pinned;
    struct pinned *p = calloc(1, sizeof(*p) + o->n_pins * sizeof(p->at[0]));
    for (size_t i = 0; p && i < o->n_pins; i++) {
        if (row->pins[i].kind != PIN_GROUP)
            continue;
        struct pinned_group *g = &p->at[p->n++];
        cgroup_walk_init(&g->walk, r->root_fd, row->pins[i].place);
        g->task = row->pins[i].task;
    }
    if (p)
        p->ends = !p->n;
    return p;
}

int pinned_open(struct recorder *r, struct baro_error *err)
{
    const struct select_options *o = r->options->pinned;
    int code = task_row_use(&r->sampler.tasks, o, r->root_fd, false, err);
    if (code == 0)
        code = record_sandboxes(r, o, err);
    if (code < 0)
        return code;
    r->pinned = pinned_new(r);
    if (!r->pinned)
        return error_set(err, -ENOMEM, "out of memory");
    r->job.open |= r->pinned->n > 0; /* processes join without an event */
    for (size_t i = 0; i < o->n_pins && code == 0; i++) {
        if (o->pins[i].kind == PIN_PID)
            code = add_process(r, &o->pins[i], err);
    }
    pinned_turn(r);
    return code;
}

bool pinned_is_over(const struct recorder *r)
{
    return r->pinned->ends && tree_count(&r->job.tree) == r->job.ended_members;
}

void pinned_close(struct recorder *r)
{
    for (size_t i = 0; r->pinned && i < r->pinned->n; i++)
        cgroup_walk_done(&r->pinned->at[i].walk);
    free(r->pinned);
    r->pinned = NULL;
}
