/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/sampler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"

#define REFRESH_LEAST (30 * NS_PER_SEC)
#define REFRESH_MOST (120 * NS_PER_SEC)
#define REFRESH_PER_PROCESS (3 * NS_PER_MS) /* 333 refreshes a second at most: 0.3 % of a core */
#define RESCAN (5 * NS_PER_SEC)
#define WRAPPER_WORD (100 * NS_PER_MS)
#define HEALS NS_PER_SEC         /* as long as pss that others made old is waiting to be read again, ticks go on */
#define ENDING (100 * NS_PER_MS) /* from the event of its end until all its threads are gone */

/* What the ledger adds up is read whatever the user wants to see. */
static uint64_t always_wanted(void)
{
    return 1ull << PROCESS_cpu | 1ull << PROCESS_cpu_user | 1ull << PROCESS_cpu_system |
           1ull << PROCESS_children_cpu_user | 1ull << PROCESS_children_cpu_system | 1ull << PROCESS_faults_minor |
           1ull << PROCESS_faults_major | 1ull << PROCESS_children_faults_minor |
           1ull << PROCESS_children_faults_major | 1ull << PROCESS_state | 1ull << PROCESS_threads |
           1ull << PROCESS_rss;
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
    if (s->pids_tried)
        fd_close(s->pids_fd);
    helper_free(s->slow);
    host_free(s->machine);
    cache_done(s);
    sampler_groups_done(s);
    free(s->requests);
    free(s->moved);
    s->requests = NULL;
    s->moved = NULL;
    s->slow = NULL;
    s->machine = NULL;
}

void sampler_kill_helpers(struct sampler *s)
{
    helper_end(s->slow);
    helper_end(s->machine ? host_helper(s->machine) : NULL);
    helper_end(s->groups_helper);
}

void sampler_end_helpers(struct sampler *s)
{
    helper_free(s->slow);
    host_end_helper(s->machine);
    helper_free(s->groups_helper);
}

uint64_t sampler_now(const struct sampler *s)
{
    return clock_monotonic_ns() - s->options.start_monotonic_ns;
}

