/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the ledger share: which values of a member are its own, and which it took over. */
#ifndef JOB_COUNTERS_H
#define JOB_COUNTERS_H

#include "job/job.h"

/* cutime and cstime are cut to whole clock ticks for display, each on its own (fs/proc/array.c), so what a parent shows
 * may be short by just under two ticks. */
#define SHORT_TICKS 2u

static inline uint64_t value(const struct member *m, enum process_metric id)
{
    return m->row.value[id];
}

/* What a member shows of its children alone, as far as the kernel keeps it apart. */
static inline uint64_t reaped_of(const struct member *m, enum ledger_counter c)
{
    switch (c) {
    case LEDGER_CPU_USER:
        return value(m, PROCESS_children_cpu_user);
    case LEDGER_CPU_SYSTEM:
        return value(m, PROCESS_children_cpu_system);
    case LEDGER_FAULTS_MINOR:
        return value(m, PROCESS_children_faults_minor);
    case LEDGER_FAULTS_MAJOR:
        return value(m, PROCESS_children_faults_major);
    case LEDGER_IO_READ:
        return value(m, PROCESS_io_read);
    case LEDGER_IO_WRITE:
        return value(m, PROCESS_io_write);
    case LEDGER_IO_RCHAR:
        return value(m, PROCESS_io_rchar);
    case LEDGER_IO_WCHAR:
        return value(m, PROCESS_io_wchar);
    case LEDGER_IO_CANCELLED_WRITE:
        return value(m, PROCESS_io_cancelled_write);
    default:
        return 0;
    }
}

static inline uint64_t own_of(const struct member *m, enum ledger_counter c)
{
    switch (c) {
    case LEDGER_CPU_USER:
        return value(m, PROCESS_cpu_user);
    case LEDGER_CPU_SYSTEM:
        return value(m, PROCESS_cpu_system);
    case LEDGER_FAULTS_MINOR:
        return value(m, PROCESS_faults_minor);
    case LEDGER_FAULTS_MAJOR:
        return value(m, PROCESS_faults_major);
    default:
        return 0; /* /proc/PID/io holds both in one */
    }
}

/* What of it is this recording's. */
static inline uint64_t since_base(const struct member *m, unsigned counter, uint64_t v)
{
    uint64_t base = m->base ? m->base[counter] : 0;
    return v > base ? v - base : 0;
}

/* The last look and what a source told are both lower bounds, so the larger one is nearer. */
static inline uint64_t own_cpu(const struct member *m)
{
    uint64_t seen = value(m, PROCESS_cpu);
    const struct member_usage *u = member_usage(m);
    return u->has_cpu && u->cpu_ns > seen ? u->cpu_ns : seen;
}

/* Is all that it read and wrote known? taskstats tells of its own doing alone, which is all only of one that had no
 * children. */
static inline bool io_is_whole(const struct job *j, const struct member *m)
{
    bool childless = j->events && !j->lossy && !m->had_child && !reaped_of(m, LEDGER_FAULTS_MINOR);
    return m->io_final || (member_usage(m)->has_io && childless);
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The least that who waited for it must have gained: no process lives without a fault. */
static inline uint64_t faults_of(const struct member *m)
{
    uint64_t own = max_u64(value(m, PROCESS_faults_minor), member_usage(m)->faults_minor);
    return m->absorbed ? 0 : max_u64(own + m->reaped[LEDGER_FAULTS_MINOR], 1);
}

/* The command has ended, and the wrapper will tell with it what it took over in the end. */
static inline bool is_about_to_be_told(const struct job *j, const struct member *m)
{
    bool ended = member_is_reap_pending(m) || (value(m, PROCESS_state) == 'Z' && value(m, PROCESS_threads) <= 1);
    return ended && m->row.origin == BARO_ORIGIN_TARGET && !member_is_gone(m) && !member_is_final(m) && !m->parent &&
           j->wrapper.pid && !j->closing;
}

/* Invariants of the ledger are checked in debug and sanitizer builds (meson.build), which stop where one does not hold.
 * In release builds there are no checks. */
#ifndef JOB_CHECKS
#define JOB_CHECKS 0
#endif
#if JOB_CHECKS
#define JOB_CHECK(holds) ((holds) ? (void)0 : __builtin_trap())
#else
#define JOB_CHECK(holds) ((void)0)
#endif

/* state.c: the only function that changes a state. Returns false if the transition is not allowed; then nothing is
 * changed. */
bool state_change(struct job *j, struct member *m, enum member_state to);
/* state.c: checks all invariants: what the sums hold, who is counted where. */
void state_check(const struct job *j);

/* reaped_io.c: which parents of the gone are to be asked what they took over; then that is put down to the children it
 * came from. */
void reaped_io_want(struct job *j);
void reaped_io_account(struct job *j);

/* claim.c: the exit of m, which is gone, is being reported. */
void claim_note(struct job *j, const struct member *m, uint64_t now_ns);

/* totals.c: brings the sums up to those that moved; takes out what they hold of one that goes. */
void totals_refresh(struct job *j);
void totals_leave(struct job *j, struct member *m);

/* totals.c: notes which of the job's values the member tells of. */
void totals_know(struct job *j, const struct member *m);

/* exits.c: tells the exits of all that are gone, in the order in which they were noticed, and lets go of them. */
void exits_report(struct job *j, uint64_t now_ns);

#endif
