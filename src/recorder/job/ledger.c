/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settling the ledger: what has become of the counters of processes that are gone. docs/ledger.md has a picture.
 *
 * When a process is reaped, the kernel adds all its counters to those of its parent, in one step (wait_task_zombie() in
 * kernel/exit.c). Page faults are the receipt: each process has at least one. If the parent has gained the page faults
 * of its gone children, it has gained their CPU time and I/O as well, whatever is known of these. If not, nobody waited
 * for one of them, and the kernel added its counters to no process: they are carried.
 */
#include <stdlib.h>

#include "recorder/job/counters.h"
#include "recorder/job/task.h"

uint64_t job_ledger(const struct member *m, enum ledger_counter c)
{
    return since_base(m, c, own_of(m, c) + reaped_of(m, c));
}

/* By how much the member's counters of reaped children have grown since the ledger was last settled. */
static void gain_of(const struct member *m, uint64_t ret[LEDGER_MAX])
{
    for (int c = 0; c < LEDGER_MAX; c++)
        ret[c] = excess(reaped_of(m, c), m->account.reaped[c]);
}

bool job_gained(const struct member *m)
{
    uint64_t gained[LEDGER_MAX], any = 0;
    gain_of(m, gained);
    for (int c = 0; c < LEDGER_MAX; c++)
        any |= gained[c];
    return any != 0;
}

static void note_settled(struct member *m)
{
    for (int c = 0; c < LEDGER_MAX; c++)
        m->account.reaped[c] = reaped_of(m, c);
}

/* What the member has gained from children that still wait is settled together with these. Example: the command is a
 * zombie, and its counters include 70 ms of its child. The child waits for the wrapper's report of the command. If the
 * 70 ms counted as settled now, they would seem to be missing when the report comes, and would be added again. */
void job_settled(struct member *m)
{
    if (!m->account.children_wait)
        note_settled(m);
}

void job_ignores_children(struct job *j, struct member *m)
{
    m->account.ignores_children = true;
    j->shortfall.ignores_children = true;
}

/* ---- successors ---- */

struct member *nearest_living(const struct member *m)
{
    struct member *up = m->account.successor;
    while (up && member_is_gone(up))
        up = up->account.successor;
    return up;
}

/* What the member has used itself, and what it had gained from children when the ledger was last settled. If that has
 * grown since then, other gone members caused the growth, and these are settled themselves. /proc/PID/io is the sum of
 * both parts, so for I/O the last settled value counts.
 *
 * Example: sh used 5 ms itself. Its children had used 40 ms when the ledger was last settled, and have used 70 ms by
 * now, because it has reaped dd, which used 30 ms and is gone as well. sh adds 45 ms, dd adds 30 ms. */
static void add_expected(const struct member *m, uint64_t ret[LEDGER_MAX])
{
    for (enum ledger_counter c = 0; c < LEDGER_MAX; c++) {
        uint64_t known = own_of(m, c) + m->account.reaped[c];
        ret[c] += since_base(m, c, max_u64(known, member_usage(m)->own[c]));
    }
    ret[LEDGER_CPU_USER] += reported_cpu(m);
}

