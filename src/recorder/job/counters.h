/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the ledger share: a member's own counters, and those of the children that it reaped. */
#ifndef RECORDER_JOB_COUNTERS_H
#define RECORDER_JOB_COUNTERS_H

#include "base/min_max.h"
#include "recorder/job/job.h"

/* The kernel truncates cutime and cstime to whole clock ticks, each for itself (fs/proc/array.c), so the CPU time that
 * a parent shows for its children may be too small by just under two ticks. Example: 19.9 ms user and 19.9 ms system
 * are shown as 10 + 10 ms at 100 ticks per second. */
#define SHORT_TICKS 2u

static inline uint64_t value(const struct member *m, enum process_metric id)
{
    return m->row.value[id];
}

/* The member's counter for its reaped children. For I/O the kernel keeps one sum for the process and its reaped
 * children. */
static inline uint64_t reaped_of(const struct member *m, enum ledger_counter c)
{
    switch (c) {
    case LEDGER_CPU_USER: return value(m, PROCESS_children_cpu_user);
    case LEDGER_CPU_SYSTEM: return value(m, PROCESS_children_cpu_system);
    case LEDGER_FAULTS_MINOR: return value(m, PROCESS_children_faults_minor);
    case LEDGER_FAULTS_MAJOR: return value(m, PROCESS_children_faults_major);
    case LEDGER_IO_READ: return value(m, PROCESS_io_read);
    case LEDGER_IO_WRITE: return value(m, PROCESS_io_write);
    case LEDGER_IO_RCHAR: return value(m, PROCESS_io_rchar);
    case LEDGER_IO_WCHAR: return value(m, PROCESS_io_wchar);
    case LEDGER_IO_CANCELLED_WRITE: return value(m, PROCESS_io_cancelled_write);
    default: return 0;
    }
}

static inline uint64_t own_of(const struct member *m, enum ledger_counter c)
{
    switch (c) {
    case LEDGER_CPU_USER: return value(m, PROCESS_cpu_user);
    case LEDGER_CPU_SYSTEM: return value(m, PROCESS_cpu_system);
    case LEDGER_FAULTS_MINOR: return value(m, PROCESS_faults_minor);
    case LEDGER_FAULTS_MAJOR: return value(m, PROCESS_faults_major);
    default: return 0; /* /proc/PID/io adds both: reaped_of() */
    }
}

/* The metric of each base counter that a process has of itself. */
static const enum process_metric base_metrics[BASE_SWITCHES_INVOLUNTARY + 1] = {
    [BASE_CPU] = PROCESS_cpu,
    [BASE_CPU_USER] = PROCESS_cpu_user,
    [BASE_CPU_SYSTEM] = PROCESS_cpu_system,
    [BASE_FAULTS_MINOR] = PROCESS_faults_minor,
    [BASE_FAULTS_MAJOR] = PROCESS_faults_major,
    [BASE_RUN_DELAY] = PROCESS_run_delay,
    [BASE_SWITCHES_VOLUNTARY] = PROCESS_switches_voluntary,
    [BASE_SWITCHES_INVOLUNTARY] = PROCESS_switches_involuntary,
};

/* The part of v that was used since the recording attached. */
static inline uint64_t since_base(const struct member *m, unsigned counter, uint64_t v)
{
    uint64_t base = m->account.base ? m->account.base[counter] : 0;
    return v > base ? v - base : 0;
}

/* CPU time that the member used after it was read last, according to an event source. */
static inline uint64_t reported_cpu(const struct member *m)
{
    uint64_t seen = value(m, PROCESS_cpu);
    const struct member_usage *u = member_usage(m);
    return u->has_cpu && !m->life.cpu_final && u->cpu_ns > seen ? u->cpu_ns - seen : 0;
}

static inline uint64_t own_cpu(const struct member *m)
{
    return value(m, PROCESS_cpu) + reported_cpu(m);
}

/* The part of own_cpu() that may be too much. Example: the member had 300 ms when it was read last, and perf reported
 * 420 ms, of which 23 ms are unsure: 23 ms. If it had 410 ms when it was read last, only the 10 ms after that: 10 ms.
 */
static inline uint64_t own_unsure(const struct member *m)
{
    uint64_t reported = reported_cpu(m), unsure = member_usage(m)->cpu_unsure_ns;
    return reported < unsure ? reported : unsure;
}

