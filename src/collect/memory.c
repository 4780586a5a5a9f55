/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pss and uss: when to read smaps_rollup of whom; and names and command lines, which come from the same helper.
 *
 * A read walks the page tables of its target (13 ns per 4 KiB page) and holds its mmap lock for that long. So a process
 * is read when its memory has moved, at most for one percent of its time, and all together within the budget. On a new
 * peak of the tree the largest are read within that tick, so that the peak is known in pss as well.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "collect/sampler.h"

#define YOUNG                                                                                                          \
    (30 * NS_PER_MS) /* most processes that live shorter than this are many: the helper is for those that stay */
#define HELPER_AFTER YOUNG             /* a job shorter than this never pays for the helper's fork */
#define IDLE_AFTER (60 * NS_PER_SEC)   /* sharers come and go without the process running */
#define OF_ITS_TIME 100u               /* one percent */
#define OF_ITS_TIME_AT_A_PEAK 20u
#define DEADLINE (20 * NS_PER_MS)
#define PEAK_STEP 50u                  /* a new peak is one that is 2 % higher */
#define NS_PER_KIB 3u                  /* 13 ns per page of 4 KiB; far less with huge pages */
#define LEAST_COST 30000u              /* the way to the helper and back */
#define SLOWEST 4u /* wall time of a read beyond that many estimates is time in which the helper did not run */
#define LEAST_AGE (50 * NS_PER_MS)
#define INFO_TRIES 3u
#define STALE_PART 16u                 /* what can be wrong by less is not worth a read */
#define STALE_MANY 1000u
#define REQUESTS_MOST 2048u             /* in one batch: what waits takes memory on both sides */

static uint64_t estimate(const struct member *m)
{
    return LEAST_COST + (m->row.value[PROCESS_rss] >> 10) * NS_PER_KIB;
}

static uint64_t cost_of(const struct member *m)
{
    return m->note.smaps_cost_us ? m->note.smaps_cost_us * 1000ull : estimate(m);
}

static bool memory_moved(const struct member *m)
{
    return m->note.smaps_key != process_memory_key(m);
}

/* ---- those that share memory ---- */

/* Who was forked by the same parent, is a fork of the other, or runs the same program may share memory, and then the
 * pss of each changes as the other comes, goes or writes. What moved is added up by program and by parent; two that
 * fall into one slot are read too often. */
static uint32_t *slot(struct sampler *s, uint64_t key)
{
    return &s->shared[(key * UINT64_C(0x9e3779b97f4a7c15)) >> 55];
}
_Static_assert(SHARED_SLOTS == 1u << 9, "the shift above");

static uint64_t program_of(const struct member *m)
{
    uint64_t key = 1469598103934665603u;
    for (size_t i = 0; i < sizeof(m->note.comm) && m->note.comm[i]; i++)
        key = (key ^ (unsigned char)m->note.comm[i]) * 1099511628211u;
    return key;
}

void memory_moved_by(struct sampler *s, const struct member *m, uint64_t bytes)
{
    uint32_t kib = (uint32_t)(bytes >> 10);
    if (!kib || !(s->need & BARO_SOURCE_SMAPS))
        return;
    *slot(s, program_of(m)) += kib;
    *slot(s, (uint64_t)m->row.parent.pid) += kib;
    *slot(s, (uint64_t)m->row.key.pid) += kib;
    s->shared_moved = s->moved_since_asked = true;
}

static uint32_t shared_kib(struct sampler *s, const struct member *m)
{
    return *slot(s, program_of(m)) + *slot(s, (uint64_t)m->row.parent.pid) + *slot(s, (uint64_t)m->row.key.pid);
}

/* By how much its pss may be wrong. A parent of 300 MB that forked four sleepers and was not read since: 300 MB, its
 * pss was all its own and may be a fifth of that now. */
static uint64_t doubt(struct sampler *s, const struct member *m)
{
    uint64_t pss = m->row.value[PROCESS_pss], rss = m->row.value[PROCESS_rss], uss = m->row.value[PROCESS_uss];
    uint64_t moved = (uint64_t)(shared_kib(s, m) - m->note.shared_kib) << 10;
    if (m->row.absent[PROCESS_pss] != BARO_PRESENT || m->row.value[PROCESS_state] == 'Z')
        return 0;
    uint64_t most = rss > uss && rss - uss > pss ? rss - uss : pss;
    return moved < most ? moved : most;
}

