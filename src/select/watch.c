/* SPDX-License-Identifier: Apache-2.0 */
#include "select/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_HASH 256u
#define ANCESTORS_MOST 64

/* Without events a process is matched again after these times, and then in turn: most programs are executed soon after
 * the fork. */
static const uint64_t again_after_ns[] = {50000000ull, 200000000ull, 1000000000ull, 30000000000ull};
#define AGAIN_LAST (sizeof(again_after_ns) / sizeof(*again_after_ns) - 1)

/* ---- the table ---- */

static struct watch_process **slot_of(const struct watch *w, int32_t pid)
{
    return &w->hash[((uint32_t)pid * 2654435769u) & (w->hash_size - 1)];
}

static struct watch_process *find(const struct watch *w, int32_t pid)
{
    struct watch_process *p = *slot_of(w, pid);
    while (p && p->pid != pid)
        p = p->next;
    return p;
}

static void grow(struct watch *w)
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
            struct watch_process **slot = slot_of(w, p->pid);
            p->next = *slot;
            *slot = p;
        }
    }
    free(old);
}

static struct watch_process *add(struct watch *w, int32_t pid, int32_t ppid)
{
    if (w->n > w->hash_size)
        grow(w);
    struct watch_process *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL; /* it is not recorded */
    struct watch_process **slot = slot_of(w, pid);
    *p = (struct watch_process){.pid = pid, .ppid = ppid, .next = *slot};
    *slot = p;
    w->n++;
    return p;
}

static void drop(struct watch *w, struct watch_process *p)
{
    struct watch_process **slot = slot_of(w, p->pid);
    while (*slot != p)
        slot = &(*slot)->next;
    *slot = p->next;
    free(p);
    w->n--;
}

int watch_init(struct watch *w, watch_match_fn *match, watch_change_fn *change, void *context)
{
    *w = (struct watch){.hash = calloc(FIRST_HASH, sizeof(struct watch_process *)), .hash_size = FIRST_HASH,
                        .due_ns = UINT64_MAX, .match = match, .change = change, .context = context};
    return w->hash ? 0 : -ENOMEM;
}

void watch_done(struct watch *w)
{
    for (size_t i = 0; w->hash && i < w->hash_size; i++) {
        for (struct watch_process *p = w->hash[i], *next; p; p = next) {
            next = p->next;
            free(p);
        }
    }
    free(w->hash);
    free(w->executed);
    w->hash = NULL;
    w->executed = NULL;
}

/* ---- membership ---- */

static void set_due(struct watch *w, struct watch_process *p, uint64_t due_ns)
{
    p->due_ns = due_ns;
    if (due_ns && due_ns < w->due_ns)
        w->due_ns = due_ns;
}

static void report(struct watch *w, struct watch_process *p, struct watch_change change)
{
    if (p->task == p->reported)
        return;
    change.what = p->task ? WATCH_JOIN : WATCH_LEAVE;
    change.task = p->task;
    change.pid = p->pid;
    change.start = p->start;
    change.begin_ns = p->begin_ns;
    change.is_late = change.is_late || p->was_member;
    p->reported = p->task;
    p->was_member = true;
    w->change(w->context, &change);
}

static uint8_t first_of(uint8_t a, uint8_t b)
{
    return !a || (b && b < a) ? b : a;
}

/* The task of a process whose own command fits `matched`. Of a whole task, a member stays one whatever it executes. */
static uint8_t task_of(const struct watch *w, const struct watch_process *p, uint8_t matched)
{
    if (p->pin && w->firm[p->pin])
        return p->pin;
    return first_of(first_of(matched, p->pin), w->whole[p->task] ? p->task : 0);
}

/* Does what it executes not matter, because no rule comes before its pin? */
static bool is_settled(const struct watch *w, const struct watch_process *p)
{
    return p->pin && (w->firm[p->pin] || !w->first_rule || p->pin <= w->first_rule);
}

static void forget(struct watch_process *p)
{
    p->task = p->reported = p->pin = 0;
    p->was_member = false;
}

/* Returns false if it could not be read any more. */
static bool match(struct watch *w, struct watch_process *p, struct watch_change change)
{
    struct watch_look look = {.ppid = p->ppid};
    bool found = w->match(w->context, p->pid, &look);
    w->matched++;
    p->executed_ns = 0;
    if (!found && (p->reported || p->pin))
        return false; /* it is ending */
    if (p->start && look.start && p->start != look.start)
        forget(p); /* another process has the pid now */
    p->start = look.start ? look.start : p->start;
    p->ppid = look.ppid;
    p->task = found ? task_of(w, p, look.task) : 0;
    set_due(w, p, 0);
    report(w, p, change);
    return found;
}

