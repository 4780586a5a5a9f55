/* SPDX-License-Identifier: Apache-2.0 */
/* A recording as a few stretches of time, computed by hand, and the curves that are drawn from them. */
#include "unit.h"
#include "baro/summary.h"
#include "golden.h"
#include "libbaro/summary/summary.h"
#include "output/text/summary_text.h"

#define MS 1000000ull
#define SECOND 1000000000ull

static double value(const struct baro_summary *s, const char *fact, size_t row)
{
    struct baro_value v;
    int index = baro_summary_fact_find("course", fact);
    assert_int_equal(baro_summary_value(s, index, row, &v), BARO_PRESENT);
    return baro_summary_fact(index)->type == BARO_FACT_REAL ? v.real : (double)v.u64;
}

static size_t rows(const struct baro_summary *s)
{
    return baro_summary_rows(s, baro_summary_section_find("course"));
}

static void near(double a, double b)
{
    double off = a > b ? a - b : b - a;
    if (off > 1e-9 * (1 + (b < 0 ? -b : b)))
        fail_msg("%.17g is not %.17g", a, b);
}

static void add(struct baro_summary *s, uint64_t t_ns, uint64_t cpu_ns, uint64_t io, uint64_t rss)
{
    struct baro_process p = {.id = 1, .key = {100, 7}, .name = (char *)"make"}, *one = &p;
    struct baro_sample sample = {.t_ns = t_ns, .n = 1, .processes = &one};
    p.value[PROCESS_rss] = rss;
    p.value[PROCESS_cpu] = cpu_ns;
    p.absent[PROCESS_pss] = BARO_ABSENT_DENIED;
    sample.job[JOB_cpu] = cpu_ns;
    sample.job[JOB_io_rchar] = io / 2;
    sample.job[JOB_io_wchar] = io - io / 2;
    summary_add_sample(s, &sample);
}

static struct baro_summary *of(enum baro_mode mode)
{
    struct baro_header h = {.version = "0", .cpus = 2, .mode = mode};
    static struct baro_summary *s; /* the last one; freed with the next one */
    summary_free(s);
    s = summary_new(&h);
    assert_non_null(s);
    return s;
}

/* 0.15 s at one core, of which the first 0.1 s are one step; memory of 10, then 30, then 20. */
TEST(stretches_of_a_millisecond)
{
    struct baro_summary *s = of(BARO_MODE_RUN);
    add(s, 10 * MS, 20 * MS, 0, 10);
    add(s, 100 * MS, 100 * MS, 1000, 30);
    add(s, 150 * MS, 150 * MS, 1000, 20);
    summary_finish(s);
    assert_int_equal(rows(s), 151);
    near(value(s, "duration_ns", 0), MS);
    near(value(s, "t_ns", 150), 150 * MS);
    for (size_t i = 0; i < 150; i++)
        near(value(s, "cores", i), 1);
    near(value(s, "io_bytes_per_second", 5), 10000);
    near(value(s, "io_bytes_per_second", 120), 0);
    near(value(s, "rss_peak_bytes", 9), 0); /* no sample so far */
    near(value(s, "rss_peak_bytes", 99), 10);
    near(value(s, "rss_peak_bytes", 100), 30);
    near(value(s, "rss_peak_bytes", 149), 30);
    near(value(s, "rss_peak_bytes", 150), 30);
    struct baro_value v;
    assert_int_equal(baro_summary_value(s, baro_summary_fact_find("course", "pss_peak_bytes"), 0, &v),
                     BARO_ABSENT_DENIED);
}

/* The sum stays the same however often stretches are joined, and no peak is lost. */
TEST(stretches_are_joined)
{
    struct baro_summary *s = of(BARO_MODE_RUN);
    for (uint64_t i = 1; i <= 10000; i++) {
        add(s, i * SECOND, i * SECOND / 2, i * 100, i == 5000 ? 999 : 5);
        summary_finish(s); /* as a live view does */
    }
    assert_true(rows(s) > 96 && rows(s) <= 192);
    double width = value(s, "duration_ns", 0), cpu = 0, io = 0, most = 0;
    for (size_t i = 0; i < rows(s); i++) {
        double begin = value(s, "t_ns", i), end = begin + width < 1e13 ? begin + width : 1e13;
        cpu += value(s, "cores", i) * (end - begin) / 1e9;
        io += value(s, "io_bytes_per_second", i) * (end - begin) / 1e9;
        double rss = value(s, "rss_peak_bytes", i);
        most = rss > most ? rss : most;
        near(value(s, "cores", i), 0.5);
    }
    near(cpu, 5000);
    near(io, 1000000);
    near(most, 999);
}

/*
 * What wait4(2) reports at the end covers more than the last moment: 1 s at 0.6 cores, and 0.1 s of CPU time and 5 MB
 * more in the last 40 ms are 0.7 s and 5 MB in 1.04 s, at most in the last stretch between samples: 0.16 s in 0.14 s.
 */
