/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of a summary through the public API: the table itself, and values worked out by hand from tapes. */
#include <math.h>
#include <unistd.h>

#define UNIT_OWN_MAIN
#include "unit.h"
#include "libbaro/sample/row.h"
#include "baro/summary.h"
#include "libbaro/summary/facts.h"
#include "machine_story.h"
#include "receivers.h"
#include "story.h"
#include "tape_file.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* ---- the table ---- */

TEST(table_is_whole)
{
    int next = 0;
    for (int i = 0; i < baro_summary_section_count(); i++) {
        const struct baro_section *section = baro_summary_section(i);
        assert_int_equal(baro_summary_section_find(section->name), i);
        assert_true(section->help[0]);
        assert_int_equal(section->first_fact, next);
        assert_true(section->fact_count > 0);
        for (int f = next; f < next + section->fact_count; f++) {
            const struct baro_fact *fact = baro_summary_fact(f);
            assert_int_equal(fact->section, i);
            assert_true(fact->help[0]);
            assert_int_equal(baro_summary_fact_find(section->name, fact->name), f); /* no name twice */
        }
        next += section->fact_count;
    }
    assert_int_equal(next, baro_summary_fact_count());
    assert_null(baro_summary_section(-1));
    assert_null(baro_summary_section(baro_summary_section_count()));
    assert_null(baro_summary_fact(-1));
    assert_null(baro_summary_fact(next));
    assert_int_equal(baro_summary_section_find("jobs"), -1);
    assert_int_equal(baro_summary_fact_find("job", "cpu"), -1);
    assert_int_equal(baro_summary_fact_find("jobs", "cpu_ns"), -1);
}

/* The unit is in the name, as for metrics. */
TEST(units_are_in_names)
{
    static const struct {
        enum baro_unit unit;
        const char *end;
    } ends[] = {{BARO_UNIT_NS, "_ns"}, {BARO_UNIT_BYTES, "bytes"}, {BARO_UNIT_RATIO, "_ratio"}};
    for (int f = 0; f < baro_summary_fact_count(); f++) {
        const struct baro_fact *fact = baro_summary_fact(f);
        for (size_t i = 0; i < COUNT(ends); i++) {
            size_t n = strlen(fact->name), m = strlen(ends[i].end);
            bool ends_so = n >= m && strcmp(fact->name + n - m, ends[i].end) == 0;
            if (ends_so != (fact->unit == ends[i].unit))
                fail_msg("%s: unit %s", fact->name, baro_unit_name(fact->unit));
        }
    }
}

/* ---- values ---- */

struct expected {
    const char *section, *name;
    size_t row;
    int absent;
    unsigned flags;
    uint64_t u64;
    double real;
    const char *text;
};

static void expect(const struct baro_summary *s, const struct expected *e)
{
    struct baro_value v;
    int fact = baro_summary_fact_find(e->section, e->name);
    int absent = (int)baro_summary_value(s, fact, e->row, &v);
    double off = v.real - e->real;
    if (fact < 0 || absent != e->absent || (int)v.absent != absent || v.flags != e->flags || v.u64 != e->u64 ||
        off > 1e-9 || off < -1e-9 || strcmp(v.text ? v.text : "", e->text ? e->text : "") != 0)
        fail_msg("%s.%s[%zu] is %d, flags %u, %llu, %.9f, %s", e->section, e->name, e->row, absent, v.flags,
                 (unsigned long long)v.u64, v.real, v.text ? v.text : "NULL");
}

/* What tests/lib/story.h records, from a tape. */
static struct baro_summary *summary_of_story(const char *path)
{
    struct baro_header h;
    struct story story;
    story_header(&h);
    struct tape_writer *w = tape_begun(path, &h);
    story_play(&story, &(struct story_sink){to_tape_sample, to_tape_exit, to_tape_event, w});
    tape_ended(w);
    return summary_of_file(path);
}

