/* SPDX-License-Identifier: Apache-2.0 */
/* Applies events to the members: fork, exec, name, exit, and what ended processes had used. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernel/proc/procfs.h"
#include "recorder/job/task.h"
#include "recorder/loop/recorder.h"

#define START_SLACK (20 * NS_PER_MS) /* start times are rounded down to 10 ms */

void event_touch(struct recorder *r, struct member *m)
{
    if (m->events.touched)
        return;
    event_activate(r);
    m->events.touched = true;
    m->events.touched_next = NULL;
    if (r->events.touched)
        r->events.touched_last->events.touched_next = m;
    else
        r->events.touched = m;
    r->events.touched_last = m;
}

/* ---- forks ---- */

static bool ended_before(const struct member *m, uint64_t t)
{
    return m->life.end_reported && m->life.end_ns < t;
}

/* Is the known member another process than the one that was forked at t with the same pid? The time at which a scan
 * found the member does not decide, because the member may have been forked, and may have ended, since the scan began.
 * The start time decides: a member that started 1,230 to 1,240 ms after the tape began was forked at 1,236 ms. A fork
 * that is reported at 1,290 ms may be of the same member: copy_process() notes the start time first, and may lose its
 * CPU before it reports the fork. In that case the start time of the process that has the pid now decides. If no
 * process has the pid any more, both are the same process, because the end of another one would have been reported. */
static bool pid_was_reused(const struct recorder *r, const struct member *known, uint64_t t)
{
    if (ended_before(known, t))
        return true;
    if (r->wrapper.pid && known->row.key.pid == r->wrapper.command)
        return false; /* the wrapper has not reaped the command; the wrapper noted the command's time of start, and may
                         have waited for a CPU before the fork */
    if (!known->life.begin_ns && !known->reading.stat_was_read)
        return false; /* just found by a scan that may have begun long ago */
    uint64_t begin = known->life.begin_ns ? known->life.begin_ns : job_begin_ns(&r->job, known->row.key.start);
    if (t <= begin + START_SLACK)
        return false;
    if (!known->reading.stat_was_read)
        return true; /* no start time to compare with */
    uint64_t start = proc_read_start(r->proc_fd, known->row.key.pid);
    return start ? start != known->row.key.start : r->job.source.lossy;
}

/* Returns the process that was forked at t with this pid, if scans found it and later found it gone before the event of
 * its fork was read. Example: it was forked at 278 ms, a scan found it at 280 ms, and at 290 ms it had gone. */
static struct member *gone_unforked(const struct recorder *r, int32_t pid, uint64_t t)
{
    struct member *m = r->job.settling.gone_unforked ? r->job.settling.gone : NULL;
    while (m && (m->row.key.pid != pid || m->life.begin_ns || m->life.gone_ns < t || ended_before(m, t)))
        m = m->links.list_next;
    return m;
}

static struct member *member_of(const struct recorder *r, int32_t pid);

/* Notes that the member caused an event itself at t: its end will be reported as well. */
static void note_covered(struct recorder *r, struct member *m, uint64_t t)
{
    m->events.covered = true;
    m->events.unheard &= t <= r->events.attached_ns; /* perf is attached on one CPU after the other */
    job_end_unseen(&r->job, m, false);
}

/* Makes the member an orphan: its parent had ended before the event of the member's fork was read. */
static void make_orphan(struct recorder *r, struct member *m, struct member *parent)
{
    m->row.parent = parent->row.key;
    m->account.successor = parent;
    m->account.successor_epoch = r->job.tree.epoch;
    parent->events.covered = true;
    job_inherit_group(m, parent);
    job_inherit(&r->job, m, parent);
}

/* Had the member ended before t? Then what has its pid at t is another process. Example: the member 500 ended at 1.2 s;
 * pids wrapped, and a process 500 that is not of the job forks at 1.9 s. */
static bool had_ended_by(const struct member *m, uint64_t t)
{
    return ended_before(m, t) || (member_is_gone(m) && m->life.gone_ns < t);
}

/* Is a process that was forked by none of the members one all the same? */
static bool joins(const struct recorder *r, int32_t pid)
{
    return r->job.whole && !sampling_is_own(&r->sampler.sampling, pid);
}

