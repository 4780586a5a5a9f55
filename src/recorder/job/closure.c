/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that the total includes all of its parts. A total is at least the sum of what its processes have used for
 * certain. It is exact only if the kernel added the counters of every process to those of another one.
 *
 * The kernel adds the counters of a child to those of its parent when the parent waits for it. If the parent has ended
 * when the child is found gone, it is assumed to have waited. That is wrong if the parent was the init process of a PID
 * namespace: when init ends, the kernel kills the others and adds their counters to no process (pid_namespaces(7)).
 * Example: ten containers, each with three processes that have used 100 ms when its init ends. wait4(2) has 5 ms, and
 * the single processes have 3,005 ms. The total becomes 3,005 ms, and is a lower bound.
 *
 * This is noticed when everything has been settled: the CPU time, the I/O or the minor page faults (each process has at
 * least one) of the processes that have ended are more than the total.
 */
#include "recorder/job/counters.h"

/* wait4(2) rounds user and system time of each process that the wrapper reaped down to 1 us. */
#define WAIT4_ROUNDING_NS 2000u

static uint64_t reported_io(const struct member_usage *u, enum ledger_counter c)
{
    switch (c) {
    case LEDGER_IO_READ: return u->io_read;
    case LEDGER_IO_WRITE: return u->io_write;
    case LEDGER_IO_RCHAR: return u->io_rchar;
    case LEDGER_IO_WCHAR: return u->io_wchar;
    default: return 0;
    }
}

static const struct {
    enum process_metric metric;
    unsigned reaped;
} io[LEDGER_MAX] = {
    [LEDGER_IO_READ] = {PROCESS_io_read, REAPED_IO_READ},
    [LEDGER_IO_WRITE] = {PROCESS_io_write, REAPED_IO_WRITE},
    [LEDGER_IO_RCHAR] = {PROCESS_io_rchar, REAPED_IO_RCHAR},
    [LEDGER_IO_WCHAR] = {PROCESS_io_wchar, REAPED_IO_WCHAR},
};

/* Gets how much of an I/O counter of the row is from reaped children. Returns false if this is not known: if the page
 * faults of reaped children have changed since that part was read, a child may have been reaped. */
static bool took_over(const struct member *m, unsigned reaped, uint64_t *ret)
{
    const struct reaped_io *r = &m->reaped_io;
    const uint64_t *taken = r->known ? r->now : r->done;
    *ret = taken[reaped];
    if (!m->account.had_child && !value(m, PROCESS_children_faults_minor))
        return true; /* *ret is 0 */
    return (r->known || !r->lost) && taken[REAPED_FAULTS] == value(m, PROCESS_children_faults_minor);
}

bool closure_own(const struct job *j, const struct member *m, enum ledger_counter c, uint64_t *ret, bool *ret_whole)
{
    const struct member_usage *u = member_usage(m);
    uint64_t taken;
    *ret = 0;
    *ret_whole = false;
    if (u->has_io && !m->life.io_final) {
        *ret_whole = !m->account.base;
        *ret = since_base(m, c, reported_io(u, c));
        return true;
    }
    if (m->row.absent[io[c].metric] != BARO_PRESENT || !took_over(m, io[c].reaped, &taken))
        return false;
    *ret_whole = io_is_whole(j, m);
    uint64_t all = value(m, io[c].metric);
    *ret = since_base(m, c, all > taken ? all - taken : 0);
    return true;
}

void closure_note(struct job *j, const struct member *m, const struct baro_exit *e)
{
    const struct member_usage *u = member_usage(m);
    for (enum ledger_counter c = LEDGER_IO_READ; c <= LEDGER_IO_WCHAR; c++) {
        uint64_t own;
        bool whole;
        j->past.own[c] += closure_own(j, m, c, &own, &whole) ? own : 0;
    }
    j->past.own[LEDGER_FAULTS_MINOR] +=
        since_base(m, BASE_FAULTS_MINOR, max_u64(own_of(m, LEDGER_FAULTS_MINOR), u->faults_minor));
    j->past.own[LEDGER_FAULTS_MAJOR] +=
        since_base(m, BASE_FAULTS_MAJOR, max_u64(own_of(m, LEDGER_FAULTS_MAJOR), u->faults_major));
    if (!m->life.reaped_by_parent || member_is_final(m))
        return;
    if (e->absent[EXIT_cpu] != BARO_PRESENT) {
        j->past.assumed_short = true;
        return;
    }
    j->past.assumed_short |= !m->life.cpu_final && u->source != BARO_EXIT_TASKSTATS;
    j->past.assumed_ns += e->value[EXIT_cpu];
    j->past.assumed_unsure_ns += own_unsure(m);
}