static bool is_stale(struct sampler *s, const struct member *m)
{
    return m->note.smaps_ns && doubt(s, m) > m->row.value[PROCESS_rss] / STALE_PART;
}

static uint64_t smaps_due(const struct sampler *s, const struct member *m)
{
    if (!(s->need & BARO_SOURCE_SMAPS) || m->note.smaps_barred || m->row.value[PROCESS_state] == 'Z')
        return UINT64_MAX;
    if (!m->note.smaps_ns)
        return m->row.first_ns + YOUNG;
    if (!memory_moved(m))
        return m->note.smaps_ns + IDLE_AFTER;
    uint64_t pause = cost_of(m) * OF_ITS_TIME;
    return m->note.smaps_ns + (pause > LEAST_AGE ? pause : LEAST_AGE);
}

static bool request(struct sampler *s, struct member *m, uint32_t what)
{
    if (s->n_requests == s->cap_requests) {
        size_t cap = s->cap_requests ? s->cap_requests * 2 : 64;
        struct helper_request *at = realloc(s->requests, cap * sizeof(*at));
        if (!at)
            return false;
        s->requests = at;
        s->cap_requests = cap;
    }
    if (what & HELPER_SMAPS)
        m->note.smaps_asked = (uint32_t)s->ticks;
    if (what & HELPER_INFO) {
        m->note.info_asked = true;
        m->note.info_tries++;
    }
    s->requests[s->n_requests++] = (struct helper_request){.key = m->row.key, .what = what};
    return true;
}

static uint64_t info_due(const struct member *m)
{
    bool wanted = m->note.info_wanted && !m->note.info_asked && m->note.info_tries < INFO_TRIES;
    return wanted ? m->row.first_ns + YOUNG : UINT64_MAX;
}

uint64_t memory_due(const struct sampler *s, const struct member *m)
{
    if (!s->options.helper)
        return UINT64_MAX;
    uint64_t smaps = smaps_due(s, m), info = info_due(m);
    return smaps < info ? smaps : info;
}

static void reply_smaps(struct sampler *s, struct member *m, const struct helper_reply *reply)
{
    static const enum process_metric ids[] = {PROCESS_pss, PROCESS_uss, PROCESS_smaps_at};
    const uint64_t values[] = {reply->pss, reply->uss, s->now_ns};
    m->note.smaps_barred = reply->smaps_absent == BARO_ABSENT_DENIED ||
                           reply->smaps_absent == BARO_ABSENT_UNSUPPORTED || reply->smaps_absent == BARO_ABSENT_TIMEOUT;
    if (reply->smaps_absent == BARO_ABSENT_GONE || m->row.value[PROCESS_state] == 'Z')
        return; /* the next look at it will tell, or has told that its memory is gone */
    for (size_t i = 0; i < 3; i++) {
        if (m->row.absent[ids[i]] == BARO_ABSENT_NOT_ASKED)
            continue;
        m->row.absent[ids[i]] = reply->smaps_absent;
        m->row.value[ids[i]] = reply->smaps_absent ? 0 : values[i];
    }
    uint64_t spent = reply->spent_ns + LEAST_COST, most = SLOWEST * estimate(m);
    budget_correct_smaps(&s->budget, cost_of(m), spent < most ? spent : most);
    uint64_t mean_us = ((m->note.smaps_cost_us ? (cost_of(m) * 3 + spent) / 4 : spent) + 999) / 1000;
    m->note.smaps_cost_us = mean_us < UINT32_MAX ? (uint32_t)mean_us : UINT32_MAX;
    m->note.smaps_ns = s->now_ns;
    m->note.smaps_key = process_memory_key(m);
    if (!s->moved_since_asked)
        m->note.shared_kib = shared_kib(s, m);
    if (m->row.absent[PROCESS_pss] == BARO_PRESENT && m->row.absent[PROCESS_rss] == BARO_PRESENT &&
        reply->pss > m->row.value[PROCESS_rss])
        m->row.value[PROCESS_rss] = reply->pss; /* rss is counted in lots on each CPU (6.2 to 6.15) */
}

