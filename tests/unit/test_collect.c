/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule, the overhead budget, and what the recorder says of itself. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "schedule/budget.h"
#include "collect/sampler.h"
#include "schedule/schedule.h"
#include "files.h"

static void auto_interval(void **state)
{
    (void)state;
    assert_int_equal(schedule_interval(0, 0), 10 * NS_PER_MS);
    assert_int_equal(schedule_interval(0, 1 * NS_PER_SEC), 10 * NS_PER_MS);
    assert_int_equal(schedule_interval(0, 5 * NS_PER_SEC), 50 * NS_PER_MS);
    assert_int_equal(schedule_interval(0, 100 * NS_PER_SEC), NS_PER_SEC);
    assert_int_equal(schedule_interval(0, 360000 * NS_PER_SEC), NS_PER_SEC);
    assert_int_equal(schedule_interval(250 * NS_PER_MS, 5), 250 * NS_PER_MS);
}

static void grid_does_not_drift(void **state)
{
    uint64_t due = 0, missed = 0, late;
    (void)state;
    for (uint64_t k = 1; k <= 1000; k++) {
        late = due + k * 7919 % NS_PER_MS; /* each tick takes its time */
        due = schedule_next(100 * NS_PER_MS, due, late, &missed);
        assert_int_equal(due, k * 100 * NS_PER_MS);
        assert_int_equal(missed, 0);
    }
}

static void stalls_are_counted(void **state)
{
    uint64_t missed;
    (void)state;
    /* due at 1 s, came at 4.35 s: 1.1 ... 4.3 were missed, 4.4 is next */
    uint64_t next = schedule_next(100 * NS_PER_MS, NS_PER_SEC, 4350 * NS_PER_MS, &missed);
    assert_int_equal(next, 4400 * NS_PER_MS);
    assert_int_equal(missed, 33);
    next = schedule_next(0, 3600 * NS_PER_SEC, 7200 * NS_PER_SEC, &missed);
    assert_true(next > 7200 * NS_PER_SEC);
    assert_int_equal(missed, 3600);
}

static void looks_are_far_apart_while_nothing_happens(void **state)
{
    (void)state;
    assert_int_equal(schedule_look(0, 20 * NS_PER_MS), 30 * NS_PER_MS);
    assert_int_equal(schedule_look(NS_PER_SEC, 2 * NS_PER_SEC), 2125 * NS_PER_MS);
    assert_int_equal(schedule_look(NS_PER_SEC, 20 * NS_PER_SEC), 20250 * NS_PER_MS);
    assert_int_equal(schedule_look(NS_PER_SEC, 200 * NS_PER_SEC), 201 * NS_PER_SEC);
    assert_int_equal(schedule_quiet(0, 0), 30 * NS_PER_MS);
    assert_int_equal(schedule_quiet(NS_PER_SEC, 2 * NS_PER_SEC), 500 * NS_PER_MS);
    assert_int_equal(schedule_quiet(NS_PER_SEC, 20 * NS_PER_SEC), NS_PER_SEC);
}

/* Samples of cost_ns, planned every interval_ns, until the time is up. Returns what they cost in all; *ret_most: within
 * one second, but for the first. */
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

static void samples_wait_until_they_are_paid_for(void **state)
{
    struct budget b;
    uint64_t most, ten = 10 * NS_PER_SEC, costs[] = {50000, 300000, 5000000, 30000000};
    (void)state;
    for (size_t i = 0; i < sizeof(costs) / sizeof(*costs); i++) {
        for (uint64_t ppm = 1000; ppm <= 10000; ppm *= 10) {
            uint64_t allowed = 10 * NS_PER_MS + ten / 1000000 * ppm;
            budget_init(&b, ppm);
            uint64_t spent = play(&b, 10 * NS_PER_MS, costs[i], ten, &most);
            assert_true(spent <= allowed + costs[i]);
            assert_true(spent >= allowed / 2 || spent == costs[i] * 999); /* and few are left out for nothing */
            assert_true(i == 0 ||
                        most <= NS_PER_SEC / 1000000 * ppm * 5 / 4 +
                                    costs[i]); /* of the cheapest, what the start may cost lasts longer than that */
        }
    }
    budget_init(&b, 0); /* no limit */
    assert_int_equal(play(&b, 10 * NS_PER_MS, 5000000, ten, &most), 999ull * 5000000);
}

static void what_cannot_wait_holds_up_samples_for_a_while(void **state)
{
    struct budget b;
    (void)state;
    budget_init(&b, 10000);
    budget_spend(&b, NS_PER_SEC, 200000, 0, NS_PER_SEC); /* a second of events */
    assert_in_range(budget_wait(&b, NS_PER_SEC, 1010 * NS_PER_MS, 10 * NS_PER_MS), 2010 * NS_PER_MS, 2030 * NS_PER_MS);
    budget_init(&b, 10000);
    budget_spend(&b, NS_PER_SEC, 200000, NS_PER_SEC, 0); /* a second of a helper's reads */
    assert_in_range(budget_wait(&b, NS_PER_SEC, 1010 * NS_PER_MS, 10 * NS_PER_MS), 3010 * NS_PER_MS, 3030 * NS_PER_MS);
}