/* The part of own_cpu() that is known from perf alone, whose clock goes on while a hypervisor has the CPU. */
static inline uint64_t perf_cpu(const struct member *m)
{
    return member_usage(m)->source == BARO_EXIT_PERF ? reported_cpu(m) : 0;
}

/* What it has used itself since the recording attached, as it was read. */
static inline uint64_t own_since_base(const struct member *m, enum base_counter c)
{
    return since_base(m, c, value(m, base_metrics[c]));
}

/* Page faults of its own since the recording attached: as read last, or as reported at its end. */
static inline uint64_t own_faults(const struct member *m, enum ledger_counter c)
{
    return since_base(m, BASE_FAULTS_MINOR + (c - LEDGER_FAULTS_MINOR), max_u64(own_of(m, c), member_usage(m)->own[c]));
}

/* Its own CPU time up to the moment when its run delay was read. */
static inline uint64_t delay_cpu_of(const struct member *m)
{
    if (m->row.absent[PROCESS_run_delay_lag] != BARO_PRESENT)
        return 0;
    return since_base(m, BASE_CPU, value(m, PROCESS_cpu) - value(m, PROCESS_run_delay_lag));
}

/* Has the member reaped children since its I/O was read last? If so, the row has the CPU time and page faults of these
 * children, but not their I/O: an ordinary user can read the stat of a process that is about to end, but not its io. */
static inline bool io_is_behind(const struct member *m)
{
    return m->row.absent[PROCESS_io_rchar] == BARO_PRESENT &&
           m->account.io_as_of_faults != value(m, PROCESS_children_faults_minor);
}

/* Returns since when bytes of the member may not be in its row, though they may be in a later reading of it or of its
 * parent; 0: the row has all. Example: `ld` was read at 2.1 s, and ended at 2.4 s unread: since 2.1 s. */
static inline uint64_t late_io_since(const struct member *m)
{
    if (m->life.io_final || m->reading.io_since_ns)
        return m->life.io_final ? 0 : m->reading.io_since_ns;
    bool has_more = m->state >= MEMBER_ENDED && !member_is_final(m) && m->reading.io_ns < m->life.end_ns;
    return !has_more ? 0 : m->reading.io_ns ? m->reading.io_ns : m->life.begin_ns;
}

/* Is it certain that the member had no children? */
static inline bool is_childless(const struct job *j, const struct member *m)
{
    return j->source.events && !j->source.lossy && !m->account.had_child && !reaped_of(m, LEDGER_FAULTS_MINOR);
}

/* Are the job's totals sums of what each member used itself, without its children? */
static inline bool is_own_alone(const struct job *j)
{
    return j->selected || j->alone;
}

/* Is the I/O of the member known completely? A taskstats record covers the process alone, so it is complete only for a
 * process that had no children. */
static inline bool io_is_whole(const struct job *j, const struct member *m)
{
    if (j->alone && reaped_of(m, LEDGER_FAULTS_MINOR))
        return false; /* the I/O of its children is not counted */
    return m->life.io_final || (member_usage(m)->has_io && is_childless(j, m));
}

/* Is the CPU time of a member that has ended known completely, including that of the children that it reaped? If events
 * report all of these, each is settled itself. */
static inline bool ledger_is_whole(const struct job *j, const struct member *m)
{
    return member_is_final(m) || m->life.cpu_final ||
           (member_usage(m)->has_cpu && j->source.events && !j->source.lossy);
}

/* May the sockets of a member that has ended have sent or received more than its row has? */
static inline bool tcp_is_bound(const struct member *m)
{
    return !m->tcp.whole || m->tcp.is_short;
}

/* Has neither the member's parent reaped it nor, so far, the wrapper? */
static inline bool is_unreaped(const struct member *m)
{
    return m->account.heir == HEIR_UNKNOWN && !member_is_final(m);
}

/* The lowest number of page faults that the parent gained by reaping the member. Every process has at least one. */
static inline uint64_t faults_of(const struct member *m)
{
    uint64_t own = max_u64(value(m, PROCESS_faults_minor), member_usage(m)->own[LEDGER_FAULTS_MINOR]);
    return m->account.heir == HEIR_EARLIER ? 0 : max_u64(own + m->account.reaped[LEDGER_FAULTS_MINOR], 1);
}

