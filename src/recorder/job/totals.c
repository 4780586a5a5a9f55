/* SPDX-License-Identifier: Apache-2.0 */
/* The totals of the job for a sample. */
#include <string.h>

#include "recorder/job/counters.h"
#include "recorder/job/task.h"

#define MARKED_PART 50u /* if less than this share of the CPU time is missing, it is not marked as a lower bound */
/* Processes are read, and their exits reported, some milliseconds before or after their group. */
#define GROUP_SLACK 5000000u
#define GROUP_SURE (64 * UINT64_C(5000000)) /* from there on that does not matter */

/* wait4(2) rounds user and system time of each process that the wrapper reaped down to 1 us. */
#define WAIT4_ROUNDING_NS 2000u
#define SLACK 40000000u /* of shares, which follow ticks */

/* A job metric that is computed from a process metric. The first LEDGER_MAX are in the order of enum ledger_counter. */
static const struct {
    enum job_metric job;
    enum process_metric process;
} sums[] = {
    {JOB_cpu_user, PROCESS_cpu_user},
    {JOB_cpu_system, PROCESS_cpu_system},
    {JOB_io_read, PROCESS_io_read},
    {JOB_io_write, PROCESS_io_write},
    {JOB_io_rchar, PROCESS_io_rchar},
    {JOB_io_wchar, PROCESS_io_wchar},
    {JOB_io_cancelled_write, PROCESS_io_cancelled_write},
    {JOB_faults_minor, PROCESS_faults_minor},
    {JOB_faults_major, PROCESS_faults_major},
    {JOB_run_delay, PROCESS_run_delay},
    {JOB_switches_voluntary, PROCESS_switches_voluntary},
    {JOB_switches_involuntary, PROCESS_switches_involuntary},
    {JOB_process_rss_peak, PROCESS_rss_peak},
    {JOB_cpu, PROCESS_cpu},
};

#define N_SUMS (sizeof(sums) / sizeof(*sums))

void totals_know(struct job *j, const struct member *m)
{
    for (size_t i = 0; i < N_SUMS; i++) {
        uint8_t absent = m->row.absent[sums[i].process];
        if (!absent)
            j->seen.known |= UINT64_C(1) << sums[i].job;
        else if (absent != BARO_ABSENT_NOT_YET)
            j->seen.why[sums[i].job] = absent;
    }
}

/* A total is absent if no process had the value. The CPU time of a job that has had no process yet is 0. */
static void fill_absent(const struct job *j, uint64_t *value_of, uint8_t *absent)
{
    for (size_t i = 0; i < N_SUMS; i++) {
        enum job_metric id = sums[i].job;
        if (j->seen.known >> id & 1 || (id == JOB_cpu && !j->counts.started))
            continue;
        value_of[id] = 0;
        absent[id] = j->seen.why[id] ? j->seen.why[id] : (uint8_t)BARO_ABSENT_NOT_YET;
    }
    if (absent[JOB_cpu]) {
        value_of[JOB_cpu_bound] = value_of[JOB_cpu_counted] = 0;
        absent[JOB_cpu_bound] = absent[JOB_cpu_counted] = absent[JOB_cpu];
    }
    if (absent[JOB_process_rss_peak]) {
        value_of[JOB_process_rss_peak_is_lower_bound] = 0;
        absent[JOB_process_rss_peak_is_lower_bound] = absent[JOB_process_rss_peak];
    }
    if (absent[JOB_run_delay]) {
        value_of[JOB_run_delay_lag] = 0;
        absent[JOB_run_delay_lag] = absent[JOB_run_delay];
    }
    if (absent[JOB_io_rchar]) {
        value_of[JOB_io_is_lower_bound] = 0;
        absent[JOB_io_is_lower_bound] = absent[JOB_io_rchar];
    }
}

/* ---- running sums ---- */

static uint64_t counted_of(const struct member *m)
{
    return since_base(m, BASE_CPU, own_cpu(m));
}

