/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/verdict/gather.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "baro/event.h"
#include "baro/header.h"
#include "baro/interval.h"
#include "libbaro/sample/row.h"
#include "libbaro/verdict/client.h"

/* ---- metrics by name ---- */

static const struct {
    int kind;
    const char *name;
} curve_metric[CURVE_COUNT] = {
    [CURVE_CPU] = {BARO_KIND_JOB, "cpu_ns"},
    [CURVE_RUN_DELAY] = {BARO_KIND_JOB, "run_delay_ns"},
    [CURVE_SWITCHES] = {BARO_KIND_JOB, "switches_voluntary"},
    [CURVE_READ] = {BARO_KIND_JOB, "io_read_bytes"},
    [CURVE_WRITTEN] = {BARO_KIND_JOB, "io_write_bytes"},
    [CURVE_FAULTS] = {BARO_KIND_JOB, "faults_major"},
    [CURVE_STARTED] = {BARO_KIND_JOB, "processes_started"},
    [CURVE_HOST_STEAL] = {BARO_KIND_HOST, "cpu_steal_ns"},
    [CURVE_HOST_IO] = {BARO_KIND_HOST, "pressure_io_some_ns"},
    [CURVE_HOST_MEMORY] = {BARO_KIND_HOST, "pressure_memory_some_ns"},
    [CURVE_SWAP_IN] = {BARO_KIND_HOST, "swap_in_bytes"},
};

static const struct {
    int kind;
    const char *name;
} wanted[WANT_COUNT] = {
    [WANT_JOB_DELAY_LAG] = {BARO_KIND_JOB, "run_delay_lag_ns"},
    [WANT_JOB_IO_RCHAR] = {BARO_KIND_JOB, "io_rchar_bytes"},
    [WANT_JOB_IO_WCHAR] = {BARO_KIND_JOB, "io_wchar_bytes"},
    [WANT_PROCESS_THREADS] = {BARO_KIND_PROCESS, "threads"},
    [WANT_PROCESS_SWITCHES_VOLUNTARY] = {BARO_KIND_PROCESS, "switches_voluntary"},
    [WANT_PROCESS_CPU] = {BARO_KIND_PROCESS, "cpu_ns"},
    [WANT_PROCESS_IO_RCHAR] = {BARO_KIND_PROCESS, "io_rchar_bytes"},
    [WANT_PROCESS_IO_WCHAR] = {BARO_KIND_PROCESS, "io_wchar_bytes"},
    [WANT_GROUP_CPU_PERIODS] = {BARO_KIND_CGROUP, "cpu_periods"},
    [WANT_GROUP_CPU_THROTTLED_PERIODS] = {BARO_KIND_CGROUP, "cpu_throttled_periods"},
    [WANT_GROUP_CPU_THROTTLED] = {BARO_KIND_CGROUP, "cpu_throttled_ns"},
    [WANT_GROUP_MEMORY_LIMIT_HITS] = {BARO_KIND_CGROUP, "memory_limit_hits"},
    [WANT_GROUP_MEMORY_HIGH_HITS] = {BARO_KIND_CGROUP, "memory_high_hits"},
    [WANT_GROUP_MEMORY_LIMIT] = {BARO_KIND_CGROUP, "memory_limit_bytes"},
    [WANT_GROUP_MEMORY_HIGH] = {BARO_KIND_CGROUP, "memory_high_bytes"},
    [WANT_GROUP_MEMORY_ANON] = {BARO_KIND_CGROUP, "memory_anon_bytes"},
    [WANT_GROUP_MEMORY_FILE] = {BARO_KIND_CGROUP, "memory_file_bytes"},
    [WANT_GROUP_MEMORY_SHMEM] = {BARO_KIND_CGROUP, "memory_shmem_bytes"},
    [WANT_GROUP_MEMORY_KERNEL] = {BARO_KIND_CGROUP, "memory_kernel_bytes"},
    [WANT_GROUP_MEMORY_SLAB] = {BARO_KIND_CGROUP, "memory_slab_bytes"},
    [WANT_GROUP_MEMORY] = {BARO_KIND_CGROUP, "memory_bytes"},
    [WANT_GROUP_OOMS] = {BARO_KIND_CGROUP, "ooms"},
    [WANT_GROUP_CPU_LIMIT] = {BARO_KIND_CGROUP, "cpu_limit"},
    [WANT_GROUP_PRESSURE_IO_SOME] = {BARO_KIND_CGROUP, "pressure_io_some_ns"},
    [WANT_GROUP_PRESSURE_MEMORY_SOME] = {BARO_KIND_CGROUP, "pressure_memory_some_ns"},
    [WANT_PROCESS_RSS] = {BARO_KIND_PROCESS, "rss_bytes"},
    [WANT_PROCESS_STATE] = {BARO_KIND_PROCESS, "state"},
    [WANT_NET_PACKETS] = {BARO_KIND_NET, "receive_packets"},
};