TEST(end_of_job)
{
    struct baro_summary *s = of(BARO_MODE_RUN);
    double cpu = 0, io = 0;
    for (uint64_t t = 100; t <= 1000; t += 100)
        add(s, t * MS, t * 6 / 10 * MS, 0, 10);
    add(s, 1040 * MS, 700 * MS, 5000000, 10);
    summary_finish(s);
    for (size_t i = 0; i < rows(s); i++) {
        double width = value(s, "duration_ns", i), rest = 1040 * MS - value(s, "t_ns", i);
        width = (width < rest ? width : rest) / SECOND;
        assert_true(value(s, "cores", i) < 1.16);
        assert_true(value(s, "io_bytes_per_second", i) < 40e6);
        cpu += value(s, "cores", i) * width;
        io += value(s, "io_bytes_per_second", i) * width;
    }
    near(cpu, 0.7);
    near(io, 5e6);
}

/* A machine of 2 CPUs can't use 3 s of CPU time in 1 s: the third second was used before. */
TEST(more_than_the_machine)
{
    struct baro_summary *s = of(BARO_MODE_RUN);
    double cpu = 0;
    add(s, 1 * SECOND, SECOND / 2, 0, 1);
    add(s, 2 * SECOND, 7 * SECOND / 2, 0, 1);
    summary_finish(s);
    for (size_t i = 0; i < rows(s); i++) {
        double width = value(s, "duration_ns", i), rest = 2 * SECOND - value(s, "t_ns", i);
        assert_true(value(s, "cores", i) <= 2 + 1e-9);
        cpu += value(s, "cores", i) * (width < rest ? width : rest) / SECOND;
    }
    near(cpu, 3.5);
}

/* One thread, and in the last 100 ms the total grew by 190 ms: unless another process may have come and gone, a part of
 * it is of the time before. */
TEST(time_that_comes_late)
{
    for (uint64_t unseen = 0; unseen <= 1; unseen++) {
        struct baro_summary *s = of(BARO_MODE_RUN);
        struct baro_process p = {.id = 1, .key = {100, 7}, .name = (char *)"perl"}, *one = &p;
        struct baro_sample sample = {.t_ns = SECOND, .n = 1, .processes = &one};
        p.value[PROCESS_threads] = 1;
        sample.job[JOB_cpu] = 800 * MS;
        summary_add_sample(s, &sample);
        sample.t_ns += 100 * MS;
        sample.job[JOB_cpu] += 190 * MS;
        sample.job[JOB_processes_unseen] = unseen;
        summary_add_sample(s, &sample);
        struct baro_value v;
        baro_summary_value(s, baro_summary_fact_find("job", "cores_peak"), 0, &v);
        near(v.real, unseen ? 1.9 : 1);
    }
}

/* Attached: what was used before the first sample is not part of the recording. */
TEST(attached)
{
    struct baro_summary *s = of(BARO_MODE_ATTACH);
    add(s, 1 * SECOND, 100 * SECOND, 0, 1);
    add(s, 2 * SECOND, 101 * SECOND, 0, 1);
    summary_finish(s);
    near(value(s, "cores", 0), 0);
    near(value(s, "cores", rows(s) - 2), 1);
}

TEST(times_without_end)
{
    struct baro_summary *s = of(BARO_MODE_RUN);
    add(s, 1, 1, 1, 1);
    add(s, UINT64_MAX, 2, 2, 2);
    add(s, 5, 3, 3, 3);
    summary_finish(s);
    assert_true(rows(s) <= 192);
    for (size_t i = 0; i < rows(s); i++)
        value(s, "cores", i);
}

TEST(none)
{
    struct baro_summary *s = of(BARO_MODE_RUN);
    summary_finish(s);
    assert_int_equal(rows(s), 0);
}

/* 60 s: idle for 10 s, one core for 20 s, two for 20 s, idle again; memory grows to 600 MB; 1 MB/s in the last half. */
TEST(drawn)
{
    static const struct {
        const char *name;
        struct report_style style;
    } styles[] = {
        {"curves-120.txt", {.width = 120, .utf8 = true, .curves = true}},
        {"curves-80-ascii.txt", {.width = 80, .curves = true}},
        {"curves-color.txt", {.width = 80, .utf8 = true, .color = true, .curves = true}},
        {"curves-none.txt", {.width = 79, .utf8 = true, .curves = true}},
    };
    struct baro_summary *s = of(BARO_MODE_RUN);
    struct buf text = {0};
    uint64_t cpu = 0;
    for (uint64_t t = 1; t <= 60; t++) {
        cpu += t <= 10 ? 0 : t <= 30 ? SECOND : t <= 50 ? 2 * SECOND : 0;
        add(s, t * SECOND, cpu, t > 30 ? (t - 30) * 1000000 : 0, t * 10000000);
    }
    summary_finish(s);
    for (size_t i = 0; i < sizeof(styles) / sizeof(*styles); i++) {
        buf_clear(&text);
        report_block(s, NULL, styles[i].style, &text);
        expect_golden(styles[i].name, &text);
    }
    buf_done(&text);
}