/*
 * Leaves out the I/O of children that are not members. The kernel adds the I/O of a reaped child to that of the
 * process. Growth between two reads counts only if no child was reaped meanwhile, which shows in the page faults of
 * reaped children; else the base grows by it, and the job's I/O is a lower bound. Example: a shell wrote 4 kB, then
 * waited for a compiler that wrote 2 MB, then wrote 3 kB: 7 kB. The faults may be read before the I/O is.
 */
static void leave_out_children(struct job *j, struct member *m)
{
    uint64_t *base = j->alone ? m->account.base : NULL, children = value(m, PROCESS_children_faults_minor);
    if (!base || children == base[LEDGER_FAULTS_MINOR] - base[BASE_FAULTS_MINOR] || io_is_behind(m))
        return;
    base[LEDGER_FAULTS_MINOR] = base[BASE_FAULTS_MINOR] + children;
    for (enum ledger_counter c = LEDGER_IO_READ; c < LEDGER_FAULTS_MINOR; c++) {
        uint64_t now = job_ledger(m, c);
        base[c] += now > m->account.part[c] ? now - m->account.part[c] : 0;
    }
    j->shortfall.io = true;
}

/* Fills the counters of a member of a task: what it used itself. Its I/O includes that of its children, because the
 * kernel has one sum. */
static void fill_own_part(const struct member *m, uint64_t p[PART_MAX])
{
    p[PART_PARENTS] = 0;
    p[LEDGER_CPU_USER] = min_u64(own_since_base(m, BASE_CPU_USER), p[PART_CPU]);
    p[LEDGER_CPU_SYSTEM] = p[PART_CPU] - p[LEDGER_CPU_USER];
    for (enum ledger_counter c = LEDGER_IO_READ; c < LEDGER_FAULTS_MINOR; c++)
        p[c] = job_ledger(m, c);
    p[LEDGER_FAULTS_MINOR] = own_since_base(m, BASE_FAULTS_MINOR);
    p[LEDGER_FAULTS_MAJOR] = own_since_base(m, BASE_FAULTS_MAJOR);
}

/* What the kernel adds to no other process. */
static void add_kept(const struct member *m, uint64_t p[PART_MAX])
{
    p[PART_RUN_DELAY] += own_since_base(m, BASE_RUN_DELAY);
    p[PART_DELAY_CPU] += delay_cpu_of(m);
    p[PART_SWITCHES_VOLUNTARY] += own_since_base(m, BASE_SWITCHES_VOLUNTARY);
    p[PART_SWITCHES_INVOLUNTARY] += own_since_base(m, BASE_SWITCHES_INVOLUNTARY);
}

static void fill_part(const struct job *j, const struct member *m, uint64_t p[PART_MAX])
{
    p[PART_CPU] = counted_of(m);
    p[PART_VAGUE] = perf_cpu(m);
    /* every process has at least one fault */
    p[PART_PARENTS] = m->account.had_child || reaped_of(m, LEDGER_FAULTS_MINOR) > 0;
    if (!m->other.is) {
        add_kept(m, p);
        p[PART_RSS] = value(m, PROCESS_rss);
    }
    if (is_own_alone(j))
        fill_own_part(m, p);
    for (int c = 0; c < LEDGER_MAX && !is_own_alone(j) && !member_is_reap_pending(m); c++)
        p[c] = job_ledger(m, c);
}

/* Unsigned arithmetic: an intermediate difference may wrap. */
static void replace_part(struct job *j, struct member *m, const uint64_t p[PART_MAX])
{
    for (int k = 0; k < PART_MAX; k++) {
        j->sums[k] += p[k] - m->account.part[k];
        m->account.part[k] = p[k];
    }
}

void totals_leave(struct job *j, struct member *m)
{
    static const uint64_t nothing[PART_MAX];
    leave_out_children(j, m);
    replace_part(j, m, nothing);
}

void totals_refresh(struct job *j)
{
    for (size_t i = tree_next_moved(&j->tree, 0); i < j->tree.n; i = tree_next_moved(&j->tree, i + 1)) {
        struct member *m = j->tree.at[i];
        leave_out_children(j, m);
        uint64_t now[PART_MAX] = {0};
        fill_part(j, m, now);
        replace_part(j, m, now);
        totals_know(j, m);
        j->rss_peak = max_u64(j->rss_peak, m->other.is ? 0 : value(m, PROCESS_rss_peak));
    }
}

