/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/processes/processes.h"

#include <string.h>

#include "recorder/collectors/processes/members.h"
#include "recorder/collectors/processes/process.h"
#include "recorder/collectors/processes/pss_sharing.h"

#define REFRESH_LEAST (30 * NS_PER_SEC)
#define REFRESH_MOST (120 * NS_PER_SEC)
#define REFRESH_PER_PROCESS (3 * NS_PER_MS) /* 333 refreshes a second at most: 0.3 % of a core */
#define ENDING (100 * NS_PER_MS)            /* after the end event all threads must be gone within this time */

static void gone(struct processes *p, struct member *m)
{
    members_gone(p, m, p->sampling->now_ns);
}

static uint64_t refresh_after(const struct processes *p, const struct member *m)
{
    uint64_t period = tree_count(&p->sampling->job->tree) * REFRESH_PER_PROCESS;
    period = period < REFRESH_LEAST ? REFRESH_LEAST : period > REFRESH_MOST ? REFRESH_MOST : period;
    return period + (m->row.id & 63) * (period / 256); /* spread over several ticks */
}

/* Returns whether the counters of the process may have changed since it was read, or it was not read in a sample so
 * far. Example of the latter: `sleep` begins between two samples, only its stat is read, and it sleeps: its row has no
 * io yet. */
static bool may_have_run(const struct member *m, uint64_t clock_ns)
{
    char state = (char)m->row.value[PROCESS_state];
    return m->reading.forced || !m->reading.sampled || clock_ns != m->reading.clock_ns || !clock_ns || state == 'R' ||
           state == 'D';
}

static void mark_sampled(struct processes *p, struct member *m)
{
    m->row.read_ns = p->sampling->now_ns;
    if (!m->reading.sampled)
        sharing_note_moved(p->memory, m, m->reading.stat_rss);
    m->reading.sampled = true;
}

/* A process whose first thread has ended lives on while other threads run. The event of the first thread's end may seem
 * to be the end of the process if the other threads began before the event source was opened. But a process may also be
 * alive because perf reports an end before the process is a zombie, which takes a while on a busy machine. Example: the
 * end is reported at 1.60 s, and the process waits for a CPU until 1.72 s, in state R. */
bool process_lives_on(const struct member *m, uint64_t now_ns)
{
    bool is_ending = m->reading.is_exiting && m->row.value[PROCESS_state] != 'Z';
    return now_ns > m->life.end_ns + ENDING && !is_ending;
}

/* A member that an event reported as ended, or that is a zombie, no longer counts as living; one that lives on is
 * revived. */
static void check_end(struct processes *p, struct member *m)
{
    bool zombie = member_is_zombie(m);
    if (zombie && !member_has_ended(m))
        job_ended(p->sampling->job, m, p->sampling->now_ns);
    if (!member_has_ended(m) || zombie || member_is_reap_pending(m))
        return;
    if (process_lives_on(m, p->sampling->now_ns))
        job_revive(p->sampling->job, m);
    member_wake(m); /* read it in the next tick, whether it runs or not */
}

/* Counts the ticks in a row in which the member was read. */
static void count_read(const struct processes *p, struct member *m)
{
    uint16_t more = m->reading.reads < UINT16_MAX ? (uint16_t)(m->reading.reads + 1) : UINT16_MAX;
    m->reading.reads = m->reading.read_tick + 1 == (uint32_t)p->sampling->ticks ? more : 1;
    m->reading.read_tick = (uint32_t)p->sampling->ticks;
}

