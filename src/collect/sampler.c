/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/sampler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define REFRESH_LEAST (10 * NS_PER_SEC)
#define REFRESH_MOST (60 * NS_PER_SEC)
#define REFRESH_PER_PROCESS (3 * NS_PER_MS) /* 333 refreshes a second at most: 0.3 % of a core */
#define RESCAN (5 * NS_PER_SEC)
#define WRAPPER_WORD (100 * NS_PER_MS)

/* What the ledger adds up is read whatever the user wants to see. */
static uint64_t always_wanted(void)
{
    return 1ull << PROCESS_cpu | 1ull << PROCESS_cpu_user | 1ull << PROCESS_cpu_system | 1ull << PROCESS_children_cpu_user |
           1ull << PROCESS_children_cpu_system | 1ull << PROCESS_faults_minor | 1ull << PROCESS_faults_major |
           1ull << PROCESS_children_faults_minor | 1ull << PROCESS_children_faults_major | 1ull << PROCESS_state |
           1ull << PROCESS_threads | 1ull << PROCESS_rss;
}

int sampler_init(struct sampler *s, struct job *job, const struct sampler_options *options, struct baro_error *err)
{
    memset(s, 0, sizeof(*s));
    s->options = *options;
    s->options.wanted |= always_wanted();
    if (s->options.wanted & (1ull << PROCESS_pss | 1ull << PROCESS_uss))
        s->options.wanted |= 1ull << PROCESS_smaps_at;
    s->job = job;
    s->need = metric_need(s->options.wanted);
    budget_init(&s->budget, options->overhead_ppm);
    if (cache_init(s) < 0)
        return error_set(err, -ENOMEM, "out of memory");
    return 0;
}

void sampler_done(struct sampler *s)
{
    slow_free(s->slow);
    cache_done(s);
    free(s->requests);
    s->requests = NULL;
    s->slow = NULL;
}

uint64_t sampler_now(const struct sampler *s)
{
    return clock_monotonic_ns() - s->options.start_monotonic_ns;
}

static void first_look(struct sampler *s, struct member *m)
{
    for (int i = 0; i < PROCESS_MAX; i++) {
        if (!(s->options.wanted >> i & 1))
            m->row.absent[i] = BARO_ABSENT_NOT_ASKED;
    }
    if (!s->options.cmdline && m->row.cmdline_absent == BARO_ABSENT_NOT_YET)
        m->row.cmdline_absent = BARO_ABSENT_NOT_ASKED;
    m->note.info_wanted = true;
}

void sampler_gone(struct sampler *s, struct member *m, uint64_t t_ns)
{
    cache_drop(s, m);
    if (!m->final)
        m->absorbed |= !m->parent && s->job->adopts;
    job_gone(s->job, m, t_ns);
}

static void gone(struct sampler *s, struct member *m)
{
    sampler_gone(s, m, s->now_ns);
}

/* The wrapper tells what it reaps, with all that the zombie had used: of the command, and of orphans, which may not have been seen to
 * change their parent. Its word comes within a moment, or its parent had waited for it before it went itself. */
static bool await_wrapper(struct sampler *s, struct member *m)
{
    if (m->parent || !s->job->wrapper.pid)
        return false;
    job_ended(s->job, m, s->now_ns);
    m->awaited = true;
    return s->now_ns < m->end_ns + WRAPPER_WORD;
}

static uint64_t refresh_after(const struct sampler *s, const struct member *m)
{
    uint64_t period = tree_count(&s->job->tree) * REFRESH_PER_PROCESS;
    period = period < REFRESH_LEAST ? REFRESH_LEAST : period > REFRESH_MOST ? REFRESH_MOST : period;
    return period + (m->row.id & 63) * (period / 256); /* not all in one tick */
}

/* True if the member's own values can't have changed since they were read. */
static bool gate(const struct sampler *s, const struct member *m, uint64_t clock_ns)
{
    if (m->force || !m->looked_at || clock_ns != m->note.clock_ns || !clock_ns)
        return false;
    char state = (char)m->row.value[PROCESS_state];
    if (state == 'R' || state == 'D')
        return false;
    return s->now_ns < m->row.read_ns + refresh_after(s, m);
}

int sampler_look(struct sampler *s, struct member *m)
{
    uint64_t clock_ns;
    if (!m->looked_at && m->row.absent[PROCESS_cpu] == BARO_ABSENT_NOT_YET)
        first_look(s, m);
    if (process_clock(s, m, &clock_ns) == 0 && process_read(s, m, clock_ns, PROCESS_STAT) != -ESRCH)
        return 0;
    if (!await_wrapper(s, m))
        gone(s, m);
    return -ESRCH;
}

static void look_again(void *context, struct member *m)
{
    struct sampler *s = context;
    uint64_t clock_ns;
    if (m->final)
        return;
    if (process_clock(s, m, &clock_ns) < 0 || process_read(s, m, clock_ns, PROCESS_LEDGER) == -ESRCH) {
        if (!await_wrapper(s, m))
            gone(s, m);
        return;
    }
    m->force = true; /* its row is another one now: onto the tape with the next tick */
}