static int find_metric(int kind, const char *name)
{
    return baro_metric_find(kind, name);
}

int gather_init(struct gather *g, const struct baro_header *header)
{
    memset(g, 0, sizeof(*g));
    g->has_start = baro_header_has_start(header);
    g->contender.name = g->contender_name;
    for (int i = 0; i < CURVE_COUNT; i++)
        g->metric[i] = curve_metric[i].name ? find_metric(curve_metric[i].kind, curve_metric[i].name) : -1;
    for (int i = 0; i < WANT_COUNT; i++)
        g->id[i] = find_metric(wanted[i].kind, wanted[i].name);
    g->pressure_ns[0] = g->pressure_ns[1] = NAN;
    return history_init(&g->history);
}

void gather_done(struct gather *g)
{
    history_done(&g->history);
}

/* ---- values of a sample ---- */

static double of_job(const struct gather *g, const struct baro_sample *s, enum want what)
{
    uint64_t v;
    return baro_row_value(baro_sample_row(s, BARO_KIND_JOB, 0), g->id[what], &v) == BARO_PRESENT ? (double)v : NAN;
}

static double of_process(const struct gather *g, const struct baro_row *p, enum want what)
{
    uint64_t v;
    return baro_row_value(p, g->id[what], &v) == BARO_PRESENT ? (double)v : NAN;
}

static double of_group(const struct gather *g, const struct baro_row *e, enum want what)
{
    uint64_t v;
    if (baro_row_value(e, g->id[what], &v) != BARO_PRESENT)
        return NAN;
    return baro_metric_real(baro_metric_get(BARO_KIND_CGROUP, g->id[what]), v);
}

static double packets(const struct gather *g, const struct baro_sample *s)
{
    double sum = 0;
    uint64_t v;
    size_t n = baro_sample_rows(s, BARO_KIND_NET);
    for (size_t i = 0; i < n; i++) {
        if (baro_row_value(baro_sample_row(s, BARO_KIND_NET, i), g->id[WANT_NET_PACKETS], &v) == BARO_PRESENT)
            sum += (double)v;
    }
    return n ? sum : NAN;
}

static void curves_of(const struct gather *g, const struct baro_sample *s, struct history_point *p)
{
    uint64_t v;
    for (int i = 0; i < CURVE_COUNT; i++) {
        int absent = BARO_ABSENT_UNKNOWN;
        if (g->metric[i] >= 0 && curve_metric[i].kind == BARO_KIND_JOB)
            absent = baro_row_value(baro_sample_row(s, BARO_KIND_JOB, 0), g->metric[i], &v);
        else if (g->metric[i] >= 0)
            absent = baro_row_value(baro_sample_row(s, BARO_KIND_HOST, 0), g->metric[i], &v);
        p->at[i] = absent == BARO_PRESENT ? (double)v : NAN;
    }
    p->at[CURVE_DELAY_CPU] = p->at[CURVE_CPU] - of_job(g, s, WANT_JOB_DELAY_LAG);
    p->at[CURVE_CALLED] = of_job(g, s, WANT_JOB_IO_RCHAR) + of_job(g, s, WANT_JOB_IO_WCHAR);
    if (baro_sample_read_ns(s, BARO_KIND_HOST, &v) == BARO_PRESENT)
        p->at[CURVE_HOST_TIME] = (double)v;
    if (baro_row_busy_ns(baro_sample_row(s, BARO_KIND_HOST, 0), &v) == BARO_PRESENT)
        p->at[CURVE_HOST_BUSY] = (double)v;
    p->at[CURVE_PACKETS] = packets(g, s);
    if (baro_sample_sum(s, g->id[WANT_PROCESS_RSS], &v, NULL) == BARO_PRESENT && v)
        p->at[CURVE_MEMORY] = (double)v;
}

