/* SPDX-License-Identifier: Apache-2.0 */
/* Settling: what the gone had used must turn up with those who took it over. */
#include <stdlib.h>
#include <string.h>

#include "job/counters.h"

uint64_t job_ledger(const struct member *m, enum ledger_counter c)
{
    return since_base(m, c, own_of(m, c) + reaped_of(m, c));
}

static struct member *nearest_living(const struct member *m)
{
    struct member *up = m->successor;
    while (up && member_is_gone(up))
        up = up->successor;
    return up;
}

/* What its end told of its own reading and writing; its children's is not in it. */
static uint64_t told_of_io(const struct member *m, enum ledger_counter c)
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

/* What its successor must have gained: what a process that is gone had used itself, and what it had taken over by the
 * time the ledger was last settled. What it took over since then came from others that are gone, who stand in the list
 * themselves. io holds both in one: of it the last settled value counts. */
static void expect(const struct member *m, uint64_t ret[LEDGER_MAX])
{
    if (m->absorbed)
        return;
    for (int c = 0; c < LEDGER_MAX; c++) {
        uint64_t known = own_of(m, (enum ledger_counter)c) + m->reaped[c];
        ret[c] += since_base(m, (unsigned)c, max_u64(known, told_of_io(m, (enum ledger_counter)c)));
    }
    /* A record of its end may know of more than the last look did. */
    ret[LEDGER_CPU_USER] += own_cpu(m) - value(m, PROCESS_cpu);
}

