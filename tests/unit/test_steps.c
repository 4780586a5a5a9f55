/* SPDX-License-Identifier: Apache-2.0 */
/* Steps, responsibility and the chain of last finishers of lives typed by hand. Times are in milliseconds. */
#define UNIT_OWN_MAIN
#include "unit.h"
#include "baro/baro.h"
#include "tape_file.h"

#define MS 1000000ull

struct lived {
    int32_t pid, ppid;
    const char *name;
    uint64_t begin, end, cpu;
    bool is_gone; /* found gone by a scan, and no event reported its end */
    int status;
};

static struct baro_steps *steps; /* the last ones; freed with the next ones */

/* The last sample that saw a process whose end nobody reported was 100 ms before. */
static void write_exit(struct tape_writer *w, const struct lived *l)
{
    struct baro_sample s = {.t_ns = l->end > 100 ? (l->end - 100) * MS : 0};
    memset(s.job_absent, BARO_ABSENT_UNKNOWN, sizeof(s.job_absent));
    if (l->is_gone)
        tape_add(w, &s);
    struct baro_exit e = {.t_ns = l->end * MS,
                          .id = (uint32_t)l->pid,
                          .key = {l->pid, (uint64_t)l->pid * 10},
                          .parent = {l->ppid, (uint64_t)l->ppid * 10},
                          .origin = BARO_ORIGIN_EVENT,
                          .source = l->is_gone ? BARO_EXIT_LAST_SAMPLE : BARO_EXIT_TASKSTATS,
                          .status_known = true,
                          .status = l->status,
                          .name = l->name};
    memset(e.absent, BARO_ABSENT_UNKNOWN, sizeof(e.absent));
    e.absent[EXIT_elapsed] = e.absent[EXIT_cpu] = e.absent[EXIT_rss_peak] = BARO_PRESENT;
    e.value[EXIT_elapsed] = (l->end - l->begin) * MS;
    e.value[EXIT_cpu] = l->cpu * MS;
    e.value[EXIT_rss_peak] = (uint64_t)l->pid * 1000;
    tape_writer_exit(w, &e);
}

/* Writes lives in order of their ends, and reads them. */
static void make(const struct lived *at, size_t n, uint64_t end)
{
    struct tape_writer *w = new_tape(tape_path, NULL);
    const struct baro_event start = {.kind = BARO_EVENT_START, .text = "job"};
    tape_writer_event(w, &start);
    for (size_t i = 0; i < n; i++)
        write_exit(w, &at[i]);
    const struct baro_event last = {.t_ns = end * MS, .kind = BARO_EVENT_END, .text = ""};
    tape_writer_event(w, &last);
    tape_ended(w);
    struct baro_tape *tape = tape_opened(tape_path);
    baro_steps_free(steps);
    assert_int_equal(baro_steps_of_tape(tape, &steps, NULL), 0);
    baro_tape_close(tape);
}
#define MAKE(lives, end) make(lives, sizeof(lives) / sizeof(*(lives)), end)

static uint64_t value(size_t step, const char *fact)
{
    struct baro_value v;
    assert_int_equal(baro_steps_value(steps, step, baro_steps_fact_find(fact), &v), BARO_PRESENT);
    return v.u64;
}

static size_t step_named(const char *name, uint32_t occurrence)
{
    for (size_t i = 0; i < baro_steps_count(steps); i++) {
        const struct baro_step *s = baro_steps_get(steps, i);
        if (strcmp(s->name, name) == 0 && s->occurrence == occurrence)
            return i;
    }
    fail_msg("no step %s #%u", name, occurrence);
    return 0;
}

/* A step and what it is responsible for, in microseconds: a moment that is shared by two is half a millisecond. */
static void expect(const char *name, uint64_t us, uint64_t processes)
{
    size_t i = step_named(name, 1);
    assert_int_equal((value(i, "responsible_ns") + 500) / 1000, us);
    assert_int_equal(value(i, "processes"), processes);
}

static void expect_link(size_t i, const char *name, uint64_t begin, uint64_t end, enum baro_link_after after,
                        uint64_t saving)
{
    const struct baro_step_link *l = baro_steps_link(steps, i);
    assert_non_null(l);
    if (name)
        assert_string_equal(baro_steps_get(steps, (size_t)l->step)->name, name);
    else
        assert_int_equal(l->step, -1);
    assert_int_equal(l->begin_ns, begin * MS);
    assert_int_equal(l->end_ns, end * MS);
    assert_int_equal(l->after, after);
    assert_int_equal(l->saving_most_ns, saving * MS);
}

