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
#include "collect/budget.h"
#include "collect/sampler.h"
#include "collect/schedule.h"
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

static void auto_waits_for_the_budget(void **state)
{
    struct schedule_cost c = {0};
    uint64_t due = 400 * NS_PER_MS, next = 410 * NS_PER_MS;
    (void)state;
    schedule_note(&c, 8 * NS_PER_MS, 0, 10 * NS_PER_MS);
    assert_int_equal(schedule_wait(&c, 10000, due, next), next); /* a dense beginning is free */
    schedule_note(&c, 8 * NS_PER_MS, 0, 10 * NS_PER_MS);
    assert_int_equal(schedule_wait(&c, 10000, due, next), 480 * NS_PER_MS);
    assert_int_equal(schedule_wait(&c, 0, due, next), next); /* no limit */
    assert_int_equal(schedule_wait(&c, 10000, 50 * NS_PER_SEC, 50500 * NS_PER_MS), 50800 * NS_PER_MS);
    for (int i = 0; i < 50; i++)
        schedule_note(&c, 200000, 50000, 10 * NS_PER_MS); /* 0.2 ms each, and events take half of the share */
    assert_in_range(schedule_wait(&c, 10000, due, next), 439 * NS_PER_MS, 441 * NS_PER_MS);
    for (int i = 0; i < 50; i++)
        schedule_note(&c, 50000, 0, 10 * NS_PER_MS); /* the burst is over */
    assert_int_equal(schedule_wait(&c, 10000, due, next), next);
    for (int i = 0; i < 50; i++)
        schedule_note(&c, 50000, NS_PER_MS, 10 * NS_PER_MS); /* events alone take more than there is */
    assert_in_range(schedule_wait(&c, 10000, due, next), 419 * NS_PER_MS, 421 * NS_PER_MS);
}

static void budget_thins_and_recovers(void **state)
{
    struct budget b;
    (void)state;
    budget_init(&b, 10000);
    assert_false(budget_update(&b, NS_PER_SEC, 5 * NS_PER_MS));
    assert_int_equal(b.level, BUDGET_ALL);
    /* 100 ms of CPU a second where 10 ms are allowed */
    for (int i = 0; i < 10; i++)
        budget_update(&b, (uint64_t)(i + 2) * NS_PER_SEC, 5 * NS_PER_MS + (uint64_t)(i + 1) * 100 * NS_PER_MS);
    assert_int_equal(b.level, BUDGET_STAT);
    /* then nothing for so long that the share is earned back */
    for (uint64_t t = 12; t < 200; t++)
        budget_update(&b, t * NS_PER_SEC, 1005 * NS_PER_MS);
    assert_int_equal(b.level, BUDGET_ALL);
}

static void no_budget_never_thins(void **state)
{
    struct budget b;
    (void)state;
    budget_init(&b, 0);
    assert_false(budget_update(&b, 10 * NS_PER_SEC, 10 * NS_PER_SEC));
    assert_true(budget_take_smaps(&b, 0, NS_PER_SEC, false));
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
    assert_false(budget_take_smaps(&b, 310 * NS_PER_MS, 30 * NS_PER_MS, true));  /* once */
}

#define STAT(pid, rss) #pid " (baro) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 " rss " 0 0 0\n"

/* What barograph's own processes use: of one that has ended nothing, and where one can't be asked it is not known, which is not nothing. */
static void own_memory(void **state)
{
    char dir[sizeof(FILES_NAME)];
    static struct sampler s;
    uint64_t *v = s.sample.self;
    (void)state;
    files_make(dir);
    files_put(dir, "7/stat", STAT(7, "100"));
    files_put(dir, "8/stat", STAT(8, "20"));
    s = (struct sampler){.options = {.proc_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .page_size = 4096, .self = {7, 8, 9}}};
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
        cmocka_unit_test(auto_interval),           cmocka_unit_test(grid_does_not_drift),
        cmocka_unit_test(stalls_are_counted),      cmocka_unit_test(budget_thins_and_recovers),
        cmocka_unit_test(no_budget_never_thins), cmocka_unit_test(auto_waits_for_the_budget),  cmocka_unit_test(smaps_are_paid_for),
        cmocka_unit_test(own_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
