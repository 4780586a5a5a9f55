/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event source of an observer (exits/observer.c), used by the recorder of `run` and of `record --pid`.
 *
 * The observer reports the processes that it was asked to follow, and all that they fork from then on. A command's
 * wrapper asks for itself before it starts the command, so nothing is missed, however late the observer replies. Until
 * then the connector is used, if this user may: a busy machine may run the observer a second later.
 *
 * When a running process is attached to, members are followed and their children listed until nobody new is found; the
 * same is done after events were lost, since the observer has forgotten all processes then.
 *
 * If the observer ends, or does not reply, the recorder opens the source that it would have used without. What happened
 * in between is not known, so counts are lower bounds from then on.
 */
#include "record/recorder.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"

#define PASSES 32u
#define ASKED_AT_ONCE 256u
#define PROMPT_NS (10 * NS_PER_MS)
#define FIRST_REPLY_NS (800 * NS_PER_MS) /* where there is no other source */
#define DRAINED 4096                     /* after more events, more may be queued */
#define TOLD_TWICE (20 * NS_PER_MS)      /* between the time of an event and its arrival */
/* While 100 recorded shells forked on one CPU that had other work as well, observers at nice 0 replied after more than
 * 2 s. */
#define REPLY_NS (10 * NS_PER_SEC)
#define REPLY_ATTACHED_NS (2 * NS_PER_SEC) /* a signal may be waiting */
#define REPLY_AT_END_NS (500 * NS_PER_MS)  /* the wrapper waits for a second */

static bool is_shared(const struct recorders *a)
{
    return a->forks && exits_kind(a->forks) == EXITS_OBSERVER;
}

/*
 * What a parent takes over from a child that it reaps is compared with what is known of the child (job/ledger.c), so
 * the child has to be known when the parent is read. The observer is asked for all events just before. A child that
 * begins and ends between its reply and the read is reported later: it is marked then, and not compared. If the reply
 * does not come soon, nothing is compared, and the exits wait for a later tick.
 */
void event_before_tick(struct recorder *r)
{
    if (!is_shared(r->all))
        return;
    r->all->soon = true;
    event_drain_whole(r->all);
    r->all->soon = false;
}

void event_settled(struct recorder *r)
{
    if (is_shared(r->all) && !r->job.behind)
        r->settled_ns = recorder_since(r, clock_monotonic_ns());
}

void event_settle(struct recorder *r)
{
    r->all->settling = true;
    if (is_shared(r->all))
        event_catch_up(r);
    r->all->settling = false;
    sampler_settle(&r->sampler);
    event_settled(r);
}

bool event_may_share(const struct record_options *o)
{
    return !o->no_events && o->children && !o->select && !o->cgroup && !o->host_alone;
}

static void use_shared(struct recorder *r, struct exits_source *s)
{
    struct recorders *a = r->all;
    a->usage_tried = true; /* one source for both */
    a->stash_long = true;  /* usage comes before the fork that it belongs to */
    if (exits_observer_has_usage(s))
        a->usage = s;
    r->job.ends_reported = a->usage != NULL;
}

/* The loop wakes up when it replies. */
static void keep_offer(struct recorders *a, struct exits_source *s)
{
    struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = (uint64_t)exits_fd(s)};
    if (epoll_ctl(a->epoll_fd, EPOLL_CTL_ADD, exits_fd(s), &e) == 0)
        a->offer = s;
    else
        exits_close(s);
}

int event_share(struct recorder *r, int fd, bool has_other, struct exits_source **ret)
{
    struct exits_source *s = NULL;
    if (fd < 0)
        fd = exits_observer_connect(false, NULL);
    int code = fd < 0 ? fd : exits_observer_take(&s, fd);
    if (code < 0)
        return code;
    code = exits_observer_await(s, has_other ? PROMPT_NS : FIRST_REPLY_NS);
    if (code == 0) {
        use_shared(r, s);
        *ret = s;
    } else if (code == -EAGAIN && has_other) {
        keep_offer(r->all, s);
    } else {
        exits_close(s);
    }
    return code;
}

/* Both sources give an event the same time. A fork that is told of twice is known by its process, or by the exit that
 * was reported of it; but of these only the last ones are kept (job_was_reported()). */
bool event_is_repeated(const struct recorder *r, const struct exits_event *e)
{
    uint64_t since = r->all->since_ns;
    if (e->t_ns >= since || e->of_usage || e->kind == EVENT_LOST || !is_shared(r->all))
        return false;
    if (e->kind != EVENT_FORK && e->kind != EVENT_EXIT)
        return true;
    const struct member *g = e->kind == EVENT_FORK ? r->job.gone : NULL;
    while (g && (g->row.key.pid != e->pid || g->begin_ns != recorder_since(r, e->t_ns)))
        g = g->list_next;
    return g || e->t_ns + TOLD_TWICE < since;
}

int event_drain_shared(struct recorders *a, exits_event_fn *fn)
{
    struct recorder *r = a->only;
    uint64_t most_ns = r->wrapper ? REPLY_NS : REPLY_ATTACHED_NS;
    const struct exits_patience p = {.most_ns = r->finishing ? REPLY_AT_END_NS : most_ns,
                                     .at_end_ns = REPLY_AT_END_NS,
                                     .pid = r->command,
                                     .soon = a->soon && !r->finishing};
    bool whole = a->whole;
    a->whole = false;
    int events = whole ? exits_observer_sync(a->forks, &p, fn, a) : exits_drain(a->forks, fn, a);
    r->job.behind = ((whole && p.soon) || r->job.behind) && exits_observer_owes(a->forks);
    return events;
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

/* ---- from one source to another ---- */

static void close_sources(struct recorder *r)
{
    struct recorders *a = r->all;
    epoll_ctl(a->epoll_fd, EPOLL_CTL_DEL, exits_fd(a->forks), NULL); /* a helper may have the descriptor as well */
    if (a->usage != a->forks)
        exits_close(a->usage);
    exits_close(a->forks);
    exits_filter_close(a->filter);
    a->filter = NULL;
    a->forks = a->usage = NULL;
    a->listening = a->unpollable = a->usage_tried = a->filter_tried = false;
    a->drain_due_ns = 0;
    r->job.ends_reported = r->job.behind = false;
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

/* It has replied, and reports all that the job did since its wrapper asked. */
static void take_offer(struct recorder *r)
{
    struct recorders *a = r->all;
    struct exits_source *s = a->offer;
    int code = exits_observer_await(s, 0);
    if (code == -EAGAIN)
        return;
    a->offer = NULL;
    epoll_ctl(a->epoll_fd, EPOLL_CTL_DEL, exits_fd(s), NULL);
    if (code < 0) {
        exits_close(s);
        return;
    }
    close_sources(r);
    free(a->stash); /* it gets a larger one */
    a->stash = NULL;
    r->perf_due_ns = 0;
    use_shared(r, s);
    event_use(r, s);
    recorder_event(r, BARO_EVENT_SOURCE, NULL, 1, exits_name(s));
    recorder_event(r, BARO_EVENT_SOURCE, NULL, 0, a->usage ? "taskstats" : "wait4");
}

void event_share_check(struct recorder *r, int events)
{
    if (r->all->offer && !r->finishing && events < DRAINED)
        take_offer(r);
    if (!event_share_is_over(r->all))
        return;
    event_lost(r, 1);
    close_sources(r);
    if (!r->finishing)
        open_own(r);
}
