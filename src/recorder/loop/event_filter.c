/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when the kernel drops foreign events (kernel/events/filter.h), and adds the members to the filter.
 *
 * The filter follows the forks of processes that it knows, so it may drop events only once it knows all members. Until
 * then it passes everything, and members are added as they are found. When a drain has read everything that was queued
 * and found no member that the filter did not know, the filter is complete. Example: member A forks B before the filter
 * is attached, and B forks C after that. B is added when its fork is read. The filter did not know B when C was forked,
 * so C is added when C's fork is read. The next drain finds nobody new. If a scan finds another member later, this
 * starts again.
 *
 * Pids stay in the filter when their processes end, because their exits may be read long after. They are all removed at
 * once when there are too many, and then this starts again, too.
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
        if (!m || exits_filter_has(a->filter, m->row.key.pid))
            continue;
        exits_filter_add(a->filter, m->row.key.pid);
        a->filter_behind = true;
    }
    a->filter_found = r->job.started - r->event_forks;
}

static void begin(struct recorder *r)
{
    struct recorders *a = r->all;
    exits_filter_hold_back(a->filter, false);
    exits_filter_clear(a->filter);
    if (r->wrapper && !r->wrapper_lost)
        exits_filter_add(a->filter, r->wrapper); /* the real parent of a child forked with CLONE_PARENT */
    add_members(r);
    a->filter_holds = false;
    a->filter_behind = true;
    a->filter_ended = r->job.ended;
}

static void open_filter(struct recorder *r)
{
    struct recorders *a = r->all;
    a->filter_tried = true;
    if (exits_kind(a->forks) != EXITS_CONNECTOR || exits_filter_open(&a->filter, NULL) < 0)
        return;
    if (exits_filter_attach(a->filter, a->forks) < 0) {
        exits_filter_close(a->filter);
        a->filter = NULL;
        return;
    }
    event_filter_usage(a);
    begin(r);
}

void event_filter_usage(struct recorders *a)
{
    if (a->filter && a->usage && exits_kind(a->usage) == EXITS_TASKSTATS)
        exits_filter_attach(a->filter, a->usage); /* if this fails, all of the machine is reported as before */
}

void event_filter_fork(struct recorder *r, int32_t pid)
{
    struct recorders *a = r->all;
    if (!a->filter || exits_filter_has(a->filter, pid))
        return;
    exits_filter_add(a->filter, pid);
    a->filter_behind = true;
}

/* Reports events that got a sequence number but never arrived. */
static void check_gaps(struct recorder *r)
{
    struct recorders *a = r->all;
    uint32_t gaps = exits_filter_gaps(a->filter);
    if (gaps != a->filter_gaps)
        event_lost(r, gaps - a->filter_gaps);
    a->filter_gaps = gaps;
}

void event_filter(struct recorder *r, int events)
{
    struct recorders *a = r->all;
    if (!a->filter) {
        if (!a->filter_tried && a->foreign_forks >= FOREIGN_LEAST)
            open_filter(r);
        return;
    }
    check_gaps(r);
    if (r->job.started - r->event_forks != a->filter_found)
        add_members(r);
    bool behind = a->filter_behind || events > EVENTS_OF_DRAIN;
    a->filter_behind = false;
    if (a->filter_holds && (a->foreign_forks >= FOREIGN_AGAIN || r->job.ended - a->filter_ended >= ENDED_MOST)) {
        begin(r);
    } else if (behind == a->filter_holds) {
        a->filter_holds = !behind;
        a->foreign_forks = 0;
        exits_filter_hold_back(a->filter, a->filter_holds);
    }
}