TEST(story)
{
    static const struct expected all[] = {
        {"command", "argument", 0, .text = "make"},
        {"command", "argument", 2, .text = "all targets"},
        {"", "mode", 0, .text = "run"},
        {"", "cgroup", 0, .absent = BARO_ABSENT_NONE},
        {"", "cpus", 0, .u64 = 2},
        {"", "wall_ns", 0, .u64 = 2900 * MS},
        {"exit", "status", 0, .u64 = 2},
        {"exit", "signal", 0, .absent = BARO_ABSENT_NONE},
        {"exit", "wait_status", 0, .u64 = 512},
        {"job", "cpu_ns", 0, .u64 = 2400 * MS},
        {"job", "cores_mean", 0, .real = 2400.0 / 2900},
        {"job", "cores_peak", 0, .real = 1.8},
        {"job", "run_delay_ns", 0, .flags = BARO_VALUE_LOWER_BOUND, .u64 = 310 * MS},
        {"job", "switches_voluntary", 0, .absent = BARO_ABSENT_NOT_YET},
        {"job", "rss_peak_bytes", 0, .flags = BARO_VALUE_LOWER_BOUND, .u64 = 652 * MB},
        {"job", "rss_peak_at_most_bytes", 0, .flags = BARO_VALUE_ESTIMATE, .u64 = 1074 * MB},
        {"job", "pss_peak_bytes", 0, .flags = BARO_VALUE_LOWER_BOUND, .u64 = 490 * MB},
        {"job", "swap_peak_bytes", 0, .absent = BARO_ABSENT_NOT_YET},
        {"job", "process_rss_peak_name", 0, .text = "ld"},
        {"job", "io_write_bytes", 0, .u64 = UINT64_MAX - 1},
        {"job", "processes_started", 0, .flags = BARO_VALUE_LOWER_BOUND, .u64 = 5},
        {"job", "memory_peak_t_ns", 0, .u64 = 2001 * MS},
        {"pss_peak_held_by", "name", 0, .text = "cc1"},
        {"pss_peak_held_by", "processes", 0, .u64 = 2},
        {"pss_peak_held_by", "bytes", 0, .u64 = 489 * MB},
        {"rss_peak_held_by", "name", 0, .text = "ld"},
        {"before", "cpu_ns", 0, .absent = BARO_ABSENT_NONE},
        {"limits", "cores_at_most_source", 0, .text = "machine"},
        {"limits", "cores_at_most", 0, .real = 2},
        {"host", "name", 0, .text = "h"},
        {"host", "cpu_model", 0, .absent = BARO_ABSENT_UNKNOWN},
        {"accounting", "kernel_source", 0, .text = "wait4"},
        {"accounting", "remainder_ratio", 0, .real = 0.0475},
        {"commands", "name", 1, .text = "cc1"},
        /* Forks may have been missed, and 114 ms are of no process that was seen. */
        {"job", "processes_ended", 0, .flags = BARO_VALUE_LOWER_BOUND, .u64 = 5},
        {"commands", "processes", 1, .flags = BARO_VALUE_LOWER_BOUND, .u64 = 1},
        {"commands", "cpu_ns", 1, .flags = BARO_VALUE_LOWER_BOUND, .u64 = 1010 * MS},
        {"commands", "io_read_bytes", 1, .absent = BARO_ABSENT_GONE},
        {"recorder", "cpu_budget_ratio", 0, .absent = BARO_ABSENT_NONE},
        {"recorder", "warning", 0, .absent = BARO_ABSENT_NONE},
    };
    struct baro_summary *s = summary_of_story(*state);
    for (size_t i = 0; i < COUNT(all); i++)
        expect(s, &all[i]);
    assert_int_equal(baro_summary_rows(s, baro_summary_section_find("command")), 3);
    assert_int_equal(baro_summary_rows(s, baro_summary_section_find("commands")), 5);
    assert_int_equal(baro_summary_rows(s, baro_summary_section_find("rss_peak_held_by")), 3);
    assert_int_equal(baro_summary_rows(s, baro_summary_section_find("targets")), 0);
    assert_int_equal(baro_summary_rows(s, baro_summary_section_find("job")), 1);
    assert_int_equal(baro_summary_rows(s, -1), 0);
    summary_free(s);
}

/* A container with a quota of half a core, on a busy machine: tests/lib/machine_story.h. */
TEST(machine_story)
{
    static const struct expected all[] = {
        {"limits", "memory_bytes", 0, .u64 = 500 * MB},
        {"limits", "memory_source", 0, .text = "cgroup /pod memory.max"},
        {"limits", "cores", 0, .real = 0.5},
        {"limits", "pids", 0, .u64 = 100},
        {"limits", "cores_is_hidden", 0, .u64 = 0},
        {"host", "cores", 0, .u64 = 4},
        {"host", "watched_ns", 0, .u64 = 3000 * MS},
    };
    struct machine_story *m = calloc(1, sizeof(*m));
    struct baro_header h;
    machine_story_header(&h);
    struct baro_summary *s = summary_new(&h);
    assert_true(m && s);
    machine_story_play(m, &(struct story_sink){to_summary_sample, to_summary_exit, to_summary_event, s});
    summary_finish(s);
    for (size_t i = 0; i < COUNT(all); i++)
        expect(s, &all[i]);
    summary_free(s);
    free(m);
}