uint64_t job_rss(struct job *j)
{
    totals_refresh(j);
    return j->sums[PART_RSS];
}

/* Publishes run delay and context switches, over members and ended processes, also those whose exits are not reported
 * yet. They never fall. Example: a command with 986 ms of run delay ends, and its exit waits for that of its parent:
 * the total stays at 986 ms. */
static void publish_kept(struct job *j, uint64_t *value_of)
{
    uint64_t now[PART_MAX];
    memcpy(now, j->sums, sizeof(now));
    for (const struct member *m = j->settling.gone; m; m = m->links.list_next) {
        if (!m->other.is)
            add_kept(m, now);
    }
    /* The wrapper's wait4(2) includes all children that the command has reaped. Both are lower bounds. */
    const uint64_t reaped[2] = {j->wrapper.switches_voluntary, j->wrapper.switches_involuntary};
    for (int i = 0; i < 2; i++) {
        uint64_t of_wrapper = excess(reaped[i], j->others.used[BASE_SWITCHES_VOLUNTARY + i]);
        uint64_t seen = now[PART_SWITCHES_VOLUNTARY + i] + j->past.switches[i];
        j->shown.switches[i] = max_u64(j->shown.switches[i], max_u64(seen, of_wrapper));
    }
    j->shown.run_delay = max_u64(j->shown.run_delay, now[PART_RUN_DELAY] + j->past.run_delay);
    value_of[JOB_run_delay] = j->shown.run_delay;
    value_of[JOB_switches_voluntary] = j->shown.switches[0];
    value_of[JOB_switches_involuntary] = j->shown.switches[1];
    value_of[JOB_run_delay_lag] = excess(value_of[JOB_cpu], now[PART_DELAY_CPU] + j->past.delay_cpu);
}

/* Publishes CPU time. The sum of user and system is exact; the split between them is scaled from ticks and changes a
 * little as processes end. Neither the sum nor its parts may fall. */
static void publish_cpu(struct job *j, uint64_t user, uint64_t system)
{
    uint64_t before = j->shown.ledger[LEDGER_CPU_USER] + j->shown.ledger[LEDGER_CPU_SYSTEM];
    uint64_t sum = max_u64(user + system, before);
    uint64_t most = j->shown.ledger[LEDGER_CPU_USER] + (sum - before);
    user = max_u64(user, j->shown.ledger[LEDGER_CPU_USER]);
    j->shown.ledger[LEDGER_CPU_USER] = user < most ? user : most;
    j->shown.ledger[LEDGER_CPU_SYSTEM] = sum - j->shown.ledger[LEDGER_CPU_USER];
}

static bool is_in_group_count(const struct job *j, const struct member *m)
{
    return m->of_task.number && j->tasks[m->of_task.number - 1].group_now.known;
}

/* CPU time that is attributed to processes. vague: the part of it that perf alone has; unsure: the part that may be too
 * much. Of members whose exits are not reported yet, all but what the count of a control group includes. */
struct attributed {
    uint64_t cpu, vague, unsure;
};

static struct attributed sum_of_attributed(const struct job *j)
{
    struct attributed a = {j->past.counted_ns + j->sums[PART_CPU], j->past.vague_ns + j->sums[PART_VAGUE],
                           j->past.unsure_ns};
    for (const struct member *m = j->settling.gone; m; m = m->links.list_next) {
        if (is_in_group_count(j, m))
            continue;
        a.cpu += counted_of(m);
        a.vague += perf_cpu(m);
        a.unsure += own_unsure(m);
    }
    return a;
}

static bool is_blind(const struct job *j)
{
    return !j->source.events || j->source.lossy;
}

