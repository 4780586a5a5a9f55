/* SPDX-License-Identifier: Apache-2.0 */
/* Phases, marks and notable events of tapes typed by hand; usage during a phase, computed by hand. */
#include <signal.h>

#define UNIT_OWN_MAIN
#include "unit.h"
#include "baro/baro.h"
#include "tape_file.h"
#include "timeline.h"

static struct baro_attribute text_of(const char *name, const char *text)
{
    return (struct baro_attribute){.name = name, .type = BARO_ATTRIBUTE_TEXT, .text = text};
}

static const struct baro_timeline_item *item(const struct baro_timeline *t, size_t i, enum baro_timeline_kind kind,
                                             const char *name, uint64_t begin_ns, uint64_t end_ns)
{
    const struct baro_timeline_item *v = baro_timeline_get(t, i);
    assert_non_null(v);
    assert_string_equal(v->name, name);
    assert_int_equal(v->kind, kind);
    assert_int_equal(v->begin_ns, begin_ns);
    assert_int_equal(v->end_ns, end_ns);
    return v;
}

/* ---- nested, overlapping, open ---- */

/*
 *     train   1 .............. 9
 *     epoch      2 ... 5
 *     epoch                6 ... 8
 *     fetch         4 ................ 11
 *     tail                          9.5 .. (open until the end at 12)
 */
static void write_phases(struct tape_writer *w)
{
    sample(w, SECOND / 2, 0, 1);
    phase(w, true, 1 * SECOND, "train");
    phase(w, true, 2 * SECOND, "epoch");
    phase(w, true, 4 * SECOND, "fetch");
    phase(w, false, 5 * SECOND, "epoch");
    sample(w, 11 * SECOND / 2, 0, 1);
    phase(w, true, 6 * SECOND, "epoch");
    event(w, BARO_EVENT_MARK, 7 * SECOND, 0, "checkpoint");
    phase(w, false, 8 * SECOND, "epoch");
    phase(w, false, 9 * SECOND, "train");
    phase(w, true, 19 * SECOND / 2, "tail");
    phase(w, false, 11 * SECOND, "fetch");
    phase(w, false, 23 * SECOND / 2, "never");
    sample(w, 12 * SECOND, 0, 1);
}

static void check_phases(const struct baro_timeline *t)
{
    assert_int_equal(baro_timeline_count(t), 7);
    item(t, 0, BARO_TIMELINE_PHASE, "train", 1 * SECOND, 9 * SECOND);
    item(t, 1, BARO_TIMELINE_PHASE, "epoch", 2 * SECOND, 5 * SECOND);
    item(t, 2, BARO_TIMELINE_PHASE, "fetch", 4 * SECOND, 11 * SECOND);
    item(t, 3, BARO_TIMELINE_PHASE, "epoch", 6 * SECOND, 8 * SECOND);
    item(t, 4, BARO_TIMELINE_MARK, "checkpoint", 7 * SECOND, 7 * SECOND);
    item(t, 5, BARO_TIMELINE_PHASE, "tail", 19 * SECOND / 2, 12 * SECOND);
    item(t, 6, BARO_TIMELINE_EVENT, "unmatched_end", 23 * SECOND / 2, 23 * SECOND / 2);
    static const int depth[] = {0, 1, 2, 1, 0, 0};
    static const ptrdiff_t parent[] = {-1, 0, 1, 2, 3, 2};
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(baro_timeline_get(t, i)->depth, depth[i]);
        assert_int_equal(baro_timeline_get(t, i)->parent, parent[i]);
        assert_int_equal(baro_timeline_get(t, i)->is_open, i == 5);
    }
    assert_int_equal(baro_timeline_lanes(t), 3);
    assert_null(baro_timeline_get(t, 7));
    static const struct {
        uint64_t half_seconds;
        ptrdiff_t phase;
    } at[] = {{0, -1}, {2, 0}, {3, 0}, {4, 1}, {8, 2}, {10, 2}, {12, 3}, {15, 3}, {16, 2}, {18, 2}, {19, 5}, {24, 5}};
    for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
        assert_int_equal(baro_timeline_phase_at(t, at[i].half_seconds * SECOND / 2), at[i].phase);
}

TEST(phases)
{
    struct tape_writer *w = new_tape(tape_path, NULL);
    write_phases(w);
    tape_ended(w);
    check_phases(timeline());
    check_phases(live());
}

/* Two phases of one name, distinguished by their id; one that a process reported ends with that process at the latest,
 * also if the process's start is not known: the first exit of its pid since then is its own. An end that comes after
 * the exit record counts. */