/* Spread over half of the period, so that not all are matched at once. */
static void set_again(struct watch *w, struct watch_process *p, uint64_t now_ns)
{
    uint64_t after = again_after_ns[p->again];
    set_due(w, p, now_ns + after + (uint64_t)(p->pid & 63) * (after / 128));
}

/* ---- events ---- */

/* Its ancestors as far as they are known: one that is not may be `under`. */
static bool may_be_under(const struct watch *w, const struct watch_process *p)
{
    for (int i = 0; w->under && p && i < ANCESTORS_MOST; i++) {
        if (p->ppid == w->under)
            return true;
        if (p->ppid == 1)
            return false;
        p = find(w, p->ppid);
    }
    return true;
}

/* end_ns: 0 if the event of its end was not read yet. */
static void report_unread(struct watch *w, const struct watch_process *p, uint64_t end_ns)
{
    const struct watch_change change = {.what = WATCH_UNREAD, .has_ended = true, .pid = p->pid, .start = p->start,
                                        .begin_ns = p->begin_ns, .end_ns = end_ns};
    if (!p->task && !p->reported && may_be_under(w, p))
        w->change(w->context, &change);
}

static void match_executed(struct watch *w, struct watch_process *p)
{
    uint64_t t_ns = p->executed_ns;
    bool late = !p->begin_ns || p->begin_ns + WATCH_LATE < t_ns;
    if (!match(w, p, (struct watch_change){.is_late = late}))
        report_unread(w, p, 0);
}

void watch_fork(struct watch *w, int32_t pid, int32_t ppid, uint64_t t_ns)
{
    struct watch_process *parent = find(w, ppid), *p = find(w, pid);
    if (p && p->begin_ns && p->begin_ns < t_ns) { /* the event of its end was lost */
        drop(w, p);
        p = NULL;
    }
    if (p) { /* a scan was faster */
        p->begin_ns = p->begin_ns ? p->begin_ns : t_ns;
        return;
    }
    if (parent && parent->executed_ns)
        match_executed(w, parent); /* what it executed decides where its children belong */
    uint8_t task = parent ? parent->task : 0;
    p = add(w, pid, ppid);
    if (!p)
        return;
    p->task = task;
    p->pin = parent ? parent->pin : 0;
    p->begin_ns = t_ns;
    if (task)
        set_due(w, p, t_ns + WATCH_PENDING);
}

void watch_exec(struct watch *w, int32_t pid, uint64_t t_ns)
{
    struct watch_process *p = find(w, pid);
    if (!p)
        p = add(w, pid, 0);
    if (!p || p->executed_ns || is_settled(w, p))
        return;
    if (w->n_executed == w->cap_executed) {
        size_t cap = 2 * w->cap_executed + 64;
        int32_t *grown = realloc(w->executed, cap * sizeof(*grown));
        if (!grown)
            return;
        w->executed = grown;
        w->cap_executed = cap;
    }
    p->executed_ns = t_ns;
    set_due(w, p, 0);
    w->executed[w->n_executed++] = pid;
}

void watch_settle(struct watch *w)
{
    for (size_t i = 0; i < w->n_executed; i++) {
        struct watch_process *p = find(w, w->executed[i]);
        if (p && p->executed_ns)
            match_executed(w, p);
    }
    w->n_executed = 0;
}

void watch_exit(struct watch *w, int32_t pid, uint64_t t_ns, bool has_status, int32_t status)
{
    struct watch_process *p = find(w, pid);
    if (!p)
        return;
    /* A child of a member that executed a program and ended before that was matched is none: most programs are others.
     */
    bool unread = p->executed_ns > 0;
    if (unread)
        p->task = first_of(p->pin, w->whole[p->task] ? p->task : 0);
    if (p->task && !p->reported)
        report(w, p, (struct watch_change){.has_ended = true, .end_ns = t_ns, .has_status = has_status,
                                           .status = status});
    if (unread)
        report_unread(w, p, t_ns);
    drop(w, p);
}

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
    struct watch_process *p = find(w, pid);
    bool is_new = !p;
    if (!p)
        p = add(w, pid, 0);
    if (!p)
        return;
    p->is_seen = true;
    if (!is_new && !w->anew)
        return;
    match(w, p, (struct watch_change){0});
    if (!w->scans)
        return;
    if (!w->scanned) /* it was there before, and has long executed its program */
        p->again = AGAIN_LAST;
    set_again(w, p, now_ns);
}

