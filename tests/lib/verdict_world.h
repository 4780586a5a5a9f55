/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence typed by hand for each rule of the verdicts. Include after cmocka.h. */
#ifndef TESTS_VERDICT_WORLD_H
#define TESTS_VERDICT_WORLD_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "libbaro/verdict/client.h"
#include "libbaro/verdict/verdict_rule.h"

#define SECOND 1000000000ull
#define MB 1e6

/* ---- evidence by hand ---- */

struct world {
    struct evidence e;
    struct points history;
    struct fold fold; /* its row is the last one of the history */
};

/* A job of 100 s on a machine of 4 cores, all of which it may use; nothing else is known. It was one before, or is
 * zeroed. */
static void world_init(struct world *w)
{
    points_done(&w->history);
    memset(w, 0, sizeof(*w));
    evidence_init(&w->e);
    assert_int_equal(points_init(&w->history), 0);
    fold_init(&w->fold);
    memcpy(w->fold.name[0], "ld", 3);
    w->e.fold = &w->fold;
    w->e.wall_ns = w->e.job.wall_ns = 100e9;
    w->e.job.end_ns = 100 * SECOND;
    w->e.samples = 200;
    w->e.cores = w->e.host_cores = 4;
    w->e.cores_source = w->e.memory_source = "machine";
    w->e.exit_status = 0;
    w->e.job.flags[FOLD_RUN_DELAY] = BARO_VALUE_LOWER_BOUND; /* as it always is */
    w->e.job.flags[FOLD_BLOCKED] = BARO_VALUE_ESTIMATE;
}

/* Sets a term of a row. NAN: it was not read. */
static inline void set_term(struct fold_row *r, enum fold_term term, double value)
{
    r->absent[term] = isnan(value) ? BARO_ABSENT_NOT_YET : BARO_PRESENT;
    r->value[term] = isnan(value) ? 0 : whole_of(value + 0.5);
}

/* Sets it in a point. */
static inline void set_point(struct world *w, size_t i, enum fold_term term, double value)
{
    set_term(&w->history.at[i].row, term, value);
}

/* Cores that are used and waited for, from `from` to `to` seconds; in order, without gaps. */
static void demand(struct world *w, unsigned from, unsigned to, double cores, double delayed)
{
    struct points *h = &w->history;
    struct fold_row *r = &w->fold.row;
    for (unsigned t = from; t <= to; t++) {
        bool is_first = !h->n;
        if (!is_first && r->t_ns == t * SECOND)
            continue;
        r->t_ns = t * SECOND;
        r->runner = 1;
        set_term(r, FOLD_CPU, is_first ? 0 : (double)r->value[FOLD_CPU] + cores * 1e9);
        set_term(r, FOLD_RUN_DELAY, is_first ? 0 : (double)r->value[FOLD_RUN_DELAY] + delayed * 1e9);
        points_add(h, &w->fold);
    }
    w->e.history = h;
    stretch_fill(&w->e.job, h, NULL, 0, 100 * SECOND);
    w->e.cpu_ns = w->e.job.grown[FOLD_CPU];
    w->e.run_delay_ns = w->e.job.grown[FOLD_RUN_DELAY];
    w->e.cores_mean = w->e.cpu_ns / w->e.wall_ns;
}

static struct group *add_group(struct world *w, const char *name)
{
    struct group *g = &w->e.group[w->e.n_groups++];
    *g = (struct group){.periods = NAN,
                        .throttled_periods = NAN,
                        .throttled_ns = NAN,
                        .limit_hits = NAN,
                        .high_hits = NAN,
                        .memory_limit = NAN,
                        .memory_high = NAN,
                        .anon_most = NAN,
                        .file_most = NAN,
                        .quota_cores = NAN,
                        .ooms = NAN,
                        .memory = NAN};
    snprintf(g->name, sizeof(g->name), "%s", name);
    return g;
}

static void make_limit(struct world *w)
{
    static const struct limit_told told = {.use = ": 4.02 GB; largest: cc1 3.1 GB, ld 410 MB",
                                           .brief = ": 4.02 GB; largest: cc1 3.1 GB",
                                           .limit = "rss=4 GB",
                                           .name = "rss",
                                           .action = "SIGTERM",
                                           .by = "sample",
                                           .largest = "cc1",
                                           .value = 4.02e9,
                                           .most = 4e9,
                                           .t_ns = 12.3 * 1e9,
                                           .ends = true,
                                           .killed = 2,
                                           .left = 1,
                                           .left_name = "sudo",
                                           .left_why = "of another user: not permitted"};
    w->e.limit = &told;
    w->e.exit_signal = "SIGTERM";
}