static void tick_member(struct processes *p, struct member *m, bool there, uint64_t clock_ns)
{
    bool known = m->reading.stat_was_read;
    member_moved(m);
    if (!known && m->row.absent[PROCESS_cpu] == BARO_ABSENT_NOT_YET)
        members_begin(p, m);
    if (!there) {
        if (!members_await_wrapper(p, m))
            gone(p, m);
        else if (known && !m->reading.sampled)
            mark_sampled(p, m); /* it was read when it started, just before */
        return;
    }
    bool ran = may_have_run(m, clock_ns) || (m->reading.pending && p->sampling->now_ns >= process_due_ns(p, m));
    if (!ran && p->sampling->now_ns < m->row.read_ns + refresh_after(p, m)) {
        scan_member(&p->scan, m, known, clock_ns);
        return;
    }
    count_read(p, m);
    int r = process_read(p, m, clock_ns, ran ? PROCESS_WHOLE : PROCESS_REFRESH);
    if (r == -ESRCH && !members_await_wrapper(p, m))
        gone(p, m);
    if (r < 0)
        return;
    if (!known && group_job_has_come(p->group, m))
        job_rebase(m);
    mark_sampled(p, m);
    check_end(p, m);
    scan_member(&p->scan, m, known, clock_ns);
}

/* Of a machine most processes end before they are a tenth of a second old, and are parts of sums then
 * (collectors/machine/brief.h). */
#define YOUNG_NS (100 * NS_PER_MS)
#define LITTLE_CPU (10 * NS_PER_MS)
static bool is_brief(const struct processes *p, const struct member *m, uint64_t clock_ns)
{
    return p->sampling->job->whole && !m->reading.sampled && m->life.begin_ns && clock_ns < LITTLE_CPU &&
           p->sampling->now_ns < m->life.begin_ns + YOUNG_NS && !p->sampling->job->settling.closing;
}

/* Returns the time until which the member is not read unless its clock advances. */
static uint64_t gate_due(const struct processes *p, const struct member *m)
{
    if (member_is_reap_pending(m) || may_have_run(m, m->reading.clock_ns))
        return 0;
    uint64_t refresh = m->row.read_ns + refresh_after(p, m), memory = memory_due(p->memory, m);
    uint64_t due = process_due_ns(p, m);
    refresh = m->reading.pending && due < refresh ? due : refresh;
    return refresh < memory ? refresh : memory;
}

/* A child that comes before its parent in the tree was read before the parent, and may have ended and been reaped in
 * between. Then its CPU time would count twice: in its own row and in its parent's. */
static void check_order(struct processes *p)
{
    struct tree *tree = &p->sampling->job->tree;
    uint64_t clock_ns;
    for (size_t i = tree_next_moved(tree, 0); i < tree->n; i = tree_next_moved(tree, i + 1)) {
        struct member *parent = tree->at[i];
        if (!parent->links.first_child || !job_gained(parent))
            continue;
        for (struct member *m = parent->links.first_child, *next; m; m = next) {
            next = m->links.sibling_next;
            if (m->links.index < i && process_clock(m, &clock_ns) < 0)
                gone(p, m);
        }
    }
}

/* A tick reads the clocks of all members that births.c found, of which it follows the newest alone. Without this a
 * process that has slept since it began would count as one that runs: 150 sleepers took 130 ms that their parent had
 * used. */
static void note_polled(const struct processes *p, struct member *m, bool moved)
{
    if (!m->polled.polled_ns)
        return;
    m->polled.polled_ns = p->sampling->now_ns;
    if (moved)
        m->polled.ran_ns = p->sampling->now_ns;
}

static void tick_from(struct processes *p, size_t *i)
{
    const struct tree *tree = &p->sampling->job->tree;
    for (; *i < tree->n; ++*i) {               /* n grows as children are found */
        const struct gate g = tree->gates[*i]; /* a copy: the array moves as the tree grows */
        uint64_t clock_ns = 0;
        if (!g.pid)
            continue;
        p->samples++;
        bool there = clock_process_cpu_ns(g.pid, &clock_ns) != -EINVAL;
        if (there && p->sampling->job->source.polled)
            note_polled(p, tree->at[*i], clock_ns != g.clock_ns);
        if (there && clock_ns == g.clock_ns && p->sampling->now_ns < g.due_ns && (g.scanned || !p->scan.once))
            continue;
        struct member *m = tree->at[*i];
        m->reading.is_brief = there && is_brief(p, m, clock_ns);
        if (m->reading.is_brief)
            continue;
        if (m->is_kernel) {
            tree->gates[*i] = (struct gate){clock_ns, UINT64_MAX, g.pid, true};
            continue;
        }
        tick_member(p, m, there, clock_ns);
        if (!member_is_gone(m))
            tree->gates[*i] = (struct gate){m->reading.clock_ns, gate_due(p, m), m->row.key.pid,
                                            m->scan.scanned_clock_ns == m->reading.clock_ns};
    }
}

