/* SPDX-License-Identifier: Apache-2.0 */
/* What members used between two samples, including members that began or ended between them: values computed by
 * hand. */
#include <math.h>

#include "unit.h"
#include "baro/interval.h"
#include "libbaro/sample/row.h"

#define SECOND 1000000000ull

/* The machine had been up for 1000 s when the tape began. */
static const struct baro_header header = {.mode = BARO_MODE_ATTACH, .clk_tck = 100, .start_boottime_ns = 1000 * SECOND};
static const struct baro_sample first = {.t_ns = 10 * SECOND}, second = {.t_ns = 12 * SECOND};
static const struct baro_interval between = {&header, &first, &second};

static int derived(const char *name)
{
    return baro_derived_find(BARO_KIND_PROCESS, name);
}

static struct baro_process process(enum baro_origin origin, uint64_t start_ticks, uint64_t first_ns, uint64_t cpu_ns)
{
    struct baro_process p = {.id = 1, .key = {100, start_ticks}, .origin = origin, .first_ns = first_ns};
    p.value[PROCESS_cpu] = cpu_ns;
    return p;
}

static struct baro_exit exit_of(enum baro_exit_source source, enum baro_origin origin, uint64_t start_ticks,
                                uint64_t cpu_ns)
{
    struct baro_exit e = {.id = 1, .key = {100, start_ticks}, .origin = origin, .source = source, .t_ns = 11 * SECOND};
    e.value[EXIT_cpu] = cpu_ns;
    return e;
}

static void assert_use(int absent, const struct baro_use *use, uint64_t growth, double rate, bool is_lower_bound)
{
    assert_int_equal(absent, BARO_PRESENT);
    assert_int_equal(use->growth, growth);
    assert_true(fabs(use->rate - rate) < 1e-12);
    assert_int_equal(use->is_lower_bound, is_lower_bound);
}

/* The rows of the example in baro/interval.h. */
TEST(example)
{
    const int cores = derived("cores");
    struct baro_use use;
    struct baro_process make[] = {process(BARO_ORIGIN_TARGET, 100500, 5 * SECOND, 4 * SECOND),
                                  process(BARO_ORIGIN_TARGET, 100500, 5 * SECOND, 5 * SECOND)};
    assert_use(baro_interval_derived(&between, ROW(&make[0]), ROW(&make[1]), cores, &use), &use, SECOND, 0.5, false);
    struct baro_process ld = process(BARO_ORIGIN_EVENT, 101150, 11500000000, 400000000);
    assert_use(baro_interval_derived(&between, NULL, ROW(&ld), cores, &use), &use, 400000000, 0.2, false);
    struct baro_process cc = process(BARO_ORIGIN_EVENT, 100900, 9 * SECOND, 500000000);
    struct baro_exit end = exit_of(BARO_EXIT_WAIT4, BARO_ORIGIN_EVENT, 100900, 1500000000);
    assert_use(baro_interval_derived(&between, ROW(&cc), ROW(&end), cores, &use), &use, SECOND, 0.5, false);
    end = exit_of(BARO_EXIT_TASKSTATS, BARO_ORIGIN_EVENT, 101080, 200000000); /* as */
    assert_use(baro_interval_derived(&between, NULL, ROW(&end), cores, &use), &use, 200000000, 0.1, false);
    struct baro_process sshd = process(BARO_ORIGIN_TARGET, 5000, 11 * SECOND, 90 * SECOND);
    assert_int_equal(baro_interval_derived(&between, NULL, ROW(&sshd), cores, &use), BARO_ABSENT_NOT_YET);
    struct baro_process gone = process(BARO_ORIGIN_SCAN, 100900, 9 * SECOND, 500000000);
    end = exit_of(BARO_EXIT_LAST_SAMPLE, BARO_ORIGIN_SCAN, 100900, 500000000);
    assert_use(baro_interval_derived(&between, ROW(&gone), ROW(&end), cores, &use), &use, 0, 0, true);
}

/* A process that did not run is not read again; one that ran for a moment is read once. Both are over all of the 2
 * s. */
TEST(time_between_samples)
{
    const int cores = derived("cores");
    struct baro_use use;
    struct baro_process p[] = {process(BARO_ORIGIN_EVENT, 100100, 1 * SECOND, SECOND),
                               process(BARO_ORIGIN_EVENT, 100100, 1 * SECOND, SECOND)};
    p[0].read_ns = p[1].read_ns = 3 * SECOND;
    assert_use(baro_interval_derived(&between, ROW(&p[0]), ROW(&p[1]), cores, &use), &use, 0, 0, false);
    p[1].read_ns = 11 * SECOND;
    p[1].value[PROCESS_cpu] += 300000000;
    assert_use(baro_interval_derived(&between, ROW(&p[0]), ROW(&p[1]), cores, &use), &use, 300000000, 0.15, false);
    p[1].value[PROCESS_cpu] = 5;
    /* It fell. */
    assert_int_equal(baro_interval_derived(&between, ROW(&p[0]), ROW(&p[1]), cores, &use), BARO_ABSENT_UNKNOWN);
    p[1].absent[PROCESS_cpu] = BARO_ABSENT_DENIED;
    assert_int_equal(baro_interval_derived(&between, ROW(&p[0]), ROW(&p[1]), cores, &use), BARO_ABSENT_DENIED);
}