static void make_oom(struct world *w)
{
    w->e.oom_kills = w->e.oom_kills_at_least = 1;
    w->e.victims = "python3";
    w->e.holder = "python3";
    w->e.memory_limit_bytes = 2e9;
    w->e.memory_peak_bytes = w->e.rss_peak_bytes = 1.98e9;
    w->e.memory_source = "cgroup /job memory.max";
    struct group *g = add_group(w, "/job");
    g->memory_limit = 2e9;
    g->limit_hits = 12;
    g->held = (struct group_held){1.98e9, 0, 8 * MB};
}

static void make_killed(struct world *w)
{
    w->e.exit_signal = "SIGSEGV";
    w->e.is_core_dumped = 1;
    w->e.exit_status = NAN;
}

static void make_pids_limit(struct world *w)
{
    w->e.forks_refused = 12;
    w->e.pids = 64;
    w->e.pids_source = "cgroup /job pids.max";
}

static void make_swap(struct world *w)
{
    w->e.swap_peak_bytes = 512 * MB;
    w->e.host_swap_in_bytes = 2e9;
    w->e.host_swap_out_bytes = 2.5e9;
    w->e.rss_peak_bytes = 1e9;
}

static struct group *make_short(struct world *w, double pressure)
{
    struct group *g = add_group(w, "/job");
    g->memory_limit = 512 * MB;
    g->limit_hits = 4812;
    w->e.job.grown[FOLD_GROUP_MEMORY] = pressure * 100e9;
    return g;
}

static void make_memory_limit(struct world *w)
{
    make_short(w, 0.41)->anon_most = 490 * MB;
    w->e.job.grown[FOLD_READ] = 3 * MB;
}

static void make_page_cache(struct world *w)
{
    make_short(w, 0.02)->anon_most = 20 * MB;
    w->e.job.grown[FOLD_READ] = w->e.io_read_bytes = 40e9;
    w->e.job.grown[FOLD_FAULTS] = 100 * 150;
    w->e.job.grown[FOLD_BLOCKED] = 71e9;
}

static void make_cpu_quota(struct world *w)
{
    struct group *g = add_group(w, "/a");
    demand(w, 0, 100, 0.5, 0.5);
    g->quota_cores = 0.5;
    g->periods = 1000;
    g->throttled_periods = 812;
    g->throttled_ns = w->e.throttled_ns = 49.2e9;
}

static void make_io_wait(struct world *w)
{
    w->e.job.grown[FOLD_BLOCKED] = 87e9;
    w->e.job.grown[FOLD_READ] = 1.2e9;
    w->e.job.grown[FOLD_WRITTEN] = 160 * MB;
}

static void make_lock_contention(struct world *w)
{
    demand(w, 0, 100, 0.7, 0.1);
    w->e.contender = (struct contender){"server", 8, 2.4e6, 70e9, 1200, 0};
    w->e.job.grown[FOLD_PACKETS] = 300;
    w->e.processes_started = 1;
}

static void make_cpu_neighbour(struct world *w)
{
    demand(w, 0, 100, 2, 2);
    w->e.host_others_cores = 2;
    w->e.host_mean_cores = 4;
}

static void make_cpu_steal(struct world *w)
{
    demand(w, 0, 100, 2, 0);
    w->e.host_steal_ratio = 0.08;
}

/* A GPU that was busy all the time, and on which nothing was wrong. */
static struct gpu_seen *add_gpu(struct world *w, const char *name)
{
    struct gpu_seen *g = &w->e.gpu[w->e.n_gpus++];
    *g = (struct gpu_seen){.name = name,
                           .model = "NVIDIA H100 80GB HBM3",
                           .is_used = 1,
                           .watched_ns = 100e9,
                           .busy = 0.95,
                           .busy_job = 0.9,
                           .memory_used_peak = 40e9,
                           .memory_total = 80e9,
                           .power_limit = 700};
    w->e.gpu_used = w->e.gpu_visible = (double)w->e.n_gpus;
    return g;
}

static void make_gpu_error(struct world *w)
{
    struct gpu_seen *g = add_gpu(w, "gpu0");
    g->xid_errors = 1;
    g->xid_last = 79;
}

static void make_gpu_shared(struct world *w)
{
    add_gpu(w, "gpu0")->busy_others = 0.4;
}

static void make_gpu_idle(struct world *w)
{
    demand(w, 0, 100, 1, 0);
    add_gpu(w, "gpu0")->busy = 0.38;
}

static void make_gpu_unused(struct world *w)
{
    add_gpu(w, "gpu0");
    add_gpu(w, "gpu1")->is_used = 0;
    w->e.gpu_used = 1;
}

static void make_gpu_memory(struct world *w)
{
    add_gpu(w, "gpu0")->memory_used_peak = 77.6e9;
}

