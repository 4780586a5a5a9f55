/* SPDX-License-Identifier: Apache-2.0 */
/* The table of processes, and what a process is in each job. */
#include <errno.h>
#include <stdlib.h>

#include "recorder/select/watch_state.h"

#define FIRST_HASH 256u

/* ---- the table ---- */

static struct watch_process **find_slot(const struct watch *w, int32_t pid)
{
    return &w->hash[((uint32_t)pid * 2654435769u) & (w->hash_size - 1)];
}

struct watch_process *watch_find(const struct watch *w, int32_t pid)
{
    struct watch_process *p = *find_slot(w, pid);
    while (p && p->pid != pid)
        p = p->next;
    return p;
}

static void grow_table(struct watch *w)
{
    struct watch_process **old = w->hash;
    size_t size = w->hash_size;
    struct watch_process **hash = calloc(2 * size, sizeof(struct watch_process *));
    if (!hash)
        return; /* longer chains, nothing worse */
    w->hash = hash;
    w->hash_size = 2 * size;
    for (size_t i = 0; i < size; i++) {
        for (struct watch_process *p = old[i], *next; p; p = next) {
            next = p->next;
            struct watch_process **slot = find_slot(w, p->pid);
            p->next = *slot;
            *slot = p;
        }
    }
    free(old);
}

struct watch_process *watch_add_process(struct watch *w, int32_t pid, int32_t ppid)
{
    if (w->n > w->hash_size)
        grow_table(w);
    struct watch_process *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL; /* it is not recorded */
    struct watch_process **slot = find_slot(w, pid);
    *p = (struct watch_process){.pid = pid, .ppid = ppid, .next = *slot};
    *slot = p;
    w->n++;
    return p;
}

static void free_members(struct watch_process *p)
{
    for (struct watch_member *m = p->members, *next; m; m = next) {
        next = m->next;
        free(m);
    }
    p->members = NULL;
}

void watch_drop_process(struct watch *w, struct watch_process *p)
{
    struct watch_process **slot = find_slot(w, p->pid);
    while (*slot != p)
        slot = &(*slot)->next;
    *slot = p->next;
    free_members(p);
    free(p);
    w->n--;
}

int watch_init(struct watch *w, watch_match_fn *match, watch_change_fn *change, void *context)
{
    *w = (struct watch){.hash = calloc(FIRST_HASH, sizeof(struct watch_process *)),
                        .hash_size = FIRST_HASH,
                        .due_ns = UINT64_MAX,
                        .match = match,
                        .change = change,
                        .context = context};
    return w->hash ? 0 : -ENOMEM;
}

void watch_done(struct watch *w)
{
    for (size_t i = 0; w->hash && i < w->hash_size; i++) {
        for (struct watch_process *p = w->hash[i], *next; p; p = next) {
            next = p->next;
            free_members(p);
            free(p);
        }
    }
    free(w->hash);
    free(w->executed);
    free(w->jobs);
    w->hash = NULL;
    w->executed = NULL;
    w->jobs = NULL;
}

/* ---- membership ---- */

struct watch_member *watch_member_of(const struct watch_process *p, const struct watch_job *job)
{
    struct watch_member *m = p->members;
    while (m && m->job != job)
        m = m->next;
    return m;
}

struct watch_member *watch_make_member(struct watch_process *p, struct watch_job *job)
{
    struct watch_member *m = watch_member_of(p, job);
    if (m)
        return m;
    m = malloc(sizeof(*m));
    if (!m)
        return NULL; /* it is not recorded */
    *m = (struct watch_member){.job = job, .next = p->members};
    p->members = m;
    return m;
}

void watch_prune(struct watch_process *p)
{
    for (struct watch_member **at = &p->members; *at;) {
        struct watch_member *m = *at;
        if (m->task || m->reported || m->pin || m->was_member) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        free(m);
    }
}

/* A member of a whole task (`children: true`) stays one whatever it executes. */
uint8_t watch_task_of(const struct watch_member *m)
{
    if (m->pin && m->job->firm[m->pin])
        return m->pin;
    return watch_first_of(watch_first_of(m->found, m->pin), m->job->whole[m->task] ? m->task : 0);
}

bool watch_is_settled(const struct watch *w, const struct watch_process *p)
{
    size_t settled = 0;
    for (const struct watch_member *m = p->members; m; m = m->next) {
        uint8_t first = m->job->first_rule;
        settled += first && m->pin && (m->job->firm[m->pin] || m->pin <= first);
    }
    return settled == w->n_with_rules;
}

void watch_set_due(struct watch *w, struct watch_process *p, uint64_t due_ns)
{
    p->due_ns = due_ns;
    if (due_ns && due_ns < w->due_ns)
        w->due_ns = due_ns;
}

static void report_one(struct watch *w, const struct watch_process *p, struct watch_member *m,
                       struct watch_change change)
{
    change.job = m->job->id;
    change.what = m->task ? WATCH_JOIN : WATCH_LEAVE;
    change.task = m->task;
    change.pid = p->pid;
    change.start = p->start;
    change.begin_ns = p->begin_ns;
    change.is_late = change.is_late || m->was_member;
    m->reported = m->task;
    m->was_member = true;
    w->change(w->context, &change);
}

void watch_report(struct watch *w, struct watch_process *p, const struct watch_change *change)
{
    for (struct watch_member *m = p->members; m; m = m->next) {
        if (m->task != m->reported)
            report_one(w, p, m, *change);
    }
}

/* ---- matching ---- */

static bool is_any_member(const struct watch_process *p)
{
    for (const struct watch_member *m = p->members; m; m = m->next) {
        if (m->reported || m->pin)
            return true;
    }
    return false;
}

bool watch_match(struct watch *w, struct watch_process *p, const struct watch_change *change)
{
    struct watch_reading reading = {.ppid = p->ppid};
    bool found = w->match(w->context, p->pid, &reading);
    w->matched++;
    if (!w->only_new && !w->only)
        p->executed_ns = 0;
    if (!found && is_any_member(p))
        return false; /* it is ending */
    if (p->start && reading.start && p->start != reading.start)
        free_members(p); /* another process has the pid now */
    p->start = reading.start ? reading.start : p->start;
    p->ppid = reading.ppid;
    for (struct watch_member *m = p->members; m; m = m->next)
        m->found = 0;
    for (size_t i = 0; i < reading.n_fits; i++) {
        struct watch_member *m = watch_make_member(p, reading.fits[i].job);
        if (m)
            m->found = reading.fits[i].task;
    }
    for (struct watch_member *m = p->members; m; m = m->next) {
        if (watch_wants(w, m->job))
            m->task = found ? watch_task_of(m) : 0;
    }
    if (!w->only_new && !w->only)
        watch_set_due(w, p, 0);
    for (struct watch_member *m = p->members; m; m = m->next) {
        if (watch_wants(w, m->job) && m->task != m->reported)
            report_one(w, p, m, *change);
    }
    watch_prune(p);
    return found;
}
