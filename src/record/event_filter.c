/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when the kernel drops foreign events (exits/filter.h), and adds the members to the filter.
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
#include "record/recorder.h"

#define FOREIGN_LEAST 64u    /* foreign forks; attaching the filter costs as much as reading some hundred events */
#define FOREIGN_AGAIN 256u   /* foreign forks that passed, because pids share a slot with a member */
#define ENDED_MOST 8192u     /* pids in the filter whose processes have ended */
#define EVENTS_OF_DRAIN 4096 /* after more events, more may be queued */

static void add_members(struct recorder *r)
{
    for (size_t i = 0; i < r->job.tree.n; i++) {
        const struct member *m = r->job.tree.at[i];
        if (!m || exits_filter_has(r->filter, m->row.key.pid))
            continue;
        exits_filter_add(r->filter, m->row.key.pid);
        r->filter_behind = true;
    }
    r->filter_found = r->job.started - r->event_forks;
}

static void begin(struct recorder *r)
{
    exits_filter_hold_back(r->filter, false);
    exits_filter_clear(r->filter);
    if (r->wrapper && !r->wrapper_lost)
        exits_filter_add(r->filter, r->wrapper); /* the real parent of a child forked with CLONE_PARENT */
    add_members(r);
    r->filter_holds = false;
    r->filter_behind = true;
    r->filter_ended = r->job.ended;
}

static void open_filter(struct recorder *r)
{
    r->filter_tried = true;
    if (exits_kind(r->forks) != EXITS_CONNECTOR || exits_filter_open(&r->filter, NULL) < 0)
        return;
    if (exits_filter_attach(r->filter, r->forks) < 0) {
        exits_filter_close(r->filter);
        r->filter = NULL;
        return;
    }
    event_filter_usage(r);
    begin(r);
}

void event_filter_usage(struct recorder *r)
{
    if (r->filter && r->usage && exits_kind(r->usage) == EXITS_TASKSTATS)
        exits_filter_attach(r->filter, r->usage); /* if this fails, all of the machine is reported as before */
}

void event_filter_fork(struct recorder *r, int32_t pid)
{
    if (!r->filter || exits_filter_has(r->filter, pid))
        return;
    exits_filter_add(r->filter, pid);
    r->filter_behind = true;
}

/* Reports events that got a sequence number but never arrived. */
static void check_gaps(struct recorder *r)
{
    uint32_t gaps = exits_filter_gaps(r->filter);
    if (gaps != r->filter_gaps)
        event_lost(r, gaps - r->filter_gaps);
    r->filter_gaps = gaps;
}

void event_filter(struct recorder *r, int events)
{
    if (!r->filter) {
        if (!r->filter_tried && r->foreign_forks >= FOREIGN_LEAST)
            open_filter(r);
        return;
    }
    check_gaps(r);
    if (r->job.started - r->event_forks != r->filter_found)
        add_members(r);
    bool behind = r->filter_behind || events > EVENTS_OF_DRAIN;
    r->filter_behind = false;
    if (r->filter_holds && (r->foreign_forks >= FOREIGN_AGAIN || r->job.ended - r->filter_ended >= ENDED_MOST)) {
        begin(r);
    } else if (behind == r->filter_holds) {
        r->filter_holds = !behind;
        r->foreign_forks = 0;
        exits_filter_hold_back(r->filter, r->filter_holds);
    }
}