TEST(what_does_not_exist)
{
    struct baro_header h = {.version = "0"};
    struct baro_summary *s;
    struct baro_value v;
    s = summary_new(&h);
    assert_non_null(s);
    assert_int_equal(baro_summary_value(s, -1, 0, &v), BARO_ABSENT_UNSUPPORTED);
    assert_int_equal(v.absent, BARO_ABSENT_UNSUPPORTED);
    assert_int_equal(baro_summary_value(s, baro_summary_fact_count(), 0, &v), BARO_ABSENT_UNSUPPORTED);
    assert_int_equal(baro_summary_value(s, baro_summary_fact_find("job", "cpu_ns"), 1, &v), BARO_ABSENT_UNSUPPORTED);
    assert_int_equal(baro_summary_value(s, baro_summary_fact_find("commands", "name"), 0, &v), BARO_ABSENT_UNSUPPORTED);
    assert_int_equal(baro_summary_value(s, baro_summary_fact_find("job", "cpu_ns"), 0, &v), BARO_ABSENT_NOT_YET);
    assert_int_equal(baro_summary_value(s, baro_summary_fact_find("", "wall_ns"), 0, &v), BARO_ABSENT_NOT_YET);
    summary_free(s);
}

/* ---- flags ---- */

/* Has one of the known numbers `covers...` of a section this mark? */
static void expect_mark(const struct baro_summary *s, const char *section, const char *covers, size_t row,
                        unsigned flag, bool is)
{
    int number = baro_summary_section_find(section);
    bool any = false;
    for (int f = 0; f < baro_summary_fact_count(); f++) {
        const struct baro_fact *fact = baro_summary_fact(f);
        struct baro_value v;
        if (fact->section == number && strncmp(fact->name, covers, strlen(covers)) == 0)
            any |= baro_summary_value(s, f, row, &v) == BARO_PRESENT && (v.flags & flag);
    }
    if (any != is)
        fail_msg("%s.%s[%zu]: %u", section, covers, row, any);
}

TEST(flags_are_those_of_values)
{
    struct baro_header h = {.version = "0"};
    struct baro_summary *s = summary_of_story(*state), *empty;
    /* all of the job is known, and all of it may be too small */
    for (int i = 0; i < JOB_MAX; i++) {
        s->rows.job_absent[i] = BARO_PRESENT;
        s->rows.job[i] = s->rows.job[i] ? s->rows.job[i] : 1;
    }
    s->life.wrapper_lost = true;
    for (int i = 0; i < PEAK_MAX; i++) {
        s->peaks.sum[i].absent = BARO_PRESENT;
        s->peaks.sum[i].covered = 0;
        s->peaks.sum[i].members = 1;
    }
    for (int i = 0; i < PEAK_MAX; i++)
        s->peaks.sum[i].stale = i == PEAK_PSS || i == PEAK_USS;
    expect_mark(s, "job", "cores", 0, BARO_VALUE_LOWER_BOUND, 1);
    expect_mark(s, "accounting", "cpu_kernel", 0, BARO_VALUE_LOWER_BOUND, 1);
    /* a group that was removed before anything was read of it */
    s->rows.job[JOB_cpu] = s->rows.job[JOB_cpu_excess] = 0;
    expect_mark(s, "job", "cpu", 0, BARO_VALUE_LOWER_BOUND, 1);
    summary_free(s);
    empty = summary_new(&h);
    assert_non_null(empty);
    expect_mark(empty, "job", "cpu", 0, BARO_VALUE_LOWER_BOUND, false);
    expect_mark(empty, "job", "processes_peak", 0, BARO_VALUE_LOWER_BOUND, false);
    summary_free(empty);
}

