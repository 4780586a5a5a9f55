/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "recorder/collectors/processes/process.h"
#include "recorder/collectors/processes/pss.h"
#include "recorder/collectors/processes/pss_sharing.h"

#include <stdlib.h>
#include <string.h>

#define HELPER_AFTER SHORT_LIVED /* a job that ends earlier does not pay for the helper's fork */
#define STALE_WAIT NS_PER_SEC    /* how long ticks are not left out while stale pss waits to be read */
#define IDLE_AFTER                                                                                                     \
    (60 * NS_PER_SEC)    /* when a process that has not changed is read again: others may share its memory */
#define OF_ITS_TIME 100u /* a read may take a hundredth of the time since the last one */
#define OF_ITS_TIME_AT_A_PEAK 20u
#define DEADLINE (20 * NS_PER_MS)
#define PEAK_STEP 50u     /* a new peak is at least 2 % higher */
#define NS_PER_KIB 3u     /* 13 ns per page of 4 KiB; far less with huge pages */
#define LEAST_COST 30000u /* cost of sending a request and its reply */
/* the helper's elapsed time counts up to this multiple of the estimate: beyond that it was not running */
#define SLOWEST 4u
#define LEAST_AGE (50 * NS_PER_MS)
#define INFO_TRIES 3u
#define INFO_AFTER (100 * NS_PER_MS) /* when the budget is short */
#define STALE_MANY 1000u
#define FILES_AGE NS_PER_SEC /* shortest time between two reads because of files that other processes map */
#define REQUESTS_MOST 2048u  /* most requests in one batch: they take memory in both processes */

static uint64_t estimate(const struct member *m)
{
    return LEAST_COST + (m->row.value[PROCESS_rss] >> 10) * NS_PER_KIB;
}

static uint64_t cost_of(const struct member *m)
{
    return m->memory.smaps_cost_us ? m->memory.smaps_cost_us * 1000ull : estimate(m);
}

uint64_t memory_key(const struct member *m)
{
    return m->row.value[PROCESS_faults_minor] + m->row.value[PROCESS_faults_major] + m->reading.stat_rss;
}

#define PEAK_LEAST (1u << 20)
#define PEAK_PART 32u /* a VmHWM that may be too low by less than this share is not worth a read */

bool memory_may_have_peaked(uint64_t rss_then, uint64_t rss_now, uint64_t faulted_bytes, uint64_t mark)
{
    uint64_t grown = rss_now > rss_then ? rss_now - rss_then : 0;
    return faulted_bytes > grown + PEAK_LEAST && rss_then + faulted_bytes > mark + mark / PEAK_PART;
}

static bool memory_moved(const struct member *m)
{
    return m->memory.smaps_key != memory_key(m);
}

/* Returns when a member that is stale may be read again. */
static uint64_t stale_due_ns(struct memory *y, const struct member *m)
{
    bool of_family = sharing_is_stale_by_family(y, m);
    uint64_t pause = cost_of(m) * OF_ITS_TIME, least = of_family ? LEAST_AGE : FILES_AGE;
    return m->memory.smaps_ns + (pause > least ? pause : least);
}

static uint64_t smaps_due(const struct memory *y, const struct member *m)
{
    if (!(y->sampling->need & BARO_SOURCE_SMAPS) || m->memory.smaps_barred || m->row.value[PROCESS_state] == 'Z')
        return UINT64_MAX;
    if (!m->memory.smaps_ns)
        return m->row.first_ns + SHORT_LIVED;
    if (!memory_moved(m))
        return m->memory.smaps_ns + IDLE_AFTER;
    uint64_t pause = cost_of(m) * OF_ITS_TIME;
    return m->memory.smaps_ns + (pause > LEAST_AGE ? pause : LEAST_AGE);
}