/*
 * A total is at least the sum of what single processes have used.
 *
 * While the job runs, this fills up what a parent shows of its children in whole ticks only. What perf alone has does
 * not count for that: its clock goes on while a hypervisor has the CPU, and a published total can't be taken back.
 *
 * At the end, when all is settled, the total is wait4(2)'s, and the kernel has added the counters of each process to
 * those of another one; the page faults and the I/O of single processes are not more than the total. If they are, it
 * has not, nor if a parent has ended without having reaped any, and the wrapper has not either: when the first process
 * of a PID namespace ends, the kernel kills the others and adds their counters to none (pid_namespaces(7)). Example:
 * ten containers, each with three processes that have used 100 ms when its init ends. wait4(2) has 5 ms, and the single
 * processes have 3,005 ms by taskstats: that is the total. perf's count may be too much by the part that is unsure,
 * which is left out: the total is a lower bound. Of processes that ended before they were read no page faults are known
 * without taskstats: perf's count alone shows that some are missing, if its error does not explain it.
 */
static void raise_to_parts(struct job *j, uint64_t total[LEDGER_MAX], const struct attributed *a)
{
    bool closed = j->settling.closing && j->adopts && !j->settling.n_gone, is_lost = false;
    for (enum ledger_counter c = LEDGER_IO_READ; c < LEDGER_MAX; c++) {
        is_lost |= closed && j->past.own[c] > total[c];
        total[c] = max_u64(total[c], j->past.own[c]);
    }
    is_lost |= closed && j->past.unreaped;
    uint64_t sum = total[LEDGER_CPU_USER] + total[LEDGER_CPU_SYSTEM], read = a->vague - j->past.unread_ns;
    bool by_perf = closed && !is_lost && j->past.unread_ns && excess(a->cpu, read + a->unsure) > sum + sum / 50 + SLACK;
    is_lost |= by_perf;
    if (is_lost) {
        j->shortfall.unreaped = true;
        bool others = !j->past.unreaped; /* it is not known which ones */
        j->shortfall.io |= j->past.unreaped_io_short || others;
        j->shortfall.cpu |= j->past.unreaped_cpu_short || a->unsure;
        j->shortfall.cpu |= others && (j->past.cpu_is_short || is_blind(j));
    }
    uint64_t missing = excess(a->cpu, sum + (is_lost ? a->unsure : a->vague));
    j->past.excess_ns = by_perf ? missing : j->past.excess_ns;
    bool is_rounding = missing <= j->wrapper.reaped * WAIT4_ROUNDING_NS;
    if (!missing || is_own_alone(j) || (closed && !is_lost && !is_rounding))
        return;
    uint64_t user = share_u64(missing, total[LEDGER_CPU_USER], sum);
    total[LEDGER_CPU_USER] += user;
    total[LEDGER_CPU_SYSTEM] += missing - user;
}

/* May processes have run unseen whose counters the kernel added to no member? Without events they may if a member
 * ignores SIGCHLD, or if no wrapper adopts orphans. Example: a daemon that was attached to forks twice, and its
 * grandchild begins and ends between two lists of children. */
static bool may_miss(const struct job *j)
{
    return (is_blind(j) && j->shortfall.ignores_children) || (!j->adopts && !j->alone && (is_blind(j) || j->open));
}

/* A child has the wrapper's peak until it executes a program. So if ru_maxrss of wait4(2) is no more than the wrapper's
 * own size, it is the wrapper's, and not a peak of the job; but after all processes were waited for, it is an upper
 * bound of the peak of any process. With another recording inside the job it may be a process of that one. */
static void fill_rss_peak(struct job *j, uint64_t *value_of, uint8_t *absent)
{
    bool is_mark = j->wrapper.maxrss > j->wrapper.floor_rss && !j->others.started;
    bool is_of_all =
        j->wrapper.maxrss && !tree_count(&j->tree) && !j->settling.n_gone && !j->shortfall.cpu && !may_miss(j);
    if (is_mark) {
        j->rss_peak = max_u64(j->rss_peak, j->wrapper.maxrss);
        j->seen.known |= UINT64_C(1) << JOB_process_rss_peak;
    }
    value_of[JOB_process_rss_peak] = j->rss_peak;
    value_of[JOB_process_rss_peak_is_lower_bound] =
        !(is_of_all && is_mark) && (j->shortfall.rss_peak || is_blind(j) || j->open);
    value_of[JOB_process_rss_most] = is_of_all ? max_u64(j->rss_peak, j->wrapper.maxrss) : 0;
    absent[JOB_process_rss_most] = is_of_all ? BARO_PRESENT : BARO_ABSENT_UNKNOWN;
}

