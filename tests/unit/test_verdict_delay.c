/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts where it was not read how long threads waited for a core, or not lately; what is not the job's doing; GPUs
 * that can't be read; what ran out of memory. */
#include <math.h>

#include "unit.h"
#include "baro/tape.h"
#include "libbaro/sample/sample.h"
#include "libbaro/verdict/gather.h"
#include "libbaro/verdict/verdict_rule.h"
#include "verdict_world.h"

static struct world w;

#define MS 1000000ull

/* The title of what the rule finds; "" if nothing. */
static const char *says(const char *name)
{
    static char title[512];
    struct finding f = {.begin_ns = w.e.job.begin_ns, .end_ns = w.e.job.end_ns};
    title[0] = 0;
    for (int i = 0; i < verdict_rule_count; i++) {
        if (strcmp(verdict_rules[i]->is.name, name) == 0 && verdict_rules[i]->apply(&w.e, &w.e.job, &f))
            snprintf(title, sizeof(title), "%.*s", (int)f.title.len, (const char *)f.title.at);
    }
    finding_done(&f);
    return title;
}

/* 100 s of work for one core, of which `read` s of CPU time have a run delay. */
static void one_core(double read)
{
    world_init(&w);
    demand(&w, 0, 100, 0.5, 0.5);
    for (size_t i = 0; i < w.history.n; i++)
        set_point(&w, i, FOLD_DELAY_CPU, (double)w.history.at[i].row.value[FOLD_CPU] * read / 50);
    stretch_fill(&w.e.job, &w.history, NULL, 0, 100 * SECOND);
}

TEST(little_work_needs_the_delay)
{
    one_core(50);
    assert_true(*says("one-core"));
    one_core(39);
    assert_false(*says("one-core"));
    assert_true(isnan(stretch_demand_within(&w.e, &w.e.job, 0, 10 * SECOND)));
    /* While a quarter of the cores is idle nobody waits. */
    for (size_t i = 0; i < w.history.n; i++) {
        set_point(&w, i, FOLD_HOST_TIME, (double)w.history.at[i].row.t_ns);
        set_point(&w, i, FOLD_HOST_BUSY, 3 * (double)w.history.at[i].row.t_ns);
    }
    assert_true(stretch_demand_within(&w.e, &w.e.job, 0, 10 * SECOND) == 1);
    one_core(39);
    w.e.job.grown[FOLD_CPU] = w.e.job.grown[FOLD_RUN_DELAY] = 5e9;
    w.e.job.grown[FOLD_DELAY_CPU] = 2e9;
    assert_false(*says("idle"));
    w.e.job.grown[FOLD_DELAY_CPU] = 4e9;
    assert_true(*says("idle"));
}

/* What was read of much work is enough to say that there was much. */
TEST(much_work_does_not)
{
    world_init(&w);
    demand(&w, 0, 100, 4, 4);
    stretch_fill(&w.e.job, &w.history, NULL, 0, 100 * SECOND);
    w.e.job.grown[FOLD_DELAY_CPU] = 100e9;
    assert_true(*says("few-cores"));
}

/* 2 cores of 4 are used and 4 threads can run for 50 s, then one. */
TEST(service_has_no_steps)
{
    for (int i = 0; i < 3; i++) {
        world_init(&w);
        demand(&w, 0, 50, 2, 2);
        demand(&w, 51, 100, 1, 0);
        stretch_fill(&w.e.job, &w.history, NULL, 0, 100 * SECOND);
        w.e.mode = i == 1 ? "attach" : "run";
        w.e.is_running = i == 2;
        assert_true(!*says("serial-tail") == (i > 0));
    }
}

/* Its threads waited 200 s; others had 1.2 of 4 cores for 100 s. */
TEST(neighbours_take_no_more_than_they_use)
{
    world_init(&w);
    w.e.job.grown[FOLD_CPU] = 200e9;
    w.e.job.grown[FOLD_RUN_DELAY] = 200e9;
    w.e.host_mean_cores = 3.2;
    w.e.host_others_cores = 1.2;
    const char *title = says("cpu-neighbour");
    assert_non_null(strstr(title, "it waited at least 2 min 00 s for a core"));
    assert_non_null(strstr(title, "Besides, its threads waited for each other at least 80.0 s"));
}

