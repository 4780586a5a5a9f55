/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule, the overhead budget, and what the recorder reports about itself. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"
#include "base/clock.h"
#include "files.h"
#include "recorder/collectors/processes/job_row.h"
#include "recorder/collectors/processes/process.h"
#include "recorder/collectors/processes/processes.h"
#include "recorder/collectors/processes/pss.h"
#include "recorder/sampling/budget.h"
#include "recorder/sampling/own_cost.h"
#include "recorder/sampling/schedule.h"

TEST(auto_interval)
{
    assert_int_equal(schedule_interval(0, 0), 10 * NS_PER_MS);
    assert_int_equal(schedule_interval(0, 1 * NS_PER_SEC), 10 * NS_PER_MS);
    assert_int_equal(schedule_interval(0, 5 * NS_PER_SEC), 50 * NS_PER_MS);
    assert_int_equal(schedule_interval(0, 100 * NS_PER_SEC), NS_PER_SEC);
    assert_int_equal(schedule_interval(0, 360000 * NS_PER_SEC), NS_PER_SEC);
    assert_int_equal(schedule_interval(250 * NS_PER_MS, 5), 250 * NS_PER_MS);
}

TEST(grid_does_not_drift)
{
    uint64_t due = 0, missed = 0, late;
    for (uint64_t k = 1; k <= 1000; k++) {
        late = due + k * 7919 % NS_PER_MS; /* each tick takes its time */
        due = schedule_next(100 * NS_PER_MS, due, late, &missed);
        assert_int_equal(due, k * 100 * NS_PER_MS);
        assert_int_equal(missed, 0);
    }
}

TEST(stalls_are_counted)
{
    uint64_t missed;
    /* due at 1 s, came at 4.35 s: 1.1 ... 4.3 were missed, 4.4 is next */
    uint64_t next = schedule_next(100 * NS_PER_MS, NS_PER_SEC, 4350 * NS_PER_MS, &missed);
    assert_int_equal(next, 4400 * NS_PER_MS);
    assert_int_equal(missed, 33);
    next = schedule_next(0, 3600 * NS_PER_SEC, 7200 * NS_PER_SEC, &missed);
    assert_true(next > 7200 * NS_PER_SEC);
    assert_int_equal(missed, 3600);
}

TEST(checks_are_far_apart_while_idle)
{
    assert_int_equal(schedule_check(0, 20 * NS_PER_MS), 30 * NS_PER_MS);
    assert_int_equal(schedule_check(NS_PER_SEC, 2 * NS_PER_SEC), 2125 * NS_PER_MS);
    assert_int_equal(schedule_check(NS_PER_SEC, 20 * NS_PER_SEC), 20250 * NS_PER_MS);
    assert_int_equal(schedule_check(NS_PER_SEC, 200 * NS_PER_SEC), 201 * NS_PER_SEC);
    for (int alone = 0; alone < 2; alone++) {
        assert_int_equal(schedule_quiet(0, 0, alone), 30 * NS_PER_MS);
        assert_int_equal(schedule_quiet(NS_PER_SEC, 2 * NS_PER_SEC, alone), 500 * NS_PER_MS);
    }
    assert_int_equal(schedule_quiet(NS_PER_SEC, 21 * NS_PER_SEC, false), NS_PER_SEC);
    assert_int_equal(schedule_quiet(NS_PER_SEC, 21 * NS_PER_SEC, true), 10 * NS_PER_SEC);
    assert_int_equal(schedule_quiet(NS_PER_SEC, 210 * NS_PER_SEC, true), 30 * NS_PER_SEC);
}

/* Samples of cost_ns, planned every interval_ns, until the time is over. Returns their total cost; *ret_most: the most
 * within one second, without the first. */
static uint64_t play(struct budget *b, uint64_t interval_ns, uint64_t cost_ns, uint64_t until_ns, uint64_t *ret_most)
{
    uint64_t spent = 0, second = 0, in_second = 0;
    *ret_most = 0;
    for (uint64_t t = interval_ns; t < until_ns;) {
        if (t / NS_PER_SEC != second) {
            *ret_most = second && in_second > *ret_most ? in_second : *ret_most;
            second = t / NS_PER_SEC;
            in_second = 0;
        }
        spent += cost_ns;
        in_second += cost_ns;
        budget_spend(b, t, cost_ns, 0, 0);
        t = budget_wait(b, t, t + interval_ns, interval_ns);
    }
    return spent;
}