/* Where kcmp(2) is refused, memory may count twice: its peaks are upper bounds, and other warnings change none. */
TEST(memory_that_may_count_twice)
{
    struct baro_summary *s = summary_of_story(*state);
    struct baro_event e = {.kind = BARO_EVENT_WARNING, .text = "somebody has cut the tape off"};
    summary_add_event(s, &e);
    expect_mark(s, "job", "rss_peak", 0, BARO_VALUE_UPPER_BOUND, 0);
    e.text = MEMORY_COUNTS_TWICE;
    summary_add_event(s, &e);
    summary_add_event(s, &e); /* a tape in segments has it in each */
    expect_mark(s, "job", "rss_peak", 0, BARO_VALUE_UPPER_BOUND, 1);
    expect_mark(s, "limits", "memory_peak", 0, BARO_VALUE_UPPER_BOUND, 1);
    summary_free(s);
}

/* The kernel splits the CPU time of the job and that of a process apart: a part is no more than the whole. */
TEST(a_part_is_no_more_than_the_whole)
{
    struct baro_summary *s = summary_of_story(*state);
    struct baro_value user, system, cpu;
    s->rows.job[JOB_cpu_user] = 930 * MS; /* "ld" has 937.5 of 1,250 ms */
    s->rows.job[JOB_cpu_system] = 1470 * MS;
    summary_finish(s);
    baro_summary_value(s, baro_summary_fact_find("commands", "cpu_ns"), 0, &cpu);
    baro_summary_value(s, baro_summary_fact_find("commands", "cpu_user_ns"), 0, &user);
    baro_summary_value(s, baro_summary_fact_find("commands", "cpu_system_ns"), 0, &system);
    assert_true(user.u64 <= 930 * MS);
    assert_int_equal(user.u64 + system.u64, cpu.u64);
    assert_true(user.flags & BARO_VALUE_ESTIMATE && system.flags & BARO_VALUE_ESTIMATE);
    expect_mark(s, "commands", "cpu_user", 0, BARO_VALUE_ESTIMATE, 1);
    summary_free(s);
}

/* The story has 26 of 2,400 ms in processes of less than 40 ms. Six more of 39 ms are more than a tenth; of 40 ms the
 * kernel's split is taken as it is. */
TEST(the_split_of_brief_processes_is_an_estimate)
{
    for (uint64_t ms = 39; ms <= 40; ms++) {
        struct baro_summary *s = summary_of_story(*state);
        struct baro_exit e = {.source = BARO_EXIT_TASKSTATS, .name = "brief"};
        memset(e.absent, BARO_ABSENT_UNKNOWN, sizeof(e.absent));
        expect_mark(s, "job", "cpu_user", 0, BARO_VALUE_ESTIMATE, 0);
        e.absent[EXIT_cpu] = BARO_PRESENT;
        e.value[EXIT_cpu] = ms * MS;
        for (uint32_t i = 0; i < 6; i++) {
            e.id = 1000 + i;
            summary_add_exit(s, &e);
        }
        s->rows.job[JOB_cpu_counted] = s->rows.job[JOB_cpu];
        summary_finish(s);
        expect_mark(s, "job", "cpu_user", 0, BARO_VALUE_ESTIMATE, ms < 40);
        summary_free(s);
    }
}

/* ---- record by record ---- */

static void summary_add(struct baro_summary *s, const struct baro_record *record)
{
    builder_add_to_summary(&(struct baro_fold){.summary = s}, record);
}

static struct baro_record sample_record(const struct baro_sample *sample)
{
    return (struct baro_record){.kind = BARO_RECORD_SAMPLE, .t_ns = sample->t_ns, .u.sample = sample};
}

/* A live view finishes it after each sample: processes that are alive are counted with what they have used by then,
 * once each time, and not once more when they have ended. */
