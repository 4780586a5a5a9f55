/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/sampler.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

#define ALONE 5u /* the machine may take half of the budget where nothing else is recorded, else a tenth */

/* The values that the ledger sums up are read whatever metrics the user chose. */
static uint64_t always_wanted(void)
{
    return 1ull << PROCESS_cpu | 1ull << PROCESS_cpu_user | 1ull << PROCESS_cpu_system |
           1ull << PROCESS_children_cpu_user | 1ull << PROCESS_children_cpu_system | 1ull << PROCESS_faults_minor |
           1ull << PROCESS_faults_major | 1ull << PROCESS_children_faults_minor |
           1ull << PROCESS_children_faults_major | 1ull << PROCESS_state | 1ull << PROCESS_threads |
           1ull << PROCESS_rss | 1ull << PROCESS_task;
}

#define COLLECTOR(name) extern const struct collector name##_collector;
#include "recorder/collectors/independent.def"
#undef COLLECTOR
static const struct collector *const own_collectors[] = {
#define COLLECTOR(name) &name##_collector,
#include "recorder/collectors/independent.def"
#undef COLLECTOR
    NULL};

static int add_own(struct sampler *s, struct baro_error *err)
{
    for (size_t i = 0; own_collectors[i]; i++) {
        int code = collectors_add_own(&s->sampling.collectors, own_collectors[i], &s->sampling);
        if (code < 0)
            return error_set(err, code, "out of memory");
    }
    return 0;
}

int sampler_init(struct sampler *s, struct job *job, const struct sampler_options *options, struct baro_error *err)
{
    struct sampling *g = &s->sampling;
    *g = (struct sampling){.options = *options, .job = job};
    g->options.wanted |= always_wanted();
    if (g->options.wanted & (1ull << PROCESS_pss | 1ull << PROCESS_uss))
        g->options.wanted |= 1ull << PROCESS_smaps_at;
    if (g->options.wanted & 1ull << PROCESS_run_delay)
        g->options.wanted |= 1ull << PROCESS_run_delay_lag;
    g->need = metric_need(g->options.wanted);
    s->account = options->account ? NULL : malloc(sizeof(*s->account));
    g->account = options->account ? options->account : s->account;
    if (!g->account)
        return error_set(err, -ENOMEM, "out of memory");
    if (s->account)
        account_init(s->account, options->overhead_ppm, options->start_monotonic_ns);
    g->text = g->account->text;
    g->level_reported = g->account->budget.level;
    own_cost_init(&s->own, g);
    group_job_init(&s->group, g);
    memory_init(&s->memory, g);
    socket_row_init(&s->sockets, g);
    job_row_init(&s->job, g, &s->memory, &s->group, &s->sockets);
    task_row_init(&s->tasks, g);
    directory_row_init(&s->directories, g);
    gpu_row_init(&s->gpu, g);
    host_row_init(&s->host, g);
    cgroup_row_init(&s->cgroups, g, &s->host, &s->own);
    if (processes_init(&s->processes, g, &s->memory, &s->group) < 0)
        return error_set(err, -ENOMEM, "out of memory");
    machine_init(&s->machine, g, &s->host);
    sampler_add(s, &processes_collector, &s->processes);
    if (options->whole) {
        sampler_add(s, &machine_collector, &s->machine);
        sampler_add(s, &machine_briefs_collector, &s->machine);
    }
    sampler_add(s, &memory_collector, &s->memory);
    sampler_add(s, &task_collector, &s->tasks); /* what control groups of tasks used is part of the job's total */
    sampler_add(s, &socket_collector, &s->sockets);
    sampler_add(s, &job_collector, &s->job);
    sampler_add(s, &host_collector, &s->host);
    sampler_add(s, options->whole ? &machine_groups_collector : &cgroup_collector,
                options->whole ? (void *)&s->machine : &s->cgroups);
    if (options->gpu && options->become)
        sampler_add(s, &gpu_collector, &s->gpu);
    return add_own(s, err);
}