/* What is true of all tapes: shares add up to the wall time, and each moment belongs to one link. */
static void expect_whole(void)
{
    uint64_t begin = baro_steps_begin_ns(steps), end = baro_steps_end_ns(steps), sum = 0, at = begin;
    size_t n = baro_steps_count(steps);
    for (size_t i = 0; i < n; i++) {
        sum += value(i, "responsible_ns");
        assert_true(value(i, "alone_ns") <= value(i, "responsible_ns"));
        assert_true(!i || value(i, "responsible_ns") <= value(i - 1, "responsible_ns"));
        ptrdiff_t driver = baro_steps_get(steps, i)->driver;
        assert_true(driver < 0 || baro_steps_get(steps, (size_t)driver)->is_driver);
    }
    assert_true(sum + n >= end - begin && sum <= end - begin + n); /* each is rounded */
    for (size_t i = 0; i < baro_steps_links(steps); i++) {
        const struct baro_step_link *l = baro_steps_link(steps, i);
        assert_int_equal(l->begin_ns, at);
        assert_true(l->end_ns > at && l->step < (ptrdiff_t)n);
        at = l->end_ns;
    }
    assert_int_equal(at, end);
}

TEST(one_after_the_other)
{
    static const struct lived at[] = {{10, 1, "a", 0, 1000, 1000, 0, 0},
                                      {11, 1, "b", 1001, 3000, 0, 0, 0},
                                      {12, 1, "c", 3001, 4000, 900, 0, 0},
                                      {1, 0, "sh", 0, 4001, 5, 0, 0}};
    MAKE(at, 4001);
    expect_whole();
    expect("b", 1999000, 1);
    expect("a", 1000000, 1);
    expect("c", 999000, 1);
    expect("sh", 3000, 1);
    assert_true(baro_steps_get(steps, step_named("sh", 1))->is_driver);
    assert_int_equal(baro_steps_get(steps, 0)->driver, step_named("sh", 1));
    assert_int_equal(baro_steps_find(steps, 11, 110), step_named("b", 1));
    assert_int_equal(baro_steps_find(steps, 11, 111), -1);
    assert_int_equal(baro_steps_links(steps), 3);
    expect_link(0, "a", 0, 1000, BARO_LINK_FIRST, 0);
    expect_link(1, "b", 1000, 3000, BARO_LINK_NEXT, 0);
    expect_link(2, "c", 3000, 4001, BARO_LINK_NEXT, 0);
}

/* make -j2: c takes the slot of b, and runs alone from 3 to 9 s. Started first, it would save the 1 s that it began
 * later, at most. d began only when c had ended and nothing else ran: it waited for c, so nothing starts it earlier. */
TEST(a_long_tail)
{
    static const struct lived at[] = {{11, 1, "b", 0, 1000, 1000, 0, 0},       {10, 1, "a", 0, 3000, 3000, 0, 0},
                                      {20, 12, "cc1", 1002, 8900, 7800, 0, 0}, {21, 12, "as", 8900, 8990, 80, 0, 0},
                                      {12, 1, "c", 1001, 9000, 1, 0, 0},       {13, 1, "d", 9001, 10000, 900, 0, 0},
                                      {1, 0, "make", 0, 10000, 20, 0, 0}};
    MAKE(at, 10000);
    expect_whole();
    expect("b", 500000, 1);
    expect("a", 500000 + 1000 + 999500, 1); /* alone for 1 ms, then beside c for 1999 ms */
    expect("c", 6000000 + 999500, 3);
    assert_int_equal(value(step_named("c", 1), "alone_ns"), 6000 * MS);
    assert_int_equal(value(step_named("c", 1), "cpu_ns"), 7881 * MS);
    assert_int_equal(value(step_named("c", 1), "rss_peak_bytes"), 21000);
    expect("d", 999000, 1);
    assert_int_equal(baro_steps_links(steps), 3);
    expect_link(0, "b", 0, 1000, BARO_LINK_FIRST, 0);
    expect_link(1, "c", 1000, 9000, BARO_LINK_SLOT, 1001);
    expect_link(2, "d", 9000, 10000, BARO_LINK_NEXT, 0);
}