TEST(finished_again_and_again)
{
    struct baro_header h;
    struct baro_summary *s;
    struct baro_process p = {.id = 7, .key = {50, 5}, .name = "a"}, q = {.id = 9, .key = {51, 6}, .name = "b"};
    struct baro_process *rows[] = {&p, &q};
    struct baro_sample sample = {.n = 2, .processes = rows};
    struct baro_exit end = {.id = 9,
                            .key = {51, 6},
                            .name = "b",
                            .t_ns = 3500 * MS,
                            .source = BARO_EXIT_EVENT,
                            .value = {[EXIT_cpu] = 70 * MS}};
    struct baro_record exit = {.kind = BARO_RECORD_EXIT, .t_ns = end.t_ns, .u.exit = ROW(&end)};
    story_header(&h);
    s = summary_new(&h);
    assert_non_null(s);
    for (uint64_t second = 1; second <= 3; second++) {
        sample.t_ns = second * 1000 * MS;
        p.value[PROCESS_cpu] = second * 10 * MS;
        q.value[PROCESS_cpu] = second * 20 * MS;
        summary_add(s, &(struct baro_record){0}); /* nothing */
        struct baro_record record = sample_record(&sample);
        summary_add(s, &record);
        summary_finish(s);
        assert_int_equal(baro_summary_rows(s, baro_summary_section_find("commands")), 2);
        expect(s, &(struct expected){"commands", "name", 0, .text = "b"});
        expect(s, &(struct expected){"commands", "processes", 0, .u64 = 1});
        expect(s, &(struct expected){"commands", "cpu_ns", 0, .u64 = second * 20 * MS});
        expect(s, &(struct expected){"commands", "cpu_ns", 1, .u64 = second * 10 * MS});
    }
    summary_add(s, &exit);
    summary_finish(s);
    summary_finish(s);
    expect(s, &(struct expected){"commands", "processes", 0, .u64 = 1});
    expect(s, &(struct expected){"commands", "cpu_ns", 0, .flags = BARO_VALUE_LOWER_BOUND, .u64 = 70 * MS});
    expect_mark(s, "commands", "cpu", 0, BARO_VALUE_LOWER_BOUND, 1);
    expect_mark(s, "commands", "cpu", 1, BARO_VALUE_LOWER_BOUND, 0);
    summary_free(s);
}

/* Three processes of 40 ms have ended, one of them before its name was read: it may have been another sh. */
TEST(one_without_a_name)
{
    static const char *const names[] = {"sh", "sh", ""};
    struct baro_header h;
    struct baro_summary *s;
    struct baro_sample sample = {.t_ns = 1000 * MS, .job = {[JOB_cpu] = 120 * MS, [JOB_cpu_counted] = 120 * MS}};
    struct baro_record record = sample_record(&sample);
    story_header(&h);
    s = summary_new(&h);
    assert_non_null(s);
    for (uint32_t i = 0; i < COUNT(names); i++) {
        struct baro_exit end = {.id = i + 1,
                                .key = {50 + (int32_t)i, 5},
                                .name = names[i],
                                .t_ns = 500 * MS,
                                .source = BARO_EXIT_TASKSTATS,
                                .value = {[EXIT_cpu] = 40 * MS}};
        struct baro_record exit = {.kind = BARO_RECORD_EXIT, .t_ns = end.t_ns, .u.exit = ROW(&end)};
        summary_add(s, &exit);
    }
    summary_add(s, &record);
    summary_finish(s);
    expect(s, &(struct expected){"commands", "name", 0, .text = "sh"});
    expect(s, &(struct expected){"commands", "processes", 0, .flags = BARO_VALUE_LOWER_BOUND, .u64 = 2});
    expect_mark(s, "commands", "processes", 0, BARO_VALUE_LOWER_BOUND, 1);
    expect(s, &(struct expected){"commands", "cpu_ns", 0, .flags = BARO_VALUE_LOWER_BOUND, .u64 = 80 * MS});
    expect(s, &(struct expected){"commands", "name", 1, .text = ""});
    expect(s, &(struct expected){"commands", "processes", 1, .u64 = 1});
    expect(s, &(struct expected){"commands", "cpu_ns", 1, .u64 = 40 * MS});
    expect_mark(s, "job", "processes_ended", 0, BARO_VALUE_LOWER_BOUND, 0);
    summary_free(s);
}