/* Keeps a value of run delay only if it is new, that is, if run delay was read for most of the CPU time used since
 * the last new value. Between new values it is interpolated. Example: 900 threads are read every 3 s and use 2
 * cores. 2.9 s after a reading the counter is unchanged and means nothing; at the next reading it covers the 6 s of
 * CPU time since then. A tape that does not say for how much run delay was read has no lag: each of its values
 * counts as new. */
#define DELAY_READ 0.8

static void keep_new_delay(struct gather *g, struct history_point *p)
{
    double cpu = p->at[CURVE_CPU], read = p->at[CURVE_DELAY_CPU];
    bool is_old = read - g->delay_cpu[1] < DELAY_READ * (cpu - g->delay_cpu[0]);
    if (is_old)
        p->at[CURVE_RUN_DELAY] = NAN;
    if (is_old || isnan(read))
        return;
    g->delay_cpu[0] = cpu;
    g->delay_cpu[1] = read;
}

/* ---- processes ---- */

static uint32_t name_number(struct gather *g, const char *name)
{
    unsigned i = 0;
    while (i < g->n_names && strncmp(g->name[i], name, HISTORY_NAME_ROOM - 1) != 0)
        i++;
    if (i == HISTORY_NAMES)
        return 0;
    if (i == g->n_names)
        snprintf(g->name[g->n_names++], HISTORY_NAME_ROOM, "%s", name);
    return i + 1;
}

/* Returns the number of threads with which most of the switches happened. Example: 419 threads make 9,000 switches,
 * then 8 threads that fight for a lock make 80,000: the result is 8. */
static double switching_threads(struct gather *g, double threads, double switches)
{
    size_t i = 0, most = 0;
    while (i < g->n_switching && g->switching[i].threads != threads)
        i++;
    i = i < SWITCHING_MOST ? i : SWITCHING_MOST - 1;
    if (i == g->n_switching)
        g->switching[g->n_switching++] = (struct switching){.threads = threads};
    g->switching[i].switches += switches;
    for (size_t k = 1; k < g->n_switching; k++)
        most = g->switching[k].switches > g->switching[most].switches ? k : most;
    return g->switching[most].threads;
}

/* Finds the process that gave up its CPU most often, among those with several threads. */
static void compare_contender(struct gather *g, const struct baro_row *p)
{
    double threads = of_process(g, p, WANT_PROCESS_THREADS),
           switches = of_process(g, p, WANT_PROCESS_SWITCHES_VOLUNTARY), before = g->contender.switches;
    if (!(threads >= 2) || !(switches >= before))
        return;
    if (g->contender_id != baro_row_id(p)) {
        g->n_switching = 0;
        before = 0;
    }
    g->contender_id = baro_row_id(p);
    snprintf(g->contender_name, HISTORY_NAME_ROOM, "%s", baro_row_name(p));
    g->contender = (struct contender){g->contender_name,
                                      switching_threads(g, threads, switches - before),
                                      switches,
                                      of_process(g, p, WANT_PROCESS_CPU),
                                      of_process(g, p, WANT_PROCESS_IO_RCHAR) + of_process(g, p, WANT_PROCESS_IO_WCHAR),
                                      BARO_VALUE_LOWER_BOUND /* up to its last sample */};
}

static void look_at_processes(struct gather *g, const struct baro_sample *s, struct history_point *p)
{
    size_t n = baro_sample_rows(s, BARO_KIND_PROCESS);
    bool blocked = false;
    uint64_t v;
    for (size_t i = 0; i < n; i++) {
        const struct baro_row *one = baro_sample_row(s, BARO_KIND_PROCESS, i);
        if (baro_row_value(one, g->id[WANT_PROCESS_STATE], &v) != BARO_PRESENT)
            continue;
        blocked = blocked || v == 'D';
        if (v == 'R' && !p->runner)
            p->runner = name_number(g, baro_row_name(one));
    }
    for (size_t i = 0; (i = baro_sample_next_changed(s, i)) < n; i++)
        compare_contender(g, baro_sample_row(s, BARO_KIND_PROCESS, i));
    if (blocked && p->t_ns > g->last_ns)
        g->blocked_ns += (double)(p->t_ns - g->last_ns);
    p->at[CURVE_BLOCKED] = g->blocked_ns;
}

