/* SPDX-License-Identifier: Apache-2.0 */
/* Scans, jobs that come and go, and pins. */
#include <errno.h>

#include "base/array.h"
#include "recorder/select/watch_state.h"

static const struct watch_change none = {0};

/* ---- scans ---- */

void watch_scan_begin(struct watch *w, bool anew)
{
    w->anew = anew;
    for (size_t i = 0; i < w->hash_size; i++) {
        for (struct watch_process *p = w->hash[i]; p; p = p->next)
            p->is_seen = false;
    }
}

void watch_scan(struct watch *w, int32_t pid, uint64_t now_ns)
{
    struct watch_process *p = watch_find(w, pid);
    bool is_new = !p;
    if (!p)
        p = watch_add_process(w, pid, 0);
    if (!p)
        return;
    p->is_seen = true;
    if (!is_new && !w->anew)
        return;
    watch_match(w, p, &none);
    if (!w->scans)
        return;
    if (!w->scanned) /* it was there before, and has long executed its program */
        p->again = WATCH_AGAIN_LAST;
    watch_set_again(w, p, now_ns);
}

/* Pins of the nearest process above it that has any; m->found becomes the task of the nearest one that is in any. */
static void look_above(const struct watch *w, struct watch_process *p)
{
    const struct watch_process *up = p;
    for (struct watch_member *m = p->members; m; m = m->next)
        m->found = 0;
    for (int i = 0; i < WATCH_ANCESTORS_MOST; i++) {
        up = watch_find(w, up->ppid);
        if (!up)
            return;
        for (const struct watch_member *of = up == p ? NULL : up->members; of; of = of->next) {
            if (!of->job->any_whole || !watch_wants(w, of->job) || !(of->task || of->pin))
                continue;
            struct watch_member *m = watch_make_member(p, of->job);
            if (!m)
                continue;
            m->pin = m->pin || of->job->firm[of->pin] ? m->pin : of->pin;
            m->found = m->found ? m->found : of->task;
        }
    }
}

/* The task, and the pin, that a process has from those above it: of whole tasks. */
static void take_from_above(struct watch *w, struct watch_process *p)
{
    look_above(w, p);
    for (struct watch_member *m = p->members; m; m = m->next) {
        const struct watch_job *job = m->job;
        if (!job->any_whole || !watch_wants(w, job) || (m->pin && job->firm[m->pin]))
            continue;
        m->task = watch_first_of(watch_first_of(m->task, job->whole[m->found] ? m->found : 0), m->pin);
    }
    watch_report(w, p, &none);
    watch_prune(p);
}

static void all_take_from_above(struct watch *w)
{
    for (size_t i = 0; w->any_whole && i < w->hash_size; i++) {
        for (struct watch_process *p = w->hash[i]; p; p = p->next)
            take_from_above(w, p);
    }
}

void watch_scan_end(struct watch *w)
{
    for (size_t i = 0; i < w->hash_size; i++) {
        for (struct watch_process *p = w->hash[i], *next; p; p = next) {
            next = p->next;
            if (!p->is_seen)
                watch_drop_process(w, p);
        }
    }
    all_take_from_above(w);
    w->scanned = true;
}

/* ---- jobs ---- */

static void count_jobs(struct watch *w)
{
    w->n_with_rules = 0;
    w->any_whole = w->any_under = false;
    for (size_t i = 0; i < w->n_jobs; i++) {
        w->n_with_rules += w->jobs[i]->first_rule != 0;
        w->any_whole |= w->jobs[i]->any_whole;
        w->any_under |= w->jobs[i]->under != 0;
    }
}

int watch_add(struct watch *w, struct watch_job *job)
{
    if (array_reserve(&w->jobs, w->n_jobs + 1, &w->cap_jobs, sizeof(*w->jobs)) < 0)
        return -ENOMEM;
    for (unsigned i = 0; i < sizeof(job->whole); i++)
        job->any_whole |= job->whole[i];
    job->is_new = true;
    w->jobs[w->n_jobs++] = job;
    count_jobs(w);
    return 0;
}

static void forget_job(struct watch_process *p, const struct watch_job *job)
{
    struct watch_member *m = watch_member_of(p, job);
    if (!m)
        return;
    m->task = m->reported = m->pin = 0;
    m->was_member = false;
    watch_prune(p);
}

void watch_remove(struct watch *w, struct watch_job *job)
{
    for (size_t i = 0; i < w->hash_size; i++) {
        for (struct watch_process *p = w->hash[i]; p; p = p->next)
            forget_job(p, job);
    }
    for (size_t i = 0; i < w->n_jobs; i++) {
        if (w->jobs[i] == job)
            w->jobs[i--] = w->jobs[--w->n_jobs];
    }
    count_jobs(w);
}

