/* SPDX-License-Identifier: Apache-2.0 */
/* Going on with a job that another recorder has recorded so far. */
#include <string.h>

#include "job/counters.h"

#define IDS_BETWEEN 65536u /* members that the other recorder may have had since its last sample */

/* The member's base becomes what it had used at the last sample. A value that was absent then counts from now on. */
static void rebase_to(struct member *m, const struct baro_process *then)
{
    uint64_t now[PROCESS_MAX];
    memcpy(now, m->row.value, sizeof(now));
    for (int i = 0; i < PROCESS_MAX; i++) {
        if (!then->absent[i] && !m->row.absent[i] && then->value[i] <= now[i])
            m->row.value[i] = then->value[i];
    }
    job_rebase(m);
    memcpy(m->row.value, now, sizeof(now));
}

/* These are counted by socket, and not by the kernel for the process. */
static void take_tcp(struct member *m, const struct baro_process *then)
{
    static const enum process_metric ids[] = {PROCESS_tcp_sent, PROCESS_tcp_received};
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
        if (then->absent[ids[i]] || m->row.absent[ids[i]] == BARO_ABSENT_NOT_ASKED)
            continue;
        m->row.value[ids[i]] = then->value[ids[i]];
        m->row.absent[ids[i]] = BARO_PRESENT;
    }
}

static const struct baro_process *find(const struct baro_sample *last, const struct member *m)
{
    for (size_t i = 0; i < last->n; i++) {
        if (baro_key_equal(last->processes[i]->key, m->row.key))
            return last->processes[i];
    }
    return NULL;
}

/* Ids are those of the tape: a member that is on it keeps its own. Returns how many are. */
static size_t resume_members(struct job *j, const struct baro_sample *last)
{
    size_t known = 0;
    uint32_t id = (uint32_t)last->job[JOB_processes_started];
    for (size_t i = 0; i < last->n; i++)
        id = last->processes[i]->id > id ? last->processes[i]->id : id;
    id += IDS_BETWEEN;
    for (size_t i = 0; i < j->tree.n; i++) {
        struct member *m = j->tree.at[i];
        const struct baro_process *then = m ? find(last, m) : NULL;
        if (!m)
            continue;
        m->row.id = then ? then->id : ++id;
        if (then) {
            m->row.first_ns = then->first_ns;
            rebase_to(m, then);
            take_tcp(m, then);
            known++;
        } else if (job_begin_ns(j, m->row.key.start) > last->t_ns && m->base) {
            memset(m->base, 0, BASE_MAX * sizeof(*m->base)); /* it began in between: all of it counts */
        }
        member_moved(m);
    }
    for (const struct member *m = j->gone; m; m = m->list_next)
        known += find(last, m) != NULL; /* it has ended since it was found again */
    j->tree.last_id = id;
    return known;
}

/* A process that has ended in between: its parent, which reaped it, shows as its own growth what is in the totals
 * already. */
static void take_back(struct job *j, const struct baro_process *then)
{
    const struct member *m = tree_find(&j->tree, then->key.pid), *parent = tree_find(&j->tree, then->parent.pid);
    size_t n;
    const struct totals_sum *sums = totals_sums(&n);
    if ((m && baro_key_equal(m->row.key, then->key)) || !parent || !baro_key_equal(parent->row.key, then->parent))
        return;
    for (int c = 0; c < LEDGER_MAX; c++) {
        uint64_t gained = job_ledger(parent, c), its = then->absent[sums[c].process] ? 0 : then->value[sums[c].process];
        its = its < gained ? its : gained;
        j->carried[c] -= its < j->carried[c] ? its : j->carried[c];
    }
}

void job_resume(struct job *j, const struct baro_sample *last)
{
    size_t n, known = resume_members(j, last);
    const struct totals_sum *sums = totals_sums(&n);
    for (int c = 0; c < LEDGER_MAX; c++) {
        j->carried[c] += last->job[sums[c].job];
        j->published[c] = last->job[sums[c].job];
    }
    for (size_t i = 0; i < last->n; i++)
        take_back(j, last->processes[i]);
    for (size_t i = 0; i < n; i++) {
        if (!last->job_absent[sums[i].job])
            j->known |= UINT64_C(1) << sums[i].job;
    }
    j->counted_ended_ns += last->job[JOB_cpu_counted];
    j->ended_run_delay += last->job[JOB_run_delay];
    j->ended_switches[0] += last->job[JOB_switches_voluntary];
    j->ended_switches[1] += last->job[JOB_switches_involuntary];
    j->rss_peak = max_u64(j->rss_peak, last->job[JOB_process_rss_peak]);
    j->peak = last->job[JOB_processes_peak];
    /* Of those that had started by then, all that are not here any more have ended. */
    j->started += last->job[JOB_processes_started] - known;
    j->ended += last->job[JOB_processes_started] - known;
    j->io_short = j->cpu_short = true; /* what ended in between took its count with it */
    j->lossy = true;
}
