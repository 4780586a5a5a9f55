/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Continuing a job that another recorder has recorded so far. The processes of the last sample are kept until all
 * members have been found again; a process that was not found has ended in between.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/job/counters.h"
#include "recorder/job/member_values.h"
#include "recorder/job/task.h"

#define IDS_BETWEEN 65536u /* ids that the other recorder may have used since its last sample */

/* A process of the last sample. */
struct before {
    const struct baro_process *row;
    uint8_t task; /* counted from 1; 0: none */
    bool found;
};

struct job_before {
    uint64_t t_ns;
    struct baro_sample *copy; /* NULL: the sample is the caller's */
    size_t n;
    struct before at[]; /* by pid */
};

static int by_pid(const void *a, const void *b)
{
    int32_t one = ((const struct before *)a)->row->key.pid, other = ((const struct before *)b)->row->key.pid;
    return one < other ? -1 : one > other;
}

static struct before *find_before(const struct job *j, struct baro_key key)
{
    const struct baro_process row = {.key = key};
    const struct before wanted = {.row = &row};
    struct job_before *b = j->before;
    struct before *one = b && b->n ? bsearch(&wanted, b->at, b->n, sizeof(b->at[0]), by_pid) : NULL;
    return one && key.start && baro_key_equal(one->row->key, key) ? one : NULL;
}

/* ---- a process that was found again ---- */

/* Sets the member's base to what it had used at the last sample. If a value was absent in that sample, it counts from
 * now on. */
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

/* Continues the counters of TCP, which the recorder adds up over sockets. */
static void resume_tcp(struct member *m, const struct baro_process *then)
{
    static const enum process_metric ids[] = {PROCESS_tcp_sent, PROCESS_tcp_received};
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
        if (!then->absent[ids[i]] && m->row.absent[ids[i]] != BARO_ABSENT_NOT_ASKED)
            member_set_value(m, ids[i], then->value[ids[i]]);
    }
}

static void resume_known(const struct job *j, struct member *m, struct before *b)
{
    b->found = true;
    m->account.base_is_total = job_begin_ns(j, m->row.key.start) > 0;
    m->row.id = b->row->id;
    m->row.first_ns = b->row->first_ns;
    rebase_to(m, b->row);
    resume_tcp(m, b->row);
    member_moved(m);
}

/* May it have begun after the last sample? If so, all that it has used counts. Start times are rounded down to ticks.
 */
static bool is_newer(const struct job *j, const struct member *m)
{
    return job_begin_ns(j, m->row.key.start) + j->ns_per_tick > j->before->t_ns;
}

/* ---- members that joined before job_resume() ---- */

static size_t resume_member(struct job *j, struct member *m)
{
    struct before *b = find_before(j, m->row.key);
    if (b) {
        resume_known(j, m, b);
        return 1;
    }
    m->row.id = ++j->tree.last_id;
    if (is_newer(j, m) && m->account.base)
        memset(m->account.base, 0, BASE_MAX * sizeof(*m->account.base));
    member_moved(m);
    return 0;
}

/* Returns how many members the last sample has. */
static size_t resume_members(struct job *j)
{
    size_t known = 0;
    for (size_t i = 0; i < j->tree.n; i++) {
        if (j->tree.at[i])
            known += resume_member(j, j->tree.at[i]);
    }
    for (struct member *m = j->settling.gone; m; m = m->links.list_next) { /* found again, and has ended since */
        struct before *b = find_before(j, m->row.key);
        if (b)
            resume_known(j, m, b);
        known += b != NULL;
    }
    return known;
}

/* A process of the last sample has ended in between, and its parent has reaped it. The growth of the parent's counters
 * includes what the process had used by that sample, which would count twice. Subtracts this from the carried counters.
 * Example: cc1 had 2 s in the last sample, and make has 3 s from children since then: 2 s of these are in the totals
 * already. */
static void subtract_reaped(struct job *j, const struct baro_process *then)
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