/* There was no helper to be had: the same is due again once one is tried for. */
static void ask_again(struct sampler *s, struct member *m, uint32_t what)
{
    if ((what & HELPER_INFO) && m->note.info_asked) {
        m->note.info_asked = false;
        m->note.info_tries--;
    }
    if (what & HELPER_SMAPS) {
        s->peak_unread = true;
        budget_correct_smaps(&s->budget, cost_of(m), 0);
    }
    member_wake(m);
}

static void on_reply(void *context, const struct helper_reply *reply)
{
    struct sampler *s = context;
    struct member *m = tree_find(&s->job->tree, reply->key.pid);
    if (!m || !baro_key_equal(m->row.key, reply->key))
        return;
    if (reply->smaps_absent == BARO_ABSENT_NOT_YET) {
        ask_again(s, m, reply->what);
        return;
    }
    member_moved(m);
    if (reply->what & HELPER_SMAPS)
        reply_smaps(s, m, reply);
    if ((reply->what & HELPER_INFO) && m->note.info_asked) {
        m->note.info_asked = false;
        m->note.info_wanted = false;
        if (!reply->name_absent && reply->name && *reply->name)
            member_set_name(m, reply->name);
        if (!reply->cmdline_absent && reply->cmdline && *reply->cmdline)
            member_set_cmdline(m, reply->cmdline);
        else if (m->row.cmdline_absent != BARO_PRESENT)
            m->row.cmdline_absent = reply->cmdline_absent ? reply->cmdline_absent : (uint8_t)BARO_ABSENT_UNKNOWN;
    }
    if (m->row.read_ns != s->now_ns)
        member_wake(m); /* it came late: the row goes onto the tape with the next tick */
}

void memory_collect(struct sampler *s)
{
    if (s->slow && helper_busy(s->slow))
        helper_collect(s->slow, on_reply, s);
}

#define LARGEST 16u

/* Largest first, at most LARGEST. */
static size_t insert_by_rss(struct member **top, size_t n, struct member *m)
{
    size_t at = n;
    while (at && top[at - 1]->row.value[PROCESS_rss] < m->row.value[PROCESS_rss])
        at--;
    if (at == LARGEST)
        return n;
    n += n < LARGEST;
    memmove(top + at + 1, top + at, (n - 1 - at) * sizeof(struct member *));
    top[at] = m;
    return n;
}

/* The few largest members, whatever was read of them when: what makes up a peak. */
static void request_largest(struct sampler *s)
{
    struct member *top[LARGEST];
    size_t n = 0;
    s->peak_unread = false;
    for (size_t i = 0; i < s->job->tree.n; i++) {
        struct member *m = s->job->tree.at[i];
        if (!m || m->note.smaps_asked == (uint32_t)s->ticks || m->note.smaps_barred ||
            !(memory_moved(m) || is_stale(s, m)) || m->row.value[PROCESS_state] == 'Z')
            continue;
        if (m->note.smaps_ns && s->now_ns - m->note.smaps_ns < cost_of(m) * OF_ITS_TIME_AT_A_PEAK) {
            s->peak_unread = true;
            continue;
        }
        n = insert_by_rss(top, n, m);
    }
    for (size_t i = 0; i < n; i++) {
        if (budget_take_smaps(&s->budget, s->now_ns, cost_of(top[i]), true))
            request(s, top[i], HELPER_SMAPS);
        else
            s->peak_unread = true;
    }
}

static void request_due(struct sampler *s)
{
    const struct tree *tree = &s->job->tree;
    /* The gate lets pass who is due, again and again until it is served. */
    for (size_t i = tree_next_moved(tree, 0); i < tree->n && s->n_requests < REQUESTS_MOST;
         i = tree_next_moved(tree, i + 1)) {
        struct member *m = tree->at[i];
        if (!m->looked_at)
            continue;
        uint32_t what = 0;
        if (s->now_ns >= info_due(m))
            what |= HELPER_INFO;
        if (s->now_ns >= smaps_due(s, m)) {
            if (s->budget.level < BUDGET_NO_SMAPS && budget_take_smaps(&s->budget, s->now_ns, cost_of(m), false))
                what |= HELPER_SMAPS;
            else
                s->thinned++;
        }
        if (what)
            request(s, m, what);
    }
}