/* Of a rank it is memory for each CPU, as --mem is for all ranks of a node. */
TEST(what_a_rank_asks_for)
{
    struct finding f = {0};
    world_init(&w);
    w.e.memory_peak_bytes = w.e.memory_at_most_bytes = 213e6;
    w.e.exit_signal = "";
    for (int ranks = 0; ranks < 2; ranks++) {
        w.e.ranks_beside = ranks;
        for (int i = 0; i < verdict_rule_count; i++) {
            if (strcmp(verdict_rules[i]->is.name, "right-size") == 0)
                assert_true(verdict_rules[i]->apply(&w.e, &w.e.job, &f));
        }
        buf_byte(&f.advice, 0);
        assert_int_equal(strstr((const char *)f.advice.at, "--mem-per-cpu=") != NULL, ranks == 1);
        assert_int_equal(strstr((const char *)f.advice.at, "--mem=") != NULL, ranks == 0);
        finding_done(&f);
        f = (struct finding){0};
    }
}

/* What the other ranks of the machine used is among what others used. */
TEST(ranks_of_the_job_are_no_others)
{
    world_init(&w);
    w.e.job.grown[FOLD_CPU] = w.e.job.grown[FOLD_RUN_DELAY] = 200e9;
    w.e.host_mean_cores = 3.2;
    w.e.host_others_cores = 1.2;
    w.e.ranks_beside = 3;
    assert_non_null(strstr(says("cpu-neighbour"), "machine, 3 other ranks of the job among them, kept 1.2"));
    w.e.ranks_beside = 0;
    assert_non_null(strstr(says("cpu-neighbour"), "Other processes of the machine kept 1.2"));
}

TEST(a_curve_that_was_never_read)
{
    struct points h;
    struct fold f;
    fold_init(&f);
    assert_int_equal(points_init(&h), 0);
    points_begin(&h, 0); /* all are 0 */
    f.row.t_ns = 5 * SECOND;
    set_term(&f.row, FOLD_CPU, 7);
    points_add(&h, &f);
    assert_true(points_growth(&h, FOLD_CPU, 0, 5 * SECOND) == 7);
    assert_true(isnan(points_growth(&h, FOLD_RUN_DELAY, 0, 5 * SECOND)));
    points_done(&h);
}

/* One reading in ten samples is not lost when points are dropped. */
TEST(rare_readings_stay)
{
    struct points h;
    struct fold f;
    size_t known = 0;
    fold_init(&f);
    assert_int_equal(points_init(&h), 0);
    for (uint64_t i = 0; i < 50000; i++) {
        f.row.t_ns = i * 100 * MS;
        set_term(&f.row, FOLD_RUN_DELAY, i % 10 ? NAN : (double)f.row.t_ns);
        points_add(&h, &f);
    }
    for (size_t i = 0; i < h.n; i++)
        known += h.at[i].row.absent[FOLD_RUN_DELAY] == BARO_PRESENT;
    assert_true(known > h.n / 2);
    points_done(&h);
}

/* ---- from samples ---- */

struct tape_world {
    struct gather g;
    struct fold fold;
    struct points history;
    struct baro_process process, *list[1];
    struct baro_sample sample;
};

static void tape_init(struct tape_world *tape)
{
    *tape = (struct tape_world){.process = {.id = 1, .key = {100, 1}, .name = (char *)"java"}};
    tape->list[0] = &tape->process;
    memset(tape->process.absent, BARO_ABSENT_NOT_YET, sizeof(tape->process.absent));
    memset(tape->sample.job_absent, BARO_ABSENT_NOT_YET, sizeof(tape->sample.job_absent));
    memset(tape->sample.host_absent, BARO_ABSENT_NOT_YET, sizeof(tape->sample.host_absent));
    tape->sample.n = 1;
    tape->sample.processes = tape->list;
    gather_init(&tape->g);
    fold_init(&tape->fold);
    assert_int_equal(points_init(&tape->history), 0);
}