/* The task, and the pin, that a process has from those above it: of whole tasks, and of the nearest that has any. */
static void take_from_above(const struct watch *w, struct watch_process *p)
{
    const struct watch_process *up = p;
    uint8_t task = 0;
    for (int i = 0; up && i < ANCESTORS_MOST; i++) {
        up = find(w, up->ppid);
        if (!up)
            break;
        p->pin = p->pin || w->firm[up->pin] ? p->pin : up->pin;
        task = task ? task : up->task;
    }
    if (p->pin && w->firm[p->pin])
        return;
    p->task = first_of(first_of(p->task, w->whole[task] ? task : 0), p->pin);
}

void watch_scan_end(struct watch *w)
{
    for (size_t i = 0; i < w->hash_size; i++) {
        for (struct watch_process *p = w->hash[i], *next; p; p = next) {
            next = p->next;
            if (!p->is_seen) {
                drop(w, p);
                continue;
            }
            if (!w->any_whole)
                continue;
            take_from_above(w, p);
            report(w, p, (struct watch_change){0});
        }
    }
    w->scanned = true;
}

/* ---- pins ---- */

static struct watch_process *pin_one(struct watch *w, int32_t pid, uint64_t start, uint8_t task)
{
    struct watch_look look = {0};
    struct watch_process *p = find(w, pid);
    if (!w->match(w->context, pid, &look) || (start && look.start != start))
        return NULL;
    if (p && p->start && p->start != look.start) {
        drop(w, p); /* the event of its end was lost */
        p = NULL;
    }
    p = p ? p : add(w, pid, look.ppid);
    if (!p)
        return NULL;
    p->start = look.start;
    p->ppid = look.ppid;
    p->pin = task;
    p->task = task_of(w, p, look.task);
    return p;
}

static bool is_below(const struct watch *w, const struct watch_process *p, int32_t pid)
{
    for (int i = 0; p && i < ANCESTORS_MOST; i++) {
        if (p->ppid == pid)
            return true;
        p = find(w, p->ppid);
    }
    return false;
}

void watch_pin(struct watch *w, int32_t pid, uint64_t start, uint8_t task, bool is_late)
{
    struct watch_process *p = pin_one(w, pid, start, task);
    if (!p)
        return;
    set_due(w, p, 0);
    report(w, p, (struct watch_change){.is_late = is_late});
    for (size_t i = 0; i < w->hash_size; i++) {
        for (struct watch_process *q = w->hash[i]; q; q = q->next) {
            if (q->pin || !is_below(w, q, pid))
                continue;
            q->pin = task;
            q->task = task_of(w, q, q->task);
            report(w, q, (struct watch_change){.is_late = is_late});
        }
    }
}

void watch_pin_seen(struct watch *w, int32_t pid, uint8_t task, uint64_t now_ns)
{
    struct watch_process *p = find(w, pid);
    if (!p || p->pin != task) {
        bool late = !p || !p->begin_ns || p->begin_ns + WATCH_LATE < now_ns;
        p = pin_one(w, pid, 0, task);
        if (p)
            report(w, p, (struct watch_change){.is_late = late});
    }
    if (p)
        p->is_pin_seen = true;
}

void watch_pins_unseen(struct watch *w)
{
    for (size_t i = 0; i < w->hash_size; i++) {
        for (struct watch_process *p = w->hash[i]; p; p = p->next) {
            bool left = p->pin && w->firm[p->pin] && !p->is_pin_seen;
            p->is_pin_seen = false;
            if (!left)
                continue;
            uint8_t pin = p->pin;
            p->pin = p->task = 0;
            if (!match(w, p, (struct watch_change){0}))
                p->pin = p->task = pin; /* it is ending */
        }
    }
}

/* ---- time ---- */

static void take_turn(struct watch *w, struct watch_process *p, uint64_t now_ns)
{
    set_due(w, p, 0);
    if (!w->scans) {
        report(w, p, (struct watch_change){0});
        return;
    }
    match(w, p, (struct watch_change){0});
    if (p->again < AGAIN_LAST)
        p->again++;
    set_again(w, p, now_ns);
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
