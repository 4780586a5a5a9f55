/* SPDX-License-Identifier: Apache-2.0 */
/* The one rule for CPU time that the kernel has counted and that no process was seen to use: the remainder. */
#include "recorder/job/counters.h"

/*
 * What a parent has gained by reaping, less what its gone children are known to have used, was used by these children
 * after they were last read or reported. It is shared out among them by what each is expected to have used since:
 *   - freeing its memory and its teardown, for which taskstats and perf make their records too early: a fixed part, and
 *     a part for each page;
 *   - if CPU clocks were polled (recorder/collectors/processes/births.h), the time since it was last seen to run, at
 *     the rate at which it had run before.
 *
 * Example: taskstats reported 90 ms for the only gone child, and the parent's children_cpu grew by 100 ms. The child
 * gets the 10 ms, if they are at most SHARE_MOST times the expected cost of its teardown. If 4 ms are expected, the
 * other 6 are unsure: they may be of a process that ended beside it.
 * Example of polls: cc1 was found at 100 ms, had 8 of 9 ms when its clock was read at 109 ms, and was gone at 112 ms:
 * 2.7 ms are expected. If the parent gained 11 ms, cc1 gets 2.7 of the 3 ms, all of it unsure.
 *
 * The parent shows its gain in whole ticks, so a remainder, positive or negative, stays in its pool for the next time.
 * Nothing is shared out unless every child is known, nor among several children if one has no reported CPU time. Polls
 * miss children, which the gain includes, so each of the others gets no more than what is expected.
 */
/* A child gets at most this many times its expected cost: the parent's values have steps of 10 ms, and a step may be
 * due to other children. */
#define SHARE_MOST 8u

/* Example: for a child of 400 MB that nobody waited for taskstats had 154 of 188 ms. */
uint64_t teardown_expected(const struct member *m)
{
    if (m->life.cpu_final)
        return 0; /* its CPU time is known */
    uint64_t rss = member_usage(m)->has_memory ? member_usage(m)->rss_peak : m->row.value[PROCESS_rss_peak];
    return TEARDOWN_NS + rss / 4096 * TEARDOWN_NS_PER_PAGE;
}

/* CPU time that a member whose clock was polled is expected to have used after that. The clock of a process that runs
 * on another CPU moves with the tick of that CPU, every 10 ms at least, so a process that has just run may still run.
 */
#define CLOCK_LAG_NS 10000000u
static uint64_t unpolled(const struct member *m)
{
    const struct member_polled *r = &m->polled;
    uint64_t from_ns = r->polled_ns < r->ran_ns + CLOCK_LAG_NS ? r->ran_ns : r->polled_ns;
    double cpu = (double)own_cpu(m), most = (double)max_u64(value(m, PROCESS_threads), 1);
    if (!r->polled_ns || m->life.cpu_final || m->life.gone_ns <= from_ns)
        return 0;
    uint64_t age_ns = excess(r->polled_ns, r->found_ns), more_ns = m->life.gone_ns - from_ns;
    double rate = cpu / (double)max_u64(age_ns, 1);
    return (uint64_t)((double)min_u64(more_ns, age_ns + CLOCK_LAG_NS) * (rate < most ? rate : most));
}

uint64_t remainder_expected(const struct member *m)
{
    return teardown_expected(m) + unpolled(m);
}

void remainder_plan(const struct job *j, struct settlement *e, uint64_t gained_ns)
{
    struct member *successor = e->successor;
    e->share = 0;
    successor->account.pool += (int64_t)gained_ns - (int64_t)e->known;
    bool known = j->source.polled || (j->source.events && !j->source.lossy);
    if (!known || (e->without_cpu && e->n > 1)) {
        successor->account.pool = successor->account.pool < 0 ? successor->account.pool : 0;
        return;
    }
    if (successor->account.pool <= 0)
        return;
    uint64_t most = e->weight * (j->source.polled ? 1 : SHARE_MOST);
    e->share = (uint64_t)successor->account.pool < most ? (uint64_t)successor->account.pool : most;
    successor->account.pool -= (int64_t)e->share;
}

/* CPU time that the job has used and that is not attributed to any process yet. */
static uint64_t unattributed(struct job *j)
{
    totals_refresh(j);
    uint64_t shown = j->carried[LEDGER_CPU_USER] + j->carried[LEDGER_CPU_SYSTEM], named = j->past.counted_ns;
    shown += j->wrapper.total[LEDGER_CPU_USER] + j->wrapper.total[LEDGER_CPU_SYSTEM];
    shown += j->sums[LEDGER_CPU_USER] + j->sums[LEDGER_CPU_SYSTEM];
    named += j->sums[PART_CPU];
    for (const struct member *m = j->settling.gone; m; m = m->links.list_next)
        named += since_base(m, BASE_CPU, own_cpu(m));
    return shown > named ? shown - named : 0;
}

/* Shares out the gains. If a child was missed, part of a gain is already attributed to another process, so the shares
 * are scaled down to the job's unattributed CPU time. */
void remainder_share_out(struct job *j, const struct settlement *list)
{
    uint64_t shares = 0;
    for (const struct settlement *e = list; e; e = e->next)
        shares += e->share;
    uint64_t room = shares ? unattributed(j) : 0;
    double part_of = room < shares ? (double)room / (double)shares : 1;
    for (struct member *m = j->settling.gone; m; m = m->links.list_next) {
        const struct member *successor = nearest_living(m);
        const struct settlement *e = successor ? successor->account.settlement : NULL;
        if (!e || !e->share)
            continue;
        uint64_t expected = remainder_expected(m);
        uint64_t part = (uint64_t)((double)e->share * part_of * ((double)expected / (double)e->weight));
        struct member_usage *u = member_make_usage(m);
        u->share_unsure_ns = j->source.polled ? part : excess(part, expected);
        u->cpu_ns = part + own_cpu(m);
        u->has_cpu = true;
    }
}