TEST(ids)
{
    struct tape_writer *w = new_tape(tape_path, NULL);
    const struct baro_attribute a[] = {text_of("id", "1"), text_of("file", "a.c")}, b = text_of("id", "2"),
                                c = text_of("id", "3");
    const struct baro_key key[3] = {{200, 50}, {201, 51}, {202, 52}};
    sample(w, 1, 0, 1);
    struct baro_event e = {.t_ns = 1 * SECOND,
                           .kind = BARO_EVENT_PHASE_BEGIN,
                           .key = key[0],
                           .text = "cc",
                           .n_attributes = 2,
                           .attribute = a};
    tape_writer_event(w, &e);
    e = (struct baro_event){.t_ns = 2 * SECOND,
                            .kind = BARO_EVENT_PHASE_BEGIN,
                            .key = key[1],
                            .text = "cc",
                            .n_attributes = 1,
                            .attribute = &b};
    tape_writer_event(w, &e);
    struct baro_exit gone = {.t_ns = 1 * SECOND, .id = 6, .key = {201, 0}, .name = "another"};
    tape_writer_exit(w, &gone);
    gone = (struct baro_exit){.t_ns = 4 * SECOND, .id = 7, .key = key[0], .name = "baro"};
    tape_writer_exit(w, &gone);
    const struct baro_attribute end[] = {
        text_of("id", "1"), {.name = "status", .type = BARO_ATTRIBUTE_UNSIGNED, .u64 = 3}, text_of("file", "b.c")};
    event_with(w, BARO_EVENT_PHASE_END, 3 * SECOND, "cc", end, 3);
    gone.id = 8;
    gone.key = (struct baro_key){201, 0};
    gone.t_ns = 5 * SECOND;
    tape_writer_exit(w, &gone);
    gone.id = 9; /* its exit is on the tape before its line */
    gone.key = key[2];
    gone.t_ns = 5500 * MS;
    tape_writer_exit(w, &gone);
    e = (struct baro_event){.t_ns = 5 * SECOND,
                            .kind = BARO_EVENT_PHASE_BEGIN,
                            .key = key[2],
                            .text = "late",
                            .n_attributes = 1,
                            .attribute = &c};
    tape_writer_event(w, &e);
    sample(w, 6 * SECOND, 0, 1);
    tape_ended(w);
    const struct baro_timeline *t = timeline();
    assert_int_equal(baro_timeline_count(t), 3);
    assert_false(item(t, 2, BARO_TIMELINE_PHASE, "late", 5 * SECOND, 5500 * MS)->is_open);
    const struct baro_timeline_item *v = item(t, 0, BARO_TIMELINE_PHASE, "cc", 1 * SECOND, 3 * SECOND);
    assert_string_equal(v->text, "cc (status 3) file=b.c");
    assert_int_equal(v->attribute_count, 2);
    assert_int_equal(v->pid, 200);
    assert_false(v->is_open);
    v = item(t, 1, BARO_TIMELINE_PHASE, "cc", 2 * SECOND, 5 * SECOND);
    assert_false(v->is_open);
    assert_int_equal(v->depth, 1);
}

/* ---- what was used ---- */

static void expect(const struct baro_timeline *t, size_t i, const char *fact, double value, unsigned flags)
{
    struct baro_value v;
    int f = baro_timeline_fact_find(fact);
    assert_true(f >= 0);
    assert_int_equal(baro_timeline_value(t, i, f, &v), 0);
    double is = baro_timeline_fact(f)->type == BARO_FACT_REAL ? v.real : (double)v.u64, off = is - value;
    if (off > 1e-6 || off < -1e-6)
        fail_msg("%s of item %zu is %.9g, not %.9g", fact, i, is, value);
    if (v.flags != flags)
        fail_msg("%s of item %zu has flags %u, not %u", fact, i, v.flags, flags);
}

static void expect_absent(const struct baro_timeline *t, size_t i, const char *fact, int reason)
{
    struct baro_value v;
    assert_int_equal(baro_timeline_value(t, i, baro_timeline_fact_find(fact), &v), reason);
}

/* Samples each second: cpu 0, 2, 3, 3.5, 5.5 s at 1, 2, 3, 4 and 5 s; rss 10, 30, 20, 20, 40. */
static void write_usage(struct tape_writer *w)
{
    sample(w, 1 * SECOND, 0, 10);
    phase(w, true, 1500 * MS, "a");
    sample(w, 2 * SECOND, 2 * SECOND, 30);
    phase(w, false, 3 * SECOND, "a");
    phase(w, true, 3 * SECOND, "b");
    sample(w, 3 * SECOND, 3 * SECOND, 20);
    phase(w, true, 3200 * MS, "short");
    phase(w, false, 3700 * MS, "short");
    struct baro_exit e = {.t_ns = 3800 * MS, .id = 9, .key = {500, 5}, .name = "cc1"};
    memset(e.absent, BARO_ABSENT_UNKNOWN, sizeof(e.absent));
    e.absent[EXIT_rss_peak] = e.absent[EXIT_elapsed] = BARO_PRESENT;
    e.value[EXIT_rss_peak] = 700;
    e.value[EXIT_elapsed] = 500 * MS;
    tape_writer_exit(w, &e);
    sample(w, 4 * SECOND, 3500 * MS, 20);
    sample(w, 5 * SECOND, 5500 * MS, 40);
}