TEST(targets_and_signals)
{
    static int32_t targets[] = {50, 60};
    static const struct {
        int status;
        const char *signal;
    } ends[] = {{9, "SIGKILL"}, {40, "40"}, {11 | 0x80, "SIGSEGV"}};
    struct baro_process p = {.id = 7, .key = {50, 5}, .name = "server"}, *rows[] = {&p};
    struct baro_sample sample = {.t_ns = MS, .n = 1, .processes = rows};
    for (size_t i = 0; i < COUNT(ends); i++) {
        struct baro_header h = {.version = "0", .mode = BARO_MODE_ATTACH, .n_targets = 2, .targets = targets};
        struct baro_event end = {.kind = BARO_EVENT_END, .t_ns = MS, .number = (uint64_t)ends[i].status, .text = ""};
        struct baro_record record = sample_record(&sample), last = {.kind = BARO_RECORD_EVENT, .u.event = &end};
        struct baro_summary *s;
        s = summary_new(&h);
        assert_non_null(s);
        summary_add(s, &record);
        summary_add(s, &last);
        summary_finish(s);
        expect(s, &(struct expected){"targets", "pid", 1, .u64 = 60});
        expect(s, &(struct expected){"targets", "name", 0, .text = "server"});
        expect(s, &(struct expected){"targets", "name", 1, .absent = BARO_ABSENT_UNKNOWN});
        expect(s, &(struct expected){"exit", "status", 0, .absent = BARO_ABSENT_NONE});
        expect(s, &(struct expected){"exit", "signal", 0, .text = ends[i].signal});
        expect(s, &(struct expected){"exit", "is_core_dumped", 0, .u64 = ends[i].status == (11 | 0x80)});
        summary_free(s);
    }
}

/* A value as a number, by the type of its fact. */
TEST(real)
{
    const struct baro_value v = {.u64 = 7, .i64 = -3, .real = 0.25, .text = "8"},
                            absent = {.absent = BARO_ABSENT_GONE, .u64 = 7};
    static const struct {
        enum baro_fact_type type;
        double real;
    } known[] = {{BARO_FACT_UNSIGNED, 7},
                 {BARO_FACT_BOOLEAN, 7},
                 {BARO_FACT_SIGNED, -3},
                 {BARO_FACT_TIME, -3},
                 {BARO_FACT_REAL, 0.25}};
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        const struct baro_fact fact = {.type = known[i].type};
        assert_true(baro_fact_real(&fact, &v) == known[i].real);
        assert_true(isnan(baro_fact_real(&fact, &absent)));
    }
    const struct baro_fact text = {.type = BARO_FACT_TEXT};
    assert_true(isnan(baro_fact_real(&text, &v)));
}

/* A process of 83.9 MB of which the newest sample had 80.1: a pss of 80 MB was not all that it had. */
TEST(pss_of_a_process_that_grew_after_the_sample)
{
    static const struct {
        uint64_t sampled, mark;
        bool is_bound;
    } cases[] = {{80100000, 83900000, true},
                 {80100000, 81500000, false}, /* 1.7 %: the kernel counts rss in lots on each CPU */
                 {3000000, 3140000, false}};
    struct baro_header h = {.version = "0"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct baro_summary *s;
        s = summary_new(&h);
        assert_non_null(s);
        struct summary_peak *sum = s->peaks.sum;
        sum[PEAK_RSS].absent = sum[PEAK_PSS].absent = BARO_PRESENT;
        sum[PEAK_RSS].members = sum[PEAK_RSS].covered = sum[PEAK_PSS].members = sum[PEAK_PSS].covered = 1;
        sum[PEAK_RSS].value = cases[i].sampled;
        sum[PEAK_PSS].value = cases[i].sampled - 100000;
        s->peaks.largest = (struct summary_largest){cases[i].mark, 0, true};
        assert_int_equal(summary_peak_is_bound(s, PEAK_PSS), cases[i].is_bound);
        assert_false(summary_peak_is_bound(s, PEAK_FDS));
        summary_free(s);
    }
}

int main(void)
{
    char path[] = "/tmp/test_facts_XXXXXX";
    int fd = mkstemp(path);
    void *at = path;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pss_of_a_process_that_grew_after_the_sample),
        cmocka_unit_test(test_real),
        cmocka_unit_test(test_table_is_whole),
        cmocka_unit_test(test_units_are_in_names),
        cmocka_unit_test_prestate(test_story, at),
        cmocka_unit_test(test_machine_story),
        cmocka_unit_test(test_what_does_not_exist),
        cmocka_unit_test(test_finished_again_and_again),
        cmocka_unit_test(test_targets_and_signals),
        cmocka_unit_test(test_one_without_a_name),
        cmocka_unit_test_prestate(test_flags_are_those_of_values, at),
        cmocka_unit_test_prestate(test_memory_that_may_count_twice, at),
        cmocka_unit_test_prestate(test_a_part_is_no_more_than_the_whole, at),
        cmocka_unit_test_prestate(test_the_split_of_brief_processes_is_an_estimate, at),
    };
    close(fd);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
