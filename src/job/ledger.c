/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "job/job.h"

/* cutime and cstime are cut to whole clock ticks for display, each on its own (fs/proc/array.c), so what a parent shows may be
 * short by just under two ticks. */
#define SHORT_TICKS 2u

static uint64_t value(const struct member *m, enum process_metric id)
{
    return m->row.value[id];
}

/* What a member shows of its children alone, as far as the kernel keeps it apart. */
static uint64_t reaped_of(const struct member *m, enum ledger_counter c)
{
    switch (c) {
    case LEDGER_CPU_USER:
        return value(m, PROCESS_children_cpu_user);
    case LEDGER_CPU_SYSTEM:
        return value(m, PROCESS_children_cpu_system);
    case LEDGER_FAULTS_MINOR:
        return value(m, PROCESS_children_faults_minor);
    case LEDGER_FAULTS_MAJOR:
        return value(m, PROCESS_children_faults_major);
    case LEDGER_IO_READ:
        return value(m, PROCESS_io_read);
    case LEDGER_IO_WRITE:
        return value(m, PROCESS_io_write);
    case LEDGER_IO_RCHAR:
        return value(m, PROCESS_io_rchar);
    case LEDGER_IO_WCHAR:
        return value(m, PROCESS_io_wchar);
    case LEDGER_IO_CANCELLED_WRITE:
        return value(m, PROCESS_io_cancelled_write);
    default:
        return 0;
    }
}

static uint64_t own_of(const struct member *m, enum ledger_counter c)
{
    switch (c) {
    case LEDGER_CPU_USER:
        return value(m, PROCESS_cpu_user);
    case LEDGER_CPU_SYSTEM:
        return value(m, PROCESS_cpu_system);
    case LEDGER_FAULTS_MINOR:
        return value(m, PROCESS_faults_minor);
    case LEDGER_FAULTS_MAJOR:
        return value(m, PROCESS_faults_major);
    default:
        return 0; /* /proc/PID/io holds both in one */
    }
}

uint64_t job_ledger(const struct member *m, enum ledger_counter c)
{
    uint64_t all = own_of(m, c) + reaped_of(m, c);
    uint64_t base = m->base ? m->base[c] : 0;
    return all > base ? all - base : 0;
}

static struct member *nearest_living(struct member *m)
{
    struct member *up = m->heir;
    while (up && up->gone)
        up = up->heir;
    return up;
}

static uint64_t own_cpu(const struct member *m)
{
    uint64_t seen = value(m, PROCESS_cpu);
    return m->usage.has_cpu && m->usage.cpu_ns > seen ? m->usage.cpu_ns : seen;
}

/* ---- settling ---- */

/* What the heirs must have gained: what each of the gone had used itself, and what it had taken over by the time the ledger was last settled. What it
 * took over since then came from others that are gone, who stand in the list themselves. io holds both in one: of it the last settled value counts. */
static void expect(const struct job *j, uint64_t ret[LEDGER_MAX])
{
    for (const struct member *m = j->gone; m; m = m->list_next) {
        if (m->absorbed)
            continue;
        for (int c = 0; c < LEDGER_MAX; c++) {
            uint64_t all = own_of(m, c) + m->reaped[c];
            uint64_t base = m->base ? m->base[c] : 0;
            ret[c] += all > base ? all - base : 0;
        }
        /* A record of its end may know of more than the last look did. */
        ret[LEDGER_CPU_USER] += own_cpu(m) - value(m, PROCESS_cpu);
    }
}

static void gain_of(struct member *m, uint64_t ret[LEDGER_MAX])
{
    for (int c = 0; c < LEDGER_MAX; c++) {
        uint64_t now = reaped_of(m, c);
        if (now > m->reaped[c])
            ret[c] += now - m->reaped[c];
    }
}

void job_settled(struct member *m)
{
    for (int c = 0; c < LEDGER_MAX; c++)
        m->reaped[c] = reaped_of(m, c);
}

/* ---- what ended processes used beyond what is known of them ----
 *
 * The records of taskstats and perf are cut before a process gives up its memory and is torn down; its parent takes over all of it. So what a
 * parent gained, less what is known of the children that it lost, is theirs: it is shared among them by what a teardown costs (a fixed part, and one
 * for each page). The parent shows what it gained in ticks, so a rest, of either sign, stays in its pool for the next time.
 * This holds only if every child is known; and among several of whom nobody told the CPU nothing could be shared fairly.
 */
#define TEARDOWN_NS 200000u
#define TEARDOWN_NS_PER_PAGE 200u
#define SHARE_MOST 8u /* times what it is held to cost: what the parent shows comes in steps of 10 ms, and may be for others */