/* The earlier sample was at 10 s, which is tick 101000. */
TEST(began_after)
{
    struct baro_process p = process(BARO_ORIGIN_SCAN, 101000, 11 * SECOND, 1);
    assert_true(baro_row_began_after(&header, ROW(&p), 10 * SECOND)); /* from 10.00 to 10.01 s */
    p.key.start = 100999;
    assert_false(baro_row_began_after(&header, ROW(&p), 10 * SECOND));
    assert_true(baro_row_began_after(NULL, ROW(&p), 10 * SECOND)); /* it is only known when it was found */
    p.origin = BARO_ORIGIN_TARGET;
    assert_false(baro_row_began_after(NULL, ROW(&p), 10 * SECOND));
    p.origin = BARO_ORIGIN_EVENT; /* it executed a program of a task at 11 s: it had used something before */
    assert_false(baro_row_began_after(&header, ROW(&p), 10 * SECOND));
    p.key.start = 101000;
    assert_true(baro_row_began_after(&header, ROW(&p), 10 * SECOND));
    p.first_ns = 10 * SECOND; /* when it was forked is known */
    assert_false(baro_row_began_after(&header, ROW(&p), 10 * SECOND));
}

static uint64_t begin_of(const struct baro_header *h, uint64_t ticks, uint64_t first_ns)
{
    const struct baro_process p = {.id = 1, .key = {100, ticks}, .first_ns = first_ns};
    uint64_t begin_ns = UINT64_MAX;
    assert_int_equal(baro_row_begin_ns(h, row_of_process(&p), &begin_ns), BARO_PRESENT);
    return begin_ns;
}

/* Tick 101050 is 10.50 to 10.51 s. */
TEST(begin)
{
    assert_int_equal(begin_of(&header, 101050, 10504000000), 10504000000);
    assert_int_equal(begin_of(&header, 101050, 10510000000), 10500000000);
    assert_int_equal(begin_of(&header, 101050, 12 * SECOND), 10500000000);
    assert_int_equal(begin_of(&header, 101050, 10 * SECOND), 10 * SECOND); /* the machine slept later */
    assert_int_equal(begin_of(&header, 5000, 12 * SECOND), 0);
    assert_int_equal(begin_of(&header, 0, 12 * SECOND), 12 * SECOND);
    assert_int_equal(begin_of(&header, UINT64_MAX, 12 * SECOND), 12 * SECOND);
    assert_int_equal(begin_of(NULL, 101050, 12 * SECOND), 12 * SECOND);
}

/* It had used 100 s before `baro record` began, then 4 s up to the sample at 10 s and 1 s more. Its exit has 5 s. */
TEST(ran_before_the_recording)
{
    const int cores = derived("cores");
    struct baro_use use;
    struct baro_process p = process(BARO_ORIGIN_SCAN, 5000, 0, 104 * SECOND);
    struct baro_exit end = exit_of(BARO_EXIT_TASKSTATS, BARO_ORIGIN_SCAN, 5000, 5 * SECOND);
    assert_use(baro_interval_derived(&between, ROW(&p), ROW(&end), cores, &use), &use, 0, 0, true);
    p.value[PROCESS_cpu] = 4500000000; /* 0.5 s before, 4 s, 1 s */
    assert_use(baro_interval_derived(&between, ROW(&p), ROW(&end), cores, &use), &use, 500000000, 0.25, true);
    struct baro_header run = header;
    const struct baro_interval of_run = {&run, &first, &second};
    run.mode = BARO_MODE_RUN;
    p = process(BARO_ORIGIN_TARGET, 100001, 0, 4 * SECOND);
    end = exit_of(BARO_EXIT_WAIT4, BARO_ORIGIN_TARGET, 100001, 5 * SECOND);
    assert_use(baro_interval_derived(&of_run, ROW(&p), ROW(&end), cores, &use), &use, SECOND, 0.5,
               false); /* the command */
}

TEST(bytes)
{
    const int read = derived("io_read_bytes_per_second");
    struct baro_use use;
    struct baro_process p = process(BARO_ORIGIN_EVENT, 100900, 9 * SECOND, 0);
    struct baro_exit end = exit_of(BARO_EXIT_WAIT4, BARO_ORIGIN_EVENT, 100900, 0);
    p.value[PROCESS_io_read] = 1000;
    end.value[EXIT_io_read] = 5000;
    assert_use(baro_interval_derived(&between, ROW(&p), ROW(&end), read, &use), &use, 4000, 2000, false);
    end.value[EXIT_io_is_lower_bound] = 1;
    assert_use(baro_interval_derived(&between, ROW(&p), ROW(&end), read, &use), &use, 4000, 2000, true);
    end.absent[EXIT_io_read] = BARO_ABSENT_DENIED;
    assert_int_equal(baro_interval_derived(&between, ROW(&p), ROW(&end), read, &use), BARO_ABSENT_DENIED);
}

