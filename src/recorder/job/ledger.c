/* SPDX-License-Identifier: Apache-2.0 */
/* Settling the ledger: the counters of a process must have grown by what the children that it reaped had used. */
#include <stdlib.h>

#include "recorder/job/settling.h"
#include "recorder/job/task.h"

uint64_t job_ledger(const struct member *m, enum ledger_counter c)
{
    return since_base(m, c, own_of(m, c) + reaped_of(m, c));
}

/* The I/O of the process itself, without its children, as it was reported when it ended. */
static uint64_t reported_io(const struct member *m, enum ledger_counter c)
{
    const struct member_usage *u = member_usage(m);
    if (!u->has_io)
        return 0;
    return c == LEDGER_IO_READ    ? u->io_read
           : c == LEDGER_IO_WRITE ? u->io_write
           : c == LEDGER_IO_RCHAR ? u->io_rchar
           : c == LEDGER_IO_WCHAR ? u->io_wchar
                                  : 0;
}

/*
 * Adds to ret the growth that the counters of m's successor must show: what m had used itself, and m's counters of
 * reaped children when the ledger was last settled. If these have grown since then, other gone members caused the
 * growth, and these are in the list themselves. /proc/PID/io is the sum of both parts, so for I/O the last settled
 * value counts.
 *
 * Example: sh used 5 ms itself. Its children had used 40 ms when the ledger was last settled, and have used 70 ms by
 * now, because it has reaped dd, which used 30 ms and is gone as well. sh adds 45 ms, dd adds 30 ms.
 */
static void add_expected(const struct member *m, uint64_t ret[LEDGER_MAX])
{
    if (m->life.reaped_by_parent)
        return;
    for (int c = 0; c < LEDGER_MAX; c++) {
        uint64_t known = own_of(m, (enum ledger_counter)c) + m->account.reaped[c];
        ret[c] += since_base(m, (unsigned)c, max_u64(known, reported_io(m, (enum ledger_counter)c)));
    }
    /* The record of its end may show more CPU time than the values read last. */
    ret[LEDGER_CPU_USER] += own_cpu(m) - value(m, PROCESS_cpu);
}

/* Adds to ret by how much m's counters of reaped children have grown since the ledger was last settled. */
static void gain_of(const struct member *m, uint64_t ret[LEDGER_MAX])
{
    for (int c = 0; c < LEDGER_MAX; c++) {
        uint64_t now = reaped_of(m, c);
        if (now > m->account.reaped[c])
            ret[c] += now - m->account.reaped[c];
    }
}

bool job_gained(const struct member *m)
{
    uint64_t one[LEDGER_MAX] = {0}, any = 0;
    gain_of(m, one);
    for (int c = 0; c < LEDGER_MAX; c++)
        any |= one[c];
    return any != 0;
}

static void note_settled(struct member *m)
{
    for (int c = 0; c < LEDGER_MAX; c++)
        m->account.reaped[c] = reaped_of(m, c);
}

void job_settled(const struct job *j, struct member *m)
{
    if (!gone_wait_for(j, m))
        note_settled(m);
}

/*
 * Carries what is missing. User and system time are balanced together: the kernel scales the split between them from
 * ticks, and the split that a process shows differs from the one in its successor's counters.
 *
 * slack: how much may be missing due to rounding (0 for the wrapper's wait4(2), which is exact). Example: 800 ms are
 * expected, and slack is 40 ms. If the successor gained 770 ms, nothing is carried; if it gained nothing, 760 ms are.
 *
 * excess: how much of the expected CPU time may be too much. Example: perf reported 88 ms, of which 12 are unsure, and
 * wait4(2) 82 ms: nothing is missing. If wait4(2) reported none, the process was not waited for, and 88 ms are carried.
 * If the successor gained the page faults, the process was waited for, and all that perf reported since it was read
 * last (`reported`) may be too much: on a busy virtual machine perf had 482 ms where the kernel counted 394.
 *
 * Returns whether CPU time was carried.
 */
static bool balance(struct job *j, const uint64_t expected[LEDGER_MAX], const uint64_t gained[LEDGER_MAX],
                    uint64_t slack, const struct cpu_excess *excess)
{
    uint64_t used = expected[LEDGER_CPU_USER] + expected[LEDGER_CPU_SYSTEM];
    uint64_t have = gained[LEDGER_CPU_USER] + gained[LEDGER_CPU_SYSTEM];
    uint64_t missing = used > have ? used - have : 0, faults = expected[LEDGER_FAULTS_MINOR];
    bool waited_for = faults && gained[LEDGER_FAULTS_MINOR] >= faults;
    uint64_t most = waited_for ? max_u64(excess->unsure, excess->reported) : excess->unsure;
    missing = have && missing <= most ? 0 : missing;
    uint64_t carried = missing > slack ? missing - slack : 0;
    if (carried) {
        uint64_t user = share_u64(carried, expected[LEDGER_CPU_USER], used);
        j->carried[LEDGER_CPU_USER] += user;
        j->carried[LEDGER_CPU_SYSTEM] += carried - user;
    }
    for (int c = LEDGER_CPU_SYSTEM + 1; c < LEDGER_MAX; c++) {
        if (expected[c] > gained[c])
            j->carried[c] += expected[c] - gained[c];
    }
    return carried > 0;
}