static void on_fork(struct recorder *r, const struct exits_event *e)
{
    uint64_t t = recorder_since(r, e->t_ns);
    struct member *parent = member_of(r, e->ppid), *gone = NULL;
    if (machine_takes_fork(&r->sampler.machine, parent, e->pid))
        return;
    if (parent && had_ended_by(parent, t))
        parent = NULL;
    if (parent && member_is_gone(parent)) { /* it ended before this event was read: the child is an orphan */
        gone = parent;
        parent = NULL;
    }
    struct member *known = tree_find(&r->job.tree, e->pid);
    if (!known) {
        known = gone_unforked(r, e->pid, t);
    } else if (pid_was_reused(r, known, t)) {
        sampler_gone(&r->sampler, known, t);
        known = NULL;
    }
    /* A fork may have begun while perf was being attached to the parent, even if it is reported much later. The child
     * of such a fork may not have inherited the events. */
    bool unsure = parent && parent->events.unheard;
    if (parent)
        note_covered(r, parent, t);
    if (known) {
        known->life.begin_ns = t;
        known->events.followed = true;
        return;
    }
    if (job_was_reported(&r->job, e->pid, t))
        return;
    bool is_ours = parent || gone || joins(r, e->pid);
    /* In a storm of forks the parent may have been found gone, and its exit reported, before this event was read. */
    bool was_member = !is_ours && job_lived_at(&r->job, e->ppid, t);
    if ((!is_ours && !was_member) || !r->options->scope.children || recorder_selects(r->options)) {
        r->all->filter.foreign_forks++;
        return;
    }
    struct member *m = job_add(&r->job, e->pid, parent, BARO_ORIGIN_EVENT, t);
    if (!m)
        return;
    if (!r->all->events.usage_tried)
        event_open_usage(r);
    m->life.begin_ns = t;
    m->events.followed = true;
    job_end_unseen(&r->job, m, r->job.source.attaches && (unsure || t <= r->events.attached_ns));
    r->events.forks++;
    event_filter_fork(r, e->pid);
    if (was_member) { /* who has reaped it was reaped itself, or is the wrapper */
        m->account.heir = HEIR_EARLIER;
        event_touch(r, m);
        return;
    }
    if (gone) {
        make_orphan(r, m, gone);
        parent = gone;
    }
    if (!parent) {
        event_touch(r, m);
        return;
    }
    m->row.uid = parent->row.uid;
    member_set_name(m, parent->row.name); /* until it executes a program */
    m->events.name_is_late = parent->events.name_is_late || (parent->events.executed_ns && !parent->events.named);
    event_touch(r, m);
}

static void on_end(struct recorder *r, struct member *m, const struct exits_event *e)
{
    job_ended(&r->job, m, recorder_since(r, e->t_ns));
    if (!m->life.end_reported)
        m->life.end_ns =
            recorder_since(r, e->t_ns); /* until now, only the time was known at which it was found ended */
    job_end_reported(&r->job, m);
    m->events.covered = true;
    if (e->has_status) {
        m->life.status_known = true;
        m->life.status = e->status;
    }
    event_touch(r, m);
}

/* The member executes another program before the name of its last one was read. So the names of the children that it
 * forked in between are not known either. */
static void lose_late_names(struct member *m)
{
    for (struct member *child = m->links.first_child; child && m->events.executed_ns;
         child = child->links.sibling_next) {
        if (child->events.name_is_late)
            member_set_name(child, "");
        child->events.name_is_late = false;
    }
}

static void on_name(struct recorder *r, struct member *m, const struct exits_event *e, bool executed)
{
    process_renamed(m);
    note_covered(r, m, recorder_since(r, e->t_ns));
    if (executed) {
        lose_late_names(m);
        exec_note(m, recorder_since(r, e->t_ns));
        m->events.named = m->events.name_is_late = false;
    }
    if (e->has_comm) {
        member_note_comm(m, e->comm);
        process_set_name(m, e->comm);
        m->events.named = true;
    }
    event_touch(r, m);
}

void event_lost(struct recorder *r, uint64_t times)
{
    job_lose(&r->job);
    sampler_lost_events(&r->sampler, true);
    recorder_event(r, BARO_EVENT_LOSSY, NULL, times, exits_name(r->all->events.forks));
}

/* comm is truncated to 15 bytes (TASK_COMM_LEN). */
static bool is_name_of(const char *comm, const char *name)
{
    size_t n = strlen(comm);
    return n < 15 ? strcmp(comm, name) == 0 : strncmp(comm, name, n) == 0;
}

static void take_usage(struct recorder *r, struct member *m, const struct exits_event *e)
{
    struct member_usage *u = member_make_usage(m);
    member_moved(m);
    bool perf = e->kind == EVENT_USAGE;
    u->has_cpu = true;
    u->source = perf ? BARO_EXIT_PERF : BARO_EXIT_TASKSTATS;
    if (perf) {
        u->cpu_ns += e->cpu_ns; /* one record per thread */
        u->cpu_unsure_ns += e->cpu_unsure_ns;
        event_touch(r, m);
        return;
    }
    u->cpu_ns = e->cpu_ns;
    u->cpu_unsure_ns = e->cpu_unsure_ns;
    u->user_ns = e->user_ns;
    u->system_ns = e->system_ns;
    u->has_split = e->user_ns + e->system_ns > 0;
    u->has_memory = e->rss_peak_bytes > 0;
    u->rss_peak = e->rss_peak_bytes;
    u->has_io = e->has_io;
    u->own[LEDGER_IO_READ] = e->has_io ? e->io_read : 0;
    u->own[LEDGER_IO_WRITE] = e->has_io ? e->io_write : 0;
    u->own[LEDGER_IO_RCHAR] = e->has_io ? e->io_rchar : 0;
    u->own[LEDGER_IO_WCHAR] = e->has_io ? e->io_wchar : 0;
    u->own[LEDGER_FAULTS_MINOR] = e->faults_minor;
    u->own[LEDGER_FAULTS_MAJOR] = e->faults_major;
    u->has_delay = e->has_delay;
    u->run_delay_ns = e->run_delay_ns;
    if (e->has_comm && !is_name_of(e->comm, m->row.name))
        process_set_name(m, e->comm);
    m->events.named |= e->has_comm;
    if (e->uid != UINT32_MAX)
        m->row.uid = e->uid;
    event_touch(r, m);
}