/* Reads what the process that started the recorder has used. Returns false if that process no longer exists. */
static bool read_starter(struct processes *p)
{
    const struct sampling *g = p->sampling;
    int32_t pid = g->options.starter.pid;
    struct pid_stat st;
    struct pid_io io = {0};
    char text[1024];
    if (!sampling_is_starter(g, pid, &st))
        return false;
    ssize_t n = proc_read(g->options.proc_fd, pid, "io", text, sizeof(text));
    if (n > 0)
        pid_io_parse(span_of(text, (size_t)n), &io);
    const uint64_t used[LEDGER_MAX] = {
        [LEDGER_CPU_USER] = (st.utime + st.cutime) * g->job->ns_per_tick,
        [LEDGER_CPU_SYSTEM] = (st.stime + st.cstime) * g->job->ns_per_tick,
        [LEDGER_FAULTS_MINOR] = st.minflt + st.cminflt,
        [LEDGER_FAULTS_MAJOR] = st.majflt + st.cmajflt,
        [LEDGER_IO_READ] = io.value[IO_READ_BYTES],
        [LEDGER_IO_WRITE] = io.value[IO_WRITE_BYTES],
        [LEDGER_IO_RCHAR] = io.value[IO_RCHAR],
        [LEDGER_IO_WCHAR] = io.value[IO_WCHAR],
    };
    memcpy(p->starter.used, used, sizeof(used));
    return true;
}

/* Leaves out what the process that started the recorder has used: it is not part of the job, whenever a member reaps
 * that process. Example: a shell that reads the output of `record --background` reaps it after the first sample. */
static void await_starter(struct processes *p)
{
    struct pid_stat st;
    const struct sampling *g = p->sampling;
    struct member *parent =
        sampling_is_starter(g, g->options.starter.pid, &st) ? tree_find(&g->job->tree, st.ppid) : NULL;
    if (!parent || !read_starter(p))
        return;
    p->starter.parent = parent->row.key;
    p->starter.faults = parent->row.value[PROCESS_children_faults_minor];
}

/* Adds what the starter has used to the base of its parent. If the parent never reaps it, the parent's counters never
 * include it, and nothing may be left out. */
static void leave_out_starter(struct processes *p)
{
    const struct baro_key key = p->starter.parent;
    uint64_t clock_ns;
    if (!key.pid || read_starter(p))
        return;
    p->starter.parent.pid = 0;
    struct member *m = tree_find(&p->sampling->job->tree, key.pid);
    if (!m || !baro_key_equal(m->row.key, key) || process_clock(m, &clock_ns) < 0 ||
        process_read(p, m, clock_ns, PROCESS_LEDGER) < 0)
        return;
    if (m->row.value[PROCESS_children_faults_minor] >= p->starter.faults + p->starter.used[LEDGER_FAULTS_MINOR])
        job_leave_out(m, p->starter.used);
}

static void tick_members(struct processes *p)
{
    struct sampling *g = p->sampling;
    births_poll(p);
    scan_begin(&p->scan);
    threads_tick(&p->threads);
    group_job_find_if_due(p->group, p->scan.always || p->scan.once);
    size_t i = 0;
    for (struct member *m; (m = group_job_next_left(p->group, &i)) != NULL;)
        members_leave(p, m);
    i = 0;
    tick_from(p, &i);
    check_order(p);
    if (g->job->settling.n_gone && g->job->source.events && g->options.catch_up) {
        g->options.catch_up(g->options.catch_up_context);
        tick_from(p, &i); /* the processes that were forked meanwhile */
    }
    leave_out_starter(p);
    scan_end(&p->scan);
}