static void gain_of(const struct member *m, uint64_t ret[LEDGER_MAX])
{
    for (int c = 0; c < LEDGER_MAX; c++) {
        uint64_t now = reaped_of(m, c);
        if (now > m->reaped[c])
            ret[c] += now - m->reaped[c];
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

static void settled(struct member *m)
{
    for (int c = 0; c < LEDGER_MAX; c++)
        m->reaped[c] = reaped_of(m, c);
}

/* What it took over of children that wait, for it to tell or to be read, is theirs when their turn comes. */
static bool is_waited_for(const struct job *j, const struct member *successor)
{
    if (!member_is_reap_pending(successor) && !successor->unread && !successor->untold)
        return false;
    for (const struct member *m = j->gone; m; m = m->list_next) {
        if (nearest_living(m) == successor)
            return true;
    }
    return false;
}

void job_settled(const struct job *j, struct member *m)
{
    if (!is_waited_for(j, m))
        settled(m);
}

/* ---- what ended processes used beyond what is known of them ----
 *
 * The records of taskstats and perf are cut before a process gives up its memory and is torn down; its parent takes
 * over all of it. So what a parent gained, less what is known of the children that it lost, is theirs: it is shared
 * among them by what a teardown costs (a fixed part, and one for each page). The parent shows what it gained in ticks,
 * so a rest, of either sign, stays in its pool for the next time. This holds only if every child is known; and among
 * several of whom nobody told the CPU nothing could be shared fairly.
 */
#define TEARDOWN_NS 200000u
#define TEARDOWN_NS_PER_PAGE 200u
#define SHARE_MOST                                                                                                     \
    8u /* times what it is held to cost: what the parent shows comes in steps of 10 ms, and may be for others */

static uint64_t weight_of(const struct member *m)
{
    uint64_t rss = member_usage(m)->has_memory ? member_usage(m)->rss_peak : m->row.value[PROCESS_rss_peak];
    return TEARDOWN_NS + rss / 4096 * TEARDOWN_NS_PER_PAGE;
}

static void plan_share(const struct job *j, struct settlement *e, uint64_t gained_ns)
{
    struct member *successor = e->successor;
    e->share = 0;
    successor->pool += (int64_t)gained_ns - (int64_t)e->known;
    if (!j->events || j->lossy || (e->blind && e->lost > 1)) {
        successor->pool = successor->pool < 0 ? successor->pool : 0;
        return;
    }
    if (successor->pool <= 0 || successor->unsure)
        return;
    uint64_t most = e->weight * SHARE_MOST;
    e->share = (uint64_t)successor->pool < most ? (uint64_t)successor->pool : most;
    successor->pool -= (int64_t)e->share;
}

/* What is shown of the whole job, and not put down to anybody yet. */
static uint64_t unattributed(struct job *j)
{
    totals_refresh(j);
    uint64_t shown = j->carried[LEDGER_CPU_USER] + j->carried[LEDGER_CPU_SYSTEM], named = j->counted_ended_ns;
    shown += j->wrapper.total[LEDGER_CPU_USER] + j->wrapper.total[LEDGER_CPU_SYSTEM];
    shown += j->sums.ledger[LEDGER_CPU_USER] + j->sums.ledger[LEDGER_CPU_SYSTEM];
    named += j->sums.counted;
    for (const struct member *m = j->gone; m; m = m->list_next)
        named += since_base(m, BASE_CPU, own_cpu(m));
    return shown > named ? shown - named : 0;
}

/* Wherever a child was missed, a share of it would be put down twice: never more than the job as a whole has room for.
 */
static void share_out(struct job *j, uint64_t shares)
{
    uint64_t room = shares ? unattributed(j) : 0;
    double part_of = room < shares ? (double)room / (double)shares : 1;
    for (struct member *m = j->gone; m; m = m->list_next) {
        const struct member *successor = nearest_living(m);
        const struct settlement *e = successor ? successor->settlement : NULL;
        if (!e || !e->share)
            continue;
        uint64_t part = (uint64_t)((double)e->share * part_of * ((double)weight_of(m) / (double)e->weight));
        part += own_cpu(m);
        struct member_usage *u = member_tell(m);
        u->cpu_ns = part;
        u->has_cpu = true;
    }
}

/* CPU is balanced as a whole: the split into user and system is scaled from ticks, and differs between what a process
 * and what its successor shows. What the wrapper tells is exact, what a member shows is not. */
static void balance(struct job *j, const uint64_t expected[LEDGER_MAX], const uint64_t gained[LEDGER_MAX],
                    uint64_t slack)
{
    uint64_t used = expected[LEDGER_CPU_USER] + expected[LEDGER_CPU_SYSTEM];
    uint64_t have = gained[LEDGER_CPU_USER] + gained[LEDGER_CPU_SYSTEM];
    uint64_t missing = used > have ? used - have : 0;
    uint64_t carried = missing > slack ? missing - slack : 0;
    if (carried) {
        uint64_t user = (uint64_t)((double)carried * ((double)expected[LEDGER_CPU_USER] / (double)used));
        j->carried[LEDGER_CPU_USER] += user;
        j->carried[LEDGER_CPU_SYSTEM] += carried - user;
    }
    uint64_t surplus =
        slack && have > used ? have - used : 0; /* what was withheld shows now, or what ended unnoticed */
    j->withheld += missing - carried;
    j->withheld -= surplus < j->withheld ? surplus : j->withheld;
    for (int c = LEDGER_CPU_SYSTEM + 1; c < LEDGER_MAX; c++) {
        if (expected[c] > gained[c])
            j->carried[c] += expected[c] - gained[c];
    }
}

/* Of one whose parent does not wait for it (it ignores SIGCHLD), or that went to an init outside the job, the kernel
 * passes nothing on: what it read and wrote since the last look is lost. That its faults are missing with its parent
 * tells of it, as io has a parent's own doing in it, too. */
static void note_short_io(struct job *j, const struct settlement *list)
{
    for (const struct member *m = j->gone; m; m = m->list_next) {
        const struct member *successor = nearest_living(m);
        j->io_short |= !successor && !j->adopts && !m->absorbed && !io_is_whole(j, m);
        /* The last values of its parent say that it took over nothing. */
        const struct member *parent = m->successor;
        j->io_short |= parent && member_is_final(parent) && !reaped_of(parent, LEDGER_FAULTS_MINOR) &&
                       !io_is_whole(j, m);
    }
    for (const struct settlement *e = list; e; e = e->next) {
        uint64_t one[LEDGER_MAX] = {0};
        gain_of(e->successor, one);
        j->io_short |= one[LEDGER_FAULTS_MINOR] < e->faults;
    }
}

static struct settlement *settlement_of(struct job *j, struct member *successor, struct settlement **list)
{
    struct settlement *e = successor->settlement ? successor->settlement : j->tree.free_settlements;
    if (successor->settlement)
        return e;
    if (e)
        j->tree.free_settlements = e->next;
    else
        e = malloc(sizeof(*e));
    if (!e)
        return NULL;
    *e = (struct settlement){.successor = successor, .next = *list};
    successor->settlement = e;
    *list = e;
    return e;
}

/* Who could not be given one, for want of memory, is balanced with those that have no successor. */
static struct settlement *list_successors(struct job *j)
{
    struct settlement *list = NULL;
    for (struct member *m = j->gone; m; m = m->list_next) {
        struct member *up = nearest_living(m);
        struct settlement *e = up ? settlement_of(j, up, &list) : NULL;
        if (!e)
            continue;
        expect(m, e->expected);
        e->faults += faults_of(m);
        e->lost++;
        e->known += own_cpu(m) + m->reaped[LEDGER_CPU_USER] + m->reaped[LEDGER_CPU_SYSTEM];
        e->known += m->pool < 0 ? (uint64_t)-m->pool : 0; /* put down to its children, and not yet shown as reaped */
        e->weight += weight_of(m);
        e->blind += !member_usage(m)->has_cpu;
    }
    return list;
}

static void forget_successors(struct job *j, struct settlement *list)
{
    while (list) {
        struct settlement *e = list;
        list = e->next;
        e->successor->settlement = NULL;
        e->next = j->tree.free_settlements;
        j->tree.free_settlements = e;
    }
}

/* Reading an ancestor may show that it is gone too; then its own ancestor is the successor. */
static void read_successors(struct job *j, job_read_fn *read_again, void *context)
{
    size_t before;
    do {
        before = j->n_gone;
        reaped_io_want(j);
        struct settlement *list = list_successors(j);
        for (const struct settlement *e = list; e; e = e->next) {
            if (!member_is_gone(e->successor))
                e->successor->unread = !read_again(context, e->successor);
        }
        forget_successors(j, list);
    } while (j->n_gone != before);
}

/* A parent that had ended when its child was found gone may have left its children to the wrapper, which tells of them,
 * or may have waited for them first, which shows in what it took over: either way nothing is lost. The same holds where
 * no ancestor is left. */
static bool may_have_left(const struct member *successor, const struct member *m)
{
    bool ended = member_state(successor) != MEMBER_ALIVE || value(successor, PROCESS_state) == 'Z';
    return ended && (!successor->end_ns || successor->end_ns <= m->gone_ns);
}

static bool ambiguous(const struct job *j, const struct member *m)
{
    for (; j->adopts; m = m->successor) {
        const struct member *successor = m->successor;
        if (!successor || may_have_left(successor, m))
            return true;
        if (!member_is_gone(successor))
            return false;
    }
    return false;
}

#define UNTOLD_FOR                                                                                                     \
    200000000u /* ns: do_exit() notifies the parent first, and may be kept from going on while others have the core */
#define UNTOLD_MOST 256u /* gone members: in a storm there is always one */

static void find_untold(const struct job *j, uint64_t now_ns)
{
    bool waits = j->events && !j->closing && j->n_gone < UNTOLD_MOST;
    for (const struct member *m = j->gone; m; m = m->list_next) {
        struct member *successor = nearest_living(m);
        if (successor)
            successor->untold = false;
    }
    for (const struct member *m = j->gone; m; m = m->list_next) {
        struct member *successor = nearest_living(m);
        if (successor)
            successor->untold |= waits && !m->end_told && now_ns < m->gone_ns + UNTOLD_FOR;
    }
}

/* What an reap_pending successor took over is told with its end; what one took over that could not be read is not
 * known; and of what it took over nobody can say whose it is while one of them is still to be told of. Until then its
 * children wait. */
static struct member *hold_back(struct job *j, uint64_t now_ns)
{
    struct member *now = NULL, *later = NULL;
    find_untold(j, now_ns);
    while (j->gone) {
        struct member *m = j->gone;
        j->gone = m->list_next;
        const struct member *successor = nearest_living(m);
        bool wait = successor &&
                    (member_is_reap_pending(successor) || successor->unread || successor->untold ||
                     is_about_to_be_told(j, successor)) &&
                    !j->closing;
        struct member **list = wait ? &later : &now;
        m->list_next = *list;
        *list = m;
        m->absorbed |= ambiguous(j, m);
        j->n_gone -= list == &later;
    }
    while (now) { /* the order of the list is kept */
        struct member *m = now;
        now = m->list_next;
        m->list_next = j->gone;
        j->gone = m;
    }
    return later;
}

static void give_back(struct job *j, struct member *later)
{
    while (later) {
        struct member *m = later;
        later = m->list_next;
        m->list_next = j->gone;
        j->gone = m;
        j->n_gone++;
    }
}

void job_settle(struct job *j, uint64_t now_ns, job_read_fn *read_again, void *context)
{
    if (!j->gone)
        return;
    read_successors(j, read_again, context);
    reaped_io_account(j);
    struct member *later = hold_back(j, now_ns);
    struct settlement *list = list_successors(j);
    uint64_t expected[LEDGER_MAX] = {0}, gained[LEDGER_MAX] = {0}, shares = 0;
    note_short_io(j, list);
    for (int c = 0; c < LEDGER_MAX; c++) {
        gained[c] = j->wrapper.total[c] - j->wrapper_settled[c];
        j->wrapper_settled[c] = j->wrapper.total[c];
    }
    for (const struct member *m = j->gone; m; m = m->list_next) {
        const struct member *successor = nearest_living(m);
        if (!successor || !successor->settlement)
            expect(m, expected);
    }
    balance(j, expected, gained, 0);
    /* Each successor for itself: what one gained from others must not hide what was lost below another. */
    for (struct settlement *e = list; e; e = e->next) {
        uint64_t one[LEDGER_MAX] = {0};
        gain_of(e->successor, one);
        plan_share(j, e, one[LEDGER_CPU_USER] + one[LEDGER_CPU_SYSTEM]);
        shares += e->share;
        balance(j, e->expected, one, 2 * SHORT_TICKS * j->ns_per_tick);
        settled(e->successor);
    }
    share_out(j, shares);
    forget_successors(j, list);
    exits_report(j, now_ns);
    give_back(j, later);
    j->n_held = j->n_gone;
    state_check(j);
}