static void check_usage(const struct baro_timeline *t)
{
    assert_int_equal(baro_timeline_count(t), 3);
    /* Half of the first 2 s, all of the next second; both could lie anywhere between 1 and 3 s. */
    expect(t, 0, "wall_ns", 1.5e9, 0);
    expect(t, 0, "cpu_ns", 2e9, BARO_VALUE_ESTIMATE);
    expect(t, 0, "cores_mean", 4.0 / 3, BARO_VALUE_ESTIMATE);
    expect(t, 0, "rss_peak_bytes", 30, BARO_VALUE_LOWER_BOUND);
    expect(t, 0, "samples", 2, 0);
    expect_absent(t, 0, "io_read_bytes", BARO_ABSENT_UNKNOWN);
    expect_absent(t, 0, "pss_peak_bytes", BARO_ABSENT_NOT_ASKED);
    expect_absent(t, 0, "throttled_ns", BARO_ABSENT_NOT_YET);
    /* Open, from 3 s on: its begin is that of a sample. The exit lies in it. */
    assert_true(baro_timeline_get(t, 1)->is_open);
    expect(t, 1, "wall_ns", 2e9, 0);
    expect(t, 1, "cpu_ns", 2.5e9, 0);
    expect(t, 1, "cores_mean", 1.25, 0);
    expect(t, 1, "cores_peak", 2, 0);
    expect(t, 1, "rss_peak_bytes", 700, BARO_VALUE_LOWER_BOUND);
    /* Half of the growth between two samples; memory on the line between them. */
    expect(t, 2, "cpu_ns", 250e6, BARO_VALUE_ESTIMATE);
    expect(t, 2, "rss_peak_bytes", 20, BARO_VALUE_LOWER_BOUND | BARO_VALUE_ESTIMATE);
    expect(t, 2, "samples", 0, 0);
}

TEST(usage)
{
    struct tape_writer *w = new_tape(tape_path, NULL);
    write_usage(w);
    tape_ended(w);
    check_usage(timeline());
    check_usage(live());
}

static void sample_split(struct tape_writer *w, uint64_t t_ns, uint64_t user_ns, uint64_t system_ns)
{
    struct baro_sample s = {.t_ns = t_ns};
    memset(s.job_absent, BARO_ABSENT_UNKNOWN, sizeof(s.job_absent));
    s.job_absent[JOB_cpu] = s.job_absent[JOB_cpu_user] = s.job_absent[JOB_cpu_system] = BARO_PRESENT;
    s.job[JOB_cpu] = user_ns + system_ns;
    s.job[JOB_cpu_user] = user_ns;
    s.job[JOB_cpu_system] = system_ns;
    assert_int_equal(tape_writer_commit(w, &s, NULL), 0);
}

static void ended(struct tape_writer *w, uint64_t begin_ns, uint64_t end_ns, uint64_t user_ns, uint64_t system_ns,
                  bool has_split)
{
    struct baro_exit e = {.t_ns = end_ns, .id = (uint32_t)(end_ns / MS), .key = {500, 5}, .name = "cc1"};
    memset(e.absent, BARO_ABSENT_UNKNOWN, sizeof(e.absent));
    e.absent[EXIT_elapsed] = e.absent[EXIT_cpu] = BARO_PRESENT;
    e.absent[EXIT_cpu_user] = e.absent[EXIT_cpu_system] = has_split ? BARO_PRESENT : BARO_ABSENT_UNKNOWN;
    e.value[EXIT_elapsed] = end_ns - begin_ns;
    e.value[EXIT_cpu] = user_ns + system_ns;
    e.value[EXIT_cpu_user] = user_ns;
    e.value[EXIT_cpu_system] = system_ns;
    tape_writer_exit(w, &e);
}

/* The first process ended after the phase; the end of the other one was found later, and the end of the phase last. */
TEST(exit_that_was_found_late)
{
    struct tape_writer *w = new_tape(tape_path, NULL);
    sample_split(w, 1 * SECOND, 0, 0);
    phase(w, true, 2 * SECOND, "computes");
    sample_split(w, 2 * SECOND, 0, 0);
    ended(w, 3550 * MS, 3800 * MS, 60 * MS, 0, true);
    ended(w, 2500 * MS, 3000 * MS, 30 * MS, 0, true);
    phase(w, false, 3500 * MS, "computes");
    sample_split(w, 4 * SECOND, 90 * MS, 0);
    sample_split(w, 5 * SECOND, 90 * MS, 0);
    tape_ended(w);
    expect(timeline(), 0, "cpu_ns", 30e6, 0);
    expect(live(), 0, "cpu_ns", 30e6, 0);
}