void watch_match_new(struct watch *w)
{
    w->only_new = true;
    for (size_t i = 0; i < w->hash_size; i++) {
        for (struct watch_process *p = w->hash[i]; p; p = p->next)
            watch_match(w, p, &none);
    }
    all_take_from_above(w);
    w->only_new = false;
}

/* ---- pins ---- */

static struct watch_process *pin_one(struct watch *w, const struct watch_pinned *pin)
{
    struct watch_reading reading = {0};
    struct watch_process *p = watch_find(w, pin->pid);
    w->only = pin->job;
    bool found = w->match(w->context, pin->pid, &reading);
    w->only = NULL;
    if (!found || (pin->start && reading.start != pin->start))
        return NULL;
    if (p && p->start && p->start != reading.start) {
        watch_drop_process(w, p); /* the event of its end was lost */
        p = NULL;
    }
    p = p ? p : watch_add_process(w, pin->pid, reading.ppid);
    struct watch_member *m = p ? watch_make_member(p, pin->job) : NULL;
    if (!m)
        return NULL;
    p->start = reading.start;
    p->ppid = reading.ppid;
    m->pin = pin->task;
    m->found = reading.n_fits ? reading.fits[0].task : 0;
    m->task = watch_task_of(m);
    return p;
}

static bool is_below(const struct watch *w, const struct watch_process *p, int32_t pid)
{
    for (int i = 0; p && i < WATCH_ANCESTORS_MOST; i++) {
        if (p->ppid == pid)
            return true;
        p = watch_find(w, p->ppid);
    }
    return false;
}

void watch_pin(struct watch *w, const struct watch_pinned *pin)
{
    const struct watch_change change = {.is_late = pin->is_late};
    struct watch_process *p = pin_one(w, pin);
    if (!p)
        return;
    watch_set_due(w, p, 0);
    watch_report(w, p, &change);
    for (size_t i = 0; i < w->hash_size; i++) {
        for (struct watch_process *q = w->hash[i]; q; q = q->next) {
            struct watch_member *m = is_below(w, q, pin->pid) ? watch_make_member(q, pin->job) : NULL;
            if (!m || m->pin)
                continue;
            m->pin = pin->task;
            m->found = m->task;
            m->task = watch_task_of(m);
            watch_report(w, q, &change);
        }
    }
}

void watch_pin_seen(struct watch *w, struct watch_job *job, int32_t pid, uint8_t task, uint64_t now_ns)
{
    struct watch_process *p = watch_find(w, pid);
    struct watch_member *m = p ? watch_member_of(p, job) : NULL;
    if (!m || m->pin != task) {
        bool late = !p || !p->begin_ns || p->begin_ns + WATCH_LATE < now_ns;
        p = pin_one(w, &(struct watch_pinned){.job = job, .task = task, .pid = pid});
        if (p)
            watch_report(w, p, &(struct watch_change){.is_late = late});
        m = p ? watch_member_of(p, job) : NULL;
    }
    if (m)
        m->is_pin_seen = true;
}

/* It has left the control group: its command decides. */
static void unpin(struct watch *w, struct watch_process *p, struct watch_job *job)
{
    struct watch_member *m = watch_member_of(p, job);
    uint8_t pin = m->pin;
    m->pin = m->task = 0;
    w->only = job;
    bool found = watch_match(w, p, &none);
    w->only = NULL;
    m = watch_member_of(p, job);
    if (!found && m)
        m->pin = m->task = pin; /* it is ending */
}

static struct watch_member *one_that_left(const struct watch_process *p)
{
    struct watch_member *m = p->members;
    while (m && !m->has_left)
        m = m->next;
    return m;
}

static void drop_unseen(struct watch *w, struct watch_process *p)
{
    for (struct watch_member *m = p->members; m; m = m->next) {
        if (!m->job->is_walked)
            continue;
        m->has_left = m->pin && m->job->firm[m->pin] && !m->is_pin_seen;
        m->is_pin_seen = false;
    }
    for (struct watch_member *m; (m = one_that_left(p)) != NULL;) {
        m->has_left = false;
        unpin(w, p, m->job);
    }
}

void watch_pins_unseen(struct watch *w)
{
    for (size_t i = 0; i < w->hash_size; i++) {
        for (struct watch_process *p = w->hash[i]; p; p = p->next)
            drop_unseen(w, p);
    }
    for (size_t i = 0; i < w->n_jobs; i++)
        w->jobs[i]->is_walked = false;
}