TEST(samples_wait_until_they_are_paid_for)
{
    struct budget b;
    uint64_t most, ten = 10 * NS_PER_SEC, costs[] = {50000, 300000, 5000000, 30000000};
    for (size_t i = 0; i < sizeof(costs) / sizeof(*costs); i++) {
        for (uint64_t ppm = 1000; ppm <= 10000; ppm *= 10) {
            uint64_t allowed = 10 * NS_PER_MS + ten / 1000000 * ppm;
            budget_init(&b, ppm);
            uint64_t spent = play(&b, 10 * NS_PER_MS, costs[i], ten, &most);
            assert_true(spent <= allowed + costs[i]);
            assert_true(spent >= allowed / 2 || spent == costs[i] * 999); /* and few are left out without need */
            assert_true(i == 0 ||
                        most <= NS_PER_SEC / 1000000 * ppm * 5 / 4 +
                                    costs[i]); /* with the cheapest ones what the account begins with lasts longer */
        }
    }
    budget_init(&b, 0); /* no limit */
    assert_int_equal(play(&b, 10 * NS_PER_MS, 5000000, ten, &most), 999ull * 5000000);
}

TEST(reads_that_cannot_wait_delay_samples_for_a_while)
{
    struct budget b;
    budget_init(&b, 10000);
    budget_spend(&b, NS_PER_SEC, 200000, 0, NS_PER_SEC); /* a second of events */
    assert_in_range(budget_wait(&b, NS_PER_SEC, 1010 * NS_PER_MS, 10 * NS_PER_MS), 2010 * NS_PER_MS, 2030 * NS_PER_MS);
    budget_init(&b, 10000);
    budget_spend(&b, NS_PER_SEC, 200000, NS_PER_SEC, 0); /* a second of a helper's reads */
    assert_in_range(budget_wait(&b, NS_PER_SEC, 1010 * NS_PER_MS, 10 * NS_PER_MS), 3010 * NS_PER_MS, 3030 * NS_PER_MS);
}

/* Two samples of 0.5 ms at the edges of a phase of 10 ms, with an account that is empty: each at once. A flood of edges
 * costs what the budget allows, and half a second's worth of it once. */
TEST(samples_at_edges_are_taken_on_credit)
{
    struct budget b;
    uint64_t spent = 0, t = NS_PER_SEC;
    budget_init(&b, 10000);
    budget_spend(&b, t, 10 * NS_PER_MS, 0, 0); /* the start is used up */
    for (int i = 0; i < 2; i++, t += 10 * NS_PER_MS) {
        assert_true(budget_wait(&b, t, t, NS_PER_SEC) > t + 10 * NS_PER_MS || i == 0);
        assert_int_equal(budget_wait_edge(&b, t), t);
        budget_spend(&b, t, NS_PER_MS / 2, 0, 0);
    }
    for (uint64_t end = t + 10 * NS_PER_SEC; t < end; t = budget_wait_edge(&b, t + NS_PER_MS)) {
        budget_spend(&b, t, NS_PER_MS / 2, 0, 0);
        spent += NS_PER_MS / 2;
    }
    assert_in_range(spent, 100 * NS_PER_MS, 110 * NS_PER_MS);
    budget_init(&b, 0);
    assert_int_equal(budget_wait_edge(&b, 5), 5);
}