/* Has the command ended, and is the wrapper still going to report its final counters? */
static inline bool report_is_due(const struct job *j, const struct member *m)
{
    bool ended = member_is_reap_pending(m) || member_is_zombie(m);
    return ended && m->row.origin == BARO_ORIGIN_TARGET && !member_is_gone(m) && !member_is_final(m) &&
           !m->links.parent && j->wrapper.pid && !j->settling.closing;
}

/* Debug and sanitizer builds (meson.build) check the invariants of the ledger and trap if one does not hold. Release
 * builds do not check. */
#ifndef JOB_CHECKS
#define JOB_CHECKS 0
#endif
#if JOB_CHECKS
#define JOB_CHECK(holds) ((holds) ? (void)0 : __builtin_trap())
#else
#define JOB_CHECK(holds) ((void)0)
#endif

/* member_state.c: the only function that changes a state. Returns false if the transition is not allowed; then nothing
 * is changed. */
bool state_change(struct job *j, struct member *m, enum member_state to);
/* member_state.c: checks all invariants: the sums, and that each member is counted once. */
void state_check(const struct job *j);

/* own_io.c: reaped_io_want() marks the parents whose counters of reaped I/O must be read; reaped_io_account()
 * attributes the growth of these counters to the children that ended. own_io() gets what the member has read or written
 * itself for certain; ret_whole: it has read or written no more. Returns whether anything is known. */
void reaped_io_want(struct job *j);
void reaped_io_account(struct job *j);
bool own_io(const struct job *j, const struct member *m, enum ledger_counter c, uint64_t *ret, bool *ret_whole);

/* ledger.c: the nearest ancestor that is not gone: the successor that has the member's counters. NULL: there is none.
 */
struct member *nearest_living(const struct member *m);

/* remainder.c: CPU time that was counted and that no process was seen to use.
 * teardown_expected(): what the teardown of the member is expected to take; 0: its CPU time is known.
 * remainder_expected(): the same and what it is expected to have used since its CPU clock was polled.
 * remainder_plan(): how much of the gain of a successor is shared out among its children.
 * remainder_share_out(): shares out what was planned for all of them. */
uint64_t teardown_expected(const struct member *m);
uint64_t remainder_expected(const struct member *m);
void remainder_plan(const struct job *j, struct settlement *e, uint64_t gained_ns);
void remainder_share_out(struct job *j, const struct settlement *list);

/* totals.c: totals_refresh() updates the sums for the members that changed; totals_leave() subtracts a member that
 * leaves the tree. */
void totals_refresh(struct job *j);
void totals_leave(struct job *j, struct member *m);

/* process_peak.c: counts the processes that are alive. Call it after all members were read. */
void peak_note(struct job *j);
void peak_begin(struct job *j, struct member *m, const struct member *parent);
void peak_end(struct job *j, struct member *m, uint64_t end_ns);
/* Does the number of members at this moment say how many were alive when a new member began? It does if an event
 * reported the new member; if a list found it, others may have ended since it began. */
bool peak_is_known_at_begin(const struct job *j, enum baro_origin origin);

/* process_peak.c: sets whether the member has ended and the event of its end has not been read yet. */
void peak_end_awaited(struct job *j, struct member *m, bool awaited);

/* other_recorders.c: others_exit() takes what the member used until its end. others_forget() drops it: its exit was
 * reported before. others_refresh() sums up what all of them have used. others_subtract() leaves that out of the
 * totals, and of the CPU time that is attributed to processes. */
void others_exit(struct job *j, struct member *m, const struct baro_exit *e);
void others_forget(struct job *j, struct member *m);
void others_refresh(struct job *j);
void others_subtract(const struct job *j, uint64_t total[LEDGER_MAX], uint64_t *named);

/* totals.c: notes which of the job's values this member has, and why the others are absent. */
void totals_know(struct job *j, const struct member *m);

/* exits.c: reports the exits of all members that are gone, in the order of their ends, and releases them. */
void exits_report(struct job *j, uint64_t now_ns);

/* late.c: keeps the exit and the member if the member had open connections. Returns whether it keeps them. */
bool late_hold(struct job *j, struct member *m, const struct baro_exit *e, uint64_t now_ns);
void late_done(struct job *j);

#endif