void sampler_settle(struct sampler *s)
{
    s->now_ns = sampler_now(s);
    job_settle(s->job, s->now_ns, look_again, s);
}

static void seen(const struct sampler *s, struct member *m)
{
    m->row.read_ns = s->now_ns;
    m->sampled = true;
}

static void tick_member(struct sampler *s, struct member *m)
{
    uint64_t clock_ns;
    bool known = m->looked_at;
    s->process_samples++;
    if (!known && m->row.absent[PROCESS_cpu] == BARO_ABSENT_NOT_YET)
        first_look(s, m);
    if (process_clock(s, m, &clock_ns) < 0) {
        if (!await_wrapper(s, m))
            gone(s, m);
        else if (known && !m->sampled)
            seen(s, m); /* it was looked at as it started, an instant ago */
        return;
    }
    if (gate(s, m, clock_ns)) {
        m->note.reads = 0;
        return;
    }
    m->note.reads++;
    if (process_read(s, m, clock_ns, PROCESS_WHOLE) == -ESRCH) {
        if (!await_wrapper(s, m))
            gone(s, m);
        return;
    }
    seen(s, m);
    if (!s->options.children || s->no_children_file || m->row.value[PROCESS_state] == 'Z')
        return;
    bool told = m->row.origin == BARO_ORIGIN_EVENT; /* and so are its children */
    if (s->scan_always || s->scan_once || (!known && !told))
        scan_children_of(s, m);
}

static void tick_members(struct sampler *s)
{
    struct tree *tree = &s->job->tree;
    if (s->now_ns >= s->scanned_ns + RESCAN)
        s->scan_once = true;
    if (s->scan_always || s->scan_once) {
        scan_wrapper(s);
        if (s->no_children_file && s->options.children)
            scan_everything(s);
    }
    for (size_t i = 0; i < tree->n; i++) { /* it grows while children are found */
        if (tree->at[i])
            tick_member(s, tree->at[i]);
    }
    if (s->scan_once)
        s->scanned_ns = s->now_ns;
    s->scan_once = false;
}

static void after_settling(struct sampler *s)
{
    for (size_t i = 0; i < s->job->tree.n; i++) {
        struct member *m = s->job->tree.at[i];
        if (!m)
            continue;
        if (m->row.read_ns == s->now_ns)
            job_settled(m);
        if (m->row.absent[PROCESS_children] == BARO_ABSENT_NOT_ASKED)
            continue;
        uint64_t children = 0;
        for (const struct member *c = m->first_child; c; c = c->sibling_next)
            children++;
        if (children != m->row.value[PROCESS_children] && m->row.read_ns != s->now_ns)
            m->force = true;
        m->row.value[PROCESS_children] = children;
        m->row.absent[PROCESS_children] = BARO_PRESENT;
    }
}

static void check_budget(struct sampler *s)
{
    if (!budget_update(&s->budget, s->now_ns, s->self_cpu_ns))
        return;
    job_event(s->job, s->now_ns, BARO_EVENT_THINNED, NULL, s->budget.level, budget_text(s->budget.level));
}

void sampler_discover(struct sampler *s)
{
    s->now_ns = sampler_now(s);
    s->scan_once = true;
    tick_members(s);
    job_settle(s->job, s->now_ns, look_again, s);
    tree_compact(&s->job->tree);
    for (size_t i = 0; i < s->job->tree.n; i++) {
        struct member *m = s->job->tree.at[i];
        job_rebase(m);
        job_settled(m);
        m->force = true;
        m->sampled = false;
    }
}

const struct baro_sample *sampler_tick(struct sampler *s)
{
    uint64_t cpu_before = sampler_self_cpu(s);
    s->now_ns = sampler_now(s);
    s->ticks++;
    tick_members(s);
    job_settle(s->job, s->now_ns, look_again, s);
    after_settling(s);
    memory_tick(s);

    struct baro_sample *sample = &s->sample;
    sample->t_ns = s->now_ns;
    sample->n = tree_compact(&s->job->tree);
    sample->processes = s->job->tree.rows;
    sample->lossy = s->lossy_now;
    s->lossy += s->lossy_now;
    s->lossy_now = false;
    job_totals(s->job, sample->job, sample->job_absent);
    check_budget(s);
    s->sample_time_ns += sampler_now(s) - s->now_ns;
    s->self_cpu_ns = sampler_self_cpu(s);
    s->sample_cpu_ns += s->self_cpu_ns - cpu_before;
    self_fill(s);
    return sample;
}

struct member *sampler_add_target(struct sampler *s, int32_t pid, struct baro_error *err)
{
    s->now_ns = sampler_now(s);
    struct member *m = job_add(s->job, pid, NULL, BARO_ORIGIN_TARGET, s->now_ns);
    if (!m) {
        error_set(err, -ENOMEM, "out of memory");
        return NULL;
    }
    s->job->targets += !m->target;
    m->target = true;
    if (sampler_look(s, m) == 0)
        return m;
    error_set(err, -ESRCH, "process %d ended before it could be looked at", pid);
    return NULL;
}