/* The job's CPU time did not grow, by an odd tape, and its part in user mode did. */
TEST(split_without_growth)
{
    struct tape_writer *w = new_tape(tape_path, NULL);
    phase(w, true, 1500 * MS, "half");
    sample_split(w, 1 * SECOND, 0, 90 * MS);
    ended(w, 1500 * MS, 1700 * MS, 10 * MS, 0, false);
    ended(w, 1500 * MS, 1700 * MS, 0, 0, false);
    phase(w, false, 2 * SECOND, "half");
    sample_split(w, 2 * SECOND, 90 * MS, 0);
    sample_split(w, 3 * SECOND, 90 * MS, 0);
    tape_ended(w);
    expect(timeline(), 0, "cpu_ns", 10e6, 0);
    expect(timeline(), 0, "cpu_user_ns", 45e6, BARO_VALUE_ESTIMATE);
}

/* Two processes between two samples: one computes, the other one is in the kernel. Each has a phase around it. Then the
 * same with exits that do not say how their time is split. */
static void write_exits(struct tape_writer *w)
{
    sample_split(w, 1 * SECOND, 0, 0);
    for (uint64_t i = 1; i <= 2; i++) {
        uint64_t t = i * SECOND;
        phase(w, true, t + 100 * MS, "computes");
        ended(w, t + 100 * MS, t + 400 * MS, 60 * MS, 0, i == 1);
        phase(w, false, t + 400 * MS, "computes");
        phase(w, true, t + 500 * MS, "kernel");
        ended(w, t + 500 * MS, t + 900 * MS, 0, 40 * MS, i == 1);
        phase(w, false, t + 900 * MS, "kernel");
        sample_split(w, t + SECOND, i * 60 * MS, i * 40 * MS);
    }
    sample_split(w, 4 * SECOND, 120 * MS, 80 * MS);
}

static void check_exits(const struct baro_timeline *t)
{
    assert_int_equal(baro_timeline_count(t), 4);
    expect(t, 0, "cpu_ns", 60e6, 0);
    expect(t, 0, "cpu_user_ns", 60e6, 0);
    expect(t, 0, "cpu_system_ns", 0, 0);
    expect(t, 1, "cpu_ns", 40e6, 0);
    expect(t, 1, "cpu_user_ns", 0, 0);
    expect(t, 1, "cpu_system_ns", 40e6, 0);
    expect(t, 2, "cpu_ns", 60e6, 0);
    expect(t, 2, "cpu_user_ns", 36e6, BARO_VALUE_ESTIMATE);
    expect(t, 2, "cpu_system_ns", 24e6, BARO_VALUE_ESTIMATE);
    expect(t, 3, "cpu_ns", 40e6, 0);
    expect(t, 3, "cpu_user_ns", 24e6, BARO_VALUE_ESTIMATE);
    expect(t, 3, "cpu_system_ns", 16e6, BARO_VALUE_ESTIMATE);
}

TEST(exits)
{
    struct tape_writer *w = new_tape(tape_path, NULL);
    write_exits(w);
    tape_ended(w);
    check_exits(timeline());
    check_exits(live());
    w = new_tape(tape_path, NULL);
    sample_split(w, 1 * SECOND, 0, 0);
    phase(w, true, 1 * SECOND, "a");
    ended(w, 1200 * MS, 1400 * MS, 60 * MS, 0, true);
    ended(w, 1200 * MS, 1500 * MS, 30 * MS, 10 * MS, false);
    phase(w, false, 2 * SECOND, "a");
    sample_split(w, 2 * SECOND, 50 * MS, 30 * MS); /* the rest of the 100 ms is found later */
    sample_split(w, 3 * SECOND, 80 * MS, 30 * MS);
    tape_ended(w);
    const struct baro_timeline *t = timeline();
    expect(t, 0, "cpu_ns", 100e6, 0);
    /* Split as the total is, whatever exits of processes shorter than a few ticks say. */
    expect(t, 0, "cpu_user_ns", 62.5e6, BARO_VALUE_ESTIMATE);
    expect(t, 0, "cpu_system_ns", 37.5e6, BARO_VALUE_ESTIMATE);
    /* Nobody knows when in its life a process used its time, unless next to all of its life is in the phase. */
    w = new_tape(tape_path, NULL);
    sample_split(w, 1 * SECOND, 0, 0);
    phase(w, true, 1200 * MS, "a");
    phase(w, false, 1500 * MS, "a");
    ended(w, 1100 * MS, 1900 * MS, 80 * MS, 0, true);
    sample_split(w, 2 * SECOND, 80 * MS, 0);
    phase(w, true, 2201 * MS, "b");
    phase(w, false, 2900 * MS, "b");
    ended(w, 2200 * MS, 2900 * MS, 70 * MS, 0, true);
    sample_split(w, 3 * SECOND, 150 * MS, 0);
    tape_ended(w);
    t = timeline();
    expect(t, 0, "cpu_ns", 30e6, BARO_VALUE_ESTIMATE);
    expect(t, 0, "cpu_user_ns", 30e6, BARO_VALUE_ESTIMATE);
    expect(t, 1, "cpu_ns", 69.9e6, 0);
}

