/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger against a simulated kernel: processes fork, use CPU time, exit, are reaped, ignored or orphaned at random,
 * by the kernel's rules for which process takes over whose counters. Seeded; each failure prints its seed. Three kinds
 * of recorder are tested: one that scans, one that gets all events at once, and a late one: for it events and the
 * wrapper's messages wait in two queues, as they do while a recorder gets no CPU; messages that do not fit are dropped,
 * and each message has the running totals.
 */
#include "unit.h"

#include "lives.h"

static void put(struct member *m, enum process_metric id, uint64_t v)
{
    member_moved(m);
    if (v < m->row.value[id])
        v = m->row.value[id];
    m->row.value[id] = v;
    m->row.absent[id] = BARO_PRESENT;
}

static struct process *same(struct kernel *k, const struct member *m)
{
    struct process *p = &k->at[m->row.key.pid - 100];
    bool other = m->reading.stat_was_read ? m->row.key.start != p->start
                                          : m->life.begin_ns && m->life.begin_ns != p->start * TICK;
    return p->life == FREE || other ? NULL : p;
}

static void fill(struct kernel *k, struct member *m)
{
    struct process *p = same(k, m);
    m->reading.stat_was_read = true;
    m->row.key.start = p->start;
    if (p->ignores)
        job_ignores_children(&k->job, m);
    put(m, PROCESS_cpu, p->own_user + p->own_system);
    put(m, PROCESS_cpu_user, p->own_user);
    put(m, PROCESS_cpu_system, p->own_system);
    if (k->delays) {
        put(m, PROCESS_run_delay, p->own_user / 3);
        put(m, PROCESS_switches_voluntary, p->own_system / 1000);
        put(m, PROCESS_switches_involuntary, p->own_user / 1000);
    }
    put(m, PROCESS_children_cpu_user, p->reaped_user / TICK * TICK);
    put(m, PROCESS_children_cpu_system, p->reaped_system / TICK * TICK);
    put(m, PROCESS_children_faults_minor, p->reaped_faults);
    struct member *parent = p->parent >= 0 ? tree_find(&k->job.tree, k->at[p->parent].pid) : NULL;
    if (parent != m->links.parent)
        tree_set_parent(m, parent);
}

/* As the sampler does: descendants go first, and for a process without a parent among the members the wrapper's report
 * is awaited for a while. */
static void gone(struct kernel *k, struct member *m)
{
    gather(k, m);
    job_gone(&k->job, m, now(k), now(k));
}

static void gather(struct kernel *k, struct member *m)
{
    for (struct member *c = m->links.first_child, *next; c; c = next) {
        next = c->links.sibling_next;
        if (same(k, c))
            continue;
        job_absorbed(&k->job, c);
        gone(k, c);
    }
}

static void missing(struct kernel *k, struct member *m)
{
    bool parent_just_went = m->account.successor && m->account.successor_epoch == k->job.tree.epoch;
    if (k->recorder == LATE && !m->links.parent && !parent_just_went && k->job.wrapper.pid) {
        if (job_expect_reaping(&k->job, m, now(k)) < PATIENCE)
            return;
    }
    gone(k, m);
}

static bool read_again(void *context, struct member *m)
{
    struct kernel *k = context;
    if (member_is_final(m))
        return true;
    if (!same(k, m)) {
        missing(k, m);
        return true;
    }
    fill(k, m);
    gather(k, m);
    return true;
}

/* ---- the late recorder: what record/ does with events and messages, on this kernel's clock ---- */

/* The event may be about a process that was found gone already. */
static struct member *member_of(struct kernel *k, int32_t pid)
{
    struct member *m = tree_find(&k->job.tree, pid);
    for (struct member *g = m ? NULL : k->job.settling.gone; g; g = g->links.list_next) {
        if (g->row.key.pid == pid)
            return g;
    }
    return m;
}

static void told_fork(struct kernel *k, const struct event *e)
{
    struct member *m = tree_find(&k->job.tree, e->pid), *parent = member_of(k, e->ppid);
    struct member *left_by = parent && member_is_gone(parent) ? parent : NULL;
    if (m && (m->life.begin_ns < e->t || member_has_ended(m)))
        gone(k, m);
    m = job_add(&k->job, e->pid, left_by ? NULL : parent, BARO_ORIGIN_EVENT, e->t);
    assert_non_null(m);
    m->life.begin_ns = e->t;
    if (left_by) {
        m->account.successor = left_by;
        m->account.successor_epoch = k->job.tree.epoch;
    }
}