static uint64_t weight_of(const struct member *m)
{
    uint64_t rss = m->usage.has_memory ? m->usage.rss_peak : m->row.value[PROCESS_rss_peak];
    return TEARDOWN_NS + rss / 4096 * TEARDOWN_NS_PER_PAGE;
}

static void plan_share(const struct job *j, struct member *heir, uint64_t gained_ns)
{
    heir->share = 0;
    heir->pool += (int64_t)gained_ns - (int64_t)heir->lost_known;
    if (!j->events || j->lossy || (heir->lost_blind && heir->lost > 1)) {
        heir->pool = heir->pool < 0 ? heir->pool : 0;
        return;
    }
    if (heir->pool <= 0)
        return;
    uint64_t most = heir->lost_weight * SHARE_MOST;
    heir->share = (uint64_t)heir->pool < most ? (uint64_t)heir->pool : most;
    heir->pool -= (int64_t)heir->share;
}

static void share_out(struct job *j)
{
    for (struct member *m = j->gone; m; m = m->list_next) {
        const struct member *heir = nearest_living(m);
        if (!heir || !heir->share)
            continue;
        uint64_t part = (uint64_t)((double)heir->share * ((double)weight_of(m) / (double)heir->lost_weight));
        m->usage.cpu_ns = own_cpu(m) + part;
        m->usage.has_cpu = true;
    }
}

/* CPU is balanced as a whole: the split into user and system is scaled from ticks, and differs between what a process and what its heir
 * shows. What the wrapper tells is exact, what a member shows is not. */
static void balance(struct job *j, const uint64_t expected[LEDGER_MAX], const uint64_t gained[LEDGER_MAX], size_t heirs)
{
    uint64_t slack = 2 * SHORT_TICKS * j->ns_per_tick * heirs;
    uint64_t used = expected[LEDGER_CPU_USER] + expected[LEDGER_CPU_SYSTEM];
    uint64_t have = gained[LEDGER_CPU_USER] + gained[LEDGER_CPU_SYSTEM] + slack;
    if (used > have) {
        uint64_t user = (uint64_t)((double)(used - have) * ((double)expected[LEDGER_CPU_USER] / (double)used));
        j->carried[LEDGER_CPU_USER] += user;
        j->carried[LEDGER_CPU_SYSTEM] += used - have - user;
    }
    for (int c = LEDGER_CPU_SYSTEM + 1; c < LEDGER_MAX; c++) {
        if (expected[c] > gained[c])
            j->carried[c] += expected[c] - gained[c];
    }
}

static struct member *list_heirs(struct job *j)
{
    struct member *list = NULL;
    for (struct member *m = j->gone; m; m = m->list_next) {
        struct member *up = nearest_living(m);
        if (!up)
            continue;
        if (up->lost++ == 0) {
            up->heir_next = list;
            list = up;
        }
        up->lost_known += own_cpu(m) + m->reaped[LEDGER_CPU_USER] + m->reaped[LEDGER_CPU_SYSTEM];
        up->lost_known += m->pool < 0 ? (uint64_t)-m->pool : 0; /* put down to its children, and not yet shown as reaped */
        up->lost_weight += weight_of(m);
        up->lost_blind += !m->usage.has_cpu;
    }
    return list;
}

static void forget_heirs(struct member *list)
{
    for (struct member *m = list; m; m = m->heir_next) {
        m->lost = m->lost_blind = 0;
        m->lost_known = m->lost_weight = m->share = 0;
    }
}

/* Reading an ancestor may show that it is gone too; then its own ancestor is the heir. */
static void read_heirs(struct job *j, void (*read_again)(void *context, struct member *m), void *context)
{
    size_t before;
    do {
        before = j->n_gone;
        struct member *list = list_heirs(j);
        for (struct member *m = list; m; m = m->heir_next) {
            if (!m->gone)
                read_again(context, m);
        }
        forget_heirs(list);
    } while (j->n_gone != before);
}

/* What an awaited heir took over is told with its end: until then its children wait. */
static struct member *hold_back(struct job *j)
{
    struct member *now = NULL, *later = NULL;
    while (j->gone) {
        struct member *m = j->gone;
        j->gone = m->list_next;
        const struct member *heir = nearest_living(m);
        struct member **list = heir && heir->awaited ? &later : &now;
        m->list_next = *list;
        *list = m;
        /* Taken over by its heir, or by the wrapper as the heir ended: either way it is told, and nothing is lost. */
        m->absorbed |= list == &later;
        j->n_gone -= list == &later;
    }
    while (now) { /* the order of the list is kept */
        struct member *m = now;
        now = m->list_next;
        m->list_next = j->gone;
        j->gone = m;
    }
    return later;
}

