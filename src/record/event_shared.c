/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event source of an observer (exits/observer.c), used by the recorder of `run` and of `record --pid`.
 *
 * The observer reports the processes that it was asked to follow, and all that they fork from then on. A command's
 * wrapper asks for itself before it starts the command, so nothing is missed. When a running process is attached to,
 * members are followed and their children listed until nobody new is found; the same is done after events were lost,
 * since the observer has forgotten all processes then.
 *
 * If the observer ends, or does not reply, the recorder opens the source that it would have used without. What happened
 * in between is not known, so counts are lower bounds from then on.
 */
#include "record/recorder.h"

#include "base/clock.h"

#define PASSES 32u
#define ASKED_AT_ONCE 256u
#define REPLY_NS (2 * NS_PER_SEC) /* a busy machine; this recorder takes no samples meanwhile */
#define REPLY_AT_END_NS (500 * NS_PER_MS) /* the wrapper waits for a second */

static bool is_shared(const struct recorders *a)
{
    return a->forks && exits_kind(a->forks) == EXITS_OBSERVER;
}

/*
 * What a parent takes over from a child that it reaps is compared with what is known of the child (job/ledger.c), so
 * the child has to be known when the parent is read. The observer is asked for all events just before. A child that
 * begins and ends between its reply and the read is reported later: it is marked then, and not compared.
 */
void event_before_tick(struct recorder *r)
{
    if (is_shared(r->all))
        event_drain_whole(r->all);
}

void event_settled(struct recorder *r)
{
    if (is_shared(r->all))
        r->settled_ns = recorder_since(r, clock_monotonic_ns());
}

void event_settle(struct recorder *r)
{
    if (is_shared(r->all))
        event_catch_up(r);
    sampler_settle(&r->sampler);
    event_settled(r);
}

bool event_may_share(const struct record_options *o)
{
    return !o->no_events && o->children && !o->select && !o->cgroup && !o->host_alone;
}

int event_share(struct recorder *r, int fd, struct exits_source **ret)
{
    struct recorders *a = r->all;
    if (fd < 0)
        fd = exits_observer_connect(false, NULL);
    int code = fd < 0 ? fd : exits_observer_take(ret, fd, NULL);
    if (code < 0)
        return code;
    a->usage_tried = true; /* one source for both */
    a->stash_long = true;  /* usage comes before the fork that it belongs to */
    if (exits_observer_has_usage(*ret))
        a->usage = *ret;
    r->job.ends_reported = a->usage != NULL;
    return 0;
}

int event_drain_shared(struct recorders *a, exits_event_fn *fn)
{
    bool whole = a->whole;
    a->whole = false;
    return whole ? exits_observer_sync(a->forks, a->only->finishing ? REPLY_AT_END_NS : REPLY_NS, fn, a)
                 : exits_drain(a->forks, fn, a);
}

/* ---- following ---- */

static size_t follow_some(struct recorder *r, bool self, struct member **added)
{
    struct exits_pid pids[ASKED_AT_ONCE];
    size_t n = 0;
    for (size_t i = 0; i < r->job.tree.n && n < ASKED_AT_ONCE; i++) {
        struct member *m = r->job.tree.at[i];
        if (!m || m->followed || member_has_ended(m))
            continue;
        if (!m->stat_was_read && sampler_read_member(&r->sampler, m) < 0)
            continue; /* it has ended */
        m->followed = true;
        added[n] = m;
        pids[n++] = (struct exits_pid){m->row.key.pid, m->row.key.start};
    }
    exits_observer_follow(r->all->forks, self, pids, n);
    return n;
}

static bool follow_all(struct recorder *r)
{
    struct member *added[ASKED_AT_ONCE];
    bool self = r->share_again && r->wrapper && !r->wrapper_lost;
    size_t n = follow_some(r, self, added);
    r->share_again = false;
    if (!n && !self)
        return false;
    r->all->whole = true;
    event_read(r->all);
    sampler_advance(&r->sampler);
    for (size_t i = 0; i < n; i++) {
        if (!member_is_gone(added[i]) && !member_has_ended(added[i]))
            sampler_scan_children(&r->sampler, added[i]);
    }
    return n > 0;
}

void event_follow(struct recorder *r)
{
    if (!is_shared(r->all) || (!r->share_again && r->job.started - r->event_forks == r->share_found))
        return;
    for (unsigned pass = 0; pass < PASSES && follow_all(r); pass++)
        continue;
    r->share_found = r->job.started - r->event_forks;
}

void event_share_lost(struct recorder *r)
{
    if (!is_shared(r->all))
        return;
    for (size_t i = 0; i < r->job.tree.n; i++) {
        if (r->job.tree.at[i])
            r->job.tree.at[i]->followed = r->job.tree.at[i]->covered = false;
    }
    r->share_again = true;
}

/* ---- the end of the observer ---- */

static void close_shared(struct recorder *r)
{
    struct recorders *a = r->all;
    epoll_ctl(a->epoll_fd, EPOLL_CTL_DEL, exits_fd(a->forks), NULL); /* a helper may have the descriptor as well */
    exits_close(a->forks);
    a->forks = a->usage = NULL;
    a->listening = a->unpollable = a->usage_tried = false;
    a->drain_due_ns = 0;
    r->job.ends_reported = false;
}

/* As at the start of a recording, but others may have come and gone unseen. */
static void open_own(struct recorder *r)
{
    struct exits_source *source;
    bool heard = exits_connector_open(&source, NULL) == 0;
    r->job.events = heard;
    sampler_scan_always(&r->sampler, !heard);
    if (heard)
        event_use(r, source);
    recorder_event(r, BARO_EVENT_SOURCE, NULL, 1, heard ? exits_name(source) : "scan");
    if (heard)
        event_open_usage(r);
    if (!r->all->usage)
        r->perf_due_ns = clock_monotonic_ns();
    recorder_event(r, BARO_EVENT_SOURCE, NULL, 0,
                   r->all->usage ? exits_name(r->all->usage) : r->wrapper ? "wait4" : "none");
}

bool event_share_is_over(const struct recorders *a)
{
    return is_shared(a) && exits_observer_is_over(a->forks);
}

void event_share_check(struct recorder *r)
{
    if (!event_share_is_over(r->all))
        return;
    event_lost(r, 1);
    close_shared(r);
    if (!r->finishing)
        open_own(r);
}