/* Has everything been settled, and has the wrapper reported all that it reaped? */
static bool is_closed(const struct job *j)
{
    return j->settling.closing && j->adopts && !j->settling.n_gone;
}

static void note_missing(struct job *j)
{
    if (!is_closed(j))
        return;
    j->shortfall.unreaped = j->shortfall.io = true;
    j->shortfall.cpu |= j->past.assumed_short || !j->source.events || j->source.lossy;
}

/*
 * Scales up CPU time that is missing for certain by the unsure part of what was reported. For a process that was reaped
 * the kernel's count shows how much of the report was too much; for one that was not reaped the report is all there is.
 * Example: 3,000 ms were reported, 1,500 of them for processes that are assumed to have been reaped, of which 195 ms
 * are unsure. If 1,305 ms are missing for certain, none of these processes was reaped, and all 1,500 ms are missing.
 */
static uint64_t missing_cpu(const struct job *j, uint64_t sure)
{
    uint64_t unsure = j->past.assumed_unsure_ns;
    if (unsure >= j->past.assumed_ns)
        return sure;
    double all = (double)sure * ((double)j->past.assumed_ns / (double)(j->past.assumed_ns - unsure));
    return all < (double)(sure + unsure) ? (uint64_t)all : sure + unsure;
}

uint64_t closure_raise_cpu(struct job *j, uint64_t total[LEDGER_MAX], uint64_t sure, uint64_t *ret_excess)
{
    uint64_t sum = total[LEDGER_CPU_USER] + total[LEDGER_CPU_SYSTEM];
    if (sure <= sum)
        return 0;
    /* CPU time that was shared out was in the total already, as a gain of a parent in whole ticks. */
    uint64_t more = sure - sum, rounded = j->wrapper.reaped * WAIT4_ROUNDING_NS;
    if (is_closed(j) && more > rounded && more <= rounded + j->past.shared_ns)
        return 0;
    /* The unsure part of perf's count is an estimate. On a busy machine twice as much may be wrong, or all that perf
     * reported since a process was read last. If the kernel's total has the page faults of all processes, all were
     * reaped, and nothing is missing. But the total is marked as a lower bound, because page faults of other processes
     * after they were read last may make up for those of one that was not reaped. */
    if (is_closed(j) && more > rounded && more <= rounded + j->past.unsure_ns)
        return 0;
    bool has_faults = j->past.own[LEDGER_FAULTS_MINOR] <= total[LEDGER_FAULTS_MINOR];
    if (is_closed(j) && has_faults && more > rounded && more <= rounded + j->past.reported_ns) {
        j->shortfall.cpu = true;
        return 0;
    }
    /* If no more than the rounding of wait4(2) is missing, the sum of the parts is the exact total. */
    if (is_closed(j) && more > rounded) {
        note_missing(j);
        more = missing_cpu(j, more);
        *ret_excess = more - (sure - sum);
    }
    uint64_t user = share_u64(more, total[LEDGER_CPU_USER], sum);
    total[LEDGER_CPU_USER] += user;
    total[LEDGER_CPU_SYSTEM] += more - user;
    return more;
}

void closure_raise(struct job *j, uint64_t total[LEDGER_MAX])
{
    for (enum ledger_counter c = LEDGER_IO_READ; c < LEDGER_MAX; c++) {
        if (j->past.own[c] <= total[c])
            continue;
        total[c] = j->past.own[c];
        note_missing(j);
    }
}