static struct settlement *settlement_of(struct job *j, struct member *successor, struct settlement **list)
{
    struct settlement *e = successor->account.settlement;
    if (e)
        return e;
    e = j->tree.free_settlements;
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

/* Makes a settlement for each successor. If memory runs out, the members are not settled: what they used is missing
 * unless a later reading of their successor has it. */
static struct settlement *list_successors(struct job *j)
{
    struct settlement *list = NULL;
    for (struct member *m = j->settling.gone; m; m = m->links.list_next) {
        struct member *up = nearest_living(m);
        struct settlement *e = up ? settlement_of(j, up, &list) : NULL;
        if (!e)
            continue;
        if (m->account.heir == HEIR_SUCCESSOR) {
            add_expected(m, e->expected);
            e->unsure_ns += own_unsure(m);
            e->teardown_ns += teardown_expected(m);
        }
        for (int c = 0; c < LEDGER_MAX && m->account.base; c++)
            e->past[c] += m->account.base[c];
        e->faults += faults_of(m);
        e->n++;
        e->known += own_cpu(m) + m->account.reaped[LEDGER_CPU_USER] + m->account.reaped[LEDGER_CPU_SYSTEM];
        /* CPU time that is attributed to its children, and that its own counters do not show yet */
        e->known += m->account.pool < 0 ? (uint64_t)-m->account.pool : 0;
        e->weight += remainder_expected(m);
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

/* Reads each successor again. One of them may turn out to be gone as well, or more of its children; then it is read
 * once more: its counters must be those of a moment at which all gone members were gone. */
static void read_successors(struct job *j, job_read_fn *read_again, void *context)
{
    size_t before;
    do {
        before = j->settling.n_gone;
        reaped_io_want(j);
        struct settlement *list = list_successors(j);
        for (const struct settlement *e = list; e; e = e->next) {
            if (!member_is_gone(e->successor))
                e->successor->account.is_unread = !read_again(context, e->successor);
        }
        forget_successors(j, list);
    } while (j->settling.n_gone != before);
}

/* ---- members that have to wait ---- */

/* How long a gone member waits for the event of its end, or for the wrapper's report, in ns: do_exit() notifies the
 * parent first, and may be preempted before it sends the event. */
#define EVENT_WAIT 200000000u
/* If there are more gone members, none waits: at a high rate of exits one event is always outstanding. */
#define EVENT_WAIT_GONE_MOST 256u

/* The last values of m's parent may show that it never reaped a child. If so, either the wrapper reaps m and reports
 * it; or the parent ignored SIGCHLD, and the kernel adds the counters of m to no process. Which of these is the case is
 * known at the end of the job: by then the wrapper has reported all processes that it reaped. */
static void note_unreaped(struct member *m)
{
    const struct member *parent = m->account.successor;
    if (parent && member_is_final(parent) && !reaped_of(parent, LEDGER_FAULTS_MINOR)) {
        m->account.heir = HEIR_UNKNOWN;
        m->account.successor = NULL;
    }
}

/* Had the successor ended when m was found gone? If so, either the successor had reaped m before, and its counters
 * include those of m; or the wrapper has adopted m and will report it. In both cases nothing is lost. The same holds if
 * no ancestor is alive. */
static bool may_be_reaped_already(const struct job *j, const struct member *m)
{
    for (; j->adopts; m = m->account.successor) {
        const struct member *up = m->account.successor;
        bool has_ended = up && (member_state(up) != MEMBER_ALIVE || member_is_zombie(up));
        if (!up || (has_ended && (!up->life.end_ns || up->life.end_ns <= m->life.gone_ns)))
            return true;
        if (!member_is_gone(up))
            return false;
    }
    return false;
}

/* Sets for each successor whether its gone children wait:
 *   - if its counters are not final: it is REAP_PENDING, could not be read, or the wrapper's report of it is due;
 *   - if its gain cannot be attributed, because the event of a child's end is outstanding. */
static void note_who_waits(const struct job *j, uint64_t now_ns)
{
    bool events = j->source.events && j->settling.n_gone < EVENT_WAIT_GONE_MOST;
    struct member *up;
    for (const struct member *m = j->settling.gone; m; m = m->links.list_next) {
        if ((up = nearest_living(m)))
            up->account.children_wait = false;
    }
    for (const struct member *m = j->settling.gone; m && !j->settling.closing; m = m->links.list_next) {
        if (!(up = nearest_living(m)))
            continue;
        bool event_due = events && !m->life.end_reported && now_ns < m->life.gone_ns + EVENT_WAIT;
        up->account.children_wait |=
            event_due || member_is_reap_pending(up) || up->account.is_unread || report_is_due(j, up);
    }
}

/* Takes the members that have to wait out of the list of gone ones, and returns them. Keeps the order of the others. */
static struct member *hold_back(struct job *j, uint64_t now_ns)
{
    struct member *later = NULL, **at = &j->settling.gone;
    note_who_waits(j, now_ns);
    while (*at) {
        struct member *m = *at;
        note_unreaped(m);
        const struct member *up = nearest_living(m);
        bool report_due = is_unreaped(m) && now_ns < m->life.gone_ns + EVENT_WAIT && !j->settling.closing;
        if (m->account.heir == HEIR_SUCCESSOR && may_be_reaped_already(j, m))
            m->account.heir = HEIR_EARLIER;
        if (!report_due && (!up || !up->account.children_wait)) {
            at = &m->links.list_next;
            continue;
        }
        *at = m->links.list_next;
        m->links.list_next = later;
        later = m;
        j->settling.n_gone--;
    }
    return later;
}

static void give_back(struct job *j, struct member *later)
{
    while (later) {
        struct member *m = later;
        later = m->links.list_next;
        m->links.list_next = j->settling.gone;
        j->settling.gone = m;
        j->settling.n_gone++;
        j->settling.gone_unforked |= !m->life.begin_ns;
    }
    j->settling.n_held = j->settling.n_gone;
}

/* ---- what nobody has ---- */

/* Carries what is missing. User and system time are balanced together: the kernel scales the split between them from
 * ticks, and the split that a process shows differs from the one in its successor's counters. Returns the CPU time. */
static uint64_t carry(struct job *j, const uint64_t expected[LEDGER_MAX], const uint64_t gained[LEDGER_MAX])
{
    uint64_t used = expected[LEDGER_CPU_USER] + expected[LEDGER_CPU_SYSTEM];
    uint64_t missing = excess(used, gained[LEDGER_CPU_USER] + gained[LEDGER_CPU_SYSTEM]);
    uint64_t user = share_u64(missing, expected[LEDGER_CPU_USER], used);
    j->carried[LEDGER_CPU_USER] += user;
    j->carried[LEDGER_CPU_SYSTEM] += missing - user;
    for (int c = LEDGER_CPU_SYSTEM + 1; c < LEDGER_MAX; c++)
        j->carried[c] += excess(expected[c], gained[c]);
    return missing;
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
        uint64_t past = all ? e->past[c] : min_u64(e->past[c], gained[c]);
        m->account.base[c] += past;
        m->account.base[BASE_CHILDREN_CPU] += c <= LEDGER_CPU_SYSTEM ? past : 0;
        gained[c] = excess(gained[c], past);
    }
    member_moved(m);
}

/*
 * Settles the gone members below one successor. A successor that ignores SIGCHLD may have gained page faults of some
 * and not of others, so there the difference counts. It is short by what the reaped ones used beyond what is known of
 * them: about two ticks. Example: a program waits for 20 children of 3 ms, ignores SIGCHLD, and has four of 30 ms: 172
 * of 189 ms.
 *
 * Example: make has gained 900 page faults and 70 ms from two children with 600 and 300 faults: nothing is carried,
 * although perf reported 80 ms for them. It has gained none from a third one with 300 faults and 30 ms: 30 ms are
 * carried.
 */
static void settle_successor(struct job *j, struct settlement *e)
{
    struct member *m = e->successor;
    uint64_t gained[LEDGER_MAX];
    gain_of(m, gained);
    remainder_plan(j, e, gained[LEDGER_CPU_USER] + gained[LEDGER_CPU_SYSTEM]);
    bool is_lost = gained[LEDGER_FAULTS_MINOR] < e->faults;
    leave_out_past(e, gained);
    if (is_lost || m->account.ignores_children) {
        j->past.excess_ns += carry(j, e->expected, gained) ? e->unsure_ns : 0;
        j->shortfall.cpu |= e->not_whole;
        j->shortfall.cpu_ns += e->teardown_ns + (gained[LEDGER_FAULTS_MINOR] ? SHORT_TICKS * j->ns_per_tick : 0);
        j->shortfall.unreaped = true;
    }
    j->shortfall.io |= is_lost;
    note_settled(m);
}

/* Settles a gone member that has no living ancestor in the job. If the wrapper adopts orphans, it or an ancestor that
 * is gone as well has the counters. If not, they are those of a process outside the job. */
static void settle_orphan(struct job *j, const struct member *m)
{
    static const uint64_t nothing[LEDGER_MAX];
    uint64_t expected[LEDGER_MAX] = {0};
    if (member_is_final(m) || m->account.heir == HEIR_EARLIER || j->adopts)
        return;
    add_expected(m, expected);
    j->past.excess_ns += carry(j, expected, nothing) ? own_unsure(m) : 0;
    if (m->other.is)
        return; /* what it used after it was read last is in no total */
    j->shortfall.io |= !io_is_whole(j, m);
    j->shortfall.cpu |= !ledger_is_whole(j, m);
    j->shortfall.cpu_ns += teardown_expected(m);
    j->shortfall.unreaped |= !member_usage(m)->has_io; /* taskstats reports page faults as well */
}

void job_settle(struct job *j, uint64_t now_ns, job_read_fn *read_again, void *context)
{
    if (!j->settling.gone)
        return;
    if (is_own_alone(j)) { /* children do not count, so nothing was passed on */
        task_settle(j);
        exits_report(j, now_ns);
        state_check(j);
        return;
    }
    /* 1. What the successors show now. */
    read_successors(j, read_again, context);
    reaped_io_account(j);
    /* 2. Who can't be settled yet. */
    struct member *later = hold_back(j, now_ns);
    /* 3. What each successor must have gained. */
    struct settlement *list = list_successors(j);
    /* 4. What nobody has. Each successor separately: a surplus of one must not hide what is missing from another. */
    for (const struct member *m = j->settling.gone; m; m = m->links.list_next) {
        if (!nearest_living(m))
            settle_orphan(j, m);
    }
    for (struct settlement *e = list; e; e = e->next)
        settle_successor(j, e);
    /* 5. What nobody was seen to use. */
    remainder_share_out(j, list);
    forget_successors(j, list);
    /* 6. All that is known of each process is known now. */
    exits_report(j, now_ns);
    give_back(j, later);
    state_check(j);
}