static void drain_events(struct kernel *k)
{
    for (size_t i = 0; i < k->n_events; i++) {
        const struct event *e = &k->event[i];
        struct member *m = e->fork ? NULL : member_of(k, e->pid);
        if (e->fork) {
            told_fork(k, e);
        } else if (m) {
            job_ended(&k->job, m, e->t);
            m->life.end_reported = true;
            member_make_usage(m)->has_cpu = true;
            member_make_usage(m)->cpu_ns = e->usage + (k->has_steal ? e->usage % STEAL : 0);
            member_make_usage(m)->cpu_unsure_ns = k->has_steal ? STEAL : 0;
            member_make_usage(m)->source = k->has_steal ? BARO_EXIT_PERF : BARO_EXIT_TASKSTATS;
        }
    }
    for (size_t i = 0; i < k->n_events; i++) { /* a read of each that has ended, in their order */
        struct member *m = tree_find(&k->job.tree, k->event[i].pid);
        if (!m || !member_has_ended(m) || (!m->links.parent && k->job.wrapper.pid))
            continue;
        if (same(k, m)) {
            fill(k, m);
            gather(k, m);
        } else {
            missing(k, m);
        }
    }
    k->n_events = 0;
}

static void take_totals(struct kernel *k, const struct message *l)
{
    k->job.wrapper.total[LEDGER_CPU_USER] = l->total_user;
    k->job.wrapper.total[LEDGER_CPU_SYSTEM] = l->total_system;
}

static void drain_messages(struct kernel *k)
{
    for (size_t i = 0; i < k->n_messages; i++) {
        const struct message *l = &k->message[i];
        bool reported;
        drain_events(k);
        struct member *m = job_claim(&k->job, l->pid, l->start, l->t, &reported);
        if (!m && !reported)
            fail_msg("seed %llu: the wrapper reports %d, which is no member", (unsigned long long)k->number, l->pid);
        if (!m) {
            take_totals(k, l);
            continue;
        }
        m->reading.stat_was_read = true;
        m->row.key.start = l->start;
        if (l->ignores)
            job_ignores_children(&k->job, m);
        put(m, PROCESS_cpu, l->own_user + l->own_system);
        put(m, PROCESS_cpu_user, l->own_user);
        put(m, PROCESS_cpu_system, l->own_system);
        put(m, PROCESS_children_cpu_user, l->reaped_user / TICK * TICK);
        put(m, PROCESS_children_cpu_system, l->reaped_system / TICK * TICK);
        put(m, PROCESS_children_faults_minor, l->reaped_faults);
        member_make_usage(m)->has_cpu = true;
        member_make_usage(m)->cpu_ns = l->own_user + l->own_system;
        member_make_usage(m)->cpu_unsure_ns = 0;
        m->life.cpu_final = true;
        job_reaped(&k->job, m, l->t);
        if (member_is_gone(m)) {
            take_totals(k, l);
            continue;
        }
        gather(k, m);
        job_settle(&k->job, now(k), read_again, k);
        take_totals(k, l);
        job_gone(&k->job, m, l->t, now(k));
    }
    k->n_messages = 0;
}

static void discover(struct kernel *k)
{
    if (k->recorder == LATE)
        return;
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < k->n; i++) {
            struct process *p = &k->at[i];
            struct member *known = tree_find(&k->job.tree, p->pid);
            if (p->life == FREE || (known && (!known->reading.stat_was_read || known->row.key.start == p->start)))
                continue;
            if (known)
                gone(k, known);
            struct member *parent = p->parent >= 0 ? tree_find(&k->job.tree, k->at[p->parent].pid) : NULL;
            struct member *m = job_add(&k->job, p->pid, parent, BARO_ORIGIN_SCAN, now(k));
            assert_non_null(m);
            more = true;
        }
    }
    for (size_t i = 0; i < k->job.tree.n; i++) { /* a parent can stand behind its child in this kernel's table */
        struct member *m = k->job.tree.at[i];
        if (m && same(k, m))
            fill(k, m);
    }
}