TEST(nothing_to_compare_with)
{
    const int cores = derived("cores");
    const struct baro_interval no_earlier = {&header, NULL, &second}, no_time = {&header, &second, &second};
    struct baro_use use;
    struct baro_process p = process(BARO_ORIGIN_EVENT, 101150, 11500000000, 1);
    struct baro_exit end = exit_of(BARO_EXIT_WAIT4, BARO_ORIGIN_EVENT, 101150, 1);
    assert_int_equal(baro_interval_derived(&no_earlier, NULL, ROW(&p), cores, &use), BARO_ABSENT_NOT_YET);
    assert_int_equal(baro_interval_derived(&no_earlier, NULL, ROW(&end), cores, &use), BARO_ABSENT_NOT_YET);
    assert_int_equal(baro_interval_derived(&no_time, ROW(&p), ROW(&p), cores, &use), BARO_ABSENT_UNKNOWN);
    assert_int_equal(baro_interval_derived(&between, ROW(&p), ROW(&p), -1, &use), BARO_ABSENT_UNSUPPORTED);
    assert_int_equal(baro_interval_derived(&between, ROW(&p), ROW(&end), 99, &use), BARO_ABSENT_UNSUPPORTED);
}

static enum baro_absent since(const struct baro_header *h, const struct baro_row *row, int64_t *ret)
{
    *ret = -1;
    return baro_row_since_ns(h, row, ret);
}

/* When each counter was 0. */
TEST(since)
{
    int64_t ns;
    struct baro_header run = header, no_clock = {.mode = BARO_MODE_RUN};
    run.mode = BARO_MODE_RUN;
    struct baro_process before = process(BARO_ORIGIN_TARGET, 99050, 0, 0),
                        later = process(BARO_ORIGIN_EVENT, 101150, 11500000000, 0),
                        nobody = process(BARO_ORIGIN_SCAN, 0, 3 * SECOND, 0);
    struct baro_exit ended = exit_of(BARO_EXIT_ZOMBIE, BARO_ORIGIN_TARGET, 99050, 0);
    assert_gives(since(&header, ROW(&before), &ns), ns, -9500000000); /* 990.50 s after the start of the machine */
    assert_gives(since(&header, ROW(&ended), &ns), ns, -9500000000);
    assert_gives(since(&header, ROW(&later), &ns), ns, 11500000000);
    assert_int_equal(since(&header, ROW(&nobody), &ns), BARO_ABSENT_UNKNOWN);
    assert_int_equal(since(&no_clock, ROW(&before), &ns), BARO_ABSENT_UNKNOWN);
    assert_int_equal(since(NULL, ROW(&before), &ns), BARO_ABSENT_UNKNOWN);
    assert_int_equal(since(&header, NULL, &ns), BARO_ABSENT_UNKNOWN);
    static const struct {
        int kind;
        enum baro_absent attached;
        int64_t ns;
    } kinds[] = {{KIND_cpu, BARO_PRESENT, -1000 * (int64_t)SECOND},
                 {KIND_gpu, BARO_PRESENT, 0},
                 {KIND_energy, BARO_PRESENT, 0},
                 {KIND_task, BARO_ABSENT_UNKNOWN, -1},
                 {KIND_disk, BARO_ABSENT_UNSUPPORTED, -1},
                 {KIND_net, BARO_ABSENT_UNSUPPORTED, -1},
                 {KIND_cgroup, BARO_ABSENT_UNSUPPORTED, -1},
                 {KIND_fs, BARO_ABSENT_NONE, -1},
                 {KIND_sensor, BARO_ABSENT_NONE, -1},
                 {KIND_COUNT + 3, BARO_ABSENT_UNKNOWN, -1}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        struct baro_entity e = {.id = 1, .kind = kinds[i].kind};
        assert_int_equal(since(&header, ROW(&e), &ns), kinds[i].attached);
        assert_int_equal(ns, kinds[i].ns);
    }
    struct baro_entity task = {.id = 1, .kind = KIND_task};
    assert_gives(since(&run, ROW(&task), &ns), ns, 0);
    assert_int_equal(since(&run, baro_sample_row(&first, BARO_KIND_JOB, 0), &ns), BARO_PRESENT);
    assert_int_equal(since(&header, baro_sample_row(&first, BARO_KIND_JOB, 0), &ns), BARO_ABSENT_UNKNOWN);
    assert_gives(since(&header, baro_sample_row(&first, BARO_KIND_RECORDER, 0), &ns), ns, 0);
}