static void take_totals(struct job *j, const struct baro_sample *last)
{
    size_t n;
    const struct totals_sum *sums = totals_sums(&n);
    for (int c = 0; c < LEDGER_MAX; c++) {
        j->carried[c] += last->job[sums[c].job];
        j->shown.ledger[c] = last->job[sums[c].job];
    }
    for (size_t i = 0; i < n; i++) {
        if (!last->job_absent[sums[i].job])
            j->seen.known |= UINT64_C(1) << sums[i].job;
    }
    j->past.counted_ns += last->job[JOB_cpu_counted];
    j->past.run_delay += last->job[JOB_run_delay];
    j->shown.run_delay = last->job[JOB_run_delay];
    j->shown.switches[0] = last->job[JOB_switches_voluntary];
    j->shown.switches[1] = last->job[JOB_switches_involuntary];
    if (!last->job_absent[JOB_run_delay_lag])
        j->past.delay_cpu += last->job[JOB_cpu] - last->job[JOB_run_delay_lag];
    j->past.switches[0] += last->job[JOB_switches_voluntary];
    j->past.switches[1] += last->job[JOB_switches_involuntary];
    j->rss_peak = max_u64(j->rss_peak, last->job[JOB_process_rss_peak]);
    j->shortfall.rss_peak = true; /* processes may have ended in between */
    j->counts.peak = last->job[JOB_processes_peak];
    j->shortfall.io = j->shortfall.cpu = true;
    job_lose(j);
    j->resumed = true;
}

/* ---- the beginning and the end ---- */

static int begin_resume(struct job *j, const struct baro_sample *last)
{
    struct job_before *b = calloc(1, sizeof(*b) + last->n * sizeof(b->at[0]));
    if (!b)
        return -ENOMEM;
    *b = (struct job_before){.t_ns = last->t_ns, .n = last->n};
    if (j->selected && baro_sample_copy(last, &b->copy, NULL) < 0) {
        free(b);
        return -ENOMEM;
    }
    const struct baro_sample *s = b->copy ? b->copy : last;
    uint32_t id = (uint32_t)last->job[JOB_processes_started];
    for (size_t i = 0; i < s->n; i++) {
        b->at[i] = (struct before){.row = s->processes[i], .task = (uint8_t)job_task_before(j, s->processes[i])};
        id = s->processes[i]->id > id ? s->processes[i]->id : id;
    }
    if (b->n)
        qsort(b->at, b->n, sizeof(b->at[0]), by_pid);
    j->tree.last_id = id + IDS_BETWEEN;
    j->before = b;
    return 0;
}

int job_resume(struct job *j, const struct baro_sample *last)
{
    int code = begin_resume(j, last);
    if (code < 0)
        return code;
    size_t known = j->selected ? 0 : resume_members(j);
    take_totals(j, last);
    j->counts.started += last->job[JOB_processes_started] - known;
    if (j->selected) { /* its members join later; a process without a row has ended, whether its end had been reported
                          or not */
        j->counts.ended += excess(last->job[JOB_processes_started], last->n);
        return 0;
    }
    for (size_t i = 0; i < last->n; i++)
        subtract_reaped(j, last->processes[i]);
    /* Processes that had started by then and were not found again have ended. */
    j->counts.ended += last->job[JOB_processes_started] - known;
    job_resume_end(j);
    return 0;
}

bool job_resume_knows(const struct job *j, const struct member *m)
{
    return j->before && (find_before(j, m->row.key) || !is_newer(j, m));
}

void job_resume_member(struct job *j, struct member *m)
{
    struct before *b = find_before(j, m->row.key);
    if (b && b->task == m->of_task.number) {
        resume_known(j, m, b);
        j->counts.started--;
        return;
    }
    if (b) { /* it is in another task now: what it used for its former task since the last sample is not known */
        b->found = true;
        j->counts.ended++;
    }
}

void job_resume_ended(struct job *j, struct member *m, uint64_t start)
{
    const struct before *b = find_before(j, (struct baro_key){m->row.key.pid, start});
    if (!b)
        return;
    m->row.key.start = start;
    memcpy(m->row.value, b->row->value, sizeof(m->row.value));
    memcpy(m->row.absent, b->row->absent, sizeof(m->row.absent));
    job_resume_member(j, m);
}

const struct baro_process *job_resume_next(const struct job *j, size_t *i, unsigned *ret_task)
{
    while (j->before && *i < j->before->n) {
        const struct before *b = &j->before->at[(*i)++];
        *ret_task = b->task;
        if (!b->found)
            return b->row;
    }
    return NULL;
}

void job_resume_end(struct job *j)
{
    struct job_before *b = j->before;
    for (size_t i = 0; b && i < b->n; i++) {
        if (b->at[i].found)
            continue;
        j->counts.ended += j->selected;
    }
    job_resume_done(j);
}

void job_resume_done(struct job *j)
{
    if (j->before)
        baro_sample_free(j->before->copy);
    free(j->before);
    j->before = NULL;
}