static void step(struct kernel *k);

/* As the sampler does: a process that was read before its parent took over its counters would be counted twice. */
static void check_order(struct kernel *k)
{
    for (size_t i = 0; i < k->job.tree.n; i++) {
        struct member *parent = k->job.tree.at[i];
        for (struct member *m = parent && job_gained(parent) ? parent->links.first_child : NULL, *next; m; m = next) {
            next = m->links.sibling_next;
            if (m->links.index < i && !same(k, m))
                gone(k, m);
        }
    }
}

/* Time passes during a tick: a process that was read may be gone when the ledger reads it again. */
static void live_on(struct kernel *k)
{
    while (k->restless && !dice(k, 3))
        step(k);
}

static void tick(struct kernel *k)
{
    k->truth_before = k->truth;
    k->ticks++;
    drain_messages(k);
    drain_events(k);
    for (size_t i = 0; i < k->job.tree.n; i++) {
        struct member *m = k->job.tree.at[i];
        if (!m)
            continue;
        live_on(k);
        if (same(k, m)) {
            fill(k, m);
            m->row.read_ns = k->ticks;
        } else {
            missing(k, m);
        }
    }
    discover(k);
    check_order(k);
    if (k->job.settling.n_gone)
        drain_events(k);
    live_on(k);
    job_settle(&k->job, now(k), read_again, k);
    tree_compact(&k->job.tree);
    for (size_t i = 0; i < k->job.tree.n; i++) {
        struct member *m = k->job.tree.at[i];
        if (m->row.read_ns == k->ticks)
            job_settled(m);
    }
}

static void on_exit_record(void *context, const struct baro_exit *e)
{
    struct kernel *k = context;
    k->exits++;
    k->exit_cpu += e->value[EXIT_cpu];
    k->last_exit = *e;
    assert_true(e->id > 0);
    for (int i = 0; i < EXIT_MAX; i++)
        assert_true(e->absent[i] < ABSENT_COUNT);
}

static void on_event_record(void *context, const struct baro_event *e)
{
    (void)context;
    assert_non_null(e->text);
}

static void step(struct kernel *k)
{
    int i = (int)dice(k, (uint64_t)k->n);
    struct process *p = &k->at[i];
    k->clock += 1 + dice(k, 3);
    if (p->life == ZOMBIE && dice(k, 2)) {
        reap(k, i);
    } else if (p->life == LIVES && dice(k, 100) < 30) {
        fork_from(k, i);
    } else if (p->life == LIVES && i != 0 && dice(k, 100) < 30) {
        end(k, i);
    } else if (p->life == LIVES) {
        uint64_t user = dice(k, 30000000), system = dice(k, 5000000);
        p->own_user += user;
        p->own_system += system;
        k->truth += user + system;
    }
}

/* The running sums are what adding up all members would give. */
static void check_sums(const struct job *j)
{
    uint64_t all[PART_MAX] = {0};
    for (size_t i = 0; i < j->tree.n; i++) {
        const struct member *m = j->tree.at[i];
        if (!m)
            continue;
        for (int c = 0; c < LEDGER_MAX && !member_is_reap_pending(m); c++)
            all[c] += job_ledger(m, (enum ledger_counter)c);
        const uint64_t *base = m->account.base, *v = m->row.value;
        uint64_t own = v[PROCESS_cpu], seen = own;
        if (member_usage(m)->has_cpu && member_usage(m)->cpu_ns > own && !m->life.cpu_final)
            own = member_usage(m)->cpu_ns;
        all[PART_CPU] += own - (base ? base[BASE_CPU] : 0);
        all[PART_VAGUE] += member_usage(m)->source == BARO_EXIT_PERF ? own - seen : 0;
        all[PART_RUN_DELAY] += v[PROCESS_run_delay] - (base ? base[BASE_RUN_DELAY] : 0);
        all[PART_SWITCHES_VOLUNTARY] += v[PROCESS_switches_voluntary] - (base ? base[BASE_SWITCHES_VOLUNTARY] : 0);
        all[PART_SWITCHES_INVOLUNTARY] +=
            v[PROCESS_switches_involuntary] - (base ? base[BASE_SWITCHES_INVOLUNTARY] : 0);
        all[PART_PARENTS] += m->account.had_child || v[PROCESS_children_faults_minor] > 0;
    }
    assert_memory_equal(all, j->sums, sizeof(all));
}