/* Those whose pss others made old, though they sleep: the gate does not let them pass. Returns how many those are, if
 * it matters to the sum. */
static uint64_t request_stale(struct sampler *s, bool ask)
{
    const struct tree *tree = &s->job->tree;
    uint64_t sum = 0, doubts = 0, n = 0;
    for (size_t i = 0; i < tree->n; i++) {
        struct member *m = tree->at[i];
        if (!m || m->row.absent[PROCESS_pss] != BARO_PRESENT)
            continue;
        sum += m->row.value[PROCESS_pss];
        if (!is_stale(s, m))
            continue;
        doubts += doubt(s, m);
        n++;
        uint64_t pause = cost_of(m) * OF_ITS_TIME;
        if (!ask || m->note.smaps_barred || m->note.smaps_asked == (uint32_t)s->ticks ||
            s->n_requests >= REQUESTS_MOST || s->now_ns < m->note.smaps_ns + (pause > LEAST_AGE ? pause : LEAST_AGE))
            continue;
        if (budget_take_smaps(&s->budget, s->now_ns, cost_of(m), false))
            request(s, m, HELPER_SMAPS);
        else
            s->thinned++;
    }
    return doubts > sum / STALE_PART ? n : 0;
}

/* With thousands of members the question is as dear as a tick. */
static bool stale_due(const struct sampler *s)
{
    bool seldom = tree_count(&s->job->tree) > STALE_MANY;
    return (s->need & BARO_SOURCE_SMAPS) && (s->shared_moved || s->stale) &&
           (!seldom || s->now_ns >= s->shared_ns + NS_PER_SEC);
}

/* A new peak of the tree; or one that still stands and of which something is left to read. */
static bool at_peak(struct sampler *s)
{
    uint64_t sum = job_rss(s->job);
    if (sum <= s->rss_sum_peak + s->rss_sum_peak / PEAK_STEP)
        return s->peak_unread && sum >= s->rss_sum_peak - s->rss_sum_peak / PEAK_STEP;
    s->rss_sum_peak = sum;
    return true;
}

static bool have_helper(struct sampler *s)
{
    if (!s->slow && s->options.helper && helper_new(&s->slow, s->options.proc_fd, s->options.cmdline, NULL) < 0)
        s->options.helper = false;
    return s->slow != NULL;
}

void memory_prepare(struct sampler *s)
{
    if (!s->options.host_alone && have_helper(s))
        helper_start(s->slow);
}

static void ask(struct sampler *s)
{
    if (!s->options.helper || s->now_ns < HELPER_AFTER)
        return;
    memory_collect(s);
    if (s->slow && (helper_busy(s->slow) || helper_is_put_off(s->slow)))
        return; /* one batch at a time */
    s->n_requests = 0;
    request_due(s);
    if ((s->need & BARO_SOURCE_SMAPS) && at_peak(s))
        request_largest(s);
    if (stale_due(s))
        request_stale(s, true);
    if (!s->n_requests || !have_helper(s))
        return;
    s->moved_since_asked = false;
    helper_ask(s->slow, s->requests, s->n_requests, DEADLINE, s->options.wake_fd, on_reply, s);
}

void memory_tick(struct sampler *s)
{
    ask(s);
    if (!stale_due(s))
        return;
    uint64_t stale = request_stale(s, false);
    s->stale_since_ns = s->stale && stale ? s->stale_since_ns : s->now_ns;
    s->stale = stale;
    s->shared_moved = tree_count(&s->job->tree) > STALE_MANY && s->stale;
    s->shared_ns = s->now_ns;
}

/* It gave back memory since its pss was read: that is at most what it has now, until it is read again. */
void memory_bound(struct sampler *s)
{
    const struct tree *tree = &s->job->tree;
    for (size_t i = tree_next_moved(tree, 0); i < tree->n; i = tree_next_moved(tree, i + 1)) {
        struct baro_process *row = &tree->at[i]->row;
        uint64_t rss = row->value[PROCESS_rss];
        for (int id = PROCESS_pss; row->absent[PROCESS_rss] == BARO_PRESENT && id <= PROCESS_uss; id++) {
            if (row->absent[id] == BARO_PRESENT && row->value[id] > rss)
                row->value[id] = rss;
        }
    }
}