static void after_settling(struct processes *p)
{
    const struct tree *tree = &p->sampling->job->tree;
    for (size_t i = tree_next_moved(tree, 0); i < tree->n; i = tree_next_moved(tree, i + 1)) {
        struct member *m = tree->at[i];
        if (m->row.read_ns == p->sampling->now_ns)
            job_settled(m);
        if (m->row.absent[PROCESS_children] == BARO_ABSENT_NOT_ASKED)
            continue;
        m->row.value[PROCESS_children] = m->links.n_children;
        m->row.absent[PROCESS_children] = BARO_PRESENT;
    }
}

void processes_discover(struct processes *p)
{
    struct job *job = p->sampling->job;
    scan_request(&p->scan);
    for (size_t i = 0; i < job->tree.n; i++) {
        if (job->tree.at[i])
            member_wake(job->tree.at[i]); /* read all values: only a known value can be subtracted later */
    }
    tick_members(p);
    members_settle(p);
    tree_compact(&job->tree);
    for (size_t i = 0; i < job->tree.n; i++) {
        struct member *m = job->tree.at[i];
        job_rebase(m);
        job_settled(m);
        member_wake(m);
        m->reading.sampled = false;
    }
    await_starter(p);
}

/* ---- the row ---- */

int processes_init(struct processes *p, struct sampling *sampling, struct memory *memory, struct group_job *group)
{
    *p = (struct processes){.sampling = sampling, .memory = memory, .group = group, .threads = {.sampling = sampling}};
    scan_init(&p->scan, sampling);
    return fd_cache_init(&p->cache, sampling);
}

static bool tick_processes(void *state, const struct collector_tick *t)
{
    struct processes *p = state;
    (void)t;
    tick_members(p);
    members_settle(p);
    after_settling(p);
    return true;
}

/* Reads that are due by time alone (of a process that has not run) wait for the next sample if the kernel counts the
 * job's CPU time, because that count shows whether any process has run, even one that is not known yet. */
static bool processes_are_quiet(void *state, uint64_t now_ns)
{
    const struct processes *p = state;
    const struct tree *tree = &p->sampling->job->tree;
    bool counted = group_job_is_counted(p->group);
    if ((counted ? scan_is_requested(&p->scan) : scan_is_due(&p->scan, now_ns)) || !tree->n)
        return false;
    for (size_t i = 0; i < tree->n; i++) {
        const struct gate *g = &tree->gates[i];
        uint64_t clock_ns = 0;
        if (!g->pid || !g->due_ns || (!counted && now_ns >= g->due_ns) ||
            clock_process_cpu_ns(g->pid, &clock_ns) == -EINVAL || clock_ns != g->clock_ns)
            return false;
    }
    return true;
}

static void close_processes(void *state)
{
    struct processes *p = state;
    scan_done(&p->scan);
    fd_cache_done(&p->cache);
}

const struct collector processes_collector = {
    .name = "processes",
    .kinds = COLLECTOR_KIND(BARO_KIND_PROCESS),
    .sources = BARO_SOURCE_CLOCK | BARO_SOURCE_STAT | BARO_SOURCE_STATUS | BARO_SOURCE_IO | BARO_SOURCE_FD |
               BARO_SOURCE_SCHEDSTAT | BARO_SOURCE_TASKS | BARO_SOURCE_TREE,
    .left_out = {[BUDGET_SPARSE] = "status, descriptors and run delay of one thread once a second at most",
                 [BUDGET_LEAST] = "all but stat once a second at most"},
    .tick = tick_processes,
    .is_quiet = processes_are_quiet,
    .close = close_processes,
};
