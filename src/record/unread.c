/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that ended before the process that selects had read their command. What the kernel reports of the end of a
 * process (its name of 15 bytes, user and CPU time) may say to which task it belonged, or that it can't have belonged
 * to one. Else it may have: the task counts it, with its CPU time.
 *
 * Both reports come in any order, so a program waits for the other one.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "job/task.h"
#include "record/recorder.h"

#define WAIT (2 * NS_PER_SEC)
#define UNREAD_MOST 4096u

struct unread {
    struct watch_change change;
    uint64_t until_ns;
};

/* What is known of its end. */
struct end {
    const char *comm; /* NULL: not known */
    bool has_uid, has_cpu;
    uint32_t uid;
    uint64_t cpu_ns, t_ns; /* t_ns: of CLOCK_MONOTONIC; 0: not known */
};

static void count(struct recorder *r, const bool may[TASKS_MOST], const struct end *end)
{
    for (unsigned t = 0; t < r->options->select->rules->n_tasks; t++) {
        if (may[t])
            job_task_unread(&r->job, t + 1, end->has_cpu ? &end->cpu_ns : NULL);
    }
}

static void judge(struct recorder *r, const struct watch_change *c, const struct end *end)
{
    const struct select_options *o = r->options->select;
    const struct command command = {.cmdline = "", .exe = "", .comm = end->comm, .exe_name = "", .argv_name = "",
                                    .has_uid = end->has_uid, .uid = end->uid};
    bool may[TASKS_MOST];
    unsigned task = rules_judge(o->rules, &command, may);
    if (task && (o->under || !end->t_ns)) { /* whether it was below that process is not known */
        may[task - 1] = true;
        task = 0;
    }
    if (!task) {
        count(r, may, end);
        return;
    }
    struct watch_change join = *c;
    join.what = WATCH_JOIN;
    join.task = (uint8_t)task;
    join.end_ns = c->end_ns ? c->end_ns : end->t_ns;
    record_select_change(r, &join);
}

/* Of a process that is no member. */
static bool find_stashed(const struct recorder *r, const struct watch_change *c, struct end *ret)
{
    const struct exits_event *e = event_find_stashed(r->all, c->pid, c->begin_ns);
    if (e)
        *ret = (struct end){e->has_comm ? e->comm : NULL, e->uid != UINT32_MAX, true, e->uid, e->cpu_ns, e->t_ns};
    return e;
}

/* Of a member. Returns false if its end is not known yet. */
static bool find_member(const struct recorder *r, const struct member *m, struct end *ret)
{
    const struct member_usage *u = member_usage(m);
    if (u->source != BARO_EXIT_TASKSTATS)
        return false;
    *ret = (struct end){m->row.name, true, true, m->row.uid, u->cpu_ns, r->header.start_monotonic_ns + m->end_ns};
    return true;
}

/* Of one whose exit record is held. */
static bool find_held(const struct recorder *r, const struct watch_change *c, struct end *ret)
{
    const struct baro_exit *e = label_held_exit(r, c);
    bool whole = e && e->source == BARO_EXIT_TASKSTATS;
    if (e)
        *ret = (struct end){whole ? e->name : NULL, whole, whole && !e->absent[EXIT_cpu], e->uid, e->value[EXIT_cpu],
                            r->header.start_monotonic_ns + e->t_ns};
    return e;
}

static bool resolve(struct recorder *r, const struct watch_change *c, bool last)
{
    struct end end = {0};
    bool selects = r->job.selected;
    const struct member *m = selects ? NULL : label_member(r, c);
    bool found = m         ? find_member(r, m, &end)
                 : selects ? find_stashed(r, c, &end)
                           : find_held(r, c, &end);
    if (!found && !last && (r->all->usage || !selects))
        return false;
    if (found || m || selects || label_was_member(r, c))
        judge(r, c, &end);
    return true;
}

void unread_change(struct recorder *r, const struct watch_change *c)
{
    sampler_advance(&r->sampler);
    if (resolve(r, c, false))
        return;
    if (r->n_unread == r->cap_unread && r->cap_unread < UNREAD_MOST) {
        size_t cap = 2 * r->cap_unread + 64;
        struct unread *grown = realloc(r->unread, cap * sizeof(*grown));
        r->unread = grown ? grown : r->unread;
        r->cap_unread = grown ? cap : r->cap_unread;
    }
    if (r->n_unread == r->cap_unread)
        resolve(r, c, true);
    else
        r->unread[r->n_unread++] = (struct unread){*c, sampler_now(&r->sampler) + WAIT};
}

void unread_turn(struct recorder *r, bool last)
{
    size_t kept = 0;
    if (!r->n_unread)
        return;
    sampler_advance(&r->sampler);
    uint64_t now = sampler_now(&r->sampler);
    for (size_t i = 0; i < r->n_unread; i++) {
        struct unread *u = &r->unread[i];
        if (!resolve(r, &u->change, last || now >= u->until_ns))
            r->unread[kept++] = *u;
    }
    r->n_unread = kept;
}

void unread_close(struct recorder *r)
{
    free(r->unread);
    r->unread = NULL;
}