void sampler_advance(struct sampler *s)
{
    uint64_t boot = clock_boottime_ns() - s->job->start_boottime_ns;
    s->now_ns = sampler_now(s);
    s->job->slept_ns = boot > s->now_ns ? boot - s->now_ns : 0;
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

static void take_out(struct sampler *s, struct member *m, uint64_t t_ns)
{
    cache_drop(s, m);
    if (m->sampled)
        memory_moved_by(s, m, m->note.stat_rss);
    m->gone_ns = s->now_ns;
    if (!m->final)
        m->absorbed |= !m->parent && s->job->adopts;
    job_gone(s->job, m, t_ns);
}

static bool is_there(struct sampler *s, struct member *m)
{
    uint64_t clock_ns;
    return process_clock(s, m, &clock_ns) == 0;
}

/* Depth first, and without a stack: a tree can be as deep as there are pids. */
void sampler_gather(struct sampler *s, struct member *m, uint64_t t_ns)
{
    struct member *at = m, *child = m->first_child;
    for (;;) {
        while (child && is_there(s, child))
            child = child->sibling_next;
        if (child) {
            at = child;
            child = at->first_child;
            continue;
        }
        if (at == m)
            return;
        struct member *up = at->parent;
        child = at->sibling_next;
        at->absorbed |= s->job->adopts; /* by its parent, or by the wrapper after that one had ended */
        take_out(s, at, t_ns);
        at = up;
    }
}

void sampler_gone(struct sampler *s, struct member *m, uint64_t t_ns)
{
    sampler_gather(s, m, t_ns);
    take_out(s, m, t_ns);
}

static void gone(struct sampler *s, struct member *m)
{
    sampler_gone(s, m, s->now_ns);
}

/* The wrapper tells what it reaps, with all that the zombie had used: of the command, and of orphans, which may not
 * have been seen to change their parent. Its word comes within a moment. Whose parent was found gone just before is a
 * case of its own: that one had most likely waited for it, and was waited for itself; should the word come all the same
 * it is known by then who is meant. */
static bool await_wrapper(struct sampler *s, struct member *m)
{
    if (m->parent || !s->job->wrapper.pid || (m->successor && m->successor_epoch == s->job->tree.epoch))
        return false;
    job_ended(s->job, m, s->now_ns);
    if (!m->reap_pending)
        m->reap_pending_ns = s->now_ns;
    m->reap_pending = true;
    member_moved(m);
    return s->now_ns < m->reap_pending_ns + WRAPPER_WORD;
}

static uint64_t refresh_after(const struct sampler *s, const struct member *m)
{
    uint64_t period = tree_count(&s->job->tree) * REFRESH_PER_PROCESS;
    period = period < REFRESH_LEAST ? REFRESH_LEAST : period > REFRESH_MOST ? REFRESH_MOST : period;
    return period + (m->row.id & 63) * (period / 256); /* not all in one tick */
}

/* False if the member's own doing can't have changed its values since they were read. */
static bool may_have_run(const struct member *m, uint64_t clock_ns)
{
    char state = (char)m->row.value[PROCESS_state];
    return m->force || !m->looked_at || clock_ns != m->note.clock_ns || !clock_ns || state == 'R' || state == 'D';
}

#define CHILDREN_MOST 256u

/* Children that were waited for are in what their parent shows, and must not count twice. */
static void check_children(struct sampler *s, struct member *m)
{
    unsigned n = 0;
    struct member *c = m->first_child;
    for (struct member *next; c && ++n <= CHILDREN_MOST; c = next) {
        next = c->sibling_next;
        if (!is_there(s, c))
            gone(s, c);
    }
    m->unsure = c != NULL;
}

int sampler_look(struct sampler *s, struct member *m)
{
    uint64_t clock_ns;
    if (!m->looked_at && m->row.absent[PROCESS_cpu] == BARO_ABSENT_NOT_YET)
        first_look(s, m);
    if (process_clock(s, m, &clock_ns) == 0 && process_read(s, m, clock_ns, PROCESS_STAT) != -ESRCH) {
        check_children(s, m);
        return 0;
    }
    if (!await_wrapper(s, m))
        gone(s, m);
    return -ESRCH;
}

#define REAPED_IO_TRIES 3u

/* Only if each child that it had reaped by then is known can what it took over be put down to those that are gone:
 * forks that are still in the queue may be of one that was born and reaped since the last drain. Those known that are
 * no longer there check_children() finds, and then all of it is done again. */
static void read_reaped_io(struct sampler *s, struct member *m, uint64_t clock_ns)
{
    struct reaped_io *r = &m->reaped_io;
    r->known = false;
    while (r->tries < REAPED_IO_TRIES) {
        uint32_t forks = r->forks;
        r->tries++;
        r->known = process_reaped_io(s, m);
        if (r->known && s->options.catch_up)
            s->options.catch_up(s->options.catch_up_context);
        r->known &= r->forks == forks && !m->gone;
        if (r->known || m->gone || process_read(s, m, clock_ns, PROCESS_LEDGER) != 0)
            return;
    }
}

static bool look_again(void *context, struct member *m)
{
    struct sampler *s = context;
    uint64_t clock_ns;
    if (m->final)
        return true;
    int r = process_clock(s, m, &clock_ns);
    if (r == 0)
        r = process_read(s, m, clock_ns, PROCESS_LEDGER);
    if (r == -ESRCH && !await_wrapper(s, m))
        gone(s, m);
    if (r == 0 && m->reaped_io.wanted)
        read_reaped_io(s, m, clock_ns);
    if (r == 0 && !m->gone)
        check_children(s, m);
    if (m->gone)
        return true;
    member_wake(m); /* its row is another one now: onto the tape with the next tick */
    return r == 0 || r == -ESRCH;
}

void sampler_settle(struct sampler *s)
{
    sampler_advance(s);
    job_settle(s->job, s->now_ns, look_again, s);
}

static void seen(struct sampler *s, struct member *m)
{
    m->row.read_ns = s->now_ns;
    if (!m->sampled)
        memory_moved_by(s, m, m->note.stat_rss);
    m->sampled = true;
}

/* Whatever told its end, or that it was seen as a zombie, decides how many live. A group whose first thread has ended
 * lives on: that of one whose threads began before the events did may be told as its end. */
static void check_end(struct sampler *s, struct member *m)
{
    bool zombie = m->row.value[PROCESS_state] == 'Z' && m->row.value[PROCESS_threads] <= 1;
    if (zombie && !m->ended)
        job_ended(s->job, m, s->now_ns);
    if (!m->ended || zombie || m->reap_pending)
        return;
    if (s->now_ns > m->end_ns + ENDING)
        job_revive(s->job, m);
    member_wake(m); /* to be looked at again, whether it runs or not */
}

/* Only who ran since can have forked since. Another core's clock moves with the tick of the kernel alone. */
static void find_children(struct sampler *s, struct member *m, bool known, uint64_t clock_ns)
{
    char state = (char)m->row.value[PROCESS_state];
    bool told = m->row.origin == BARO_ORIGIN_EVENT && (m->heard || !s->job->hears); /* and so are its children */
    if (!s->options.children || s->no_children_file || state == 'Z')
        return;
    if (!s->scan_always && !s->scan_once && (known || told))
        return;
    if (clock_ns && clock_ns == m->note.scanned_clock_ns && state != 'R')
        return;
    bool up_to_date = s->nobody_born && m->children_listed && !s->scan_once;
    if (!up_to_date)
        m->children_listed = scan_children_of(s, m);
    if (m->children_listed)
        m->note.scanned_clock_ns = clock_ns;
}

/* Ticks in a row in which it was read. */
static void count_read(const struct sampler *s, struct member *m)
{
    uint16_t more = m->note.reads < UINT16_MAX ? (uint16_t)(m->note.reads + 1) : UINT16_MAX;
    m->note.reads = m->note.read_tick + 1 == (uint32_t)s->ticks ? more : 1;
    m->note.read_tick = (uint32_t)s->ticks;
}

static void tick_member(struct sampler *s, struct member *m, bool there, uint64_t clock_ns)
{
    bool known = m->looked_at;
    member_moved(m);
    if (!known && m->row.absent[PROCESS_cpu] == BARO_ABSENT_NOT_YET)
        first_look(s, m);
    if (!there) {
        if (!await_wrapper(s, m))
            gone(s, m);
        else if (known && !m->sampled)
            seen(s, m); /* it was looked at as it started, an instant ago */
        return;
    }
    bool ran = may_have_run(m, clock_ns) || (m->owes && s->now_ns >= m->note.switches_due);
    if (!ran && s->now_ns < m->row.read_ns + refresh_after(s, m)) {
        find_children(s, m, known, clock_ns);
        return;
    }
    count_read(s, m);
    int r = process_read(s, m, clock_ns, ran ? PROCESS_WHOLE : PROCESS_REFRESH);
    if (r == -ESRCH && !await_wrapper(s, m))
        gone(s, m);
    if (r < 0)
        return;
    seen(s, m);
    check_end(s, m);
    find_children(s, m, known, clock_ns);
}

/* Until when it need not be looked at, as long as its clock stands still. */
static uint64_t gate_due(const struct sampler *s, const struct member *m)
{
    if (m->reap_pending || may_have_run(m, m->note.clock_ns))
        return 0;
    uint64_t refresh = m->row.read_ns + refresh_after(s, m), memory = memory_due(s, m);
    refresh = m->owes && m->note.switches_due < refresh ? m->note.switches_due : refresh;
    return refresh < memory ? refresh : memory;
}

/* A child that stands before its parent was read before it, and may have ended and been waited for in between: then
 * what it used would count twice. */
static void check_order(struct sampler *s)
{
    struct tree *tree = &s->job->tree;
    uint64_t clock_ns;
    for (size_t i = tree_next_moved(tree, 0); i < tree->n; i = tree_next_moved(tree, i + 1)) {
        struct member *parent = tree->at[i];
        if (!parent->first_child || !job_gained(parent))
            continue;
        for (struct member *m = parent->first_child, *next; m; m = next) {
            next = m->sibling_next;
            if (m->index < i && process_clock(s, m, &clock_ns) < 0)
                gone(s, m);
        }
    }
}

static void tick_from(struct sampler *s, size_t *i)
{
    const struct tree *tree = &s->job->tree;
    for (; *i < tree->n; ++*i) { /* it grows while children are found */
        const struct gate g = tree->gates[*i]; /* a copy: they move as the tree grows */
        uint64_t clock_ns = 0;
        if (!g.pid)
            continue;
        s->process_samples++;
        bool there = clock_process_cpu_ns(g.pid, &clock_ns) != -EINVAL;
        if (there && clock_ns == g.clock_ns && s->now_ns < g.due_ns && (g.scanned || !s->scan_once))
            continue;
        struct member *m = tree->at[*i];
        tick_member(s, m, there, clock_ns);
        if (!m->gone)
            tree->gates[*i] = (struct gate){m->note.clock_ns, gate_due(s, m), m->row.key.pid,
                                            m->note.scanned_clock_ns == m->note.clock_ns};
    }
}

static void tick_members(struct sampler *s)
{
    if (s->now_ns >= s->scanned_ns + RESCAN)
        s->scan_once = true;
    if (s->scan_always || s->scan_once) {
        scan_begin(s);
        scan_wrapper(s);
        if (s->no_children_file && s->options.children)
            scan_everything(s);
    }
    sampler_groups_members_tick(s);
    size_t i = 0;
    tick_from(s, &i);
    check_order(s);
    if (s->job->n_gone && s->job->events && s->options.catch_up) {
        s->options.catch_up(s->options.catch_up_context);
        tick_from(s, &i); /* those that were forked meanwhile */
    }
    if (s->scan_once)
        s->scanned_ns = s->now_ns;
    s->scan_once = false;
}

static void after_settling(struct sampler *s)
{
    const struct tree *tree = &s->job->tree;
    for (size_t i = tree_next_moved(tree, 0); i < tree->n; i = tree_next_moved(tree, i + 1)) {
        struct member *m = tree->at[i];
        if (m->row.read_ns == s->now_ns)
            job_settled(s->job, m);
        if (m->row.absent[PROCESS_children] == BARO_ABSENT_NOT_ASKED)
            continue;
        m->row.value[PROCESS_children] = m->n_children;
        m->row.absent[PROCESS_children] = BARO_PRESENT;
    }
}

static void check_budget(struct sampler *s)
{
    if (!budget_update(&s->budget, s->now_ns))
        return;
    job_event(s->job, s->now_ns, BARO_EVENT_THINNED, NULL, s->budget.level, budget_text(s->budget.level));
}

void sampler_discover(struct sampler *s)
{
    memory_prepare(s);
    machine_prepare(s);
    sampler_groups_prepare(s);
    sampler_advance(s);
    s->scan_once = true;
    for (size_t i = 0; i < s->job->tree.n; i++) {
        if (s->job->tree.at[i])
            member_wake(s->job->tree.at[i]); /* all of it: what was not read could not be left out */
    }
    tick_members(s);
    job_settle(s->job, s->now_ns, look_again, s);
    tree_compact(&s->job->tree);
    for (size_t i = 0; i < s->job->tree.n; i++) {
        struct member *m = s->job->tree.at[i];
        job_rebase(m);
        job_settled(s->job, m);
        member_wake(m);
        m->sampled = false;
    }
}

/* Without memory the whole tree may have moved. */
static void tell_moved(struct sampler *s)
{
    struct tree *tree = &s->job->tree;
    size_t words = (tree->n + 63) / 64;
    if (words > s->cap_moved) {
        uint64_t *grown = realloc(s->moved, 2 * words * sizeof(*grown));
        s->moved = grown ? grown : s->moved;
        s->cap_moved = grown ? 2 * words : s->cap_moved;
    }
    s->sample.moved = words <= s->cap_moved ? s->moved : NULL;
    s->sample.removals = tree->removals;
    if (s->sample.moved && words)
        memcpy(s->moved, tree->moved, words * sizeof(*s->moved));
    tree_clear_moved(tree);
}

bool sampler_is_stirred(const struct sampler *s)
{
    const struct tree *tree = &s->job->tree;
    return s->job->n_gone || tree->removals != s->sample.removals || tree->n != s->sample.n ||
           tree_next_moved(tree, 0) < tree->n;
}

bool sampler_any_moved(const struct sampler *s)
{
    for (size_t i = 0; s->sample.moved && i < (s->sample.n + 63) / 64; i++) {
        if (s->sample.moved[i])
            return true;
    }
    return !s->sample.moved;
}

bool sampler_is_quiet(struct sampler *s)
{
    const struct tree *tree = &s->job->tree;
    sampler_advance(s);
    if (s->options.whole_group || s->options.host_alone || s->scan_once || s->now_ns >= s->scanned_ns + RESCAN ||
        !tree->n || sampler_is_stirred(s) || (s->slow && helper_busy(s->slow)) ||
        (s->stale && s->now_ns < s->stale_since_ns + HEALS))
        return false;
    for (size_t i = 0; i < tree->n; i++) {
        const struct gate *g = &tree->gates[i];
        uint64_t clock_ns = 0;
        if (clock_process_cpu_ns(g->pid, &clock_ns) == -EINVAL || clock_ns != g->clock_ns || s->now_ns >= g->due_ns ||
            !g->pid)
            return false;
    }
    return true;
}

const struct baro_sample *sampler_repeat(struct sampler *s, uint64_t t_ns)
{
    struct baro_sample *sample = &s->sample;
    const struct tree *tree = &s->job->tree;
    if (s->job->n_gone || tree->removals != sample->removals || tree->n < sample->n || !sample->moved ||
        t_ns <= sample->t_ns)
        return NULL;
    memset(s->moved, 0, (sample->n + 63) / 64 * sizeof(*s->moved));
    sample->processes = tree->rows;
    sample->t_ns = t_ns;
    sample->lossy = false;
    return sample;
}

const struct baro_sample *sampler_tick(struct sampler *s)
{
    self_begin(s);
    sampler_advance(s);
    s->ticks++;
    tick_members(s);
    job_settle(s->job, s->now_ns, look_again, s);
    after_settling(s);
    memory_tick(s);
    memory_bound(s);

    struct baro_sample *sample = &s->sample;
    sample->t_ns = s->now_ns;
    sample->n = tree_compact(&s->job->tree);
    sample->processes = s->job->tree.rows;
    sample->lossy = s->lossy_now;
    s->lossy += s->lossy_now;
    s->lossy_now = false;
    sampler_groups_count(s);
    job_totals(s->job, sample->job, sample->job_absent);
    sample->job[JOB_pss_stale] = s->stale;
    sample->job_absent[JOB_pss_stale] = s->need & BARO_SOURCE_SMAPS ? BARO_PRESENT : BARO_ABSENT_NOT_ASKED;
    tell_moved(s);
    machine_tick(s);
    check_budget(s);
    s->sample_time_ns += sampler_now(s) - s->now_ns;
    self_end(s);
    self_fill(s);
    return sample;
}

struct member *sampler_add_target(struct sampler *s, int32_t pid, struct baro_error *err)
{
    sampler_advance(s);
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