static uint64_t total(struct kernel *k, uint64_t value[JOB_MAX])
{
    uint8_t absent[JOB_MAX];
    job_totals(&k->job, value, absent);
    check_sums(&k->job);
    tree_clear_moved(&k->job.tree);
    assert_int_equal(value[JOB_cpu], value[JOB_cpu_user] + value[JOB_cpu_system]);
    return value[JOB_cpu];
}

static void begin(struct kernel *k, uint64_t seed)
{
    memset(k, 0, sizeof(*k));
    k->number = seed;
    k->seed = seed * 2654435761u + 1;
    struct job_sink sink = {on_exit_record, on_event_record, k};
    assert_int_equal(job_init(&k->job, &sink, false, 0, 100), 0);
    k->recorder = seed % 3;
    k->events = k->job.source.events = k->recorder != SCANS;
    k->job.adopts = true;
    k->job.wrapper.pid = WRAPPER;
    k->at[0] = (struct process){.life = LIVES, .parent = -1, .pid = 100, .start = ++k->clock};
    k->n = 1;
    assert_non_null(job_add(&k->job, 100, NULL, BARO_ORIGIN_TARGET, 0));
    tick(k);
}

static void finish_all(struct kernel *k)
{
    for (int i = k->n - 1; i >= 0; i--) {
        if (k->at[i].life == LIVES)
            end(k, i);
    }
    for (int i = 0; i < k->n; i++) {
        if (k->at[i].life == ZOMBIE)
            reap(k, i);
    }
    drain_messages(k);
    k->job.wrapper.total[LEDGER_CPU_USER] = k->total_user; /* the wrapper's last message */
    k->job.wrapper.total[LEDGER_CPU_SYSTEM] = k->total_system;
    k->job.wrapper.pid = 0;
    k->job.settling.closing = true;
    tick(k);
}

/* What the kernel keeps of each thread alone: who is gone keeps what was read last, also while its exit waits. */
static void check_kept(struct kernel *k, uint64_t seed, const uint64_t value[JOB_MAX])
{
    static const enum job_metric kept[] = {JOB_run_delay, JOB_switches_voluntary, JOB_switches_involuntary};
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
        if (value[kept[i]] < k->kept[i])
            fail_msg("seed %llu: %s is %llu after %llu", (unsigned long long)seed,
                     baro_metric_get(BARO_KIND_JOB, (int)kept[i])->name, (unsigned long long)value[kept[i]],
                     (unsigned long long)k->kept[i]);
        k->kept[i] = value[kept[i]];
    }
}

static void check_step(struct kernel *k, uint64_t seed, uint64_t *last)
{
    uint64_t value[JOB_MAX];
    uint64_t now = total(k, value);
    if (now < *last || now > k->truth || value[JOB_cpu_counted] > k->truth) {
        fail_msg("seed %llu: total %llu after %llu, counted %llu, truth %llu", (unsigned long long)seed,
                 (unsigned long long)now, (unsigned long long)*last, (unsigned long long)value[JOB_cpu_counted],
                 (unsigned long long)k->truth);
    }
    /* What may be missing: the bound, and children whose counters were added to no process. These
     * lack only what the usage of their ends lacks, unless the total is marked. */
    uint64_t lost = value[JOB_cpu_is_lower_bound] ? k->lost : k->lost_ends * CUT;
    if (now + value[JOB_cpu_bound] + lost < k->truth_before)
        fail_msg("seed %llu: total %llu + bound %llu short of %llu", (unsigned long long)seed, (unsigned long long)now,
                 (unsigned long long)value[JOB_cpu_bound], (unsigned long long)k->truth_before);
    if (value[JOB_processes_started] !=
        value[JOB_processes_ended] + value[JOB_processes] + k->job.counts.ended_members + k->job.settling.n_gone)
        fail_msg("seed %llu: processes do not add up", (unsigned long long)seed);
    check_kept(k, seed, value);
    *last = now;
}