/* ---- control groups ---- */

static double or_0(double value)
{
    return isnan(value) ? 0 : value;
}

static double all_held(const struct group *g)
{
    return g->held.anon + g->held.shmem + g->held.kernel;
}

static struct group group_values(const struct gather *g, const struct baro_row *e)
{
    struct group ret = {
        .id = baro_row_id(e),
        .periods = of_group(g, e, WANT_GROUP_CPU_PERIODS),
        .throttled_periods = of_group(g, e, WANT_GROUP_CPU_THROTTLED_PERIODS),
        .throttled_ns = of_group(g, e, WANT_GROUP_CPU_THROTTLED),
        .limit_hits = of_group(g, e, WANT_GROUP_MEMORY_LIMIT_HITS),
        .high_hits = of_group(g, e, WANT_GROUP_MEMORY_HIGH_HITS),
        .memory_limit = of_group(g, e, WANT_GROUP_MEMORY_LIMIT),
        .memory_high = of_group(g, e, WANT_GROUP_MEMORY_HIGH),
        .anon_most = of_group(g, e, WANT_GROUP_MEMORY_ANON),
        .file_most = of_group(g, e, WANT_GROUP_MEMORY_FILE),
        .quota_cores = of_group(g, e, WANT_GROUP_CPU_LIMIT),
        .ooms = of_group(g, e, WANT_GROUP_OOMS),
        .memory = of_group(g, e, WANT_GROUP_MEMORY),
        .held = {or_0(of_group(g, e, WANT_GROUP_MEMORY_ANON)), or_0(of_group(g, e, WANT_GROUP_MEMORY_SHMEM)),
                 or_0(of_group(g, e, WANT_GROUP_MEMORY_KERNEL))},
    };
    if (!ret.held.kernel)
        ret.held.kernel = or_0(of_group(g, e, WANT_GROUP_MEMORY_SLAB));
    ret.cache = or_0(ret.file_most - ret.held.shmem);
    const char *name = baro_row_name(e);
    size_t n = strlen(name);
    snprintf(ret.name, sizeof(ret.name), "%s", n < sizeof(ret.name) ? name : name + n - (sizeof(ret.name) - 1));
    return ret;
}

static double larger(double a, double b)
{
    return a >= b || isnan(b) ? a : b;
}

static void keep_group(struct gather *g, const struct baro_row *e)
{
    struct group now = group_values(g, e);
    size_t i = 0;
    while (i < g->n_groups && g->group[i].id != now.id)
        i++;
    if (i == GROUPS_MOST)
        return;
    if (i == g->n_groups) {
        g->group[i] = g->group_first[i] = now;
        g->n_groups++;
        return;
    }
    now.anon_most = larger(now.anon_most, g->group[i].anon_most);
    now.file_most = larger(now.file_most, g->group[i].file_most);
    if (all_held(&g->group[i]) > all_held(&now))
        now.held = g->group[i].held;
    g->group[i] = now;
}

/* Adds the growth of pressure in the innermost group that has it. If the job is moved, its new group continues the
 * sum. */
static void add_pressure(struct gather *g, const struct baro_row *e)
{
    const double now[2] = {of_group(g, e, WANT_GROUP_PRESSURE_IO_SOME),
                           of_group(g, e, WANT_GROUP_PRESSURE_MEMORY_SOME)};
    bool same = g->pressure_group == baro_row_id(e);
    for (int i = 0; i < 2; i++) {
        if (isnan(g->pressure_ns[i]) && !isnan(now[i]))
            g->pressure_ns[i] = 0;
        if (same && now[i] > g->pressure_last[i])
            g->pressure_ns[i] += now[i] - g->pressure_last[i];
        g->pressure_last[i] = now[i];
    }
    g->pressure_group = baro_row_id(e);
}

static void look_at_groups(struct gather *g, const struct baro_sample *s, struct history_point *p)
{
    bool found = false;
    double throttled = NAN;
    for (size_t i = 0; i < baro_sample_rows(s, BARO_KIND_CGROUP); i++) {
        const struct baro_row *e = baro_sample_row(s, BARO_KIND_CGROUP, i);
        keep_group(g, e);
        if (!found && !isnan(of_group(g, e, WANT_GROUP_PRESSURE_IO_SOME))) {
            found = true;
            add_pressure(g, e);
        }
    }
    for (size_t i = 0; i < g->n_groups; i++)
        throttled = larger(throttled, g->group[i].throttled_ns - g->group_first[i].throttled_ns);
    p->at[CURVE_THROTTLED] = throttled;
    p->at[CURVE_GROUP_IO] = g->pressure_ns[0];
    p->at[CURVE_GROUP_MEMORY] = g->pressure_ns[1];
}

