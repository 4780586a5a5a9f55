/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf as an event source. It is opened once the command runs, because the first perf event after boot takes 5 to 35
 * ms. It reports only the processes that it is attached to, and the processes that these fork after that. The following
 * makes sure that no member is missed:
 *
 * - perf is attached to members, and their children are listed, until a listing finds no new process.
 * - A child that was being forked while perf was attached to its parent is reported, but does not inherit the events.
 *   Until an event that a process itself causes is seen (member.covered), its children are listed with each sample. If
 *   one of them was not reported, perf is attached to the process.
 * - A process that began and ended before perf was attached used a pid that no known process has. If each pid that was
 *   assigned after the command's own is that of a known or living process, none was missed. Otherwise the number of the
 *   other pids is a bound (recorder/collectors/processes/births.h).
 *
 * If one of these checks fails, counts are lower bounds (job.lossy). If perf can't be attached to a member, scanning
 * goes on as well.
 */
#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/events/policy.h"
#include "recorder/loop/recorder.h"

#define PERF_CPUS 16u /* one event and ring per CPU: 128 of them double the cost of a fork */
#define PASSES 32u

static void attach(struct recorder *r, struct member *m)
{
    uint64_t before;
    int code = -ESRCH;
    m->events.followed = true;
    if (!member_has_ended(m) && process_clock(m, &before) == 0)
        code = exits_perf_attach(r->all->events.usage, m->row.key.pid, NULL);
    m->events.unattached = code < 0 && code != -ESRCH;
    r->events.perf_is_partial |= code > 0 || m->events.unattached;
    r->events.perf_code = m->events.unattached ? code : r->events.perf_code;
    /* no event is going to report its end, and until it is read it counts as alive beside the processes that are forked
     */
    if (code == -ESRCH && !member_has_ended(m) && sampler_read_member(&r->sampler, m) == 0 && member_is_zombie(m))
        job_ended(&r->job, m, sampler_now(&r->sampler));
    m->events.covered = code == 0 || code == -ESRCH; /* a process that has ended forks no more */
    if (code < 0)
        return;
    r->events.attached_ns = recorder_since(r, clock_monotonic_ns());
    m->events.unheard = true;
    job_end_unseen(&r->job, m, false);
    member_moved(m);
    member_make_usage(m)->cpu_ns = before; /* perf counts only the CPU time from now on */
    r->events.n_attached++;
    /* The member may have executed a program since it was read, and the children that it forks from now on begin with
     * its name. */
    sampler_read_member(&r->sampler, m);
}

/* Did perf report the fork of the member, but not the fork of one of its children? If so, the member did not inherit
 * the events. */
static bool is_unfollowed(const struct member *m)
{
    for (const struct member *c = m->events.followed && !m->events.covered ? m->links.first_child : NULL; c;
         c = c->links.sibling_next) {
        if (!c->events.followed)
            return true;
    }
    return !m->events.followed;
}

/* One pass over the members; members that are found during the pass are appended to the array and visited too. Events
 * are read before perf is attached to the next member, because perf need not be attached to a member that inherited the
 * events. Returns the number of members that perf had not reported. */
static unsigned attach_all(struct recorder *r)
{
    unsigned unreported = 0;
    for (size_t i = 0; i < r->job.tree.n; i++) {
        struct member *m = r->job.tree.at[i];
        bool unfollowed = m && is_unfollowed(m);
        if (unfollowed)
            attach(r, m);
        unreported += unfollowed;
        if (!m || member_has_ended(m) || (!unfollowed && m->events.covered))
            continue;
        uint64_t before = r->job.counts.started;
        sampler_advance(&r->sampler); /* a pass takes a while, and processes that it finds get the current time */
        if (r->options->scope.children)
            sampler_scan_children(&r->sampler, m);
        if (r->job.counts.started != before)
            event_read(r->all);
    }
    return unreported;
}

/* Reads the members again whose ends perf does not report. Each member that is alive after this was alive when the
 * events were read. Example: a member was ending when perf was attached, and has ended since; another member was found
 * after that. */
static void read_unseen_ends(struct recorder *r)
{
    for (size_t i = 0; i < r->job.tree.n; i++) {
        struct member *m = r->job.tree.at[i];
        if (m && m->life.end_unseen && !member_has_ended(m) && sampler_read_member(&r->sampler, m) == 0 &&
            member_is_zombie(m))
            job_ended(&r->job, m, sampler_now(&r->sampler));
    }
}