/* When a process is reaped, the counters of its successor grow by all that the process ever used. If the process had
 * begun before the recording, the part that it had used by then does not count: this function adds that part to the
 * successor's base. Example: a backend of PostgreSQL had used 20 ms, and ends with 30: the postmaster gains 30, and the
 * job 10. If the successor did not gain the page faults of all of these processes, at most what it gained is left out.
 */
static void leave_out_past(const struct settlement *e, uint64_t gained[LEDGER_MAX])
{
    struct member *m = e->successor;
    bool all = gained[LEDGER_FAULTS_MINOR] >= e->faults;
    if (!e->past[LEDGER_FAULTS_MINOR] || !gained[LEDGER_FAULTS_MINOR])
        return;
    if (!m->account.base && !(m->account.base = calloc(BASE_MAX, sizeof(*m->account.base))))
        return;
    for (int c = 0; c < LEDGER_MAX; c++) {
        uint64_t past = all || e->past[c] < gained[c] ? e->past[c] : gained[c];
        m->account.base[c] += past;
        m->account.base[BASE_CHILDREN_CPU] += c <= LEDGER_CPU_SYSTEM ? past : 0;
        gained[c] -= gained[c] < past ? gained[c] : past;
    }
    member_moved(m);
}

/* Counts the I/O of reaped children as gained if the successor's io was not read after it reaped them: the I/O will
 * show in the next reading of the successor, or of the process that reaps the successor. Example: collect2 waits for
 * ld, which had read 73 MB, and ends. The stat of collect2 shows the page faults of ld, but its io can no longer be
 * read. If the 73 MB counted as lost, they would count again when cc reaps collect2. */
static void gain_unread_io(const struct settlement *e, uint64_t ret[LEDGER_MAX])
{
    if (!io_is_behind(e->successor) || ret[LEDGER_FAULTS_MINOR] < e->expected[LEDGER_FAULTS_MINOR])
        return;
    for (int c = LEDGER_IO_READ; c < LEDGER_FAULTS_MINOR; c++)
        ret[c] = max_u64(ret[c], e->expected[c]);
}

static bool is_ignored(const struct member *m)
{
    return m->account.successor && m->account.successor->account.ignores_children;
}

static void add_excess(struct cpu_excess *ret, const struct member *m)
{
    if (m->life.reaped_by_parent || is_ignored(m))
        return;
    ret->unsure += own_unsure(m);
    ret->reported += own_unsure(m) ? reported_cpu(m) : 0;
}

/* No other process has the CPU time of these gone members, so what was reported when they ended counts in full, and
 * what may be too much of it stays in the total. Example: perf reported 88 ms, of which 12 are unsure; the job has 88,
 * and job.cpu_excess_ns 12.
 * successor: the successor of these members; NULL if they have none. */
static void take_as_sure(struct job *j, const struct member *successor)
{
    for (struct member *m = j->settling.gone; m; m = m->links.list_next) {
        if (member_usage(m)->cpu_unsure_ns && (is_ignored(m) || nearest_living(m) == successor)) {
            j->past.unreaped_unsure_ns += own_unsure(m);
            member_make_usage(m)->cpu_unsure_ns = 0;
        }
    }
}

/* Notes why totals are lower bounds. The kernel adds the counters of a process to no member if its parent does not wait
 * for it (it ignores SIGCHLD), or if an init outside the job adopts it. What such a process used after it was last read
 * is lost. This shows in the parent's minor faults, which did not grow by those of the child. (It does not show in the
 * parent's io, which includes the parent's own I/O.) Faults of other children may hide it, so a parent that was seen to
 * ignore SIGCHLD counts as well.
 *
 * Example: a shell ignores SIGCHLD, and its child computes for 80 ms between two samples. The record of taskstats has
 * the 80 ms, which are carried. Without that record they are missing. With it only the teardown is missing: for a child
 * of 400 MB the record had 154 of 188 ms. */
static void note_short(struct job *j, const struct settlement *list)
{
    for (const struct member *m = j->settling.gone; m; m = m->links.list_next) {
        if (m->other.is)
            continue; /* what it used after it was read last is in no total */
        bool is_lost = (!nearest_living(m) && !j->adopts && !m->life.reaped_by_parent) || is_unreaped(m);
        j->shortfall.io |= is_lost && !io_is_whole(j, m);
        j->shortfall.unreaped |= is_lost || is_ignored(m);
        if (!is_lost && !is_ignored(m))
            continue;
        j->shortfall.cpu |= !ledger_is_whole(j, m);
        j->shortfall.teardown_ns += member_is_final(m) ? 0 : teardown_expected(m);
    }
    for (const struct settlement *e = list; e; e = e->next) {
        uint64_t one[LEDGER_MAX] = {0};
        gain_of(e->successor, one);
        bool is_lost = one[LEDGER_FAULTS_MINOR] < e->faults;
        j->shortfall.io |= is_lost;
        j->shortfall.unreaped |= is_lost;
        j->shortfall.cpu |= is_lost && e->not_whole;
    }
}