static bool request(struct memory *y, struct member *m, uint32_t what)
{
    if (array_reserve(&y->requests, y->n_requests + 1, &y->cap_requests, sizeof(*y->requests)) < 0)
        return false;
    if (what & HELPER_SMAPS) {
        m->memory.smaps_asked = (uint32_t)y->sampling->ticks;
        sharing_note_asked(m);
    }
    if (what & HELPER_INFO) {
        m->memory.info_asked = true;
        m->memory.info_tries++;
    }
    y->requests[y->n_requests++] = (struct helper_request){.key = m->row.key, .what = what};
    return true;
}

static uint64_t info_due(const struct memory *y, const struct member *m)
{
    bool wanted = m->memory.info_wanted && !m->memory.info_asked && m->memory.info_tries < INFO_TRIES;
    bool sparse = y->sampling->account->budget.level >= BUDGET_SPARSE;
    uint64_t after = y->sampling->job->whole ? NS_PER_SEC : sparse ? INFO_AFTER : SHORT_LIVED;
    return wanted ? m->row.first_ns + after : UINT64_MAX;
}

uint64_t memory_due(const struct memory *y, const struct member *m)
{
    if (!y->sampling->options.helper || y->no_helper)
        return UINT64_MAX;
    uint64_t smaps = smaps_due(y, m), info = info_due(y, m);
    return smaps < info ? smaps : info;
}

static void reply_smaps(struct memory *y, struct member *m, const struct helper_reply *reply)
{
    static const enum process_metric ids[] = {PROCESS_pss, PROCESS_uss, PROCESS_smaps_at, PROCESS_pss_anon,
                                              PROCESS_pss_shmem};
    const uint64_t values[] = {reply->pss, reply->uss, y->sampling->now_ns, reply->pss_anon, reply->pss_shmem};
    if (m->reading.memory_owner.pid)
        return;
    m->memory.smaps_barred = reply->smaps_absent == BARO_ABSENT_DENIED ||
                             reply->smaps_absent == BARO_ABSENT_UNSUPPORTED ||
                             reply->smaps_absent == BARO_ABSENT_TIMEOUT;
    if (reply->smaps_absent == BARO_ABSENT_GONE || m->row.value[PROCESS_state] == 'Z' || m->reading.has_no_memory)
        return; /* the next read of stat will show that the process has ended, or the last one has already set its
                   memory to 0 */
    bool was_known = m->memory.smaps_ns && m->row.absent[PROCESS_pss] == BARO_PRESENT && !sharing_is_stale(y, m);
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
        bool is_part = ids[i] == PROCESS_pss_anon || ids[i] == PROCESS_pss_shmem;
        if (m->row.absent[ids[i]] == BARO_ABSENT_NOT_ASKED)
            continue;
        m->row.absent[ids[i]] = is_part && !reply->smaps_absent ? reply->pss_parts_absent : reply->smaps_absent;
        m->row.value[ids[i]] = m->row.absent[ids[i]] ? 0 : values[i];
    }
    uint64_t spent = reply->spent_ns + LEAST_COST, most = SLOWEST * estimate(m);
    read_budget_correct(&y->sampling->account->read_budget, cost_of(m), spent < most ? spent : most);
    uint64_t mean_us = ((m->memory.smaps_cost_us ? (cost_of(m) * 3 + spent) / 4 : spent) + 999) / 1000;
    m->memory.smaps_cost_us = mean_us < UINT32_MAX ? (uint32_t)mean_us : UINT32_MAX;
    m->memory.smaps_ns = y->sampling->now_ns;
    m->memory.smaps_key = memory_key(m);
    if (!reply->smaps_absent)
        sharing_note_change(y, m, was_known);
    sharing_note_read(y, m);
    if (m->row.absent[PROCESS_pss] == BARO_PRESENT && m->row.absent[PROCESS_rss] == BARO_PRESENT &&
        reply->pss > m->row.value[PROCESS_rss])
        process_set_rss(m, reply->pss); /* rss is too small: each CPU counts in batches (Linux 6.2 to 6.15) */
}