static void sample_bytes(struct tape_writer *w, uint64_t t_ns, uint64_t bytes, uint64_t lag_ns)
{
    static const enum job_metric has[] = {JOB_io_read, JOB_io_write, JOB_io_rchar, JOB_io_wchar, JOB_io_lag};
    struct baro_sample s = {.t_ns = t_ns};
    memset(s.job_absent, BARO_ABSENT_UNKNOWN, sizeof(s.job_absent));
    for (size_t i = 0; i < sizeof(has) / sizeof(*has); i++)
        s.job_absent[has[i]] = BARO_PRESENT;
    s.job[JOB_io_wchar] = bytes;
    s.job[JOB_io_write] = bytes;
    s.job[JOB_io_lag] = lag_ns;
    assert_int_equal(tape_writer_commit(w, &s, NULL), 0);
}

/* A linker writes 40 MB and ends with its phase at 1.9 s. The sample at 2 s lacks them: it has what the linker's parent
 * had at 1 s. Of the time from 1 s until the sample that has them 0.8 of 1.05 s are the phase's. */
TEST(bytes_that_come_late)
{
    for (int is_late = 0; is_late < 2; is_late++) {
        struct tape_writer *w = new_tape(tape_path, NULL);
        sample_bytes(w, 1 * SECOND, 1000000, 0);
        phase(w, true, 1100 * MS, "link");
        phase(w, false, 1900 * MS, "link");
        phase(w, true, 2010 * MS, "next");
        sample_bytes(w, 2 * SECOND, is_late ? 1000000 : 43000000, is_late * SECOND);
        sample_bytes(w, 2050 * MS, 43000000, 0);
        sample_bytes(w, 3 * SECOND, 43000000, 0);
        phase(w, false, 4 * SECOND, "next");
        sample_bytes(w, 4 * SECOND, 44000000, 0);
        tape_ended(w);
        const struct baro_timeline *t = timeline();
        expect(t, 0, "io_wchar_bytes", is_late ? 32e6 : 33.6e6, BARO_VALUE_ESTIMATE);
        expect(t, 1, "io_wchar_bytes", is_late ? 2.6e6 : 1e6, is_late ? BARO_VALUE_ESTIMATE : 0);
        expect(t, 0, "io_read_bytes", 0, 0);
        expect(live(), 0, "io_wchar_bytes", is_late ? 32e6 : 33.6e6, BARO_VALUE_ESTIMATE);
    }
}

/* The exits of processes that lived within a phase have their bytes. */
TEST(bytes_of_exits)
{
    struct tape_writer *w = new_tape(tape_path, NULL);
    struct baro_exit e = {.t_ns = 1899 * MS, .id = 1, .key = {500, 5}, .name = "ld"};
    memset(e.absent, BARO_ABSENT_UNKNOWN, sizeof(e.absent));
    e.absent[EXIT_elapsed] = e.absent[EXIT_own_io_write] = e.absent[EXIT_own_io_wchar] = BARO_PRESENT;
    e.value[EXIT_elapsed] = 700 * MS;
    e.value[EXIT_own_io_write] = 39000000;
    e.value[EXIT_own_io_wchar] = 40000000;
    sample_bytes(w, 1 * SECOND, 0, 0);
    phase(w, true, 1100 * MS, "link");
    phase(w, false, 1900 * MS, "link");
    tape_writer_exit(w, &e);
    sample_bytes(w, 1901 * MS, 0, 0);
    sample_bytes(w, 3 * SECOND, 40000000, 0);
    tape_ended(w);
    expect(timeline(), 0, "io_wchar_bytes", 40e6, 0);
    expect(timeline(), 0, "io_write_bytes", 39e6, 0);
    expect(live(), 0, "io_write_bytes", 39e6, 0);
}

/* The process lived from 0.5 to 1.5 s, and used 50 of its 100 ms after the first sample. The other 30 ms are its own,
 * too, if no process was left at 2 s; else another one may have used them at any time. */
