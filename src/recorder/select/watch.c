/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to processes, as events report it, and what is due at some time. */

#include "base/array.h"
#include "recorder/select/watch_state.h"

/* Without events a process is matched again after these times, and then in turn: most programs are executed soon after
 * the fork. */
static const uint64_t again_after_ns[WATCH_AGAIN_LAST + 1] = {50000000ull, 200000000ull, 1000000000ull, 30000000000ull};

/* Spread over half of the period, so that not all are matched at once. */
void watch_set_again(struct watch *w, struct watch_process *p, uint64_t now_ns)
{
    uint64_t after = again_after_ns[p->again];
    watch_set_due(w, p, now_ns + after + (uint64_t)(p->pid & 63) * (after / 128));
}

/* ---- programs that were not read ---- */

/* Its ancestors as far as they are known: one that is not may be `under`. */
static bool may_be_under(const struct watch *w, const struct watch_job *job, const struct watch_process *p)
{
    for (int i = 0; job->under && p && i < WATCH_ANCESTORS_MOST; i++) {
        if (p->ppid == job->under)
            return true;
        if (p->ppid == 1)
            return false;
        p = watch_find(w, p->ppid);
    }
    return true;
}

static bool is_in_any_task(const struct watch_process *p)
{
    for (const struct watch_member *m = p->members; m; m = m->next) {
        if (m->task || m->reported)
            return true;
    }
    return false;
}

/* end_ns: 0 if the event of its end was not read yet. Mostly it is in no task: then one report is for all jobs. */
static void report_unread(struct watch *w, const struct watch_process *p, uint64_t end_ns)
{
    struct watch_change change = {.job = WATCH_ALL,
                                  .what = WATCH_UNREAD,
                                  .has_ended = true,
                                  .pid = p->pid,
                                  .start = p->start,
                                  .begin_ns = p->begin_ns,
                                  .end_ns = end_ns};
    if (!w->n_with_rules)
        return;
    if (!w->any_under && !is_in_any_task(p)) {
        w->change(w->context, &change);
        return;
    }
    for (size_t i = 0; i < w->n_jobs; i++) {
        const struct watch_job *job = w->jobs[i];
        const struct watch_member *m = watch_member_of(p, job);
        if (!job->first_rule || (m && (m->task || m->reported)) || !may_be_under(w, job, p))
            continue;
        change.job = job->id;
        w->change(w->context, &change);
    }
}

static void match_executed(struct watch *w, struct watch_process *p)
{
    uint64_t t_ns = p->executed_ns;
    bool late = !p->begin_ns || p->begin_ns + WATCH_LATE < t_ns;
    if (!watch_match(w, p, &(struct watch_change){.is_late = late}))
        report_unread(w, p, 0);
}

/* ---- events ---- */

static void inherit(struct watch *w, struct watch_process *p, const struct watch_process *parent, uint64_t t_ns)
{
    for (const struct watch_member *up = parent ? parent->members : NULL; up; up = up->next) {
        struct watch_member *m = up->task || up->pin ? watch_make_member(p, up->job) : NULL;
        if (!m)
            continue;
        m->task = up->task;
        m->pin = up->pin;
        if (m->task)
            watch_set_due(w, p, t_ns + WATCH_PENDING);
    }
}

void watch_fork(struct watch *w, int32_t pid, int32_t ppid, uint64_t t_ns)
{
    struct watch_process *parent = watch_find(w, ppid), *p = watch_find(w, pid);
    if (p && p->begin_ns && p->begin_ns < t_ns) { /* the event of its end was lost */
        watch_drop_process(w, p);
        p = NULL;
    }
    if (p) { /* a scan was faster */
        p->begin_ns = p->begin_ns ? p->begin_ns : t_ns;
        return;
    }
    if (parent && parent->executed_ns)
        match_executed(w, parent); /* what it executed decides where its children belong */
    p = watch_add_process(w, pid, ppid);
    if (!p)
        return;
    p->begin_ns = t_ns;
    inherit(w, p, parent, t_ns);
}

void watch_exec(struct watch *w, int32_t pid, uint64_t t_ns)
{
    struct watch_process *p = watch_find(w, pid);
    if (!p)
        p = watch_add_process(w, pid, 0);
    if (!p || p->executed_ns || watch_is_settled(w, p))
        return;
    if (array_reserve(&w->executed, w->n_executed + 1, &w->cap_executed, sizeof(*w->executed)) < 0)
        return;
    p->executed_ns = t_ns;
    watch_set_due(w, p, 0);
    w->executed[w->n_executed++] = pid;
}

void watch_settle(struct watch *w)
{
    for (size_t i = 0; i < w->n_executed; i++) {
        struct watch_process *p = watch_find(w, w->executed[i]);
        if (p && p->executed_ns)
            match_executed(w, p);
    }
    w->n_executed = 0;
}

void watch_exit(struct watch *w, int32_t pid, uint64_t t_ns, bool has_status, int32_t status)
{
    struct watch_process *p = watch_find(w, pid);
    if (!p)
        return;
    const struct watch_change end = {.has_ended = true, .end_ns = t_ns, .has_status = has_status, .status = status};
    /* A child of a member that executed a program and ended before that was matched is none: most programs are others.
     */
    bool unread = p->executed_ns > 0;
    for (struct watch_member *m = p->members; m; m = m->next) {
        if (unread)
            m->task = watch_first_of(m->pin, m->job->whole[m->task] ? m->task : 0);
        if (m->reported) /* it was a member until its end */
            m->task = m->reported;
    }
    watch_report(w, p, &end);
    if (unread)
        report_unread(w, p, t_ns);
    watch_drop_process(w, p);
}

/* ---- time ---- */

static void take_turn(struct watch *w, struct watch_process *p, uint64_t now_ns)
{
    const struct watch_change none = {0};
    watch_set_due(w, p, 0);
    if (!w->scans) {
        watch_report(w, p, &none);
        return;
    }
    watch_match(w, p, &none);
    if (p->again < WATCH_AGAIN_LAST)
        p->again++;
    watch_set_again(w, p, now_ns);
}

uint64_t watch_turn(struct watch *w, uint64_t now_ns)
{
    if (now_ns < w->due_ns)
        return w->due_ns;
    w->due_ns = UINT64_MAX;
    for (size_t i = 0; i < w->hash_size; i++) {
        for (struct watch_process *p = w->hash[i]; p; p = p->next) {
            if (p->due_ns && p->due_ns <= now_ns)
                take_turn(w, p, now_ns);
            else if (p->due_ns && p->due_ns < w->due_ns)
                w->due_ns = p->due_ns;
        }
    }
    return w->due_ns;
}
