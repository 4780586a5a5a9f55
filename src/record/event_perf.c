/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf as a source: it is opened once the command runs, because the first event of a boot takes 5 to 35 ms, and it
 * tells only of those that were attached to and of what these fork from then on. So nobody may be left out:
 *
 * - Attaching goes on until a listing of the children of all who were attached to finds nobody new.
 * - A child that was being forked as its parent was attached to is told of but does not inherit. Whoever has not been
 * heard (member.heard) is asked for children with each sample, and attached to if it has one that was not told of.
 * - Who came and went before that left a pid that nobody has. If each pid that was given since the command's own is
 * known, or is there still, nobody did.
 *
 * Where one of these fails, what is counted are lower bounds (job.lossy); where somebody could not be attached to,
 * scanning goes on as well.
 */
#include <errno.h>
#include <unistd.h>

#include "base/fd.h"
#include "procfs/machine.h"
#include "record/recorder.h"

#define PERF_CPUS 16u   /* one event and ring per CPU: 128 of them double the cost of a fork */
#define PASSES 32u
#define PIDS_MOST 1024  /* given since the command's: a question each */

static void attach(struct recorder *r, struct member *m)
{
    uint64_t before;
    int code = -ESRCH;
    m->followed = true;
    if (!m->ended && process_clock(m, &before) == 0)
        code = exits_perf_attach(r->usage, m->row.key.pid, NULL);
    r->perf_partly |= code > 0 || (code < 0 && code != -ESRCH);
    m->heard = code == 0 || code == -ESRCH; /* who has ended forks no more */
    if (code < 0)
        return;
    member_moved(m);
    member_tell(m)->cpu_ns = before; /* what it had used already is not in perf's count */
    r->n_attached++;
}

/* perf had told of its fork, but it has a child that was not told of: it did not inherit. */
static bool is_unfollowed(const struct member *m)
{
    for (const struct member *c = m->followed && !m->heard ? m->first_child : NULL; c; c = c->sibling_next) {
        if (!c->followed)
            return true;
    }
    return !m->followed;
}

/* One pass over the members; those that are found on the way come after them. What perf tells meanwhile is read before
 * anybody else is attached to: who inherits need not be. Returns how many there were that perf had not told of. */
static unsigned attach_all(struct recorder *r)
{
    unsigned untold = 0;
    for (size_t i = 0; i < r->job.tree.n; i++) {
        struct member *m = r->job.tree.at[i];
        bool unfollowed = m && is_unfollowed(m);
        if (unfollowed)
            attach(r, m);
        untold += unfollowed;
        if (!m || m->ended || (!unfollowed && m->heard))
            continue;
        uint64_t before = r->job.started;
        sampler_advance(&r->sampler); /* all of it takes a while, and whom it finds is dated */
        if (r->options->children)
            sampler_scan_children(&r->sampler, m);
        if (r->job.started != before)
            event_read(r);
    }
    return untold;
}

/* Until nobody is found who was not told of. Returns how many were. */
static unsigned attach_until_known(struct recorder *r)
{
    unsigned untold = 0, more = 1;
    for (unsigned pass = 0; more && pass < PASSES; pass++) {
        if (r->options->children)
            sampler_scan_wrapper(&r->sampler);
        event_read(r);
        more = attach_all(r);
        untold += more;
    }
    r->perf_partly |= more != 0;
    return untold;
}

/* ---- who came and went before ---- */

/* The last pid that was given in this pid namespace; 0: not known. */
static int32_t last_pid(const struct recorder *r)
{
    char text[128];
    struct proc_loadavg l;
    ssize_t n = fd_read_file(r->proc_fd, "loadavg", text, sizeof(text));
    return n > 0 && proc_loadavg_parse(span_of(text, (size_t)n), &l) == 0 && l.last_pid <= INT32_MAX
               ? (int32_t)l.last_pid
               : 0;
}

void event_note_pid(struct recorder *r)
{
    r->first_pid = r->wrapper ? 0 : last_pid(r); /* of a command its own */
}

/* Processes of others, and threads of whomever, that ended are taken for ours: then it is not known. */
static bool all_are_known(struct recorder *r)
{
    int32_t first = r->command ? r->command : r->first_pid, last = last_pid(r);
    if (!first || last < first || last - first > PIDS_MOST)
        return false;
    event_read(r);
    uint64_t gone = 0,
             known = r->command ? r->job.ended + r->job.n_gone : 0; /* attached: of those that ended some are older */
    for (int32_t pid = first + 1; pid <= last; pid++)
        gone += getpgid(pid) < 0 && !tree_find(&r->job.tree, pid); /* it takes the number of a thread, too */
    known -= known && !tree_find(&r->job.tree, first);
    return gone <= known;
}

/* ---- as the source of forks ---- */

static void give_up(struct recorder *r)
{
    exits_close(r->usage);
    r->forks = r->usage = NULL;
    r->job.events = r->listening = r->unpollable = false;
    r->drain_due_ns = 0;
}

/* Who had gone by now forks no more, and whether others came and went is known or not. */
static void begin_to_hear(struct recorder *r)
{
    for (struct member *m = r->job.gone; m; m = m->list_next)
        m->heard = true;
    r->job.lossy |= r->perf_partly || !all_are_known(r);
    r->job.hears = true;
    sampler_scan_always(&r->sampler, r->perf_partly);
    r->found = r->job.started - r->event_forks;
}

static void use_as_forks(struct recorder *r)
{
    event_use(r, r->usage);
    attach_until_known(r);
    if (!r->n_attached) {
        give_up(r);
        return;
    }
    begin_to_hear(r);
    recorder_event(r, BARO_EVENT_SOURCE, NULL, 1, exits_name(r->forks));
}

static void use_as_usage(struct recorder *r)
{
    for (size_t i = 0; i < r->job.tree.n; i++) {
        if (r->job.tree.at[i])
            attach(r, r->job.tree.at[i]);
    }
    if (r->n_attached) {
        recorder_event(r, BARO_EVENT_SOURCE, NULL, 0, exits_name(r->usage));
        return;
    }
    exits_close(r->usage);
    r->usage = NULL;
}

void event_open_late(struct recorder *r)
{
    struct exits_source *source;
    r->perf_due_ns = 0;
    if (exits_perf_open(&source, PERF_CPUS, NULL) < 0)
        return;
    r->usage = source;
    if (r->forks)
        use_as_usage(r);
    else
        use_as_forks(r);
}

void event_verify(struct recorder *r)
{
    if (!r->job.hears || r->job.started - r->event_forks == r->found)
        return;
    unsigned untold = attach_until_known(r);
    r->job.lossy |= untold || r->perf_partly; /* there may have been more of them */
    if (r->perf_partly)
        sampler_scan_always(&r->sampler, true);
    r->found = r->job.started - r->event_forks;
}

void event_check_survivors(struct recorder *r)
{
    for (size_t i = 0; r->job.hears && i < r->job.tree.n; i++) {
        const struct member *m = r->job.tree.at[i];
        r->job.lossy |= m && !m->heard && (m->had_child || m->row.value[PROCESS_children_faults_minor]);
    }
}