/* All combinations of what the seed decides are among 48 seeds. */
TEST(random_lives)
{
    for (uint64_t seed = 1; seed <= (getenv("BARO_FULL") ? 240u : 48u); seed++) {
        static struct kernel k;
        uint64_t last = 0;
        begin(&k, seed);
        k.delays = true;
        k.restless = k.recorder == LATE && seed / 3 % 2;
        k.all_reap = seed / 6 % 4 == 0;
        k.has_steal = k.all_reap && seed / 24 % 2;
        for (int s = 0; s < 4000; s++) {
            step(&k);
            if (dice(&k, 25))
                continue;
            tick(&k);
            check_step(&k, seed, &last);
        }
        k.restless = false;
        finish_all(&k);
        uint64_t value[JOB_MAX];
        uint64_t now = total(&k, value);
        if (k.all_reap && value[JOB_cpu_is_lower_bound] && !k.dropped)
            fail_msg("seed %llu: marked as a lower bound, and nothing is lost", (unsigned long long)seed);
        /* The usage of all reaped processes is exact to the nanosecond; that of others is there as far as it was
         * sampled. */
        if (now + k.lost < k.truth || now > k.truth)
            fail_msg("seed %llu: %llu in the end, truth %llu, lost %llu", (unsigned long long)seed,
                     (unsigned long long)now, (unsigned long long)k.truth, (unsigned long long)k.lost);
        /* Everything that was reported, except the remainders of the ticks that are shown, is attributed to
         * processes. */
        if (k.events && value[JOB_cpu_counted] + k.lost < k.truth - k.truth / 50)
            fail_msg("seed %llu: %llu counted of %llu", (unsigned long long)seed,
                     (unsigned long long)value[JOB_cpu_counted], (unsigned long long)k.truth);
        assert_int_equal(value[JOB_processes], 0);
        assert_int_equal(k.exits, value[JOB_processes_ended]);
        if (k.events && k.exits != k.forks + 1)
            fail_msg("seed %llu: %llu exits of %llu", (unsigned long long)seed, (unsigned long long)k.exits,
                     (unsigned long long)k.forks + 1);
        job_done(&k.job);
    }
}

/* A parent that ignores SIGCHLD: the kernel adds the child's CPU time to no process, the ledger keeps what was
 * sampled. */
TEST(ignored_child_is_carried)
{
    static struct kernel k;
    begin(&k, 7);
    k.at[0].ignores = true;
    int child = fork_from(&k, 0);
    k.at[child].own_user = k.truth = 500000000;
    tick(&k);
    uint64_t value[JOB_MAX];
    assert_int_equal(total(&k, value), 500000000);
    end(&k, child);
    tick(&k);
    uint64_t after = total(&k, value);
    assert_int_equal(after, 500000000);
    k.at[0].own_user += 100000000; /* later growth is not lost by the clamp */
    tick(&k);
    assert_in_range(total(&k, value), 600000000 - 4 * TICK, 600000000);
    finish_all(&k);
    job_done(&k.job);
}

TEST(same_pid_other_process)
{
    static struct kernel k;
    begin(&k, 3);
    int child = fork_from(&k, 0);
    k.at[child].own_user = 40000000;
    tick(&k);
    end(&k, child);
    reap(&k, child);
    assert_int_equal(fork_from(&k, 0), child);
    k.at[child].own_user = 1000000;
    tick(&k);
    assert_int_equal(k.exits, 1);
    assert_int_equal(k.exit_cpu, 40000000);
    struct member *m = tree_find(&k.job.tree, 100 + child);
    assert_non_null(m);
    assert_int_equal(m->row.value[PROCESS_cpu], 1000000);
    finish_all(&k);
    job_done(&k.job);
}

static unsigned reports;

static void count_exit(void *context, const struct baro_exit *e)
{
    (void)context;
    reports += e->key.pid == 200;
}

/* Assumed gone and found again: one process, reported once and counted once. The third has another start time; the
 * fourth has that of the third, in ticks of 10 ms, and was forked after the third had ended. */