static void put(struct baro_process *p, enum process_metric id, uint64_t v)
{
    p->value[id] = v;
    p->absent[id] = BARO_PRESENT;
}

static void put_job(struct baro_sample *s, enum job_metric id, uint64_t v)
{
    s->job[id] = v;
    s->job_absent[id] = BARO_PRESENT;
}

static void add(struct tape_world *tape, uint64_t t_ns)
{
    struct baro_record record = {.kind = BARO_RECORD_SAMPLE, .t_ns = t_ns};
    tape->sample.t_ns = t_ns;
    record.u.sample = &tape->sample;
    gather_add(&tape->g, &record);
    fold_add(&tape->fold, &tape->sample);
    points_add(&tape->history, &tape->fold);
}

/* A storm of 419 threads made 9,000 switches, 8 threads make 80,000. */
TEST(threads_that_switch)
{
    struct tape_world tape;
    struct evidence e;
    tape_init(&tape);
    put(&tape.process, PROCESS_state, 'S');
    for (uint64_t i = 0; i <= 20; i++) {
        put(&tape.process, PROCESS_threads, i <= 10 ? 419 : 8);
        put(&tape.process, PROCESS_switches_voluntary, i <= 10 ? i * 900 : 9000 + (i - 10) * 8000);
        add(&tape, i * SECOND);
    }
    evidence_init(&e);
    e.history = &tape.history;
    gather_finish(&tape.g, &e);
    assert_true(e.contender.threads == 8 && e.contender.switches == 89000);
    points_done(&tape.history);
}

/* Two cores are used all the time, and the delay of 2 a second is read every 4 s alone. */
TEST(old_delay_is_no_reading)
{
    struct tape_world tape;
    tape_init(&tape);
    for (uint64_t i = 0; i <= 20; i++) {
        put_job(&tape.sample, JOB_cpu, i * 2 * SECOND);
        put_job(&tape.sample, JOB_run_delay, i / 4 * 8 * SECOND);
        put_job(&tape.sample, JOB_run_delay_lag, i % 4 * 2 * SECOND);
        add(&tape, i * SECOND);
    }
    assert_true(points_distance(&tape.history, FOLD_RUN_DELAY, 3 * SECOND) == 1e9);
    assert_true(points_distance(&tape.history, FOLD_RUN_DELAY, 4 * SECOND) == 0);
    assert_true(points_growth(&tape.history, FOLD_RUN_DELAY, 1 * SECOND, 3 * SECOND) == 4e9);
    points_done(&tape.history);
}

TEST(gpus_that_cannot_be_read)
{
    world_init(&w);
    make_gpu_unused(&w);
    assert_string_equal(says("gpu-unused"), "It used 1 of 2 GPUs: gpu1 was never used.");
    add_gpu(&w, "gpu2")->is_used = NAN;
    w.e.gpu_used = 1;
    w.e.flags.gpu_used = BARO_VALUE_LOWER_BOUND; /* it may have used the third */
    assert_string_equal(says("gpu-unused"), "It used at least 1 of 2 GPUs that can be read: gpu1 was never used.");
    w.e.gpu[1].is_used = NAN;
    assert_string_equal(says("gpu-unused"), "");
}