/* No helper could be started: the request becomes due again when another start is tried. */
static void ask_again(struct memory *y, struct member *m, uint32_t what)
{
    if ((what & HELPER_INFO) && m->memory.info_asked) {
        m->memory.info_asked = false;
        m->memory.info_tries--;
    }
    if (what & HELPER_SMAPS) {
        y->peak_unread = true;
        read_budget_correct(&y->sampling->account->read_budget, cost_of(m), 0);
    }
    member_wake(m);
}

void memory_take_reply(struct memory *y, const struct helper_reply *reply)
{
    struct member *m = tree_find(&y->sampling->job->tree, reply->key.pid);
    if (!m || !baro_key_equal(m->row.key, reply->key))
        return;
    if (reply->smaps_absent == BARO_ABSENT_NOT_YET) {
        ask_again(y, m, reply->what);
        return;
    }
    member_moved(m);
    if (reply->what & HELPER_SMAPS)
        reply_smaps(y, m, reply);
    if ((reply->what & HELPER_INFO) && m->memory.info_asked) {
        m->memory.info_asked = false;
        m->memory.info_wanted = false;
        if (!reply->name_absent && reply->name && *reply->name)
            member_set_name(m, reply->name);
        if (!reply->cmdline_absent && reply->cmdline && *reply->cmdline)
            member_set_cmdline(m, reply->cmdline);
        else if (m->row.cmdline_absent != BARO_PRESENT)
            m->row.cmdline_absent = reply->cmdline_absent ? reply->cmdline_absent : (uint8_t)BARO_ABSENT_UNKNOWN;
    }
    if (m->row.read_ns != y->sampling->now_ns)
        member_wake(m); /* a late reply: the next tick writes the row to the tape */
}

static void on_reply(void *context, const struct helper_reply *reply)
{
    struct memory *y = context;
    const struct account *a = y->sampling->account;
    if (sampling_is_shared(y->sampling))
        a->route(a->route_context, reply);
    else
        memory_take_reply(y, reply);
}

/* Does the budget allow this read now? */
static bool may_read(struct memory *y, const struct member *m, bool urgent)
{
    return read_budget_take(&y->sampling->account->read_budget, &y->sampling->account->budget,
                            sampling_account_ns(y->sampling, y->sampling->now_ns), cost_of(m), urgent);
}

#define LARGEST 16u
#define SMALL_AFTER NS_PER_SEC

/* Inserts m into the list of the largest members: largest first, at most LARGEST. */
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

/* A small process costs as much to ask for as a large one. When the budget is short, it is read once it has lived for a
 * while. Example: of 80 MB, gcc holds 3 MB for 40 ms, and a shell 2 MB for an hour. */
static bool is_negligible(const struct memory *y, const struct member *m)
{
    return y->sampling->account->budget.level >= BUDGET_LESS && y->sampling->now_ns < m->row.first_ns + SMALL_AFTER &&
           m->row.value[PROCESS_rss] < y->rss_sum_peak / STALE_PART;
}

/* Requests the largest members, which make up most of a peak, even if they were read recently. */
static void request_largest(struct memory *y)
{
    struct member *top[LARGEST];
    size_t n = 0;
    y->peak_unread = false;
    for (size_t i = 0; i < y->sampling->job->tree.n; i++) {
        struct member *m = y->sampling->job->tree.at[i];
        if (!m || m->memory.smaps_asked == (uint32_t)y->sampling->ticks || m->memory.smaps_barred ||
            !(memory_moved(m) || sharing_is_stale(y, m)) || m->row.value[PROCESS_state] == 'Z' || is_negligible(y, m))
            continue;
        if (m->memory.smaps_ns && y->sampling->now_ns - m->memory.smaps_ns < cost_of(m) * OF_ITS_TIME_AT_A_PEAK) {
            y->peak_unread = true;
            continue;
        }
        n = insert_by_rss(top, n, m);
    }
    for (size_t i = 0; i < n; i++) {
        if (may_read(y, top[i], true))
            request(y, top[i], HELPER_SMAPS);
        else
            y->peak_unread = true;
    }
}

