/* SPDX-License-Identifier: Apache-2.0 */
/* Gone members that cannot be settled yet, and what each waits for. */
#include "recorder/job/settling.h"

/* Are the member's counters of reaped children not final yet? */
static bool is_awaited(const struct job *j, const struct member *m)
{
    return member_is_reap_pending(m) || m->account.takeover_unread || m->account.events_pending || report_is_due(j, m);
}

bool gone_wait_for(const struct job *j, const struct member *successor)
{
    if (!is_awaited(j, successor))
        return false;
    for (const struct member *m = j->settling.gone; m; m = m->links.list_next) {
        if (nearest_living(m) == successor)
            return true;
    }
    return false;
}

/* Had the successor ended when m was found gone? If so, either the successor had reaped m before, and its counters
 * include those of m; or the wrapper has adopted m and will report it. In both cases nothing is lost. The same holds if
 * no ancestor is alive. */
static bool has_ended_before(const struct member *successor, const struct member *m)
{
    bool ended = member_state(successor) != MEMBER_ALIVE || member_is_zombie(successor);
    return ended && (!successor->life.end_ns || successor->life.end_ns <= m->life.gone_ns);
}

static bool may_be_reaped_already(const struct job *j, const struct member *m)
{
    for (; j->adopts; m = m->account.successor) {
        const struct member *successor = m->account.successor;
        if (!successor || has_ended_before(successor, m))
            return true;
        if (!member_is_gone(successor))
            return false;
    }
    return false;
}

/* How long a gone member waits for the event of its end, in ns: do_exit() notifies the parent first, and may be
 * preempted before it sends the event. */
#define EVENT_WAIT 200000000u
/* If there are more gone members, none waits: at a high rate of exits one event is always outstanding. */
#define EVENT_WAIT_GONE_MOST 256u

static void mark_events_pending(const struct job *j, uint64_t now_ns)
{
    bool waits = j->source.events && !j->settling.closing && j->settling.n_gone < EVENT_WAIT_GONE_MOST;
    for (const struct member *m = j->settling.gone; m; m = m->links.list_next) {
        struct member *successor = nearest_living(m);
        if (successor)
            successor->account.events_pending = false;
    }
    for (const struct member *m = j->settling.gone; m; m = m->links.list_next) {
        struct member *successor = nearest_living(m);
        if (successor)
            successor->account.events_pending |=
                waits && !m->life.end_reported && now_ns < m->life.gone_ns + EVENT_WAIT;
    }
}

/* The last values of m's parent may show that it never reaped a child. If so, either the wrapper reaps m and reports
 * it; or the parent ignored SIGCHLD, and the kernel adds the counters of m to no process. Which of these is the case is
 * known when the wrapper has reported all processes that it reaped. */
static void note_unreaped(struct member *m)
{
    const struct member *parent = m->account.successor;
    if (!parent || member_is_final(m) || !member_is_final(parent) || reaped_of(parent, LEDGER_FAULTS_MINOR))
        return;
    m->account.parent_reaped_none = true;
    m->account.successor = NULL;
}

struct member *gone_hold_back(struct job *j, uint64_t now_ns)
{
    struct member *now = NULL, *later = NULL;
    mark_events_pending(j, now_ns);
    while (j->settling.gone) {
        struct member *m = j->settling.gone;
        j->settling.gone = m->links.list_next;
        note_unreaped(m);
        const struct member *successor = nearest_living(m);
        bool wait = (is_unreaped(m) || (successor && is_awaited(j, successor))) && !j->settling.closing;
        struct member **list = wait ? &later : &now;
        m->links.list_next = *list;
        *list = m;
        m->life.reaped_by_parent |= may_be_reaped_already(j, m);
        if (is_unreaped(m) && j->settling.closing)
            m->life.reaped_by_parent = false;
        j->settling.n_gone -= list == &later;
    }
    while (now) { /* keeps the order of the list */
        struct member *m = now;
        now = m->links.list_next;
        m->links.list_next = j->settling.gone;
        j->settling.gone = m;
    }
    return later;
}

void gone_give_back(struct job *j, struct member *later)
{
    while (later) {
        struct member *m = later;
        later = m->links.list_next;
        m->links.list_next = j->settling.gone;
        j->settling.gone = m;
        j->settling.n_gone++;
        j->settling.gone_unforked |= !m->life.begin_ns;
    }
}