/* Both slots become free at nearly the same time: c and d wait for slots, though a ended a moment after b. */
TEST(two_slots_at_once)
{
    static const struct lived at[] = {{11, 1, "b", 0, 2999, 2900, 0, 0},
                                      {10, 1, "a", 0, 3000, 2900, 0, 0},
                                      {13, 1, "d", 3002, 4000, 900, 0, 0},
                                      {12, 1, "c", 3001, 9000, 5900, 0, 0},
                                      {1, 0, "make", 0, 9000, 20, 0, 0}};
    MAKE(at, 9000);
    expect_whole();
    expect_link(1, "c", 3000, 9000, BARO_LINK_NEXT, 3001);
}

/* A step that sleeps is never one to be started first. */
TEST(a_sleep_saves_nothing)
{
    static const struct lived at[] = {{11, 1, "b", 0, 1000, 1000, 0, 0},
                                      {10, 1, "a", 0, 3000, 3000, 0, 0},
                                      {12, 1, "sleep", 1001, 9000, 1, 0, 0},
                                      {1, 0, "make", 0, 9000, 20, 0, 0}};
    MAKE(at, 9000);
    expect_whole();
    expect_link(1, "sleep", 1000, 9000, BARO_LINK_SLOT, 0);
}

/* make -> sh -c -> make -> gcc: the inner make is a driver though it is short; the shell that waits for it is part of
 * it. ccache that waits for a compiler is named by the compiler, and a compiler keeps its name. */
TEST(nested_and_wrapped)
{
    static const struct lived at[] = {{30, 22, "gcc", 105, 200, 90, 0, 0}, {22, 21, "ccache", 103, 201, 1, 0, 0},
                                      {31, 21, "ar", 205, 300, 90, 0, 0},  {21, 20, "make", 101, 301, 2, 0, 0},
                                      {20, 1, "sh", 100, 302, 1, 0, 0},    {41, 40, "collect2", 400, 990, 5, 0, 0},
                                      {40, 1, "clang", 398, 999, 5, 0, 0}, {10, 1, "slow", 0, 4000, 3900, 0, 0},
                                      {1, 0, "make", 0, 4001, 3, 0, 0}};
    MAKE(at, 4001);
    expect_whole();
    size_t gcc = step_named("gcc", 1), inner = step_named("make", 2);
    assert_int_equal(value(gcc, "processes"), 2);
    assert_int_equal(baro_steps_get(steps, gcc)->driver, inner);
    assert_int_equal(value(inner, "processes"), 2);
    assert_int_equal(baro_steps_get(steps, inner)->driver, step_named("make", 1));
    assert_int_equal(value(step_named("clang", 1), "processes"), 2);
    expect_link(0, "slow", 0, 4001, BARO_LINK_FIRST, 0);
    assert_int_equal(baro_steps_links(steps), 1);
}

/* A recipe of several commands is named by the one that takes its time, and is one step. */
TEST(a_shell_with_short_ones)
{
    static const struct lived at[] = {{11, 10, "mkdir", 1, 3, 1, 0, 0}, {20, 12, "cc1", 6, 900, 800, 0, 0},
                                      {12, 10, "cc", 5, 990, 1, 0, 0},  {13, 10, "touch", 992, 995, 1, 0, 0},
                                      {10, 1, "sh", 0, 1000, 2, 0, 0},  {14, 1, "cc", 1001, 2000, 900, 0, 0},
                                      {1, 0, "make", 0, 2000, 20, 0, 0}};
    MAKE(at, 2000);
    expect_whole();
    expect("cc", 1000000, 5);
    expect_link(0, "cc", 0, 1000, BARO_LINK_FIRST, 0);
}

/* A server that a script starts and kills, and one that outlives its parent; a program that computes itself while its
 * helpers live is one step. */
TEST(idle_beside_others)
{
    static const struct lived at[] = {{40, 10, "sh", 2, 4, 1, 0, 0},
                                      {21, 20, "helper", 110, 2000, 900, 0, 0},
                                      {22, 20, "helper", 110, 2000, 900, 0, 0},
                                      {20, 10, "python3", 100, 2001, 1800, 0, 0},
                                      {30, 10, "server", 1, 2900, 3, 0, 15},
                                      {23, 10, "test", 2010, 2950, 900, 0, 0},
                                      {41, 40, "gradle", 3, 2998, 5, 0, 0},
                                      {10, 0, "sh", 0, 3000, 9, 0, 0}};
    MAKE(at, 3000);
    expect_whole();
    expect("server", 0, 1);
    expect("gradle", 0, 1);
    assert_true(baro_steps_get(steps, step_named("server", 1))->is_idle);
    expect("python3", 1901000, 3);
    expect("test", 940000, 1);
    for (size_t i = 0; i < baro_steps_links(steps); i++) {
        const char *name = baro_steps_get(steps, (size_t)baro_steps_link(steps, i)->step)->name;
        assert_true(strcmp(name, "server") != 0 && strcmp(name, "gradle") != 0);
    }
}

