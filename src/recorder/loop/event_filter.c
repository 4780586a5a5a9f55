/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when the kernel drops foreign events (kernel/events/filter.h), and adds the members to the filter.
 *
 * The filter follows the forks of processes that it knows, so it may drop events only once it knows all members. Until
 * then it passes everything, and members are added as they are found. When a drain has read everything that was queued
 * and found no member that the filter did not know, the filter is complete. Example: member A forks B before the filter
 * is attached, and B forks C after that. B is added when its fork is read. The filter did not know B when C was forked,
 * so C is added when C's fork is read. The next drain finds nobody new. If a scan finds another member later, the
 * filter is incomplete again, and passes everything until it is complete.
 *
 * Pids stay in the filter when their processes end, because their exits may be read long after. When there are too
 * many, all pids are removed at once, and the members are added again in the same way.
 */
#include "recorder/loop/recorder.h"

#define FOREIGN_LEAST 64u    /* foreign forks; attaching the filter costs as much as reading some hundred events */
#define FOREIGN_AGAIN 256u   /* foreign forks that passed, because pids share a slot with a member */
#define ENDED_MOST 8192u     /* pids in the filter whose processes have ended */
#define EVENTS_OF_DRAIN 4096 /* after more events, more may be queued */

static void add_members(struct recorder *r)
{
    struct recorders *a = r->all;
    for (size_t i = 0; i < r->job.tree.n; i++) {
        const struct member *m = r->job.tree.at[i];
        if (!m || exits_filter_has(a->filter.in_kernel, m->row.key.pid))
            continue;
        exits_filter_add(a->filter.in_kernel, m->row.key.pid);
        a->filter.is_behind = true;
    }
    a->filter.found = r->job.counts.started - r->events.forks;
}

static void begin_dropping(struct recorder *r)
{
    struct recorders *a = r->all;
    exits_filter_hold_back(a->filter.in_kernel, false);
    exits_filter_clear(a->filter.in_kernel);
    if (r->wrapper.pid && !r->wrapper.is_lost)
        exits_filter_add(a->filter.in_kernel, r->wrapper.pid); /* the real parent of a child forked with CLONE_PARENT */
    add_members(r);
    a->filter.holds = false;
    a->filter.is_behind = true;
    a->filter.ended = r->job.counts.ended;
}

static void open_filter(struct recorder *r)
{
    struct recorders *a = r->all;
    a->filter.tried = true;
    if (exits_kind(a->events.forks) != EXITS_CONNECTOR || exits_filter_open(&a->filter.in_kernel, NULL) < 0)
        return;
    if (exits_filter_attach(a->filter.in_kernel, a->events.forks) < 0) {
        exits_filter_close(a->filter.in_kernel);
        a->filter.in_kernel = NULL;
        return;
    }
    event_filter_usage(a);
    begin_dropping(r);
}

void event_filter_usage(struct recorders *a)
{
    if (a->filter.in_kernel && a->events.usage && exits_kind(a->events.usage) == EXITS_TASKSTATS)
        exits_filter_attach(a->filter.in_kernel,
                            a->events.usage); /* if this fails, events of the whole machine are reported as before */
}

void event_filter_fork(struct recorder *r, int32_t pid)
{
    struct recorders *a = r->all;
    if (!a->filter.in_kernel || exits_filter_has(a->filter.in_kernel, pid))
        return;
    exits_filter_add(a->filter.in_kernel, pid);
    a->filter.is_behind = true;
}

/* Reports events that got a sequence number but never arrived. */
static void check_gaps(struct recorder *r)
{
    struct recorders *a = r->all;
    uint32_t gaps = exits_filter_gaps(a->filter.in_kernel);
    if (gaps != a->filter.gaps)
        event_lost(r, gaps - a->filter.gaps);
    a->filter.gaps = gaps;
}

void event_filter(struct recorder *r, int events)
{
    struct recorders *a = r->all;
    if (!a->filter.in_kernel) {
        if (!a->filter.tried && a->filter.foreign_forks >= FOREIGN_LEAST)
            open_filter(r);
        return;
    }
    check_gaps(r);
    if (r->job.counts.started - r->events.forks != a->filter.found)
        add_members(r);
    bool behind = a->filter.is_behind || events > EVENTS_OF_DRAIN;
    a->filter.is_behind = false;
    if (a->filter.holds &&
        (a->filter.foreign_forks >= FOREIGN_AGAIN || r->job.counts.ended - a->filter.ended >= ENDED_MOST)) {
        begin_dropping(r);
    } else if (behind == a->filter.holds) {
        a->filter.holds = !behind;
        a->filter.foreign_forks = 0;
        exits_filter_hold_back(a->filter.in_kernel, a->filter.holds);
    }
}