TEST(nobody_is_left)
{
    for (uint64_t left = 0; left < 2; left++) {
        struct tape_writer *w = new_tape(tape_path, NULL);
        sample_split(w, 1 * SECOND, 50 * MS, 0);
        phase(w, true, 1 * SECOND, "a");
        phase(w, false, 1500 * MS, "a");
        struct baro_exit e = {.t_ns = 1500 * MS, .id = 5, .key = {500, 5}, .name = "cc1", .sampled = true};
        memset(e.absent, BARO_ABSENT_UNKNOWN, sizeof(e.absent));
        e.absent[EXIT_elapsed] = e.absent[EXIT_cpu] = BARO_PRESENT;
        e.value[EXIT_elapsed] = SECOND;
        e.value[EXIT_cpu] = 100 * MS;
        tape_writer_exit(w, &e);
        struct baro_sample s = {.t_ns = 2 * SECOND};
        memset(s.job_absent, BARO_ABSENT_UNKNOWN, sizeof(s.job_absent));
        s.job_absent[JOB_cpu] = s.job_absent[JOB_processes] = BARO_PRESENT;
        s.job[JOB_cpu] = 130 * MS;
        s.job[JOB_processes] = left;
        tape_add(w, &s);
        tape_ended(w);
        expect(timeline(), 0, "cpu_ns", left ? 65e6 : 80e6, left ? BARO_VALUE_ESTIMATE : 0);
    }
}

/* The sum of pss has values that were read long before: it is an estimate, and rss is not. */
TEST(stale)
{
    struct tape_writer *w = new_tape(tape_path, NULL);
    phase(w, true, SECOND / 2, "a");
    for (uint64_t i = 1; i <= 3; i++) {
        struct baro_process p = {.id = 1, .key = {100, 7}, .name = (char *)"work", .read_ns = i * SECOND};
        struct baro_process *all[] = {&p};
        struct baro_sample s = {.t_ns = i * SECOND, .n = 1, .processes = all};
        p.value[PROCESS_rss] = 200;
        p.value[PROCESS_pss] = 100;
        s.job[JOB_pss_stale] = 1;
        tape_add(w, &s);
    }
    phase(w, false, 3 * SECOND, "a");
    tape_ended(w);
    const struct baro_timeline *t = timeline();
    expect(t, 0, "pss_peak_bytes", 100, BARO_VALUE_LOWER_BOUND | BARO_VALUE_ESTIMATE);
    expect(t, 0, "rss_peak_bytes", 200, BARO_VALUE_LOWER_BOUND);
}

/* A phase that is reported as a whole, at its end: it began long before. */
TEST(whole)
{
    struct tape_writer *w = new_tape(tape_path, NULL);
    const struct baro_attribute at[] = {{.name = "duration_ns", .type = BARO_ATTRIBUTE_UNSIGNED, .u64 = 3 * SECOND},
                                        {.name = "loss", .type = BARO_ATTRIBUTE_REAL, .real = 0.125}};
    for (uint64_t i = 1; i <= 600; i++)
        sample(w, i * SECOND / 100, i * SECOND / 100, i);
    event_with(w, BARO_EVENT_PHASE_END, 5 * SECOND, "fit", at, 2);
    sample(w, 7 * SECOND, 7 * SECOND, 1);
    tape_ended(w);
    const struct baro_timeline *t = timeline();
    assert_string_equal(item(t, 0, BARO_TIMELINE_PHASE, "fit", 2 * SECOND, 5 * SECOND)->text, "fit loss=0.125");
    expect(t, 0, "cpu_ns", 3e9, 0);
    expect(t, 0, "rss_peak_bytes", 500, BARO_VALUE_LOWER_BOUND);
    t = live(); /* of the time before the rows that are kept only the rest is known */
    expect(t, 0, "cpu_ns", 1.55e9, BARO_VALUE_LOWER_BOUND);
}

/* The recorder's own attributes are apart from those of the job, also from one of the same name. */
TEST(written)
{
    struct tape_writer *w = new_tape(tape_path, NULL);
    const struct baro_attribute at[] = {{.name = "duration_ns", .type = BARO_ATTRIBUTE_UNSIGNED, .u64 = 3 * SECOND},
                                        {.name = "duration_ns", .type = BARO_ATTRIBUTE_JSON, .text = "7"},
                                        {.name = "by", .type = BARO_ATTRIBUTE_JSON, .text = "{\"a\":[null]}"}};
    event_with(w, BARO_EVENT_PHASE_END, 5 * SECOND, "fit", at, 3);
    tape_ended(w);
    const struct baro_timeline *t = timeline();
    const struct baro_timeline_item *v = item(t, 0, BARO_TIMELINE_PHASE, "fit", 2 * SECOND, 5 * SECOND);
    assert_string_equal(v->text, "fit duration_ns=7 by={\"a\":[null]}");
    assert_int_equal(v->attribute_count, 2);
    assert_int_equal(v->attribute[1].type, BARO_ATTRIBUTE_JSON);
    assert_string_equal(v->attribute[1].text, "{\"a\":[null]}");
}

/* ---- events ---- */