/* ---- records ---- */

/* Begins the history: the counters of a command start at 0; for processes that ran before, the first sample has the
 * starting values. */
static void begin_history(struct gather *g)
{
    struct history_point p = {.t_ns = g->start_ns};
    for (int i = 0; i < CURVE_COUNT; i++)
        p.at[i] = i < CURVE_HOST_TIME || i == CURVE_BLOCKED || i == CURVE_MEMORY ? 0 : NAN;
    g->history.has_start = g->has_start;
    if (g->has_start)
        history_add(&g->history, &p);
}

static void note_client(struct gather *g, const char *name, const char *cmdline)
{
    g->clients |= client_note(name, cmdline);
    g->servers |= client_note_server(name);
}

/* 125 to 127 of `docker run` and 255 of ssh: nothing was done. */
static void add_exit(struct gather *g, const struct baro_row *e)
{
    int status = 0;
    bool known = baro_row_status(e, &status) == BARO_PRESENT && WIFEXITED(status);
    int code = known ? WEXITSTATUS(status) : 0;
    failures_add(&g->failures, e);
    if (code != 255 && (code < 125 || code > 127))
        note_client(g, baro_row_name(e), row_exit(e)->cmdline);
}

static void add_event(struct gather *g, const struct baro_event *e)
{
    struct baro_attribute names;
    switch (baro_event_kind_of(e)) {
    case BARO_EVENT_START:
        if (!g->started) {
            g->start_ns = baro_event_t_ns(e);
            g->failures.command = (struct failure_process){baro_event_pid(e), baro_event_start_ticks(e)};
        }
        g->started = true;
        break;
    case BARO_EVENT_END:
        g->ended = true;
        g->end_ns = baro_event_t_ns(e);
        break;
    case BARO_EVENT_SURVIVOR: note_client(g, baro_event_text(e), NULL); break;
    case BARO_EVENT_OOM:
        if (baro_event_attribute_find(e, "names", &names) == 0 && names.text)
            snprintf(g->victims, sizeof(g->victims), "%s", names.text);
        break;
    default: break;
    }
}

void gather_add(struct gather *g, const struct baro_record *record)
{
    if (record->kind == BARO_RECORD_EVENT)
        add_event(g, record->u.event);
    if (record->kind == BARO_RECORD_EXIT)
        add_exit(g, record->u.exit);
    if (record->kind == BARO_RECORD_SAMPLE) {
        struct history_point p = {.t_ns = record->t_ns};
        if (!g->history.n)
            begin_history(g);
        curves_of(g, record->u.sample, &p);
        keep_new_delay(g, &p);
        look_at_processes(g, record->u.sample, &p);
        look_at_groups(g, record->u.sample, &p);
        history_add(&g->history, &p);
        g->last_ns = record->t_ns;
    }
}

static struct group group_growth(const struct group *first, const struct group *last)
{
    struct group g = *last;
    g.periods -= first->periods;
    g.throttled_periods -= first->throttled_periods;
    g.throttled_ns -= first->throttled_ns;
    g.limit_hits -= first->limit_hits;
    g.high_hits -= first->high_hits;
    g.ooms -= first->ooms;
    return g;
}

void gather_finish(const struct gather *g, struct evidence *ret)
{
    uint64_t end_ns = g->ended ? g->end_ns : g->last_ns;
    ret->is_running = !g->ended;
    ret->victims = g->victims;
    ret->clients = g->clients & ~g->servers;
    ret->failure = g->failures.has_failed ? &g->failures.of_command : NULL;
    ret->contender = g->contender;
    ret->n_groups = g->n_groups;
    for (size_t i = 0; i < g->n_groups; i++)
        ret->group[i] = group_growth(&g->group_first[i], &g->group[i]);
    ret->history = &g->history;
    ret->names = g->name;
    if (end_ns > g->start_ns)
        stretch_fill(&ret->job, &g->history, NULL, g->start_ns, end_ns);
}