static void give_back(struct job *j, struct member *later)
{
    while (later) {
        struct member *m = later;
        later = m->list_next;
        m->list_next = j->gone;
        j->gone = m;
        j->n_gone++;
    }
}

static void report_all(struct job *j, uint64_t now_ns);

void job_settle(struct job *j, uint64_t now_ns, void (*read_again)(void *context, struct member *m), void *context)
{
    if (!j->gone)
        return;
    read_heirs(j, read_again, context);
    struct member *later = hold_back(j);
    struct member *list = list_heirs(j);
    uint64_t expected[LEDGER_MAX] = {0}, gained[LEDGER_MAX] = {0};
    for (int c = 0; c < LEDGER_MAX; c++) {
        gained[c] += j->wrapper.total[c] - j->wrapper_settled[c];
        j->wrapper_settled[c] = j->wrapper.total[c];
    }
    expect(j, expected);
    size_t heirs = 0;
    for (struct member *m = list; m; m = m->heir_next, heirs++) {
        uint64_t one[LEDGER_MAX] = {0};
        gain_of(m, one);
        plan_share(j, m, one[LEDGER_CPU_USER] + one[LEDGER_CPU_SYSTEM]);
        for (int c = 0; c < LEDGER_MAX; c++)
            gained[c] += one[c];
        job_settled(m);
    }
    share_out(j);
    forget_heirs(list);
    balance(j, expected, gained, heirs);
    report_all(j, now_ns);
    give_back(j, later);
}

/* ---- exits ---- */

static void put(struct baro_exit *e, enum exit_metric id, uint64_t v)
{
    e->value[id] = v;
    e->absent[id] = BARO_PRESENT;
}

static void copy(struct baro_exit *e, enum exit_metric to, const struct member *m, enum process_metric from)
{
    e->absent[to] = m->row.absent[from];
    e->value[to] = m->row.value[from];
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The last look and what a source told are both lower bounds of what was used, so the larger one is nearer. */
static void raise(struct baro_exit *e, enum exit_metric id, uint64_t v)
{
    put(e, id, e->absent[id] == BARO_PRESENT ? max_u64(e->value[id], v) : v);
}

static void values_of_last_look(struct baro_exit *e, const struct member *m)
{
    copy(e, EXIT_cpu, m, PROCESS_cpu);
    copy(e, EXIT_cpu_user, m, PROCESS_cpu_user);
    copy(e, EXIT_cpu_system, m, PROCESS_cpu_system);
    copy(e, EXIT_rss_peak, m, PROCESS_rss_peak);
    copy(e, EXIT_run_delay, m, PROCESS_run_delay);
    copy(e, EXIT_io_read, m, PROCESS_io_read);
    copy(e, EXIT_io_write, m, PROCESS_io_write);
    copy(e, EXIT_io_rchar, m, PROCESS_io_rchar);
    copy(e, EXIT_io_wchar, m, PROCESS_io_wchar);
    copy(e, EXIT_faults_minor, m, PROCESS_faults_minor);
    copy(e, EXIT_faults_major, m, PROCESS_faults_major);
    e->absent[EXIT_children_cpu] = m->row.absent[PROCESS_children_cpu_user];
    e->value[EXIT_children_cpu] = value(m, PROCESS_children_cpu_user) + value(m, PROCESS_children_cpu_system);
    for (int i = 0; i < EXIT_MAX; i++) {
        if (e->absent[i] == BARO_ABSENT_NOT_YET)
            e->absent[i] = BARO_ABSENT_GONE;
    }
}

static void values_of_usage(struct baro_exit *e, const struct member_usage *u)
{
    if (u->has_cpu && (e->absent[EXIT_cpu] || u->cpu_ns > e->value[EXIT_cpu])) {
        uint64_t split = e->value[EXIT_cpu_user] + e->value[EXIT_cpu_system];
        uint64_t user = u->has_split ? u->user_ns : e->value[EXIT_cpu_user];
        split = u->has_split ? u->user_ns + u->system_ns : split;
        put(e, EXIT_cpu, u->cpu_ns);
        if (split) {
            uint64_t user_ns = (uint64_t)((double)u->cpu_ns * ((double)user / (double)split));
            put(e, EXIT_cpu_user, user_ns);
            put(e, EXIT_cpu_system, u->cpu_ns - user_ns);
        }
    }
    if (u->has_memory)
        raise(e, EXIT_rss_peak, u->rss_peak);
    if (u->has_delay)
        raise(e, EXIT_run_delay, u->run_delay_ns);
    if (u->has_io) {
        raise(e, EXIT_io_read, u->io_read);
        raise(e, EXIT_io_write, u->io_write);
        raise(e, EXIT_io_rchar, u->io_rchar);
        raise(e, EXIT_io_wchar, u->io_wchar);
        raise(e, EXIT_faults_minor, u->faults_minor);
        raise(e, EXIT_faults_major, u->faults_major);
    }
}

/* What it had used before the recording began is not the recording's. */
static void take_base(struct baro_exit *e, const struct member *m)
{
    static const struct {
        enum exit_metric metric;
        int base;
    } pairs[] = {
        {EXIT_cpu, BASE_CPU},                   {EXIT_cpu_user, BASE_CPU_USER},
        {EXIT_cpu_system, BASE_CPU_SYSTEM},
        {EXIT_io_read, LEDGER_IO_READ},         {EXIT_io_write, LEDGER_IO_WRITE},
        {EXIT_io_rchar, LEDGER_IO_RCHAR},       {EXIT_io_wchar, LEDGER_IO_WCHAR},
    };
    if (!m->base)
        return;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        uint64_t base = m->base[pairs[i].base];
        uint64_t *v = &e->value[pairs[i].metric];
        *v = *v > base ? *v - base : 0;
    }
}