TEST(found_again_is_reported_once)
{
    static const struct {
        uint64_t start, begin_ns, end_ns;
    } at[] = {{1234, 0, 10}, {1234, 0, 10}, {1235, 11, 20}, {1235, 21, 30}};
    static struct job j;
    struct job_sink sink = {.exit = count_exit};
    uint64_t value[JOB_MAX];
    uint8_t absent[JOB_MAX];
    reports = 0;
    assert_int_equal(job_init(&j, &sink, false, 0, 100), 0);
    for (int i = 0; i < 4; i++) {
        struct member *m = job_add(&j, 200, NULL, i ? BARO_ORIGIN_EVENT : BARO_ORIGIN_SCAN, at[i].begin_ns);
        m->reading.stat_was_read = true;
        m->life.begin_ns = at[i].begin_ns;
        m->row.key.start = at[i].start;
        job_gone(&j, m, at[i].end_ns, at[i].end_ns);
        job_settle(&j, at[i].end_ns, NULL, NULL);
    }
    job_totals(&j, value, absent);
    assert_int_equal(reports, 3);
    assert_int_equal(value[JOB_processes_started], 3);
    assert_int_equal(value[JOB_processes_ended], 3);
    job_done(&j);
}

/* Beside other forks the pids of a job are far apart. A fork event that is read late is of one of these processes. */
TEST(the_last_exits_are_known_by_any_pid)
{
    static struct job j;
    struct job_sink sink = {.exit = count_exit};
    assert_int_equal(job_init(&j, &sink, false, 0, 100), 0);
    for (int i = 0; i < 2000; i++) {
        struct member *m = job_add(&j, 1000 + 256 * i, NULL, BARO_ORIGIN_EVENT, 10 * i);
        m->life.begin_ns = 10 * i;
        job_gone(&j, m, 10 * i + 5, 10 * i + 5);
        job_settle(&j, 10 * i + 5, NULL, NULL);
    }
    for (int i = 2000 - (int)JOB_REPORTED; i < 2000; i++) {
        assert_true(job_was_reported(&j, 1000 + 256 * i, 10 * i));
        assert_false(job_was_reported(&j, 1000 + 256 * i, 10 * i + 6)); /* another one with its pid */
    }
    assert_false(job_was_reported(&j, 999, 0));
    job_done(&j);
}

/* All possible transitions, by hand. */
TEST(states_of_a_member)
{
    static const enum member_state allowed[][2] = {
        {MEMBER_FREE, MEMBER_ALIVE},         {MEMBER_ALIVE, MEMBER_ENDED},        {MEMBER_ALIVE, MEMBER_GONE},
        {MEMBER_ENDED, MEMBER_ALIVE},        {MEMBER_ENDED, MEMBER_REAP_PENDING}, {MEMBER_ENDED, MEMBER_REAPED},
        {MEMBER_ENDED, MEMBER_GONE},         {MEMBER_REAP_PENDING, MEMBER_GONE},  {MEMBER_REAP_PENDING, MEMBER_REAPED},
        {MEMBER_REAPED, MEMBER_GONE_REAPED}, {MEMBER_GONE, MEMBER_GONE_REAPED},   {MEMBER_GONE, MEMBER_FREE},
        {MEMBER_GONE_REAPED, MEMBER_FREE},
    };
    for (int from = MEMBER_FREE; from <= MEMBER_STATES; from++) {
        for (int to = MEMBER_FREE; to <= MEMBER_STATES; to++) {
            bool expected = false;
            for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++)
                expected |= (int)allowed[i][0] == from && (int)allowed[i][1] == to;
            assert_int_equal(member_may_become((enum member_state)from, (enum member_state)to), expected);
        }
    }
}

