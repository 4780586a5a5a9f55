/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf as an event source. It is opened once the command runs, because the first perf event after boot takes 5 to 35
 * ms. It reports only processes that it is attached to and what they fork from then on. So that no member is missed:
 *
 * - perf is attached to members, and their children are listed, until a listing finds no new process.
 * - A child that was being forked while perf was attached to its parent is reported, but does not inherit the events.
 *   Until an event that a process itself causes is seen (member.covered), its children are listed with each sample. If
 *   one of them was not reported, perf is attached to the process.
 * - A process that came and went before that used a pid that no known process has. If each pid that was assigned since
 *   the command's own is that of a known or living process, there was none; otherwise the number of the others is a
 *   bound (recorder/collectors/processes/births.h).
 *
 * If one of these checks fails, counts are lower bounds (job.lossy). If perf can't be attached to a member, scanning
 * goes on as well.
 */
#include <errno.h>

#include "recorder/loop/recorder.h"

#define PERF_CPUS 16u /* one event and ring per CPU: 128 of them double the cost of a fork */
#define PASSES 32u

static void attach(struct recorder *r, struct member *m)
{
    uint64_t before;
    int code = -ESRCH;
    m->followed = true;
    if (!member_has_ended(m) && process_clock(m, &before) == 0)
        code = exits_perf_attach(r->all->usage, m->row.key.pid, NULL);
    r->perf_partly |= code > 0 || (code < 0 && code != -ESRCH);
    m->covered = code == 0 || code == -ESRCH;   /* a process that has ended forks no more */
    if (code == -ESRCH && !member_has_ended(m)) /* till it is read it counts as alive beside those that are forked */
        sampler_read_member(&r->sampler, m);
    if (code < 0)
        return;
    member_moved(m);
    member_make_usage(m)->cpu_ns = before; /* perf counts only what follows */
    r->n_attached++;
    /* It may have executed a program since it was read, and what it forks from now on begins with its name. */
    sampler_read_member(&r->sampler, m);
}

/* perf reported its fork, but not that of a child of its: it did not inherit the events. */
static bool is_unfollowed(const struct member *m)
{
    for (const struct member *c = m->followed && !m->covered ? m->first_child : NULL; c; c = c->sibling_next) {
        if (!c->followed)
            return true;
    }
    return !m->followed;
}

/* One pass over the members; members found meanwhile are appended to the array and visited too. Events are read before
 * perf is attached to the next member, because members that inherited need no attaching. Returns the number of members
 * that perf had not reported. */
static unsigned attach_all(struct recorder *r)
{
    unsigned unreported = 0;
    for (size_t i = 0; i < r->job.tree.n; i++) {
        struct member *m = r->job.tree.at[i];
        bool unfollowed = m && is_unfollowed(m);
        if (unfollowed)
            attach(r, m);
        unreported += unfollowed;
        if (!m || member_has_ended(m) || (!unfollowed && m->covered))
            continue;
        uint64_t before = r->job.started;
        sampler_advance(&r->sampler); /* a pass takes a while, and processes found get the current time */
        if (r->options->children)
            sampler_scan_children(&r->sampler, m);
        if (r->job.started != before)
            event_read(r->all);
    }
    return unreported;
}

/* Repeats until a pass finds no unreported member. Returns how many there were. */
static unsigned attach_until_complete(struct recorder *r)
{
    unsigned unreported = 0, more = 1;
    for (unsigned pass = 0; more && pass < PASSES; pass++) {
        if (r->options->children)
            sampler_scan_wrapper(&r->sampler);
        event_read(r->all);
        more = attach_all(r);
        unreported += more;
    }
    r->perf_partly |= more != 0;
    event_read(r->all);     /* those that it reports as ended by now are not among those that are there at once */
    job_note_peak(&r->job); /* which were read when perf was attached to them */
    return unreported;
}

/* ---- as the source of forks ---- */

static void give_up(struct recorder *r)
{
    exits_close(r->all->usage);
    r->all->forks = r->all->usage = NULL;
    r->job.events = r->all->listening = r->all->unpollable = false;
    r->all->drain_due_ns = 0;
}

/* Members that have ended fork no more. How many others may have come and gone unobserved is decided here. */
static void begin_events(struct recorder *r)
{
    int32_t last = sampler_last_pid(&r->sampler);
    event_read(r->all);
    for (struct member *m = r->job.gone; m; m = m->list_next)
        m->covered = true;
    if (r->perf_partly)
        job_lose(&r->job);
    r->job.lossy |= !sampler_births_end(&r->sampler, last);
    r->job.covers_members = true;
    sampler_scan_always(&r->sampler, r->perf_partly);
    r->found = r->job.started - r->event_forks;
}

static void use_as_forks(struct recorder *r)
{
    event_use(r, r->all->usage);
    attach_until_complete(r);
    if (!r->n_attached) {
        give_up(r);
        return;
    }
    begin_events(r);
    recorder_event(r, BARO_EVENT_SOURCE, NULL, 1, exits_name(r->all->forks));
}

static void use_as_usage(struct recorder *r)
{
    for (size_t i = 0; i < r->job.tree.n; i++) {
        if (r->job.tree.at[i])
            attach(r, r->job.tree.at[i]);
    }
    if (r->n_attached) {
        recorder_event(r, BARO_EVENT_SOURCE, NULL, 0, exits_name(r->all->usage));
        return;
    }
    exits_close(r->all->usage);
    r->all->usage = NULL;
}

void event_open_late(struct recorder *r)
{
    struct exits_source *source;
    r->perf_due_ns = 0;
    if (exits_perf_open(&source, PERF_CPUS, NULL) < 0)
        return;
    r->all->usage = source;
    if (r->all->forks)
        use_as_usage(r);
    else
        use_as_forks(r);
}

void event_verify(struct recorder *r)
{
    if (!r->job.covers_members || r->job.started - r->event_forks == r->found)
        return;
    unsigned unreported = attach_until_complete(r);
    if (unreported || r->perf_partly)
        job_lose(&r->job); /* others may have been missed as well */
    if (r->perf_partly)
        sampler_scan_always(&r->sampler, true);
    r->found = r->job.started - r->event_forks;
}

void event_check_survivors(struct recorder *r)
{
    for (size_t i = 0; r->job.covers_members && i < r->job.tree.n; i++) {
        const struct member *m = r->job.tree.at[i];
        if (m && !m->covered && (m->had_child || m->row.value[PROCESS_children_faults_minor]))
            job_lose(&r->job);
    }
}