static void fill_exit(const struct member *m, struct baro_exit *e)
{
    *e = (struct baro_exit){
        .t_ns = m->end_ns, .id = m->row.id, .key = m->row.key, .parent = m->row.parent, .uid = m->row.uid,
        .origin = m->row.origin, .sampled = m->sampled, .status_known = m->status_known, .status = m->status,
        .name = m->row.name, .cmdline = m->row.cmdline,
    };
    e->source = m->usage.source ? m->usage.source : m->ended ? BARO_EXIT_EVENT : BARO_EXIT_LAST_LOOK;
    values_of_last_look(e, m);
    values_of_usage(e, &m->usage);
    take_base(e, m);
    if (m->begin_ns && m->end_ns >= m->begin_ns)
        put(e, EXIT_elapsed, m->end_ns - m->begin_ns);
    else
        e->absent[EXIT_elapsed] = BARO_ABSENT_UNKNOWN;
}

static void report(struct job *j, struct member *m, uint64_t now_ns)
{
    struct baro_exit e;
    if (!m->end_ns)
        m->end_ns = now_ns;
    fill_exit(m, &e);
    j->recent[j->recent_at++ % JOB_RECENT] = m->row.key;
    j->ended++;
    j->unsampled += !m->sampled;
    if (!e.absent[EXIT_cpu])
        j->counted_ended_ns += e.value[EXIT_cpu];
    if (!e.absent[EXIT_rss_peak])
        j->rss_peak = max_u64(j->rss_peak, e.value[EXIT_rss_peak]);
    if (!e.absent[EXIT_run_delay])
        j->ended_run_delay += e.value[EXIT_run_delay];
    j->ended_switches[0] += value(m, PROCESS_switches_voluntary);
    j->ended_switches[1] += value(m, PROCESS_switches_involuntary);
    j->sink.exit(j->sink.context, &e);
}

static void report_all(struct job *j, uint64_t now_ns)
{
    /* The list is newest first; exits are told in the order in which they were noticed. */
    struct member *list = NULL;
    while (j->gone) {
        struct member *m = j->gone;
        j->gone = m->list_next;
        m->list_next = list;
        list = m;
    }
    j->n_gone = 0;
    j->tree.epoch++;
    while (list) {
        struct member *m = list;
        list = m->list_next;
        report(j, m, now_ns);
        tree_release(&j->tree, m);
    }
}

/* ---- totals ---- */

static void sum_members(const struct job *j, uint64_t total[LEDGER_MAX], uint64_t *ret_parents)
{
    for (size_t i = 0; i < j->tree.n; i++) {
        const struct member *m = j->tree.at[i];
        if (!m || m->awaited)
            continue;
        for (int c = 0; c < LEDGER_MAX; c++)
            total[c] += job_ledger(m, c);
        *ret_parents += m->had_child || reaped_of(m, LEDGER_FAULTS_MINOR) > 0; /* no process lives without a fault */
    }
}

static const enum job_metric job_of_ledger[LEDGER_MAX] = {
    JOB_cpu_user, JOB_cpu_system, JOB_io_read, JOB_io_write, JOB_io_rchar, JOB_io_wchar, JOB_io_cancelled_write,
    JOB_faults_minor, JOB_faults_major,
};