/* A sleep beside nothing is what the job waited for. */
TEST(idle_alone)
{
    static const struct lived at[] = {
        {11, 1, "sleep", 0, 3000, 1, 0, 15}, {12, 1, "b", 0, 1000, 900, 0, 0}, {1, 0, "sh", 0, 3000, 5, 0, 0}};
    MAKE(at, 3000);
    expect_whole();
    expect("sleep", 2500000, 1);
}

/* No event reported the ends of a and b: each was before 2 s, and which one was last is not known. */
TEST(an_unknown_link)
{
    static const struct lived at[] = {{10, 1, "a", 0, 2000, 1500, 1, 0},
                                      {11, 1, "b", 0, 1999, 1500, 1, 0},
                                      {12, 1, "c", 2001, 3000, 900, 0, 0},
                                      {1, 0, "make", 0, 3000, 20, 0, 0}};
    MAKE(at, 3000);
    expect_whole();
    expect_link(0, NULL, 0, 2000, BARO_LINK_FIRST, 0);
    assert_string_equal(baro_steps_get(steps, (size_t)baro_steps_link(steps, 1)->step)->name, "c");
}

TEST(nothing)
{
    make(NULL, 0, 5);
    expect_whole();
    assert_int_equal(baro_steps_count(steps), 1);
    expect("", 5000, 0);
    assert_null(baro_steps_get(steps, 1));
    assert_null(baro_steps_link(steps, 1));
    struct baro_value v;
    assert_int_equal(baro_steps_value(steps, 1, 0, &v), BARO_ABSENT_UNSUPPORTED);
    assert_int_equal(baro_steps_value(steps, 0, 99, &v), BARO_ABSENT_UNSUPPORTED);
    assert_null(baro_steps_fact(-1));
}

/* Tapes may say anything: parents in circles, children before their parents or after their ends, lives that begin
 * together. */
TEST(any_lives)
{
    enum { N = 3000 };
    static struct lived at[N];
    static const char *const names[] = {"make", "sh", "cc1", "pytest", "x"};
    unsigned seed = 1;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < N; i++) {
            unsigned r[6];
            for (int k = 0; k < 6; k++)
                r[k] = (seed = seed * 1103515245u + 12345u) >> 8;
            at[i] = (struct lived){.pid = i + 1,
                                   .ppid = (int32_t)(round % 2 ? r[0] % (unsigned)(i + 1) : r[0] % N),
                                   .name = names[r[1] % 5],
                                   .begin = r[2] % 1000,
                                   .is_gone = r[3] % 3 == 0,
                                   .cpu = r[4] % 3 ? r[4] % 400 : 0,
                                   .status = r[3] % 7 == 0 ? 9 : 0};
            at[i].end = at[i].begin + r[5] % (round % 3 ? 30 : 1000);
        }
        MAKE(at, 1500);
        expect_whole();
    }
}

/* Each of 100,000 processes starts the next one. */
TEST(a_deep_tree)
{
    enum { N = 100000 };
    struct lived *at = calloc(N, sizeof(*at));
    for (int i = 0; i < N; i++)
        at[i] = (struct lived){.pid = i + 1, .ppid = i, .name = "sh", .begin = (uint64_t)i, .end = (uint64_t)i + 1};
    make(at, N, N);
    expect_whole();
    for (int i = 0; i < N; i++)
        at[i].end = N;
    make(at, N, N);
    expect_whole();
    for (int i = 0; i < N; i++) {
        at[i].begin = (uint64_t)i * 10;
        at[i].end = (uint64_t)i * 10 + 20;
    }
    make(at, N, 10 * N + 10);
    expect_whole();
    free(at);
}

static int tear_down(void **state)
{
    baro_steps_free(steps);
    return 0;
}

int main(void)
{
    return cmocka_run_group_tests(unit_tests, NULL, tear_down);
}