static void request_due(struct memory *y)
{
    const struct tree *tree = &y->sampling->job->tree;
    /* A member that is due passes the gate in each tick until it was requested. */
    for (size_t i = tree_next_moved(tree, 0); i < tree->n && y->n_requests < REQUESTS_MOST;
         i = tree_next_moved(tree, i + 1)) {
        struct member *m = tree->at[i];
        if (!m->reading.stat_was_read)
            continue;
        uint32_t what = 0;
        if (y->sampling->now_ns >= info_due(y, m))
            what |= HELPER_INFO;
        if (y->sampling->now_ns >= smaps_due(y, m)) {
            if (y->sampling->account->budget.level < BUDGET_LESS && may_read(y, m, false))
                what |= HELPER_SMAPS;
            else
                y->sampling->thinned++;
        }
        if (what)
            request(y, m, what);
    }
}

/* Finds members whose pss is stale because others changed, and, if `ask`, requests their pss. Such members may sleep,
 * and then do not pass the gate. Returns their number, or 0 if the sum of pss is wrong by less than a sixteenth. */
static uint64_t request_stale(struct memory *y, bool ask)
{
    const struct tree *tree = &y->sampling->job->tree;
    uint64_t sum = 0, uncertain_sum = 0, n = 0;
    for (size_t i = 0; i < tree->n; i++) {
        struct member *m = tree->at[i];
        if (!m || m->row.absent[PROCESS_pss] != BARO_PRESENT)
            continue;
        sum += m->row.value[PROCESS_pss];
        if (!sharing_is_stale(y, m))
            continue;
        uncertain_sum += sharing_uncertain(y, m);
        n++;
        if (!ask || m->memory.smaps_barred || m->memory.smaps_asked == (uint32_t)y->sampling->ticks ||
            y->n_requests >= REQUESTS_MOST || y->sampling->now_ns < stale_due_ns(y, m))
            continue;
        if (may_read(y, m, false))
            request(y, m, HELPER_SMAPS);
        else
            y->sampling->thinned++;
    }
    return uncertain_sum > sum / STALE_PART ? n : 0;
}

/* With thousands of members, counting takes as long as a tick: it is done once a second. */
static bool stale_due(const struct memory *y)
{
    bool many = tree_count(&y->sampling->job->tree) > STALE_MANY;
    return (y->sampling->need & BARO_SOURCE_SMAPS) && (y->shared_moved || y->stale) &&
           (!many || y->sampling->now_ns >= y->shared_ns + NS_PER_SEC);
}

/* Is this a new peak of the job's rss, or still the last one with members left to read? */
static bool at_peak(struct memory *y)
{
    uint64_t sum = job_rss(y->sampling->job);
    if (sum <= y->rss_sum_peak + y->rss_sum_peak / PEAK_STEP)
        return y->peak_unread && sum >= y->rss_sum_peak - y->rss_sum_peak / PEAK_STEP;
    y->rss_sum_peak = sum;
    return true;
}

static bool have_helper(struct memory *y)
{
    const struct sampler_options *o = &y->sampling->options;
    if (y->helper || !o->helper || y->no_helper)
        return y->helper != NULL;
    if (sampling_is_shared(y->sampling))
        y->helper = account_helper(y->sampling->account, o->proc_fd, o->cmdline);
    else
        helper_new(&y->helper, o->proc_fd, o->cmdline, NULL);
    y->no_helper = !y->helper;
    return y->helper != NULL;
}

/* Returns the helper, unless it is shared with other recordings. */
static struct helper *own_helper(const struct memory *y)
{
    return sampling_is_shared(y->sampling) ? NULL : y->helper;
}

static void collect_replies(struct memory *y)
{
    if (y->helper && helper_busy(y->helper))
        helper_collect(y->helper, on_reply, y);
}