/* Repeats until a pass finds no unreported member. Returns how many there were. */
static unsigned attach_until_complete(struct recorder *r)
{
    unsigned unreported = 0, more = 1;
    for (unsigned pass = 0; more && pass < PASSES; pass++) {
        if (r->options->scope.children)
            sampler_scan_wrapper(&r->sampler);
        event_read(r->all);
        more = attach_all(r);
        unreported += more;
    }
    r->events.perf_is_partial |= more != 0;
    event_read(r->all); /* members whose ends are reported by now do not count as alive at once */
    read_unseen_ends(r);
    job_note_peak(&r->job);
    return unreported;
}

/* ---- as the source of forks ---- */

/* perf is attached to no member. Readers say what would allow it. */
static void note_refusal(struct recorder *r)
{
    const char *refusal = exits_perf_refusal(r->events.perf_code);
    if (refusal)
        recorder_event(r, BARO_EVENT_SOURCE, NULL, 2, refusal);
}

static void give_up(struct recorder *r)
{
    note_refusal(r);
    exits_close(r->all->events.usage);
    r->all->events.forks = r->all->events.usage = NULL;
    r->job.source.attaches = r->job.source.events = r->all->events.listening = r->all->events.unpollable = false;
    r->all->events.drain_due_ns = 0;
}

/* Members that have ended fork no more. This function finds out how many other processes may have begun and ended
 * unobserved. */
static void begin_events(struct recorder *r)
{
    event_read(r->all);
    for (struct member *m = r->job.settling.gone; m; m = m->links.list_next)
        m->events.covered = true;
    if (r->events.perf_is_partial)
        job_lose(&r->job);
    r->job.source.lossy |= !births_end(&r->sampler.processes);
    r->job.source.covers_members = true;
    sampler_scan_always(&r->sampler, r->events.perf_is_partial);
    r->events.found = r->job.counts.started - r->events.forks;
}

static void use_as_forks(struct recorder *r)
{
    event_use(r, r->all->events.usage);
    r->job.source.attaches = true;
    attach_until_complete(r);
    if (!r->events.n_attached) {
        give_up(r);
        return;
    }
    begin_events(r);
    recorder_event(r, BARO_EVENT_SOURCE, NULL, 1, exits_name(r->all->events.forks));
}

static void use_as_usage(struct recorder *r)
{
    for (size_t i = 0; i < r->job.tree.n; i++) {
        if (r->job.tree.at[i])
            attach(r, r->job.tree.at[i]);
    }
    if (r->events.n_attached) {
        recorder_event(r, BARO_EVENT_SOURCE, NULL, 0, exits_name(r->all->events.usage));
        return;
    }
    note_refusal(r);
    exits_close(r->all->events.usage);
    r->all->events.usage = NULL;
}

void event_open_late(struct recorder *r)
{
    struct exits_source *source;
    r->events.perf_due_ns = 0;
    if (r->all->events.forks && geteuid() == 0 && !r->all->events.usage_tried) {
        event_open_usage(r);
        return;
    }
    if (exits_perf_open(&source, PERF_CPUS, NULL) < 0)
        return;
    r->all->events.usage = source;
    if (r->all->events.forks)
        use_as_usage(r);
    else
        use_as_forks(r);
}

void event_verify(struct recorder *r)
{
    if (!r->job.source.covers_members || r->job.counts.started - r->events.forks == r->events.found)
        return;
    unsigned unreported = attach_until_complete(r);
    if (unreported || r->events.perf_is_partial)
        job_lose(&r->job); /* others may have been missed as well */
    if (r->events.perf_is_partial)
        sampler_scan_always(&r->sampler, true);
    r->events.found = r->job.counts.started - r->events.forks;
}

void event_check_survivors(struct recorder *r)
{
    for (size_t i = 0; r->job.source.covers_members && i < r->job.tree.n; i++) {
        const struct member *m = r->job.tree.at[i];
        if (m && !m->events.covered && (m->account.had_child || m->row.value[PROCESS_children_faults_minor]))
            job_lose(&r->job);
    }
}
