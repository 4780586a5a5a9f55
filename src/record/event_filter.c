/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the kernel holds back what is foreign (exits/filter.h), and what it has to know for that: who is a member.
 *
 * The filter follows the forks of those that it knows. So it holds back only once it knows all: everything passes,
 * members are made known as they are found, and when all that was queued has been read without anybody new to it,
 * nobody is left. Example: a member A forks B before the filter is attached, and B forks C after that. B is made known
 * when its fork is read, C, whom the filter did not see as a member's child, when its own is; a reading later all of
 * theirs are. Who is found by other means (a scan) begins that anew.
 *
 * Pids stay known when their processes end, as their ends may be read long after; they are forgotten all at once, which
 * begins it anew as well.
 */
#include "record/recorder.h"

#define FOREIGN_LEAST 64u      /* forks of others; attaching it costs as much as reading some hundred events */
#define FOREIGN_AGAIN 256u     /* that passed because they share a slot with somebody, or inherited it */
#define ENDED_MOST 8192u       /* pids that are known and nobody's */
#define EVENTS_OF_DRAIN 4096   /* more than that, and there may be more in the queue */

static void know_all(struct recorder *r)
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
        exits_filter_add(r->filter, r->wrapper); /* the parent of whom a member forks with CLONE_PARENT */
    know_all(r);
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
        exits_filter_attach(r->filter, r->usage); /* not, and it tells of all as before */
}

void event_filter_fork(struct recorder *r, int32_t pid)
{
    if (!r->filter || exits_filter_has(r->filter, pid))
        return;
    exits_filter_add(r->filter, pid);
    r->filter_behind = true;
}

/* Numbers that the kernel's events had and that reached nobody. */
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
        know_all(r);
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
