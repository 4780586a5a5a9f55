/* SPDX-License-Identifier: Apache-2.0 */
/* What processes that were alive together can have held: sums by hand. */
#include "unit.h"
#include "libbaro/summary/together.h"

#define MB 1000000ull
#define SECOND 1000000000ull
#define NO_MARK UINT64_MAX

struct world {
    struct together t;
    struct derive_ticks ticks;
    struct baro_process p[16];
    struct baro_process *rows[16];
    struct baro_sample s;
};

static struct world w;
static bool unsure;

static void begin(void)
{
    together_done(&w.t);
    memset(&w, 0, sizeof(w));
    w.s.processes = w.rows;
}

static void put(uint32_t id, uint64_t begin_ns, uint64_t rss, uint64_t mark, uint64_t faults)
{
    struct baro_process *p = &w.p[w.s.n];
    *p = (struct baro_process){.id = id, .key = {(int32_t)id, 0}, .first_ns = begin_ns};
    p->value[PROCESS_rss] = rss;
    p->value[PROCESS_rss_peak] = mark;
    p->value[PROCESS_faults_minor] = faults;
    w.rows[w.s.n++] = p;
}

static void take(uint64_t t_ns)
{
    w.s.t_ns = t_ns;
    together_add_sample(&w.t, &w.s, &w.ticks, 1 * MB);
    w.s.n = 0;
}

static void end(uint32_t id, uint64_t begin_ns, uint64_t end_ns, uint64_t mark, uint64_t cpu_ns)
{
    struct baro_exit e = {.id = id, .t_ns = end_ns, .source = BARO_EXIT_PERF};
    memset(e.absent, BARO_ABSENT_UNKNOWN, sizeof(e.absent));
    e.value[EXIT_elapsed] = end_ns - begin_ns;
    e.value[EXIT_rss_peak] = mark;
    e.value[EXIT_cpu] = cpu_ns;
    e.absent[EXIT_elapsed] = e.absent[EXIT_cpu] = BARO_PRESENT;
    together_add_exit(&w.t, &e, mark > 0, false);
}

/* Ten grow from 1 to 53 MB and back between two samples, beside one that sleeps with 60: 590 MB. It had a mark of 900,
 * but no page fault since. */
TEST(ten_at_once)
{
    begin();
    for (int second = 1; second <= 2; second++) {
        put(1, 0, 60 * MB, 900 * MB, 5000);
        for (uint32_t i = 2; i < 12; i++)
            put(i, 0, 1 * MB, (second == 1 ? 1 : 53) * MB, second == 1 ? 100 : 13000);
        take((uint64_t)second * SECOND);
    }
    /* in the first second it may have had the 900 MB */
    assert_int_equal(together_most(&w.t, NO_MARK, &unsure), 910 * MB);
    assert_false(unsure);
    begin();
    for (int second = 1; second <= 2; second++) {
        put(1, 0, 60 * MB, 60 * MB, 5000);
        for (uint32_t i = 2; i < 12; i++)
            put(i, 0, 1 * MB, (second == 1 ? 1 : 53) * MB, second == 1 ? 100 : 13000);
        take((uint64_t)second * SECOND);
    }
    assert_int_equal(together_most(&w.t, NO_MARK, &unsure), 590 * MB);
}

/* A thousand that followed each other never held more than one of them; two of them overlap by 1 ns. */
TEST(one_after_another)
{
    begin();
    put(1, 0, 2 * MB, 2 * MB, 100);
    take(SECOND);
    for (uint32_t i = 0; i < 1000; i++)
        end(2 + i, SECOND + 1000 * i + 10, SECOND + 1000 * (i + 1), 10 * MB, 1);
    put(1, 0, 2 * MB, 2 * MB, 100);
    take(2 * SECOND);
    assert_int_equal(together_most(&w.t, NO_MARK, &unsure), 12 * MB);
    end(2000, 2 * SECOND, 2 * SECOND + 100, 10 * MB, 1);
    end(2001, 2 * SECOND + 100, 2 * SECOND + 200, 10 * MB, 1);
    put(1, 0, 2 * MB, 2 * MB, 100);
    take(3 * SECOND);
    assert_int_equal(together_most(&w.t, NO_MARK, &unsure), 22 * MB);
}

/* Ten ended within the same time, and no mark of them is known: 10 ms of CPU time are enough for 160 MB each, but no
 * process had more than 45 MB. */
TEST(marks_that_are_not_known)
{
    begin();
    put(1, 0, 2 * MB, 2 * MB, 100);
    take(SECOND);
    for (uint32_t i = 0; i < 10; i++)
        end(2 + i, SECOND + i, SECOND + 1000, 0, 10000000);
    put(1, 0, 2 * MB, 2 * MB, 100);
    take(2 * SECOND);
    assert_int_equal(together_most(&w.t, NO_MARK, &unsure), 1602 * MB);
    assert_true(unsure);
    assert_int_equal(together_most(&w.t, 45 * MB, &unsure), 452 * MB);
}

/* Three grow to 126 MB and end; two of them have given up their memory when they are read, and their marks are those of
 * the sample before. */