/* Subtracts what gone members had used before the recording began. The counters of their parents may include it by now.
 * leave_out_past() in ledger.c leaves it out when it settles these members. */
static void leave_out_past(const struct job *j, uint64_t total[LEDGER_MAX])
{
    for (const struct member *m = j->settling.gone; m; m = m->links.list_next) {
        for (int c = 0; c < LEDGER_MAX && m->account.base && m->account.successor; c++)
            total[c] = excess(total[c], m->account.base[c]);
    }
}

/*
 * Is the CPU time that the kernel counts for the job's control group that of the job? It is not if processes have left
 * the group of a command: only the ledger has their CPU time. Example: podman(1) moves a container to a group of its
 * own. A process that leaves a group that the user named is no part of the job.
 */
static bool group_counts(const struct job *j, const uint64_t total[LEDGER_MAX])
{
    return j->group.known &&
           (j->open || j->whole ||
            total[LEDGER_CPU_USER] + total[LEDGER_CPU_SYSTEM] <= j->group.user_ns + j->group.system_ns);
}

/*
 * The group was removed before it was read after the end of its last process. The total is its last reading and what
 * its processes have used since, or what all processes have used if that is more. It is marked as a lower bound unless
 * all exits are known, or the time since that reading is too short to matter. Example: read at 2.000 s with 1,400 ms,
 * of which 1,380 are attributed to processes; the last process ends at 2.300 s, and 1,670 ms are attributed: 1,685 ms.
 */
static void raise_to_group(struct job *j, uint64_t total[LEDGER_MAX], uint64_t named)
{
    uint64_t sum = total[LEDGER_CPU_USER] + total[LEDGER_CPU_SYSTEM];
    uint64_t least = j->group.user_ns + j->group.system_ns + excess(named, j->group.named_ns + GROUP_SLACK);
    if (sum >= least)
        return;
    total[LEDGER_CPU_USER] = sum ? share_u64(least, total[LEDGER_CPU_USER], sum) : j->group.user_ns;
    total[LEDGER_CPU_SYSTEM] = least - total[LEDGER_CPU_USER];
}

/* May processes of the group have used more than 1/64 of the total after its last reading? */
static bool group_is_behind(const struct job *j)
{
    uint64_t gap = excess(j->group.ended_ns, j->group.read_ns);
    return j->group.is_gone && gap * j->group.cores > (j->group.user_ns + j->group.system_ns) / 64;
}

/* Publishes which totals may be too small. */
static void publish_bounds(const struct job *j, bool has_group, uint64_t ret_value[JOB_MAX],
                           uint8_t ret_absent[JOB_MAX])
{
    bool misses = may_miss(j);
    bool lacks_teardown = j->shortfall.cpu_ns > ret_value[JOB_cpu] / MARKED_PART;
    bool is_short_of_group = is_blind(j) || ret_value[JOB_cpu] < GROUP_SURE;
    ret_value[JOB_io_is_lower_bound] = j->shortfall.io || misses || j->wrapper.io_unknown > 0;
    ret_value[JOB_cpu_is_lower_bound] =
        !has_group && (j->shortfall.cpu || lacks_teardown || (j->group.is_gone ? is_short_of_group : misses));
    ret_value[JOB_counts_are_lower_bounds] = j->shortfall.unreaped || misses;
    if (ret_value[JOB_cpu_is_lower_bound])
        ret_absent[JOB_cpu_bound] = BARO_ABSENT_UNKNOWN;
}