TEST(events)
{
    struct tape_writer *w = new_tape(tape_path, NULL);
    struct baro_event e = {.t_ns = 10, .kind = BARO_EVENT_START, .key = {100, 7}, .text = "sh"};
    tape_writer_event(w, &e);
    e = (struct baro_event){.t_ns = 20, .kind = BARO_EVENT_EXEC, .key = {100, 7}, .text = "python3"};
    tape_writer_event(w, &e);
    e.key.pid = 101;
    tape_writer_event(w, &e);
    event(w, BARO_EVENT_STOP, 1 * SECOND, SIGTSTP, "");
    event(w, BARO_EVENT_CONT, 2 * SECOND, 0, "");
    event(w, BARO_EVENT_GAP, 6 * SECOND, 3 * SECOND, "disk full");
    event(w, BARO_EVENT_SUSPEND, 7 * SECOND, 3600 * SECOND, "the machine slept");
    event(w, BARO_EVENT_CLOCK_STEP, 8 * SECOND, (uint64_t)(-5 * (int64_t)SECOND), "");
    event(w, BARO_EVENT_LOSSY, 9 * SECOND, 1, "connector");
    struct baro_exit dead = {
        .t_ns = 10 * SECOND, .id = 3, .key = {102, 8}, .name = "worker", .status_known = true, .status = SIGSEGV};
    tape_writer_exit(w, &dead);
    dead = (struct baro_exit){
        .t_ns = 11 * SECOND, .id = 4, .key = {100, 7}, .name = "python3", .status_known = true, .status = SIGKILL};
    tape_writer_exit(w, &dead);
    event(w, BARO_EVENT_END, 11 * SECOND, SIGKILL, "");
    tape_ended(w);
    const struct baro_timeline *t = timeline();
    static const struct {
        const char *name, *text;
        bool is_problem;
    } want[] = {{"start", "start of sh", false},
                {"exec", "exec python3", false},
                {"stopped", "stopped by SIGTSTP", false},
                {"gap", "gap of 3.00 s: disk full", true},
                {"suspend", "the machine slept for 1 h 00 min", true},
                {"clock_step", "the wall clock was set 5.00 s back", false},
                {"lost_events", "events lost (connector)", true},
                {"killed", "worker killed by SIGSEGV", true},
                {"end", "killed by SIGKILL", true}};
    assert_int_equal(baro_timeline_count(t), sizeof(want) / sizeof(*want));
    for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
        const struct baro_timeline_item *v = baro_timeline_get(t, i);
        assert_int_equal(v->kind, BARO_TIMELINE_EVENT);
        assert_string_equal(v->name, want[i].name);
        assert_string_equal(v->text, want[i].text);
        assert_int_equal(v->is_problem, want[i].is_problem);
    }
    item(t, 2, BARO_TIMELINE_EVENT, "stopped", 1 * SECOND, 2 * SECOND);
    item(t, 3, BARO_TIMELINE_EVENT, "gap", 3 * SECOND, 6 * SECOND);
    assert_int_equal(baro_timeline_lanes(t), 0);
    assert_int_equal(baro_timeline_phase_at(t, SECOND), -1);
}

static void write_group(struct tape_writer *w, uint64_t t_ns, uint64_t throttled_ns, uint64_t kills)
{
    uint64_t value[CGROUP_MAX] = {0};
    uint8_t absent[CGROUP_MAX];
    struct baro_entity g = {.id = 5,
                            .kind = BARO_KIND_CGROUP,
                            .name = (char *)"/job",
                            .label = (char *)"v2",
                            .value = value,
                            .absent = absent};
    struct baro_entity *all[] = {&g};
    struct baro_sample s = {.t_ns = t_ns, .has_host = true, .host_ns = t_ns};
    memset(absent, BARO_ABSENT_UNSUPPORTED, sizeof(absent));
    memset(s.host_absent, BARO_ABSENT_UNSUPPORTED, sizeof(s.host_absent));
    absent[CGROUP_cpu_throttled] = absent[CGROUP_oom_kills] = BARO_PRESENT;
    value[CGROUP_cpu_throttled] = throttled_ns;
    value[CGROUP_oom_kills] = kills;
    s.entities[BARO_KIND_CGROUP] = (struct baro_entities){1, all, 0};
    s.job[JOB_cpu] = t_ns;
    tape_add(w, &s);
}

