/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of a summary through the public API: the table itself, and values worked out by hand from tapes. */
#include <math.h>
#include <unistd.h>

#include "unit.h"
#include "expect_facts.h"
#include "libbaro/sample/row.h"
#include "baro/summary.h"
#include "libbaro/summary/facts.h"
#include "story.h"
#include "receivers.h"
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

/* A mark whose words name no fact would never be set. */
TEST(marks_are_of_facts)
{
    static const struct {
        const char *section, *covers;
    } marks[] = {
#define SECTION(id, name, is_table, help) {name, ""},
#define MARK(id, covers, mark, when, help) {NULL, covers},
#include "libbaro/summary/facts.def"
    };
    char word[64];
    int section = -1;
    for (size_t i = 0; i < COUNT(marks); i++) {
        section = marks[i].section ? baro_summary_section_find(marks[i].section) : section;
        assert_true(section >= 0);
        for (const char *at = marks[i].covers; *at; at += strspn(at, " ")) {
            size_t n = strcspn(at, " "), found = 0;
            snprintf(word, sizeof(word), "%.*s", (int)n, at);
            for (int f = 0; f < baro_summary_fact_count(); f++) {
                const struct baro_fact *fact = baro_summary_fact(f);
                bool fits = word[n - 1] == '_' ? strncmp(fact->name, word, n) == 0
                                               : strcmp(word, "*") == 0 || strcmp(fact->name, word) == 0;
                found += fact->section == section && fits;
            }
            if (!found)
                fail_msg("%s: \"%s\" is no fact", baro_summary_section(section)->name, word);
            at += n;
        }
    }
}

/* ---- values ---- */

TEST(story)
{
    struct baro_summary *s = summary_of_story();
    expect_facts(s, "command.argument make", "command.argument[2] all targets", "mode run", "cgroup none", "cpus 2",
                 "wall_ns 2900000000", "exit.status 2", "exit.signal none", "exit.wait_status 512",
                 "job.cpu_ns 2400000000", "job.cores_mean 0.827586", "job.cores_peak 1.8",
                 "job.run_delay_ns at least 310000000", "job.switches_voluntary not yet", "job.faults_major not yet",
                 "job.rss_peak_bytes at least 652000000", "job.rss_peak_age_ns 2001000000", "job.rss_peak_members 3",
                 "job.rss_peak_at_most_bytes about 1074000000", "job.pss_peak_bytes at least 490000000",
                 "job.pss_peak_age_ns 1001000000", "job.pss_peak_covered 3", "job.uss_peak_bytes at least 478500000",
                 "job.threads_peak at least 4", "job.fds_peak 9", "job.swap_peak_bytes not yet",
                 "job.process_rss_peak_name ld", "job.io_write_bytes 18446744073709551614",
                 "job.processes_started at least 5", "job.memory_peak_t_ns 2001000000", "pss_peak_held_by.name cc1",
                 "pss_peak_held_by.processes 2", "pss_peak_held_by.bytes 489000000", "rss_peak_held_by.name ld",
                 "before.cpu_ns none", "limits.cores_at_most_source machine", "limits.cores_at_most 2", "host.name h",
                 "host.cpu_model unknown", "accounting.kernel_source wait4", "accounting.remainder_ratio 0.0475",
                 "recorder.cpu_budget_ratio none", "recorder.warning none", "recorder.sample_mean_ns 200000",
                 "recorder.process_sample_mean_ns 17142", "commands.name ld", "commands.cpu_ns at least 1250000000",
                 /* Forks may have been missed, and 114 ms are of no process that was seen. One cc1 ended as ld. */
                 "job.processes_ended at least 5", "commands.name[1] cc1", "commands.processes[1] at least 1",
                 "commands.cpu_ns[1] at least 1010000000", "commands.rss_peak_bytes[1] at least 412000000",
                 "commands.io_read_bytes[1] gone", "commands.name[4] " STORY_HOSTILE);
    static const struct {
        const char *section;
        size_t rows;
    } sections[] = {{"command", 3}, {"commands", 5}, {"rss_peak_held_by", 3}, {"pss_peak_held_by", 2}, {"targets", 0},
                    {"job", 1},     {"jobs", 0}};
    for (size_t i = 0; i < COUNT(sections); i++)
        assert_int_equal(rows_of(s, sections[i].section), sections[i].rows);
    static const struct {
        const char *section, *name;
        int row;
    } named[] = {
        {"commands", "ld", 0}, {"commands", "cc1", 1}, {"commands", "cc", -1}, {"job", "ld", -1}, {"", "ld", -1}};
    for (size_t i = 0; i < COUNT(named); i++)
        assert_int_equal(baro_summary_row_find(s, baro_summary_section_find(named[i].section), named[i].name),
                         named[i].row);
}

