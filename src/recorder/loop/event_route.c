/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the event sources, and passes each event to the recorders that it is about: the only one, or those of the jobs
 * that the process, or the parent of a new one, is a member of. */
#include "base/clock.h"
#include "recorder/loop/recorder.h"

/* Sets the recorder's time to the current time, except within its own tick. */
static struct recorder *prepared(struct recorders *a, struct recorder *r)
{
    if (!r->events.is_active && r != a->ticking)
        sampler_advance(&r->sampler);
    event_activate(r);
    return r;
}

/* Finds the recorders that have the process of the event, or its parent, as a member. */
static size_t find_recorders(struct recorders *a, const struct exits_event *e, void *const **ret)
{
    return member_index_find(&a->members, e->pid, e->kind == EVENT_FORK ? e->ppid : 0, ret);
}

static void on_forks(void *context, const struct exits_event *e)
{
    struct recorders *a = context;
    void *const *about = NULL;
    if (a->only) {
        event_apply(a->only, e);
        return;
    }
    size_t n = e->kind == EVENT_LOST ? 0 : find_recorders(a, e, &about);
    for (size_t i = 0; i < n; i++)
        event_apply(prepared(a, about[i]), e);
    for (size_t i = 0; e->kind == EVENT_LOST && i < a->n; i++)
        event_apply(prepared(a, a->due[i].recorder), e);
}

static void on_usage(void *context, const struct exits_event *e)
{
    struct recorders *a = context;
    void *const *about = NULL;
    size_t n = a->only || e->kind == EVENT_LOST ? 0 : find_recorders(a, e, &about);
    for (size_t i = 0; i < n; i++)
        event_apply_usage(prepared(a, about[i]), e);
    if (a->only && e->kind != EVENT_LOST)
        event_apply_usage(a->only, e);
    else if (a->only)
        event_lost_usage(a->only, e->count);
    else if (e->kind != EVENT_LOST && (a->select.first || !n))
        event_stash(a, e); /* a process that is selected may join a job after its end */
    for (size_t i = 0; !a->only && e->kind == EVENT_LOST && i < a->n; i++)
        event_lost_usage(prepared(a, a->due[i].recorder), e->count);
}

int event_read(struct recorders *a)
{
    a->events.read_until_ns = clock_monotonic_ns();
    int events = exits_drain(a->events.forks, on_forks, a);
    if (a->events.usage && a->events.usage != a->events.forks)
        exits_drain(a->events.usage, on_usage, a);
    if (a->only)
        tasks_look(a->only);
    for (struct recorder *r = a->only ? NULL : a->events.active; r; r = r->events.next_active)
        tasks_look(r);
    return events;
}