/* Publishes how many processes are alive, were alive at once, began, ended, and were not seen. */
static void publish_counts(const struct job *j, uint64_t ret_value[JOB_MAX], uint8_t ret_absent[JOB_MAX])
{
    ret_value[JOB_processes] = tree_count(&j->tree) - j->counts.ended_members - j->others.alive;
    ret_value[JOB_processes_started] = j->counts.started - j->others.started;
    /* Several of another recording may have been counted before it was seen whose they are. */
    ret_value[JOB_processes_peak] = min_u64(j->counts.peak, ret_value[JOB_processes_started]);
    ret_value[JOB_processes_peak_is_lower_bound] = j->counts.peak < j->at_once.most;
    ret_value[JOB_processes_ended] = j->counts.ended - j->others.ended;
    /* Without events the pids that were given out say how many may have begun and ended unseen, at most (births.h). */
    bool bounded = !j->open && (!is_blind(j) || j->source.unseen_known);
    if (bounded)
        ret_value[JOB_processes_unseen] = is_blind(j) ? j->source.unseen : 0;
    else
        ret_absent[JOB_processes_unseen] = BARO_ABSENT_UNKNOWN;
    if (bounded && !ret_value[JOB_processes_unseen])
        ret_value[JOB_processes_unsampled] = j->counts.unsampled;
    else
        ret_absent[JOB_processes_unsampled] = BARO_ABSENT_UNKNOWN;
}

static void sum_up_ledger(const struct job *j, uint64_t total[LEDGER_MAX])
{
    for (int c = 0; c < LEDGER_MAX; c++)
        total[c] = j->wrapper.total[c] + j->carried[c] + j->sums[c];
    if (!is_own_alone(j))
        leave_out_past(j, total);
    for (size_t i = 0; i < j->n_tasks; i++) {
        total[LEDGER_CPU_USER] += j->tasks[i].extra_user;
        total[LEDGER_CPU_SYSTEM] += j->tasks[i].extra_system;
    }
}

void job_totals(struct job *j, uint64_t ret_value[JOB_MAX], uint8_t ret_absent[JOB_MAX])
{
    uint64_t total[LEDGER_MAX];
    totals_refresh(j);
    memset(ret_value, 0, JOB_MAX * sizeof(*ret_value));
    memset(ret_absent, 0, JOB_MAX);
    sum_up_ledger(j, total);
    const struct attributed a = sum_of_attributed(j);
    uint64_t named = a.cpu;
    bool has_count = group_counts(j, total), has_group = has_count && !group_is_behind(j);
    j->group.named_ns = j->group.is_new ? named : j->group.named_ns;
    j->group.is_new = false;
    raise_to_parts(j, total, &a);
    if (has_group) {
        total[LEDGER_CPU_USER] = j->group.user_ns;
        total[LEDGER_CPU_SYSTEM] = j->group.system_ns;
        j->seen.known |= UINT64_C(1) << JOB_cpu | UINT64_C(1) << JOB_cpu_user | UINT64_C(1) << JOB_cpu_system;
    } else if (has_count) {
        raise_to_group(j, total, named);
    }
    others_refresh(j);
    others_subtract(j, total, &named);
    publish_cpu(j, total[LEDGER_CPU_USER], total[LEDGER_CPU_SYSTEM]);
    for (int c = LEDGER_CPU_SYSTEM + 1; c < LEDGER_MAX; c++)
        j->shown.ledger[c] = max_u64(j->shown.ledger[c], total[c]);
    for (int c = 0; c < LEDGER_MAX; c++)
        ret_value[sums[c].job] = j->shown.ledger[c];
    ret_value[JOB_cpu] = j->shown.ledger[LEDGER_CPU_USER] + j->shown.ledger[LEDGER_CPU_SYSTEM];
    ret_value[JOB_cpu_bound] =
        has_group ? 0 : j->sums[PART_PARENTS] * SHORT_TICKS * j->ns_per_tick + j->shortfall.cpu_ns;
    ret_value[JOB_cpu_excess] = has_group ? 0 : j->past.excess_ns;
    ret_value[JOB_cpu_counted] = named < ret_value[JOB_cpu] ? named : ret_value[JOB_cpu];
    publish_kept(j, ret_value);
    fill_rss_peak(j, ret_value, ret_absent);
    publish_bounds(j, has_group, ret_value, ret_absent);
    peak_note(j);
    publish_counts(j, ret_value, ret_absent);
    fill_absent(j, ret_value, ret_absent);
    state_check(j);
}