static void budget_thins_and_recovers(void **state)
{
    struct budget b;
    uint64_t t = 0;
    (void)state;
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
    assert_int_equal(b.level, BUDGET_STAT);
    /* then samples that never have to wait */
    for (int i = 0; i < 10; i++) {
        t += NS_PER_SEC;
        budget_spend(&b, t, 100000, 0, 0);
        budget_wait(&b, t, t + 100 * NS_PER_MS, 100 * NS_PER_MS);
        budget_update(&b, t);
    }
    assert_int_equal(b.level, BUDGET_ALL);
}

static void no_budget_never_thins(void **state)
{
    struct budget b;
    (void)state;
    budget_init(&b, 0);
    budget_spend(&b, NS_PER_SEC, 10 * NS_PER_SEC, 0, 0);
    assert_false(budget_update(&b, 10 * NS_PER_SEC));
    assert_true(budget_take_smaps(&b, 0, NS_PER_SEC, false));
    assert_int_equal(budget_pause(&b, NS_PER_MS, 4), 400 * NS_PER_MS);
}

static void smaps_are_paid_for(void **state)
{
    struct budget b;
    (void)state;
    budget_init(&b, 10000); /* 10 ms a second, half of it for smaps */
    while (budget_take_smaps(&b, 0, NS_PER_MS, false)) {
    }
    assert_false(budget_take_smaps(&b, 100 * NS_PER_MS, NS_PER_MS, false)); /* 0.5 ms earned */
    assert_true(budget_take_smaps(&b, 300 * NS_PER_MS, NS_PER_MS, false));
    assert_true(budget_take_smaps(&b, 310 * NS_PER_MS, 30 * NS_PER_MS, true));   /* a peak may overdraw */
    assert_false(budget_take_smaps(&b, 310 * NS_PER_MS, 30 * NS_PER_MS, true));  /* once, */
    assert_false(budget_take_smaps(&b, 3310 * NS_PER_MS, 30 * NS_PER_MS, true)); /* and it is paid for: 15 ms in 3 s */
    assert_true(budget_take_smaps(&b, 9310 * NS_PER_MS, 30 * NS_PER_MS,
                                  false)); /* what is never affordable goes ahead when the account is full */
    assert_false(budget_take_smaps(&b, 9310 * NS_PER_MS, NS_PER_MS, false));
}

#define STAT(pid, rss) #pid " (baro) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 " rss " 0 0 0\n"

/* What barograph's own processes use: of one that has ended nothing, and where one can't be asked it is not known,
 * which is not nothing. */
static void own_memory(void **state)
{
    char dir[sizeof(FILES_NAME)];
    static struct sampler s;
    uint64_t *v = s.sample.self;
    (void)state;
    files_make(dir);
    files_put(dir, "7/stat", STAT(7, "100"));
    files_put(dir, "8/stat", STAT(8, "20"));
    s = (struct sampler){
        .options = {.proc_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .page_size = 4096, .self = {7, 8, 9}}};
    s.now_ns = NS_PER_SEC;
    self_fill(&s);
    assert_int_equal(s.sample.self_absent[RECORDER_rss], BARO_PRESENT);
    assert_int_equal(v[RECORDER_rss], 120 * 4096);
    assert_int_equal(v[RECORDER_rss_peak], 120 * 4096);
    files_put(dir, "8/stat", "8 (ba");
    s.now_ns += 10 * NS_PER_SEC;
    self_fill(&s);
    assert_int_equal(s.sample.self_absent[RECORDER_rss], BARO_ABSENT_UNKNOWN);
    assert_int_equal(v[RECORDER_rss], 0);
    assert_int_equal(s.sample.self_absent[RECORDER_rss_peak], BARO_PRESENT); /* so much it was */
    assert_int_equal(v[RECORDER_rss_peak], 120 * 4096);
    s.options.self[0] = 6; /* the recorder itself, which surely is there */
    s.options.self[1] = 0;
    s.self_rss_peak = 0;
    s.now_ns += 10 * NS_PER_SEC;
    self_fill(&s);
    assert_int_equal(s.sample.self_absent[RECORDER_rss], BARO_ABSENT_UNKNOWN);
    assert_int_equal(s.sample.self_absent[RECORDER_rss_peak], BARO_ABSENT_UNKNOWN);
    close(s.options.proc_fd);
    files_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_interval),
        cmocka_unit_test(grid_does_not_drift),
        cmocka_unit_test(stalls_are_counted),
        cmocka_unit_test(budget_thins_and_recovers),
        cmocka_unit_test(no_budget_never_thins),
        cmocka_unit_test(smaps_are_paid_for),
        cmocka_unit_test(looks_are_far_apart_while_nothing_happens),
        cmocka_unit_test(samples_wait_until_they_are_paid_for),
        cmocka_unit_test(what_cannot_wait_holds_up_samples_for_a_while),
        cmocka_unit_test(own_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