/* The states that a member can have, as the functions of job.h make them, and which members are counted when. */
TEST(lives_of_a_member)
{
    static struct job j;
    struct job_sink sink = {.exit = count_exit};
    assert_int_equal(job_init(&j, &sink, false, 0, 100), 0);
    j.wrapper.pid = WRAPPER;
    j.adopts = true;
    struct member *parent = job_add(&j, 300, NULL, BARO_ORIGIN_TARGET, 5);
    struct member *m = job_add(&j, 301, parent, BARO_ORIGIN_EVENT, 5);
    assert_int_equal(member_state(m), MEMBER_ALIVE);
    job_ended(&j, m, 7);
    job_ended(&j, m, 8); /* reported twice: the first one is kept */
    assert_int_equal(member_state(m), MEMBER_ENDED);
    assert_int_equal(m->life.end_ns, 7);
    assert_int_equal(j.counts.ended_members, 1);
    job_revive(&j, m);
    assert_int_equal(member_state(m), MEMBER_ALIVE);
    assert_int_equal(j.counts.ended_members, 0);
    job_gone(&j, m, 9, 10); /* its parent reaped it */
    job_gone(&j, m, 11, 12);
    assert_int_equal(member_state(m), MEMBER_GONE);
    assert_int_equal(m->life.end_ns, 9);
    assert_int_equal(m->life.gone_ns, 10);
    assert_int_equal(j.settling.n_gone, 1);
    assert_int_equal(m->account.heir, HEIR_SUCCESSOR);
    job_reaped(&j, m, 13); /* it was an orphan: the wrapper's report comes late */
    assert_int_equal(member_state(m), MEMBER_GONE_REAPED);
    assert_int_equal(j.counts.ended_members, 0);
    job_set_target(&j, parent, true);
    job_set_target(&j, parent, true);
    assert_int_equal(j.counts.targets, 1);
    assert_int_equal(job_expect_reaping(&j, parent, 20), 0);
    assert_int_equal(job_expect_reaping(&j, parent, 25), 5);
    assert_int_equal(member_state(parent), MEMBER_REAP_PENDING);
    assert_int_equal(j.counts.ended_members, 1);
    job_reaped(&j, parent, 26);
    assert_int_equal(member_state(parent), MEMBER_REAPED);
    assert_true(member_is_final(parent) && member_has_ended(parent) && !member_is_gone(parent));
    job_gone(&j, parent, 26, 27);
    assert_int_equal(member_state(parent), MEMBER_GONE_REAPED);
    assert_int_equal(j.counts.ended_members + j.counts.targets, 0);
    assert_int_equal(parent->account.heir,
                     HEIR_SUCCESSOR); /* its last values are known: no process had to take over anything */
    reports = 0;
    job_settle(&j, 30, NULL, NULL);
    assert_int_equal(j.settling.n_gone, 0);
    assert_int_equal(j.counts.started, 2);
    assert_int_equal(j.counts.ended, 2);
    assert_int_equal(member_state(m), MEMBER_FREE);
    m = job_add(&j, 302, NULL, BARO_ORIGIN_ADOPTED, 40);
    job_gone(&j, m, 41, 42); /* no parent in the job, and the wrapper did not report it: its parent had reaped it */
    assert_int_equal(m->account.heir, HEIR_EARLIER);
    job_done(&j);
}

TEST(attach_leaves_the_past_out)
{
    static struct kernel k;
    uint64_t value[JOB_MAX];
    begin(&k, 5);
    k.at[0].own_user = 70000000;
    k.at[0].reaped_system = 20000000;
    struct member *m = tree_find(&k.job.tree, 100);
    static const enum process_metric kept[] = {PROCESS_run_delay, PROCESS_switches_voluntary,
                                               PROCESS_switches_involuntary, PROCESS_faults_minor,
                                               PROCESS_faults_major};
    fill(&k, m);
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
        put(m, kept[i], 1000 * (i + 1));
    job_rebase(m);
    job_settled(m);
    assert_int_equal(total(&k, value), 0);
    assert_int_equal(value[JOB_cpu_counted], 0);
    k.at[0].own_user += 5000000;
    tick(&k);
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
        put(m, kept[i], 1000 * (i + 1) + 10 + i);
    assert_int_equal(total(&k, value), 5000000);
    assert_int_equal(value[JOB_cpu_counted], 5000000);
    assert_int_equal(value[JOB_run_delay], 10);
    assert_int_equal(value[JOB_switches_voluntary], 11);
    assert_int_equal(value[JOB_switches_involuntary], 12);
    assert_int_equal(value[JOB_faults_minor], 13);
    assert_int_equal(value[JOB_faults_major], 14);
    finish_all(&k);
    total(&k, value);
    assert_int_equal(value[JOB_run_delay], 10);
    assert_int_equal(value[JOB_switches_voluntary], 11);
    assert_int_equal(k.last_exit.value[EXIT_run_delay], 10);
    assert_int_equal(k.last_exit.value[EXIT_faults_minor], 13);
    assert_int_equal(k.last_exit.value[EXIT_faults_major], 14);
    assert_int_equal(k.last_exit.value[EXIT_children_cpu], 0);
    job_done(&k.job);
}