/* Throttled from 1 to 4 s with a quiet second between, and again up to 7 s; a kill between 6 and 7 s. */
TEST(groups)
{
    struct tape_writer *w = new_tape(tape_path, NULL);
    phase(w, true, 2 * SECOND, "busy");
    write_group(w, 1 * SECOND, 100 * MS, 0);
    write_group(w, 2 * SECOND, 500 * MS, 0);
    write_group(w, 3 * SECOND, 500 * MS, 0);
    write_group(w, 4 * SECOND, 1000 * MS, 0);
    phase(w, false, 4 * SECOND, "busy");
    write_group(w, 5 * SECOND, 1000 * MS, 0);
    write_group(w, 6 * SECOND, 1000 * MS, 0);
    struct baro_exit dead = {
        .t_ns = 6500 * MS, .id = 3, .key = {102, 8}, .name = "python3", .status_known = true, .status = SIGKILL};
    tape_writer_exit(w, &dead);
    write_group(w, 7 * SECOND, 1700 * MS, 1);
    tape_ended(w);
    const struct baro_timeline *t = timeline();
    assert_int_equal(baro_timeline_count(t), 4);
    const struct baro_timeline_item *v = item(t, 0, BARO_TIMELINE_EVENT, "throttled", 1 * SECOND, 4 * SECOND);
    assert_string_equal(v->text, "throttled 900 ms by its CPU quota");
    assert_true(v->is_problem);
    item(t, 1, BARO_TIMELINE_PHASE, "busy", 2 * SECOND, 4 * SECOND);
    item(t, 2, BARO_TIMELINE_EVENT, "throttled", 6 * SECOND, 7 * SECOND);
    v = item(t, 3, BARO_TIMELINE_EVENT, "oom_kill", 6500 * MS, 6500 * MS);
    assert_string_equal(v->text, "likely OOM kill of python3");
    expect(t, 1, "throttled_ns", 500e6, 0);
}

static void write_pressure(struct tape_writer *w, uint64_t t_ns, uint64_t pressure_ns, int absent)
{
    struct baro_sample s = {.t_ns = t_ns, .has_host = true, .host_ns = t_ns};
    memset(s.host_absent, BARO_ABSENT_UNSUPPORTED, sizeof(s.host_absent));
    s.host_absent[HOST_pressure_io_some] = (uint8_t)absent;
    s.host[HOST_pressure_io_some] = absent ? 0 : pressure_ns;
    tape_add(w, &s);
}

/* A reading at 3 s lacks the value: it is not known how much belongs to the second before, and to the one after. */
TEST(reading_without_the_value)
{
    struct tape_writer *w = new_tape(tape_path, NULL);
    write_pressure(w, 1 * SECOND, 100 * MS, 0);
    for (uint64_t i = 1; i < 5; i++) {
        phase(w, true, i * SECOND, "second");
        phase(w, false, (i + 1) * SECOND, "second");
        write_pressure(w, (i + 1) * SECOND, (i + 1) * 100 * MS, i == 2 ? BARO_ABSENT_DENIED : 0);
    }
    phase(w, true, 1 * SECOND, "all");
    phase(w, false, 5 * SECOND, "all");
    write_pressure(w, 6 * SECOND, 600 * MS, 0);
    tape_ended(w);
    const struct baro_timeline *t = timeline();
    expect(t, 0, "host_pressure_io_some_ns", 200e6, BARO_VALUE_LOWER_BOUND);
    expect(t, 1, "host_pressure_io_some_ns", 100e6, 0);
    expect_absent(t, 2, "host_pressure_io_some_ns", BARO_ABSENT_DENIED);
    expect_absent(t, 3, "host_pressure_io_some_ns", BARO_ABSENT_DENIED);
    expect(t, 4, "host_pressure_io_some_ns", 100e6, 0);
}

/* Many phases that are never ended, of one name and of many; all of them stay, and the order is right. What each of
 * thousands that are open has used is not followed from sample to sample. */
TEST(many)
{
    enum { MANY = 20000 };
    struct tape_writer *w = new_tape(tape_path, NULL);
    sample(w, 1, 0, 1);
    for (unsigned i = 0; i < MANY; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%u", i % 100);
        phase(w, true, SECOND + i, name);
    }
    for (unsigned i = 0; i < MANY / 2; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%u", i % 100);
        phase(w, false, 2 * SECOND + i, name);
    }
    for (uint64_t s = 3; s < 6; s++)
        sample(w, s * SECOND, (s - 3) * SECOND, 1);
    tape_ended(w);
    const struct baro_timeline *t = timeline();
    assert_int_equal(baro_timeline_count(t), MANY);
    expect(t, 0, "cpu_ns", 2e9, 0);
    expect_absent(t, MANY / 2 - 1, "cpu_ns", BARO_ABSENT_UNKNOWN); /* the last one that is open */
    expect(t, MANY - 1, "cpu_ns", 0, 0);
    size_t open = 0;
    for (size_t i = 0; i < MANY; i++) {
        open += baro_timeline_get(t, i)->is_open;
        assert_int_equal(baro_timeline_get(t, i)->begin_ns, SECOND + i);
        assert_int_equal(baro_timeline_get(t, i)->is_open, i < MANY / 2); /* the last begun ends first */
    }
    assert_int_equal(open, MANY / 2);
    assert_int_equal(baro_timeline_lanes(t), 64);
}

static int tear_down(void **state)
{
    baro_fold_free(fold);
    return 0;
}

int main(void)
{
    return cmocka_run_group_tests(unit_tests, NULL, tear_down);
}
