/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the event sources, and passes each event to the recorders that it is about: the only one, or those of the jobs
 * that the process, or the parent of a new one, is a member of. */
#include "record/recorder.h"

#define DRAINS_MOST 8u
#define LEFT_LEAST (64u << 10) /* bytes; a drain leaves less unless there is more than it may read */

/* This recorder's times are those of now, except within its own tick. */
static struct recorder *prepared(struct recorders *a, struct recorder *r)
{
    if (!r->active && r != a->ticking)
        sampler_advance(&r->sampler);
    event_activate(r);
    return r;
}

/* The recorders whose member is the process of the event, or its parent. */
static size_t find(struct recorders *a, const struct exits_event *e, void *const **ret)
{
    return directory_find(&a->members, e->pid, e->kind == EVENT_FORK ? e->ppid : 0, ret);
}

/* The source of an observer reports usage as well. */
static void apply_own(struct recorder *r, const struct exits_event *e)
{
    if (!e->of_usage)
        event_apply(r, e);
    else if (e->kind == EVENT_LOST)
        event_lost_usage(r, e->count);
    else
        event_apply_usage(r, e);
}

static const struct exits_event *stashed(const struct recorders *a, const struct exits_event *fork)
{
    const struct stash *st = a->stash ? &a->stash[(uint32_t)fork->pid % a->stash_size] : NULL;
    return st && st->pid == fork->pid && st->event.t_ns >= fork->t_ns ? &st->event : NULL;
}

static void on_forks(void *context, const struct exits_event *e)
{
    struct recorders *a = context;
    void *const *about = NULL;
    if (a->only) {
        if (!event_is_repeated(a->only, e))
            apply_own(a->only, e);
        return;
    }
    share_forks(a->share, e, a->share && e->kind == EVENT_FORK ? stashed(a, e) : NULL);
    size_t n = e->kind == EVENT_LOST ? 0 : find(a, e, &about);
    for (size_t i = 0; i < n; i++)
        event_apply(prepared(a, about[i]), e);
    for (size_t i = 0; e->kind == EVENT_LOST && i < a->n; i++)
        event_apply(prepared(a, a->due[i]), e);
}

static void on_usage(void *context, const struct exits_event *e)
{
    struct recorders *a = context;
    void *const *about = NULL;
    size_t n = a->only || e->kind == EVENT_LOST ? 0 : find(a, e, &about);
    bool shared = share_usage(a->share, e);
    for (size_t i = 0; i < n; i++)
        event_apply_usage(prepared(a, about[i]), e);
    if (a->only && e->kind != EVENT_LOST)
        event_apply_usage(a->only, e);
    else if (a->only)
        event_lost_usage(a->only, e->count);
    else if (e->kind != EVENT_LOST && (a->selecting || (!n && !shared)))
        event_stash(a, e); /* a process that is selected may join a job after its end */
    for (size_t i = 0; !a->only && e->kind == EVENT_LOST && i < a->n; i++)
        event_lost_usage(prepared(a, a->due[i]), e->count);
}

/* What a drain left of a storm is read as well: recorders that have asked for all until now are told that these were
 * all. */
static int drain_all(struct recorders *a, struct exits_source *s, exits_event_fn *fn)
{
    int events = exits_drain(s, fn, a);
    for (unsigned i = 0; a->share && i < DRAINS_MOST && exits_memory(s) > LEFT_LEAST; i++)
        events += exits_drain(s, fn, a);
    return events;
}

int event_read(struct recorders *a)
{
    bool others = exits_kind(a->forks) == EXITS_OBSERVER;
    int events = others ? event_drain_shared(a, on_forks) : drain_all(a, a->forks, on_forks);
    if (a->usage && a->usage != a->forks)
        drain_all(a, a->usage, on_usage);
    share_drained(a->share);
    share_flush(a->share);
    if (a->only)
        tasks_look(a->only);
    for (struct recorder *r = a->only ? NULL : a->active; r; r = r->active_next)
        tasks_look(r);
    return events;
}