/* What was in use is said of the group whose limit was hit; who held it, where processes held most. */
TEST(what_ran_out)
{
    static const struct {
        double killed, rss, memory, cache, ooms; /* shares of the limit; whether the group ran out of memory */
        struct group_held held;
        const char *title; /* its end; NULL: no verdict */
    } cases[] = {
        {1, 0.03, 1, 0, 1, {0, 0.99, 0}, "tmpfs (/dev/shm), which no process maps."},
        {1,
         0.9,
         1,
         0,
         1,
         {0.1, 0.89, 0},
         "and 890 MB of it was shared memory or tmpfs (/dev/shm); most was held by a."},
        {1,
         0.03,
         1,
         0,
         1,
         {0.1, 0.7, 0},
         "and at least 700 MB of it was shared memory or tmpfs (/dev/shm), which no "
         "process maps."},
        {1, 0.1, 1, 0, 1, {0.1, 0.1, 0.8}, "and 800 MB of it was memory of the kernel (pipes, sockets)."},
        {1, 0.03, 1, 0, NAN, {0.01, 0.01, 0}, "the limit is 1.00 GB (cgroup /job memory.max)."}, /* read before it grew
                                                                                                  */
        {1, 0.9, 1, 0, NAN, {0.01, 0.01, 0}, "and 900 MB was seen in use; most of that was held by a."},
        {1, 0.9, 1, 0, 0, {0.9, 0.1, 0}, "the limit is 4.00 GB (cgroup /pod)."},
        {0,
         0.03,
         0.98,
         0,
         0,
         {0, 0.97, 0.01},
         "of 1.00 GB (cgroup /job memory.max) was 98 % full in the last sample, and 970 MB"
         " of it was shared memory or tmpfs (/dev/shm), which no process maps."},
        {0, 0.03, 0.89, 0, 0, {0, 0.89, 0}, NULL},
        {0, 0.03, 0.98, 0.3, 0, {0.6, 0, 0}, NULL}, /* the kernel would have dropped page cache */
        {0, 0.9, 0.98, 0, 0, {0, 0, 0}, "last sample, and 900 MB was seen in use; most of that was held by a."},
        {0, 0.9, 0.98, 0.97, 0, {0, 0, 0}, "98 % full in the last sample, and 900 MB was seen in use"}, /* read before
                                                                                                         */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        world_init(&w);
        struct group *g = add_group(&w, "/job"), *pod = add_group(&w, "/pod");
        g->memory_limit = w.e.memory_limit_bytes = 1000 * MB;
        pod->memory_limit = 4000 * MB;
        pod->ooms = isnan(cases[i].ooms) ? NAN : 1;
        pod->memory = 1000 * MB;
        g->ooms = cases[i].ooms;
        g->memory = cases[i].memory * g->memory_limit;
        g->cache = cases[i].cache * g->memory_limit;
        g->held.anon = cases[i].held.anon * g->memory_limit;
        g->held.shmem = cases[i].held.shmem * g->memory_limit;
        g->held.kernel = cases[i].held.kernel * g->memory_limit;
        w.e.memory_source = "cgroup /job memory.max";
        w.e.holder = "a";
        w.e.oom_kills = w.e.oom_kills_at_least = cases[i].killed;
        w.e.is_cut_off = !cases[i].killed;
        w.e.rss_peak_bytes = w.e.memory_peak_bytes = cases[i].rss * g->memory_limit;
        w.fold.row.t_ns = SECOND;
        set_term(&w.fold.row, FOLD_RSS, w.e.rss_peak_bytes);
        points_add(&w.history, &w.fold);
        w.e.history = &w.history;
        const char *title = says("oom");
        if (!cases[i].title ? *title : !strstr(title, cases[i].title))
            fail_msg("case %zu: %s", i, title);
        assert_int_equal(is_out_of_memory(&w.e), *title != 0);
        w.e.is_cut_off = false; /* it goes on */
        assert_int_equal(is_out_of_memory(&w.e), cases[i].killed);
        w.e.memory_peak_ratio = 0.98;
        w.e.memory_peak_bytes = 980 * MB; /* with what is in tmpfs */
        assert_int_equal(strstr(says("memory-near-limit"), "which no process maps") != NULL,
                         !cases[i].killed && cases[i].held.shmem > 0.5);
        assert_int_equal(strstr(says("memory-near-limit"), "held by a") != NULL,
                         !cases[i].killed && cases[i].rss > 0.5);
    }
}