static void make_gpu_throttled(struct world *w)
{
    add_gpu(w, "gpu0")->throttled_power_ns = 14e9;
}

static void make_near_limit(struct world *w)
{
    w->e.memory_peak_bytes = 1.94e9;
    w->e.memory_limit_bytes = 2e9;
    w->e.memory_peak_ratio = 0.97;
    w->e.memory_source = "cgroup /job memory.max";
    w->e.holder = "python3";
}

static void make_leak(struct world *w)
{
    demand(w, 0, 100, 0.5, 0);
    for (size_t i = 0; i < w->history.n; i++)
        set_point(w, i, FOLD_RSS, 100 * MB + 12 * MB * (double)i);
    w->e.holder = "python3";
    w->e.rss_peak_bytes = 1.3e9;
}

static void make_one_core(struct world *w)
{
    demand(w, 0, 100, 0.9, 0.1);
}

static void make_serial_tail(struct world *w)
{
    demand(w, 0, 70, 3.8, 0);
    demand(w, 70, 100, 1, 0);
}

static void make_slow_start(struct world *w)
{
    demand(w, 0, 30, 0.02, 0);
    demand(w, 30, 100, 3.8, 0);
}

static void make_many_processes(struct world *w)
{
    w->e.processes_started = 52104;
    w->e.cpu_ns = 94e9;
    w->e.command[0] = (struct heavy){"sed", 41203, 71e9, 0, 0};
    w->e.n_commands = 1;
}

static void make_few_cores(struct world *w)
{
    demand(w, 0, 100, 3.9, 4.1);
}

static void make_failed(struct world *w)
{
    static const struct failure why = {
        .first = {.process = {4711, 1}, .t_ns = 58900000000, .status_known = true, .status = 1 << 8, .name = "ld"},
        .is_of_child = true,
        .above = "make -C src",
        .after = "collect2, gcc, make",
        .n_after = 3,
        .n_named = 3,
        .n_before = 104};
    w->e.exit_status = 2;
    w->e.failure = &why;
}

static void make_network_wait(struct world *w)
{
    demand(w, 0, 100, 0.01, 0);
    w->e.job.grown[FOLD_SWITCHES] = 4812;
    w->e.job.grown[FOLD_PACKETS] = 9204;
}

static void make_client(struct world *w)
{
    w->e.clients = client_note("docker", "docker run image");
}

static void make_idle(struct world *w)
{
    demand(w, 0, 100, 0.001, 0);
    w->e.job.grown[FOLD_SWITCHES] = 12;
    w->e.job.grown[FOLD_PACKETS] = 9204;
}

static void make_dominates(struct world *w)
{
    w->e.cpu_ns = 44e9;
    w->e.command[0] = (struct heavy){"cc1", 812, 41e9, 0, 0};
    w->e.n_commands = 1;
    w->e.n_all_commands = 9;
}

static void make_right_size(struct world *w)
{
    demand(w, 0, 100, 1.9, 0);
    w->e.memory_peak_bytes = w->e.memory_at_most_bytes = 213 * MB;
}

static const struct made {
    const char *rule;
    void (*make)(struct world *w);
} made[] = {
    {"limit", make_limit},
    {"oom", make_oom},
    {"killed", make_killed},
    {"failed", make_failed},
    {"pids-limit", make_pids_limit},
    {"swap", make_swap},
    {"memory-limit", make_memory_limit},
    {"page-cache", make_page_cache},
    {"gpu-error", make_gpu_error},
    {"gpu-shared", make_gpu_shared},
    {"cpu-quota", make_cpu_quota},
    {"io-wait", make_io_wait},
    {"lock-contention", make_lock_contention},
    {"cpu-neighbour", make_cpu_neighbour},
    {"cpu-steal", make_cpu_steal},
    {"client", make_client},
    {"gpu-idle", make_gpu_idle},
    {"gpu-unused", make_gpu_unused},
    {"gpu-memory", make_gpu_memory},
    {"gpu-throttled", make_gpu_throttled},
    {"memory-near-limit", make_near_limit},
    {"leak", make_leak},
    {"one-core", make_one_core},
    {"serial-tail", make_serial_tail},
    {"slow-start", make_slow_start},
    {"many-processes", make_many_processes},
    {"few-cores", make_few_cores},
    {"network-wait", make_network_wait},
    {"idle", make_idle},
    {"dominates", make_dominates},
    {"right-size", make_right_size},
};
#define MADE ((int)(sizeof(made) / sizeof(*made)))

static inline const struct verdict_rule *find_rule(const char *name)
{
    for (int i = 0; i < verdict_rule_count; i++) {
        if (strcmp(verdict_rules[i]->is.name, name) == 0)
            return verdict_rules[i];
    }
    fail_msg("no rule %s", name);
    return NULL;
}

#endif