TEST(budget_thins_and_recovers)
{
    struct budget b;
    uint64_t t = 0;
    budget_init(&b, 10000);
    assert_false(budget_update(&b, NS_PER_SEC));
    assert_int_equal(b.level, BUDGET_ALL);
    /* 5 ms every 10 ms where 0.1 ms are allowed */
    for (int i = 0; i < 10; i++) {
        t += NS_PER_SEC;
        budget_spend(&b, t, 5 * NS_PER_MS, 0, 0);
        budget_spend(&b, t, 5 * NS_PER_MS, 0, 0);
        budget_wait(&b, t, t + 10 * NS_PER_MS, 10 * NS_PER_MS);
        budget_update(&b, t);
    }
    assert_int_equal(b.level, BUDGET_LEAST);
    /* then samples that never have to wait */
    for (int i = 0; i < 10; i++) {
        t += NS_PER_SEC;
        budget_spend(&b, t, 100000, 0, 0);
        budget_wait(&b, t, t + 100 * NS_PER_MS, 100 * NS_PER_MS);
        budget_update(&b, t);
    }
    assert_int_equal(b.level, BUDGET_ALL);
}

TEST(no_budget_never_thins)
{
    struct budget b;
    struct read_budget a;
    budget_init(&b, 0);
    budget_spend(&b, NS_PER_SEC, 10 * NS_PER_SEC, 0, 0);
    assert_false(budget_update(&b, 10 * NS_PER_SEC));
    read_budget_init(&a);
    assert_true(read_budget_take(&a, &b, 0, NS_PER_SEC, false));
    assert_int_equal(budget_pause(&b, NS_PER_MS, 4), 400 * NS_PER_MS);
}

TEST(a_job_of_many_cores_pays_for_its_size)
{
    static const uint64_t cores[] = {0, 2, 16, 64}, wait_us[] = {100000, 100000, 12500, 3125};
    for (size_t i = 0; i < sizeof(cores) / sizeof(*cores); i++) {
        struct budget b;
        budget_init(&b, 10000);
        budget_spend(&b, NS_PER_SEC, NS_PER_MS, 0, 9 * NS_PER_MS); /* nothing is left of the start */
        budget_note_job(&b, NS_PER_SEC, cores[i] * NS_PER_SEC);
        budget_note_job(&b, 2 * NS_PER_SEC - 1, cores[i] * NS_PER_SEC); /* less than a second later */
        uint64_t waits = budget_wait(&b, NS_PER_SEC, NS_PER_SEC, NS_PER_MS) - NS_PER_SEC;
        assert_in_range(waits, wait_us[i] * 1000 - 2, wait_us[i] * 1000 + 2);
    }
}

TEST(smaps_are_paid_for)
{
    struct budget b;
    struct read_budget a;
    budget_init(&b, 10000); /* 10 ms a second, a quarter of it for such reads */
    read_budget_init(&a);
    while (read_budget_take(&a, &b, 0, NS_PER_MS, false)) {
    }
    assert_false(read_budget_take(&a, &b, 200 * NS_PER_MS, NS_PER_MS, false)); /* 0.5 ms earned */
    assert_true(read_budget_take(&a, &b, 600 * NS_PER_MS, NS_PER_MS, false));
    assert_true(read_budget_take(&a, &b, 620 * NS_PER_MS, 30 * NS_PER_MS, true));   /* a peak may exceed the account */
    assert_false(read_budget_take(&a, &b, 620 * NS_PER_MS, 30 * NS_PER_MS, true));  /* once, */
    assert_false(read_budget_take(&a, &b, 3620 * NS_PER_MS, 30 * NS_PER_MS, true)); /* paid back: 7.5 ms in 3 s */
    assert_true(read_budget_take(&a, &b, 13620 * NS_PER_MS, 30 * NS_PER_MS,
                                 false)); /* a cost that can never be afforded is paid when the account is full */
    assert_false(read_budget_take(&a, &b, 13620 * NS_PER_MS, NS_PER_MS, false));
}

TEST(periods_follow_cost_and_budget)
{
    const uint64_t least = 100 * NS_PER_MS;
    assert_int_equal(schedule_period(least, 0, 10000, BUDGET_ALL), least);
    assert_int_equal(schedule_period(least, NS_PER_MS, 10000, BUDGET_ALL), NS_PER_SEC);
    assert_int_equal(schedule_period(least, NS_PER_MS, 0, BUDGET_ALL), 200 * NS_PER_MS);
    assert_int_equal(schedule_period(least, NS_PER_MS, 50000, BUDGET_ALL), 200 * NS_PER_MS);
    assert_int_equal(schedule_period(least, NS_PER_MS, 1000, BUDGET_ALL), 10 * NS_PER_SEC);
    assert_int_equal(schedule_period(least, NS_PER_MS, 10000, BUDGET_SPARSE), NS_PER_SEC);
    assert_int_equal(schedule_period(least, NS_PER_SEC, 10000, BUDGET_ALL), 20 * NS_PER_SEC);
}