TEST(memory_that_was_given_up)
{
    begin();
    for (int second = 1; second <= 2; second++) {
        for (uint32_t i = 1; i < 4; i++) {
            bool is_ending = second == 2 && i > 1;
            uint64_t mark = (second == 1 || is_ending ? 45 : 126) * MB;
            put(i, 0, is_ending ? 0 : mark, mark, second == 1 ? 1000 : 40000);
            w.p[w.s.n - 1].value[PROCESS_cpu] = second * 100000000u;
        }
        take((uint64_t)second * SECOND);
    }
    assert_int_equal(together_most(&w.t, 126 * MB, &unsure), 3 * 126 * MB);
    assert_true(unsure);
}

/* One of 2 MB ends in 400 us of CPU time, without a page fault; its parent has not waited for it. It held no more than
 * 2 MB, and counts once: as a zombie, or with its exit. */
TEST(zombies)
{
    for (int is_known_before = 0; is_known_before < 2; is_known_before++) {
        begin();
        for (uint64_t second = 1; second <= 3; second++) {
            put(1, 0, 100 * MB, 100 * MB, 1000);
            put(2, 0, second == 1 ? 2 * MB : 0, 2 * MB, 500);
            w.p[1].value[PROCESS_cpu] = second == 1 ? 100000 : 500000;
            w.p[1].value[PROCESS_state] = second == 1 ? 'S' : 'Z';
            take(second * SECOND);
            if ((second == 1) == is_known_before)
                end(2, 0, second * SECOND + SECOND / 2, 2 * MB, 500000);
        }
        assert_int_equal(together_most(&w.t, 100 * MB, &unsure), 102 * MB);
    }
}

/* Two of 2 MB grow by 40 MB between two samples and end. Their clocks were read before that, and their stat after it.
 */
TEST(zombies_with_an_old_clock)
{
    begin();
    for (uint64_t second = 1; second <= 2; second++) {
        put(1, 0, 10 * MB, 10 * MB, 1000);
        for (uint32_t id = 2; id <= 3; id++) {
            put(id, 0, second == 1 ? 2 * MB : 0, 2 * MB, second == 1 ? 500 : 10740);
            w.p[id - 1].value[PROCESS_cpu] = 400000;
            w.p[id - 1].value[PROCESS_state] = second == 1 ? 'S' : 'Z';
        }
        take(second * SECOND);
    }
    assert_int_equal(together_most(&w.t, 42 * MB, &unsure), (10 + 2 * 42) * MB);
    assert_true(unsure);
}

/* A child that shares the address space of 100 MB (vfork) adds nothing; one that executes a program of 50 MB after that
 * does. */
TEST(shared_address_spaces)
{
    for (int executes = 0; executes < 2; executes++) {
        begin();
        for (uint64_t second = 1; second <= 3; second++) {
            put(1, 0, 100 * MB, 100 * MB, 1000);
            if (second == 2) {
                put(2, SECOND + 1, 100 * MB, 100 * MB, 1);
                w.p[1].parent.pid = 1;
                w.p[1].absent[PROCESS_rss] = w.p[1].absent[PROCESS_rss_peak] = BARO_ABSENT_SHARED;
            }
            take(second * SECOND);
            if (second == 2 && executes)
                end(2, SECOND + 1, 2 * SECOND + SECOND / 2, 50 * MB, 500000);
        }
        assert_int_equal(together_most(&w.t, 100 * MB, &unsure), (executes ? 150 : 100) * MB);
        assert_false(unsure);
    }
}

/* A program of 500 MB forks ten that execute programs of 2 MB between two samples: each held a copy until then, which
 * is in no mark but that of wait4(2). */
TEST(copies_of_a_parent)
{
    for (int is_wait4 = 0; is_wait4 < 2; is_wait4++) {
        begin();
        put(1, 0, 500 * MB, 500 * MB, 100);
        take(SECOND);
        for (uint32_t i = 2; i < 12; i++) {
            struct baro_exit e = {.id = i, .t_ns = SECOND + 100, .parent = {1, 0}, .source = BARO_EXIT_TASKSTATS};
            e.source = is_wait4 ? BARO_EXIT_WAIT4 : e.source;
            e.value[EXIT_elapsed] = 50;
            e.value[EXIT_rss_peak] = 2 * MB;
            together_add_exit(&w.t, &e, true, false);
        }
        put(1, 0, 500 * MB, 500 * MB, 100);
        take(2 * SECOND);
        assert_int_equal(together_most(&w.t, NO_MARK, &unsure), 520 * MB);
        assert_int_equal(unsure, !is_wait4);
    }
    begin();
    put(1, 0, 500 * MB, 500 * MB, 100);
    take(SECOND);
    put(1, 0, 500 * MB, 500 * MB, 100);
    put(2, SECOND + 1, 2 * MB, 2 * MB, 100);
    w.p[1].parent.pid = 1;
    take(2 * SECOND);
    assert_int_equal(together_most(&w.t, NO_MARK, &unsure), 502 * MB);
    assert_true(unsure);
}

/* A living process whose status could not be read may have held more than it does now. */
TEST(living_without_a_mark)
{
    begin();
    put(1, 0, 50 * MB, 0, 100);
    w.p[0].absent[PROCESS_rss_peak] = BARO_ABSENT_DENIED;
    take(SECOND);
    assert_int_equal(together_most(&w.t, NO_MARK, &unsure), 50 * MB);
    assert_true(unsure);
}