int sampler_add(struct sampler *s, const struct collector *is, void *state)
{
    return collectors_add(&s->sampling.collectors, is, state);
}

int sampler_add_directory(struct sampler *s, const char *path, uint64_t every_ns, struct baro_entity_owner owner,
                          struct baro_error *err)
{
    bool first = !s->directories.directories;
    int code = directory_row_add(&s->directories, path, every_ns, owner, err);
    return code < 0 || !first ? code : sampler_add(s, &directory_collector, &s->directories);
}

void sampler_done(struct sampler *s)
{
    collectors_close(&s->sampling.collectors, false);
    free(s->account);
    s->account = NULL;
}

void sampler_end_helpers(struct sampler *s)
{
    collectors_close(&s->sampling.collectors, true);
}

/* ---- ticks ---- */

uint64_t sampler_now(const struct sampler *s)
{
    return sampling_clock_ns(&s->sampling);
}

uint64_t sampler_tick_ns(const struct sampler *s)
{
    return s->sampling.now_ns;
}

void sampler_advance(struct sampler *s)
{
    struct sampling *g = &s->sampling;
    uint64_t boot = clock_boottime_ns() - g->job->start_boottime_ns;
    g->now_ns = sampler_now(s);
    g->job->slept_ns = boot > g->now_ns ? boot - g->now_ns : 0;
}

static void check_budget(struct sampling *g)
{
    char text[256];
    uint64_t now_ns = sampling_account_ns(g, g->now_ns);
    if (!sampling_is_shared(g) && g->sample.job_absent[JOB_cpu] == BARO_PRESENT)
        budget_note_job(&g->account->budget, now_ns, g->sample.job[JOB_cpu]);
    budget_update(&g->account->budget, now_ns);
    enum budget_level level = g->account->budget.level;
    if (level == g->level_reported)
        return;
    g->level_reported = level;
    job_event(g->job, g->now_ns, BARO_EVENT_THINNED, NULL, level,
              collectors_left_out(&g->collectors, level, text, sizeof(text)));
}

const struct baro_sample *sampler_tick(struct sampler *s)
{
    struct sampling *g = &s->sampling;
    own_cost_begin(&s->own);
    sampler_advance(s);
    g->ticks++;
    if (cgroup_row_watch(&s->cgroups))
        collectors_hurry(&g->collectors, &host_collector); /* groups are read together with the machine */
    const struct collector_tick t = {g->now_ns, g->account->budget.level, g->job->settling.closing, &g->sample};
    collectors_tick(&g->collectors, &t, g->options.overhead_ppm * (g->options.host_alone ? ALONE : 1));
    check_budget(g);
    own_cost_end(&s->own, s->processes.samples, s->job.lossy);
    return &g->sample;
}

void sampler_discover(struct sampler *s)
{
    collectors_prepare(&s->sampling.collectors);
    sampler_advance(s);
    processes_discover(&s->processes);
}

bool sampler_is_stirred(const struct sampler *s)
{
    return job_row_is_stirred(&s->job);
}

bool sampler_is_quiet(struct sampler *s)
{
    sampler_advance(s);
    return collectors_are_quiet(&s->sampling.collectors, s->sampling.now_ns);
}

const struct baro_sample *sampler_repeat(struct sampler *s, uint64_t t_ns)
{
    return job_row_repeat(&s->job, t_ns);
}

/* ---- budget and own cost ---- */

void sampler_charge(struct sampler *s, bool sampled)
{
    own_cost_charge(&s->own, sampled);
}

uint64_t sampler_wait(struct sampler *s, uint64_t now_ns, uint64_t next_ns, uint64_t interval_ns)
{
    const struct sampling *g = &s->sampling;
    uint64_t offset = sampling_account_ns(g, 0);
    return budget_wait(&g->account->budget, now_ns + offset, next_ns + offset, interval_ns) - offset;
}

uint64_t sampler_wait_edge(struct sampler *s, uint64_t now_ns)
{
    const struct sampling *g = &s->sampling;
    uint64_t offset = sampling_account_ns(g, 0);
    return budget_wait_edge(&g->account->budget, now_ns + offset) - offset;
}