/* ---- the table of collectors ---- */

struct counting {
    struct worker *worker;
    unsigned ticks, finished, closed;
    bool reads, quiet;
};

static bool count_tick(void *state, const struct collector_tick *t)
{
    struct counting *c = state;
    c->ticks++;
    return c->reads;
}

static bool count_quiet(void *state, uint64_t now_ns)
{
    return ((struct counting *)state)->quiet;
}

static void count_finish(void *state)
{
    ((struct counting *)state)->finished++;
}

static void count_close(void *state)
{
    ((struct counting *)state)->closed++;
}

static struct worker *worker_of(const void *state)
{
    return ((const struct counting *)state)->worker;
}

static void rest(const struct worker_child *c)
{
    for (;;)
        worker_rest(c, NS_PER_SEC);
}

static void turn(struct collectors *c, uint64_t now_ns, enum budget_level level, bool last)
{
    const struct collector_tick t = {now_ns, level, last, NULL};
    collectors_tick(c, &t, 10000);
}

TEST(collectors_run_in_turn)
{
    static struct collectors c;
    static const struct collector each = {.name = "each",
                                          .tick = count_tick,
                                          .is_quiet = count_quiet,
                                          .finish = count_finish,
                                          .close = count_close,
                                          .worker = worker_of};
    static const struct collector periodic = {.name = "periodic", .tick = count_tick, .period_ns = 100 * NS_PER_MS};
    struct counting a = {.quiet = true}, b = {.reads = true};
    const struct worker_options o = {.shared_bytes = sizeof(struct worker_shared), .live = rest};
    assert_int_equal(worker_new(&a.worker, &o, NULL), 0);
    assert_int_equal(worker_start(a.worker), 0);
    assert_int_equal(collectors_add(&c, &each, &a), 0);
    assert_int_equal(collectors_add(&c, &periodic, &b), 0);
    turn(&c, 30 * NS_PER_MS, BUDGET_ALL, false);
    assert_int_equal(b.ticks, 1);
    turn(&c, 120 * NS_PER_MS, BUDGET_ALL, false);
    turn(&c, 30 * NS_PER_MS, BUDGET_ALL, true); /* the last turn, but it was read at that very time */
    assert_int_equal(b.ticks, 1);
    turn(&c, 35 * NS_PER_MS, BUDGET_ALL, true); /* changes in the last 5 ms are read, too */
    assert_int_equal(b.ticks, 2);
    turn(&c, 900 * NS_PER_MS, BUDGET_LEAST, false);
    assert_int_equal(b.ticks, 2);
    turn(&c, 20 * NS_PER_SEC, BUDGET_LEAST, false);
    assert_int_equal(b.ticks, 3);
    b.reads = false;
    turn(&c, 21 * NS_PER_SEC, BUDGET_ALL, false); /* nothing was read: it is read again */
    turn(&c, 21 * NS_PER_SEC + 1, BUDGET_ALL, false);
    assert_int_equal(b.ticks, 5);
    b.reads = true;
    turn(&c, 22 * NS_PER_SEC, BUDGET_ALL, false);
    turn(&c, 22 * NS_PER_SEC + 1, BUDGET_ALL, false);
    assert_int_equal(b.ticks, 6);
    collectors_hurry(&c, &periodic);
    turn(&c, 22 * NS_PER_SEC + 2, BUDGET_ALL, false);
    assert_int_equal(b.ticks, 7);
    assert_int_equal(a.ticks, 11);
    assert_true(collectors_are_quiet(&c, 0));
    a.quiet = false;
    assert_false(collectors_are_quiet(&c, 0));
    collectors_retire(&c, &a); /* it has nothing to read: no turns, and what it says of rest does not count */
    turn(&c, 30 * NS_PER_SEC, BUDGET_ALL, false);
    assert_int_equal(a.ticks, 11);
    assert_int_equal(b.ticks, 8);
    assert_true(collectors_are_quiet(&c, 0));
    assert_ptr_equal(collectors_worker(&c, 0), a.worker);
    assert_null(collectors_worker(&c, 1));
    collectors_finish(&c);
    assert_int_equal(worker_pid(a.worker), 0); /* it was killed */
    collectors_close(&c, true);
    assert_int_equal(a.closed, 0);
    collectors_close(&c, false);
    assert_int_equal(a.finished, 1);
    assert_int_equal(a.closed, 1);
    worker_free(a.worker);
    for (size_t i = 0; i < COLLECTORS_MOST; i++)
        assert_int_equal(collectors_add(&c, &each, &a), 0);
    assert_int_equal(collectors_add(&c, &each, &a), -ENOSPC);
}