/* Drops the CPU time that perf reported if it is incomplete, because the last read of /proc is closer to the truth.
 * Example: of 8.4 s, perf reported 2.4 s, and /proc had 7.9 s. A report of another source is kept. */
static void drop_usage(struct recorder *r, struct member *m)
{
    struct member_usage *u = member_make_usage(m);
    if (u->source != BARO_EXIT_PERF && u->source != BARO_EXIT_LAST_SAMPLE)
        return;
    u->has_cpu = false;
    u->source = BARO_EXIT_LAST_SAMPLE;
    u->cpu_ns = u->cpu_unsure_ns = 0;
    event_touch(r, m);
}

/* A process whose exit event arrives may have been found gone earlier in this tick. */
static struct member *member_of(const struct recorder *r, int32_t pid)
{
    struct member *m = tree_find(&r->job.tree, pid);
    for (struct member *g = m ? NULL : r->job.settling.gone; g; g = g->links.list_next) {
        if (g->row.key.pid == pid)
            return g;
    }
    return m;
}

void event_apply(struct recorder *r, const struct exits_event *e)
{
    if (e->kind == EVENT_FORK) {
        on_fork(r, e);
        return;
    }
    if (e->kind == EVENT_LOST) {
        event_lost(r, e->count);
        return;
    }
    struct member *m = member_of(r, e->pid);
    if (!m && e->kind == EVENT_EXEC && joins(r, e->pid)) /* a thread of the kernel began a program */
        m = job_add(&r->job, e->pid, NULL, BARO_ORIGIN_EVENT, recorder_since(r, e->t_ns));
    if (!m)
        return;
    if (e->kind == EVENT_EXIT) {
        on_end(r, m, e);
        if (e->has_usage)
            take_usage(r, m, e);
    } else if (e->kind == EVENT_USAGE) {
        take_usage(r, m, e);
    } else if (e->kind == EVENT_USAGE_PARTIAL) {
        drop_usage(r, m);
    } else {
        on_name(r, m, e, e->kind == EVENT_EXEC);
    }
}

/* ---- usage ---- */

void event_stash(struct recorders *a, const struct exits_event *e)
{
    if (!a->events.stash) {
        a->events.stash_size = a->events.stash_long ? STASH_LONG : STASH_MAX;
        a->events.stash = calloc(a->events.stash_size, sizeof(*a->events.stash));
    }
    if (a->events.stash)
        a->events.stash[(uint32_t)e->pid % a->events.stash_size] = (struct stash){e->pid, *e};
}

const struct exits_event *event_find_stashed(const struct recorders *a, int32_t pid, uint64_t begin_ns)
{
    const struct stash *st = a->events.stash ? &a->events.stash[(uint32_t)pid % a->events.stash_size] : NULL;
    return st && st->pid == pid && st->event.t_ns + START_SLACK >= begin_ns ? &st->event : NULL;
}

void event_take_stashed(struct recorder *r, struct member *m)
{
    const struct recorders *a = r->all;
    struct stash *st = a->events.stash ? &a->events.stash[(uint32_t)m->row.key.pid % a->events.stash_size] : NULL;
    if (!st || st->pid != m->row.key.pid)
        return;
    if (recorder_since(r, st->event.t_ns) + START_SLACK >= m->life.begin_ns)
        take_usage(r, m, &st->event);
    if (a->only)
        st->pid = 0; /* else it may join another job */
}

void event_lost_usage(struct recorder *r, uint64_t times)
{
    sampler_lost_events(&r->sampler, false);
    recorder_event(r, BARO_EVENT_LOSSY, NULL, times, exits_name(r->all->events.usage));
}

void event_apply_usage(struct recorder *r, const struct exits_event *e)
{
    struct member *m = member_of(r, e->pid);
    if (e->kind == EVENT_COMM || e->kind == EVENT_EXEC) {
        if (m && e->has_comm)
            on_name(r, m, e, false);
        return;
    }
    if (m && e->kind == EVENT_USAGE_PARTIAL)
        drop_usage(r, m);
    bool has_usage = e->kind == EVENT_USAGE || (e->kind == EVENT_EXIT && e->has_usage);
    if (!has_usage)
        return;
    if (m)
        take_usage(r, m, e);
    else
        event_stash(r->all, e);
}