TEST(what_does_not_exist)
{
    struct baro_header h = {.version = "0"};
    struct baro_value v;
    struct baro_summary *s = summary_new(&h);
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

static uint64_t u64_of(const struct baro_summary *s, const char *section, const char *name, size_t row)
{
    struct baro_value v;
    assert_int_equal(baro_summary_value(s, baro_summary_fact_find(section, name), row, &v), BARO_PRESENT);
    return v.u64;
}

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
    struct baro_summary *s = summary_of_story(), *empty;
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
    empty = summary_new(&h);
    assert_non_null(empty);
    expect_mark(empty, "job", "cpu", 0, BARO_VALUE_LOWER_BOUND, false);
    expect_mark(empty, "job", "processes_peak", 0, BARO_VALUE_LOWER_BOUND, false);
    summary_free(empty);
}

/* Where kcmp(2) is refused, memory may count twice: its peaks are upper bounds, and other warnings change none. */
TEST(memory_that_may_count_twice)
{
    struct baro_summary *s = summary_of_story();
    struct baro_event e = {.kind = BARO_EVENT_WARNING, .text = "somebody has cut the tape off"};
    summary_add_event(s, &e);
    expect_mark(s, "job", "rss_peak", 0, BARO_VALUE_UPPER_BOUND, 0);
    e.text = MEMORY_COUNTS_TWICE;
    summary_add_event(s, &e);
    summary_add_event(s, &e); /* a tape in segments has it in each */
    expect_mark(s, "job", "rss_peak", 0, BARO_VALUE_UPPER_BOUND, 1);
    expect_mark(s, "limits", "memory_peak", 0, BARO_VALUE_UPPER_BOUND, 1);
}

/* The kernel splits the CPU time of the job and that of a process apart: a part is no more than the whole. */
TEST(a_part_is_no_more_than_the_whole)
{
    struct baro_summary *s = summary_of_story();
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
}

/* The story has 26 of 2,400 ms in processes of less than 40 ms. Six more of 39 ms are more than a tenth; of 40 ms the
 * kernel's split is taken as it is. */
TEST(the_split_of_brief_processes_is_an_estimate)
{
    for (uint64_t ms = 39; ms <= 40; ms++) {
        struct baro_summary *s = summary_of_story();
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
        assert_int_equal(rows_of(s, "commands"), 2);
        expect_facts(s, "commands.name b", "commands.processes 1");
        assert_int_equal(u64_of(s, "commands", "cpu_ns", 0), second * 20 * MS);
        assert_int_equal(u64_of(s, "commands", "cpu_ns", 1), second * 10 * MS);
    }
    summary_add(s, &exit);
    summary_finish(s);
    summary_finish(s);
    expect_facts(s, "commands.processes 1", "commands.cpu_ns at least 70000000", "commands.cpu_ns[1] 30000000");
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
    expect_facts(s, "commands.name sh", "commands.processes at least 2", "commands.cpu_ns at least 80000000",
                 "commands.name[1] ", "commands.processes[1] 1", "commands.cpu_ns[1] 40000000",
                 "job.processes_ended 0");
    summary_free(s);
}

TEST(targets_and_signals)
{
    static int32_t targets[] = {50, 60};
    static const struct {
        int status;
        const char *signal, *core;
    } ends[] = {{9, "exit.signal SIGKILL", "exit.is_core_dumped 0"},
                {40, "exit.signal 40", "exit.is_core_dumped 0"},
                {11 | 0x80, "exit.signal SIGSEGV", "exit.is_core_dumped 1"}};
    struct baro_process p = {.id = 7, .key = {50, 5}, .name = "server"}, *rows[] = {&p};
    struct baro_sample sample = {.t_ns = MS, .n = 1, .processes = rows};
    for (size_t i = 0; i < COUNT(ends); i++) {
        struct baro_header h = {.version = "0", .mode = BARO_MODE_ATTACH, .n_targets = 2, .targets = targets};
        struct baro_event end = {.kind = BARO_EVENT_END, .t_ns = MS, .number = (uint64_t)ends[i].status, .text = ""};
        struct baro_record record = sample_record(&sample), last = {.kind = BARO_RECORD_EVENT, .u.event = &end};
        struct baro_summary *s = summary_new(&h);
        assert_non_null(s);
        summary_add(s, &record);
        summary_add(s, &last);
        summary_finish(s);
        expect_facts(s, "targets.pid[1] 60", "targets.name server", "targets.name[1] unknown", "exit.status none",
                     ends[i].signal, ends[i].core);
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
        struct baro_summary *s = summary_new(&h);
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