TEST(collectors_report_what_they_serve_and_leave_out)
{
    struct collectors c = {0};
    char text[256];
    assert_true(collector_serves(&memory_collector, BARO_KIND_PROCESS, PROCESS_pss));
    assert_false(collector_serves(&memory_collector, BARO_KIND_PROCESS, PROCESS_cpu));
    assert_false(collector_serves(&memory_collector, BARO_KIND_PROCESS, PROCESS_MAX));
    assert_true(collector_serves(&processes_collector, BARO_KIND_PROCESS, PROCESS_cpu));
    assert_false(collector_serves(&processes_collector, BARO_KIND_PROCESS, PROCESS_pss));
    assert_true(collector_serves(&job_collector, BARO_KIND_JOB, JOB_cpu));
    collectors_add(&c, &processes_collector, NULL);
    collectors_add(&c, &memory_collector, NULL);
    assert_string_equal(collectors_left_out(&c, BUDGET_ALL, text, sizeof(text)), "all is read again");
    assert_string_equal(collectors_left_out(&c, BUDGET_LESS, text, sizeof(text)), "pss and uss only at peaks");
    assert_string_equal(collectors_left_out(&c, BUDGET_SPARSE, text, sizeof(text)),
                        "pss and uss only at peaks; status, descriptors and run delay of one thread "
                        "once a second at most");
    assert_string_equal(collectors_left_out(&c, BUDGET_LEAST, text, sizeof(text)),
                        "pss and uss only at peaks; all but stat once a second at most");
}

#define STATUS(pid, anon, file)                                                                                        \
    "Name:\tbaro\nTgid:\t" #pid "\nVmRSS:\t9999 kB\nRssAnon:\t" anon " kB\nRssFile:\t" file " kB\nRssShmem:\t4 kB\n"

/* CPU time and memory of barograph's own processes: a process that has ended adds 0, and one that can't be read makes
 * the value absent, which is not 0. Pages of the program count once: 300 + 50 and the larger of 1,204 and 604 kB. */
TEST(own_memory)
{
    char dir[sizeof(FILES_NAME)];
    static struct sampling s;
    static struct account account;
    static struct job job;
    struct own_cost o;
    uint64_t *v = s.sample.self;
    files_make(dir);
    files_put(dir, "7/status", STATUS(7, "300", "600"));
    files_put(dir, "8/status", STATUS(8, "50", "1200"));
    s = (struct sampling){
        .account = &account,
        .text = account.text,
        .job = &job,
        .options = {.proc_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .page_size = 4096, .self = {7, 8}}};
    const struct worker_options w = {.shared_bytes = sizeof(struct worker_shared), .live = rest};
    struct worker *gone; /* there is no file of it */
    assert_int_equal(worker_new(&gone, &w, NULL), 0);
    assert_int_equal(worker_start(gone), 0);
    account_add(&account, gone);
    s.now_ns = NS_PER_SEC;
    own_cost_init(&o, &s);
    own_cost_fill(&o);
    assert_int_equal(s.sample.self_absent[RECORDER_rss], BARO_PRESENT);
    assert_int_equal(v[RECORDER_rss], 1554 * 1024);
    assert_int_equal(v[RECORDER_rss_peak], 1554 * 1024);
    files_put(dir, "8/status", "Na");
    s.now_ns += 10 * NS_PER_SEC;
    own_cost_fill(&o);
    assert_int_equal(s.sample.self_absent[RECORDER_rss], BARO_ABSENT_UNKNOWN);
    assert_int_equal(v[RECORDER_rss], 0);
    assert_int_equal(s.sample.self_absent[RECORDER_rss_peak], BARO_PRESENT); /* that was its usage */
    assert_int_equal(v[RECORDER_rss_peak], 1554 * 1024);
    s.options.self[0] = 6; /* the recorder itself, which certainly exists */
    s.options.self[1] = 0;
    o.rss_peak = 0;
    s.now_ns += 10 * NS_PER_SEC;
    own_cost_fill(&o);
    assert_int_equal(s.sample.self_absent[RECORDER_rss], BARO_ABSENT_UNKNOWN);
    assert_int_equal(s.sample.self_absent[RECORDER_rss_peak], BARO_ABSENT_UNKNOWN);
    worker_free(gone);
    close(s.options.proc_fd);
    files_remove(dir);
}