/* ---- members ---- */

struct member *sampler_add_target(struct sampler *s, int32_t pid, struct baro_error *err)
{
    struct job *job = s->sampling.job;
    sampler_advance(s);
    struct member *m = job_add(job, pid, NULL, BARO_ORIGIN_TARGET, s->sampling.now_ns);
    if (!m) {
        error_set(err, -ENOMEM, "out of memory");
        return NULL;
    }
    job_set_target(job, m, true);
    if (sampler_read_member(s, m) == 0)
        return m;
    error_set(err, -ESRCH, "process %d ended before it could be read", pid);
    return NULL;
}

int sampler_read_member(struct sampler *s, struct member *m)
{
    return members_look(&s->processes, m);
}

int sampler_rebase_member(struct sampler *s, struct member *m)
{
    return members_rebase(&s->processes, m);
}

void sampler_gone(struct sampler *s, struct member *m, uint64_t t_ns)
{
    members_gone(&s->processes, m, t_ns);
}

void sampler_settle(struct sampler *s)
{
    sampler_advance(s);
    members_settle(&s->processes);
}

void sampler_close_sockets(struct sampler *s)
{
    sampler_advance(s);
    socket_row_close(&s->sockets);
}

void sampler_count_pids(struct sampler *s, int32_t pid)
{
    if (births_begin(&s->processes.scan.births, pid))
        scan_set_always(&s->processes.scan, false);
}

void sampler_poll(struct sampler *s)
{
    sampler_advance(s);
    births_poll(&s->processes);
}

uint64_t sampler_poll_due_ns(const struct sampler *s)
{
    uint64_t due = s->processes.scan.births.due_ns;
    return due ? due : UINT64_MAX;
}

void sampler_scan_always(struct sampler *s, bool always)
{
    scan_set_always(&s->processes.scan, always);
}

void sampler_lost_events(struct sampler *s, bool forks)
{
    job_row_lossy(&s->job);
    if (forks)
        scan_request(&s->processes.scan);
}

void sampler_scan_children(struct sampler *s, struct member *m)
{
    scan_children_of(&s->processes.scan, m);
}

void sampler_scan_wrapper(struct sampler *s)
{
    scan_wrapper(&s->processes.scan);
}

/* ---- control groups ---- */

int sampler_groups_begin(struct sampler *s, const struct cgroup_location *place, bool since_now)
{
    return group_job_begin(&s->group, place, since_now);
}

bool sampler_group_counts(const struct sampler *s, uint64_t *ret_before_ns)
{
    *ret_before_ns = s->group.base.user_ns + s->group.base.system_ns;
    return s->group.meter.fd >= 0;
}

void sampler_groups_read_end(struct sampler *s)
{
    sampler_advance(s);
    group_job_count(&s->group);
    cgroup_row_read_end(&s->cgroups);
}

void sampler_group_base(const struct sampler *s, uint64_t *ret_user_ns, uint64_t *ret_system_ns)
{
    *ret_user_ns = s->group.base.user_ns;
    *ret_system_ns = s->group.base.system_ns;
}

size_t sampler_groups_find_members(struct sampler *s)
{
    return group_job_find(&s->group);
}

void sampler_groups_renew(struct sampler *s, const struct cgroup_hierarchies *groups)
{
    s->sampling.options.groups = groups;
    cgroup_row_renew(&s->cgroups);
    /* Groups are read together with the machine. Example: the machine was read at 40 ms, before the job's groups were
     * known, and costs so much that it is read again after 20 s. For a job of 5 s the groups would be read once, at the
     * end, and how often it was throttled is the difference of two values. */
    collectors_hurry(&s->sampling.collectors, &host_collector);
}

void sampler_groups_early(struct sampler *s)
{
    if (!cgroup_row_is_early(&s->cgroups))
        return;
    sampler_advance(s);
    cgroup_row_early(&s->cgroups);
}

void sampler_forget_wake(struct sampler *s)
{
    s->sampling.options.wake_fd = -1;
}
