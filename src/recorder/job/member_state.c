/* SPDX-License-Identifier: Apache-2.0 */
/* The transitions between the states of a member (tree.h describes them). No other file sets a state. */
#include "recorder/job/counters.h"

#define TO(state) (1u << (state))

bool member_may_become(enum member_state from, enum member_state to)
{
    static const uint8_t allowed[MEMBER_STATES] = {
        [MEMBER_FREE] = TO(MEMBER_ALIVE),
        [MEMBER_ALIVE] = TO(MEMBER_ENDED) | TO(MEMBER_GONE),
        [MEMBER_ENDED] = TO(MEMBER_ALIVE) | TO(MEMBER_REAP_PENDING) | TO(MEMBER_REAPED) | TO(MEMBER_GONE),
        [MEMBER_REAP_PENDING] = TO(MEMBER_REAPED) | TO(MEMBER_GONE),
        [MEMBER_REAPED] = TO(MEMBER_GONE_REAPED),
        [MEMBER_GONE] = TO(MEMBER_GONE_REAPED) | TO(MEMBER_FREE),
        [MEMBER_GONE_REAPED] = TO(MEMBER_FREE),
    };
    return from < MEMBER_STATES && to < MEMBER_STATES && (allowed[from] & TO(to));
}

bool state_change(struct job *j, struct member *m, enum member_state to)
{
    enum member_state from = member_state(m);
    if (from == to)
        return true;
    bool may = member_may_become(from, to);
    JOB_CHECK(may);
    if (!may)
        return false;
    j->counts.ended_members -= member_has_ended(m);
    j->others.alive -= m->other.is && from == MEMBER_ALIVE;
    m->state = (uint8_t)to;
    j->counts.ended_members += member_has_ended(m);
    j->others.alive += m->other.is && to == MEMBER_ALIVE;
    return true;
}

#if JOB_CHECKS

static void check_member(const struct tree *t, const struct member *m, size_t at)
{
    size_t children = 0;
    JOB_CHECK(m->links.index == at && m->links.tree == t && t->rows[at] == &m->row &&
              t->gates[at].pid == m->row.key.pid);
    JOB_CHECK(member_state(m) >= MEMBER_ALIVE && !member_is_gone(m));
    JOB_CHECK(tree_find(t, m->row.key.pid) == m); /* a pid is unique among members that are not gone */
    JOB_CHECK(!m->links.parent || (!member_is_gone(m->links.parent) && m->links.parent != m));
    JOB_CHECK(member_state(m) != MEMBER_REAPED || !m->links.parent); /* the wrapper was its parent */
    for (const struct member *c = m->links.first_child; c; c = c->links.sibling_next, children++)
        JOB_CHECK(c->links.parent == m);
    JOB_CHECK(children == m->links.n_children);
}

/* Checks that the job's running sums are the sums of the members' parts. */
static void check_sums(const struct job *j)
{
    uint64_t all[PART_MAX] = {0};
    for (size_t i = 0; i < j->tree.n; i++) {
        for (int k = 0; k < PART_MAX && j->tree.at[i]; k++)
            all[k] += j->tree.at[i]->account.part[k];
    }
    for (int k = 0; k < PART_MAX; k++)
        JOB_CHECK(all[k] == j->sums[k]);
}

void state_check(const struct job *j)
{
    const struct tree *t = &j->tree;
    size_t members = 0, ended = 0, targets = 0, gone = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct member *m = t->at[i];
        JOB_CHECK(m || !t->gates[i].pid);
        if (!m)
            continue;
        check_member(t, m, i);
        members++;
        ended += member_has_ended(m);
        targets += m->is_target;
    }
    JOB_CHECK(members == tree_count(t) && ended == j->counts.ended_members && targets == j->counts.targets);
    for (const struct member *m = j->settling.gone; m; m = m->links.list_next) {
        JOB_CHECK(member_is_gone(m));
        gone++;
    }
    JOB_CHECK(gone == j->settling.n_gone);
    /* Each process that was ever a member is one now, is gone and not settled, or was reported. */
    JOB_CHECK(j->counts.started == members + gone + j->counts.ended);
    check_sums(j);
    JOB_CHECK(j->settling.n_held <= j->settling.n_gone);
}

#else

void state_check(const struct job *j)
{
    (void)j;
}

#endif