static void ask(struct memory *y)
{
    const struct sampler_options *o = &y->sampling->options;
    if (!o->helper || y->no_helper || y->sampling->now_ns < HELPER_AFTER)
        return;
    collect_replies(y);
    if (y->helper && (helper_busy(y->helper) || worker_is_put_off(helper_worker(y->helper))))
        return; /* one batch at a time */
    y->n_requests = 0;
    request_due(y);
    if ((y->sampling->need & BARO_SOURCE_SMAPS) && at_peak(y))
        request_largest(y);
    if (stale_due(y))
        request_stale(y, true);
    if (!y->n_requests || !have_helper(y))
        return;
    y->moved_since_asked = false;
    y->files_asked = y->files;
    /* One of several recordings does not wait, which would delay the others: a later tick reads the replies. */
    uint64_t deadline = sampling_is_shared(y->sampling) ? 0 : DEADLINE;
    helper_ask(y->helper, y->requests, y->n_requests, deadline, o->wake_fd, on_reply, y);
}

static void count_stale(struct memory *y)
{
    if (!stale_due(y))
        return;
    uint64_t stale = request_stale(y, false), now_ns = y->sampling->now_ns;
    y->stale_since_ns = y->stale && stale ? y->stale_since_ns : now_ns;
    y->stale = stale;
    y->shared_moved = tree_count(&y->sampling->job->tree) > STALE_MANY && y->stale;
    y->shared_ns = now_ns;
}

/* pss and uss can't be larger than rss: a process whose rss fell since its pss was read gets the smaller value. */
static void limit_to_rss(struct memory *y)
{
    const struct tree *tree = &y->sampling->job->tree;
    for (size_t i = tree_next_moved(tree, 0); i < tree->n; i = tree_next_moved(tree, i + 1)) {
        struct baro_process *row = &tree->at[i]->row;
        uint64_t rss = row->value[PROCESS_rss];
        for (int id = PROCESS_pss; row->absent[PROCESS_rss] == BARO_PRESENT && id <= PROCESS_uss; id++) {
            if (row->absent[id] == BARO_PRESENT && row->value[id] > rss)
                row->value[id] = rss;
        }
    }
}

uint64_t memory_stale(const struct memory *y, uint8_t *ret_absent)
{
    *ret_absent = y->sampling->need & BARO_SOURCE_SMAPS ? BARO_PRESENT : BARO_ABSENT_NOT_ASKED;
    return y->stale;
}

/* ---- the row ---- */

void memory_init(struct memory *y, struct sampling *sampling)
{
    *y = (struct memory){.sampling = sampling};
}

static void prepare_memory(void *state)
{
    struct memory *y = state;
    if (!y->sampling->options.host_alone && have_helper(y))
        helper_start(y->helper);
}

static bool tick_memory(void *state, const struct collector_tick *t)
{
    struct memory *y = state;
    (void)t;
    ask(y);
    count_stale(y);
    limit_to_rss(y);
    return true;
}

static bool memory_is_quiet(void *state, uint64_t now_ns)
{
    const struct memory *y = state;
    bool waits = y->helper && helper_busy(y->helper) &&
                 !sampling_is_shared(y->sampling); /* a shared one may be busy for another job */
    return !waits && !(y->stale && now_ns < y->stale_since_ns + STALE_WAIT);
}

static struct worker *worker_of_memory(const void *state)
{
    return helper_worker(own_helper(state));
}

static void close_memory(void *state)
{
    struct memory *y = state;
    helper_free(own_helper(y));
    free(y->requests);
    y->helper = NULL;
    y->requests = NULL;
}

const struct collector memory_collector = {
    .name = "memory",
    .kinds = COLLECTOR_KIND(BARO_KIND_PROCESS),
    .sources = BARO_SOURCE_SMAPS,
    .left_out = {[BUDGET_LESS] = "pss and uss only at peaks",
                 [BUDGET_SPARSE] = "pss and uss only at peaks",
                 [BUDGET_LEAST] = "pss and uss only at peaks"},
    .prepare = prepare_memory,
    .tick = tick_memory,
    .is_quiet = memory_is_quiet,
    .worker = worker_of_memory,
    .close = close_memory,
};