void job_ignores_children(struct job *j, struct member *m)
{
    m->account.ignores_children = true;
    j->shortfall.ignores_children = true;
}

static struct settlement *settlement_of(struct job *j, struct member *successor, struct settlement **list)
{
    struct settlement *e = successor->account.settlement ? successor->account.settlement : j->tree.free_settlements;
    if (successor->account.settlement)
        return e;
    if (e)
        j->tree.free_settlements = e->next;
    else
        e = malloc(sizeof(*e));
    if (!e)
        return NULL;
    *e = (struct settlement){.successor = successor, .next = *list};
    successor->account.settlement = e;
    *list = e;
    return e;
}

/* Makes a settlement for each successor. If memory runs out, the members are balanced with those without a successor.
 */
static struct settlement *list_successors(struct job *j)
{
    struct settlement *list = NULL;
    for (struct member *m = j->settling.gone; m; m = m->links.list_next) {
        struct member *up = nearest_living(m);
        struct settlement *e = up ? settlement_of(j, up, &list) : NULL;
        if (!e)
            continue;
        add_expected(m, e->expected);
        for (int c = 0; c < LEDGER_MAX && m->account.base; c++)
            e->past[c] += m->account.base[c];
        e->faults += faults_of(m);
        e->lost++;
        e->known += own_cpu(m) + m->account.reaped[LEDGER_CPU_USER] + m->account.reaped[LEDGER_CPU_SYSTEM];
        /* CPU time that is attributed to its children, and that its own counters do not show yet */
        e->known += m->account.pool < 0 ? (uint64_t)-m->account.pool : 0;
        e->weight += remainder_expected(m);
        add_excess(&e->excess, m);
        e->without_cpu += !member_usage(m)->has_cpu;
        e->not_whole |= !ledger_is_whole(j, m);
    }
    return list;
}

static void forget_successors(struct job *j, struct settlement *list)
{
    while (list) {
        struct settlement *e = list;
        list = e->next;
        e->successor->account.settlement = NULL;
        e->next = j->tree.free_settlements;
        j->tree.free_settlements = e;
    }
}

/* Reads each successor again. One of them may turn out to be gone as well; then its own ancestor is the successor. */
static void read_successors(struct job *j, job_read_fn *read_again, void *context)
{
    size_t before;
    do {
        before = j->settling.n_gone;
        reaped_io_want(j);
        struct settlement *list = list_successors(j);
        for (const struct settlement *e = list; e; e = e->next) {
            if (!member_is_gone(e->successor))
                e->successor->account.takeover_unread = !read_again(context, e->successor);
        }
        forget_successors(j, list);
    } while (j->settling.n_gone != before);
}

void job_settle(struct job *j, uint64_t now_ns, job_read_fn *read_again, void *context)
{
    if (!j->settling.gone)
        return;
    if (is_own_alone(j)) {
        task_settle(j);
        exits_report(j, now_ns);
        state_check(j);
        return;
    }
    read_successors(j, read_again, context);
    reaped_io_account(j);
    struct member *later = gone_hold_back(j, now_ns);
    struct settlement *list = list_successors(j);
    uint64_t expected[LEDGER_MAX] = {0}, gained[LEDGER_MAX] = {0}, shares = 0;
    struct cpu_excess excess = {0};
    note_short(j, list);
    for (int c = 0; c < LEDGER_MAX; c++) {
        gained[c] = j->wrapper.total[c] - j->wrapper_settled[c];
        j->wrapper_settled[c] = j->wrapper.total[c];
    }
    for (const struct member *m = j->settling.gone; m; m = m->links.list_next) {
        const struct member *successor = nearest_living(m);
        if (successor && successor->account.settlement)
            continue;
        add_expected(m, expected);
        add_excess(&excess, m);
    }
    if (balance(j, expected, gained, 0, &excess))
        take_as_sure(j, NULL);
    /* Each successor is balanced separately: a surplus of one must not hide what is missing from another. */
    for (struct settlement *e = list; e; e = e->next) {
        uint64_t one[LEDGER_MAX] = {0};
        gain_of(e->successor, one);
        remainder_plan(j, e, one[LEDGER_CPU_USER] + one[LEDGER_CPU_SYSTEM]);
        leave_out_past(e, one);
        gain_unread_io(e, one);
        shares += e->share;
        if (balance(j, e->expected, one, 2 * SHORT_TICKS * j->ns_per_tick, &e->excess) ||
            e->successor->account.ignores_children)
            take_as_sure(j, e->successor);
        note_settled(e->successor);
    }
    remainder_share_out(j, shares);
    forget_successors(j, list);
    exits_report(j, now_ns);
    gone_give_back(j, later);
    j->settling.n_held = j->settling.n_gone;
    state_check(j);
}