static void lower_bounds(const struct job *j, uint64_t *value_of)
{
    uint64_t delay = j->ended_run_delay, switches[2] = {j->ended_switches[0], j->ended_switches[1]};
    for (size_t i = 0; i < j->tree.n; i++) {
        const struct member *m = j->tree.at[i];
        if (!m)
            continue;
        delay += value(m, PROCESS_run_delay);
        switches[0] += value(m, PROCESS_switches_voluntary);
        switches[1] += value(m, PROCESS_switches_involuntary);
    }
    value_of[JOB_run_delay] = delay;
    /* What the wrapper's wait4 tells holds all that the command waited for; both are lower bounds. */
    value_of[JOB_switches_voluntary] = max_u64(switches[0], j->wrapper.switches_voluntary);
    value_of[JOB_switches_involuntary] = max_u64(switches[1], j->wrapper.switches_involuntary);
}

static uint64_t counted(const struct job *j, uint64_t *peak)
{
    uint64_t sum = j->counted_ended_ns;
    for (size_t i = 0; i < j->tree.n; i++) {
        const struct member *m = j->tree.at[i];
        if (!m)
            continue;
        sum += value(m, PROCESS_cpu);
        if (m->base)
            sum -= m->base[BASE_CPU] < sum ? m->base[BASE_CPU] : sum;
        *peak = max_u64(*peak, value(m, PROCESS_rss_peak));
    }
    return sum;
}

/* user + system is exact, the split between them is scaled from ticks and moves a little as processes end: so the sum is held from
 * falling, and each part within what the sum leaves it. */
static void publish_cpu(struct job *j, uint64_t user, uint64_t system)
{
    uint64_t before = j->published[LEDGER_CPU_USER] + j->published[LEDGER_CPU_SYSTEM];
    uint64_t sum = max_u64(user + system, before);
    j->clamped += user + system < before;
    uint64_t most = j->published[LEDGER_CPU_USER] + (sum - before);
    user = max_u64(user, j->published[LEDGER_CPU_USER]);
    j->published[LEDGER_CPU_USER] = user < most ? user : most;
    j->published[LEDGER_CPU_SYSTEM] = sum - j->published[LEDGER_CPU_USER];
}

void job_totals(struct job *j, uint64_t ret_value[JOB_MAX], uint8_t ret_absent[JOB_MAX])
{
    uint64_t total[LEDGER_MAX], parents = 0;
    memset(ret_value, 0, JOB_MAX * sizeof(*ret_value));
    memset(ret_absent, 0, JOB_MAX);
    for (int c = 0; c < LEDGER_MAX; c++)
        total[c] = j->wrapper.total[c] + j->carried[c];
    sum_members(j, total, &parents);
    publish_cpu(j, total[LEDGER_CPU_USER], total[LEDGER_CPU_SYSTEM]);
    for (int c = LEDGER_CPU_SYSTEM + 1; c < LEDGER_MAX; c++) {
        j->clamped += total[c] < j->published[c];
        j->published[c] = max_u64(j->published[c], total[c]);
    }
    for (int c = 0; c < LEDGER_MAX; c++)
        ret_value[job_of_ledger[c]] = j->published[c];
    ret_value[JOB_cpu] = j->published[LEDGER_CPU_USER] + j->published[LEDGER_CPU_SYSTEM];
    ret_value[JOB_cpu_bound] = parents * SHORT_TICKS * j->ns_per_tick;
    uint64_t named = counted(j, &j->rss_peak);
    ret_value[JOB_cpu_counted] = named < ret_value[JOB_cpu] ? named : ret_value[JOB_cpu];
    lower_bounds(j, ret_value);
    /* Below the wrapper's own size ru_maxrss tells of the wrapper (the child inherits its mark until exec). */
    if (j->wrapper.maxrss > j->wrapper.floor_rss)
        j->rss_peak = max_u64(j->rss_peak, j->wrapper.maxrss);
    ret_value[JOB_process_rss_peak] = j->rss_peak;
    uint64_t now = tree_count(&j->tree) - j->ended_members;
    j->peak = max_u64(j->peak, now);
    ret_value[JOB_processes] = now;
    ret_value[JOB_processes_peak] = j->peak;
    ret_value[JOB_processes_started] = j->started;
    ret_value[JOB_processes_ended] = j->ended;
    if (j->events)
        ret_value[JOB_processes_unsampled] = j->unsampled;
    else
        ret_absent[JOB_processes_unsampled] = BARO_ABSENT_UNKNOWN;
}