/* Where the budget is short, status is read if memory came and went since it was read last. */
TEST(a_peak_between_two_readings_is_read)
{
    const uint64_t mb = 1000000;
    assert_true(memory_may_have_peaked(42 * mb, 38 * mb, 20 * mb, 42 * mb));
    assert_true(memory_may_have_peaked(42 * mb, 42 * mb, 20 * mb, 42 * mb));
    assert_true(memory_may_have_peaked(42 * mb, 50 * mb, 20 * mb, 50 * mb));
    assert_false(memory_may_have_peaked(42 * mb, 62 * mb, 20 * mb, 62 * mb)); /* it grew by all of it */
    assert_false(memory_may_have_peaked(42 * mb, 38 * mb, 0, 42 * mb));
    assert_false(memory_may_have_peaked(42 * mb, 42 * mb, mb, 42 * mb));
    assert_false(memory_may_have_peaked(42 * mb, 38 * mb, 20 * mb, 90 * mb)); /* below its mark */
}

/* Its end was reported at 1.6 s. It may wait for a CPU before it is a zombie; its first thread is a zombie while others
 * run; and perf lets go of one that executes a file that it can't read. */
TEST(a_process_that_is_ending_does_not_live_on)
{
    static struct member m = {.life.end_ns = 1600 * NS_PER_MS};
    m.row.value[PROCESS_state] = 'R';
    m.reading.is_exiting = true;
    assert_false(process_lives_on(&m, 1720 * NS_PER_MS));
    m.row.value[PROCESS_state] = 'Z';
    assert_true(process_lives_on(&m, 1720 * NS_PER_MS));
    assert_false(process_lives_on(&m, 1700 * NS_PER_MS));
    m.row.value[PROCESS_state] = 'S';
    m.reading.is_exiting = false;
    assert_true(process_lives_on(&m, 1720 * NS_PER_MS));
}

/* The parts that stat has are whole ticks, rounded down. */
TEST(parts_of_cpu_time_are_not_of_one_side)
{
    const uint64_t ms = NS_PER_MS, tick = 10 * NS_PER_MS;
    assert_int_equal(process_user_of(3 * ms, 0, 0, tick), 3 * ms);
    assert_int_equal(process_user_of(UINT64_MAX, UINT64_MAX, 0, tick), UINT64_MAX); /* of a damaged file */
    assert_int_equal(process_user_of(8 * ms, 0, 0, tick), 5 * ms);
    assert_int_equal(process_user_of(19 * ms, 0, 0, tick), 95 * ms / 10);
    assert_int_equal(process_user_of(19 * ms, 1, 0, tick), 145 * ms / 10);
    assert_int_equal(process_user_of(19 * ms, 0, 1, tick), 45 * ms / 10);
    assert_int_equal(process_user_of(1210 * ms, 100, 20, tick), 1005 * ms);
    assert_int_equal(process_user_of(1215 * ms, 100, 20, tick), 10075 * ms / 10);
    assert_int_equal(process_user_of(85 * ms, 6, 3, tick), (uint64_t)(85e6 * (6 / 9.0))); /* it was read before stat */
    assert_int_equal(process_user_of(95 * ms, 6, 3, tick), 625 * ms / 10);
}
