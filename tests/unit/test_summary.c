/* SPDX-License-Identifier: Apache-2.0 */
/* The summary: computed by hand, the same live and from a tape, and as printed. */
#include "unit.h"
#include "libbaro/sample/row.h"
#include "baro/summary.h"
#include "base/escape.h"
#include "golden.h"
#include "libbaro/summary/facts.h"
#include "libbaro/summary/summary.h"
#include "output/rows/csv_json.h"
#include "output/text/lines.h"
#include "output/text/summary_text.h"
#include "receivers.h"
#include "story.h"
#include "tape_file.h"

static void write_story(void)
{
    struct baro_header h;
    struct story story;
    story_header(&h);
    struct tape_writer *w = tape_begun(tape_path, &h);
    story_play(&story, &(struct story_sink){to_tape_sample, to_tape_exit, to_tape_event, w});
    tape_ended(w);
}

/* ---- figures ---- */

static const struct command *named(const struct baro_summary *s, const char *name)
{
    for (size_t i = 0; i < s->finished.n_order; i++) {
        if (strcmp(summary_command(s, i)->name, name) == 0)
            return summary_command(s, i);
    }
    return NULL;
}

/* Processes that live at the end count with their values in the last sample; attached ones without what they had used
 * before. */
TEST(alive_and_attached)
{
    struct baro_header h;
    struct baro_process p = {.id = 7, .key = {50, 5}, .name = "server"},
                        q = {.id = 9, .key = {51, 6}, .name = "worker"};
    struct baro_process *rows[] = {&p, &q};
    struct baro_sample sample = {.t_ns = MS, .n = 1, .processes = rows};
    struct baro_event start = {.kind = BARO_EVENT_START, .key = {50, 5}, .number = 5000 * MS, .text = "attached"};
    story_header(&h);
    h.mode = BARO_MODE_ATTACH;
    struct baro_summary *s = summary_new(&h);
    summary_add_event(s, &start);
    p.value[PROCESS_cpu] = 5001 * MS;
    p.value[PROCESS_rss_peak] = 80 * MB;
    summary_add_sample(s, &sample);
    sample.t_ns = 3001 * MS;
    sample.n = 2;
    p.value[PROCESS_cpu] = 7001 * MS;
    q.value[PROCESS_cpu] = 10 * MS;
    summary_add_sample(s, &sample);
    struct baro_exit e = {.id = 9, .key = {51, 6}, .name = "worker", .value = {[EXIT_cpu] = 12 * MS}};
    summary_add_exit(s, &e);
    summary_finish(s);
    assert_true(s->life.before.known);
    assert_int_equal(s->life.before.cpu_ns, 5000 * MS);
    assert_int_equal(named(s, "server")->value[COMMAND_CPU], 2000 * MS);
    assert_int_equal(named(s, "server")->value[COMMAND_RSS_PEAK], 80 * MB); /* a peak is not a sum */
    assert_int_equal(named(s, "worker")->value[COMMAND_CPU], 12 * MS);
    assert_int_equal(named(s, "worker")->processes, 1);
    assert_string_equal(summary_kernel_source(s), "ledger");
    summary_free(s);
}

/* A job in which each process has a name of its own can't use up memory. */
TEST(many_names)
{
    struct baro_header h;
    char name[32];
    story_header(&h);
    struct baro_summary *s = summary_new(&h);
    for (unsigned i = 0; i < 3 * COMMANDS_MAX; i++) {
        snprintf(name, sizeof(name), "w%u", i);
        struct baro_exit e = {.id = i + 1, .name = name, .value = {[EXIT_cpu] = 1}};
        summary_add_exit(s, &e);
    }
    summary_finish(s);
    assert_int_equal(s->commands.n, COMMANDS_MAX);
    assert_true(s->commands.overflowed);
    uint64_t processes = 0, cpu = 0;
    for (size_t i = 0; i < s->finished.n_order; i++) {
        processes += summary_command(s, i)->processes;
        cpu += summary_command(s, i)->value[COMMAND_CPU];
    }
    assert_int_equal(processes, 3 * COMMANDS_MAX);
    assert_int_equal(cpu, 3 * COMMANDS_MAX);
    assert_string_equal(summary_command(s, 0)->name, COMMANDS_OTHER);
    summary_free(s);
}

/* cc1 had 100 MB in a sample. A mark that is a little higher is of the same moment if it is its own, and of another one
 * if another program had it. */
TEST(mark_a_little_above_the_samples)
{
    const struct baro_header h = {.targets = &(int32_t){0}};
    for (int i = 0; i < 2; i++) {
        struct baro_process p = {.id = 1, .key = {50, 5}, .name = "cc1", .value = {[PROCESS_rss] = 100 * MB}};
        struct baro_process *rows[] = {&p};
        struct baro_sample sample = {.t_ns = 1, .n = 1, .processes = rows};
        struct baro_exit e = {.id = 2, .name = i ? "ar" : "cc1", .value = {[EXIT_rss_peak] = 103 * MB}};
        struct baro_summary *s = summary_new(&h);
        struct summary_rss rss;
        summary_add_sample(s, &sample);
        summary_add_exit(s, &e);
        summary_finish(s);
        summary_rss_peak(s, &rss);
        assert_int_equal(rss.value, 103 * MB);
        assert_int_equal(rss.unsampled, i);
        summary_free(s);
    }
}

TEST(nothing)
{
    struct baro_header h = {.version = "0"};
    struct baro_summary *s = summary_new(&h);
    struct buf text = {0};
    struct json json = {.out = &text};
    double d;
    summary_finish(s);
    assert_int_equal(summary_wall_ns(s), 0);
    assert_int_equal(summary_cores_mean(s, &d), BARO_ABSENT_NOT_YET);
    summary_json(s, NULL, &json);
    report_block(s, NULL, (struct report_style){.width = 80}, &text);
    assert_false(text.failed);
    buf_done(&text);
    summary_free(s);
}

static void add_exit(struct baro_summary *s, char *name, enum baro_exit_source source, uint64_t cpu_ns, uint64_t unsure)
{
    struct baro_exit e = {.name = name, .cmdline = (char *)"", .source = source};
    memset(e.absent, BARO_ABSENT_GONE, sizeof(e.absent));
    e.absent[EXIT_cpu] = e.absent[EXIT_cpu_unsure] = BARO_PRESENT;
    e.value[EXIT_cpu] = cpu_ns;
    e.value[EXIT_cpu_unsure] = unsure;
    summary_add_exit(s, &e);
}

/* Of the job's 61 ms the commands have no more together; what is known to be unsure is taken away first, and what
 * wait4(2) reported stays. */
TEST(parts_are_no_more_than_the_whole)
{
    static const struct {
        struct {
            enum baro_exit_source source;
            uint64_t cpu, unsure, least, most; /* ms */
        } part[3];
    } jobs[] = {
        {{{BARO_EXIT_PERF, 40, 1, 30, 40}, {BARO_EXIT_PERF, 20, 0, 10, 20}, {BARO_EXIT_WAIT4, 10, 0, 10, 10}}},
        /* by taskstats and what their parents took over */
        {{{BARO_EXIT_TASKSTATS, 42, 0, 41, 42}, {BARO_EXIT_TASKSTATS, 21, 1, 18, 20}, {BARO_EXIT_WAIT4, 0, 0, 0, 0}}},
    };
    for (size_t k = 0; k < 2; k++) {
        struct baro_header h = {.version = "0", .cpus = 2, .mode = BARO_MODE_RUN};
        struct baro_sample sample = {.t_ns = 200 * MS, .job[JOB_cpu] = 61 * MS};
        struct baro_summary *s = summary_new(&h);
        uint64_t cpu = 0;
        for (size_t i = 0; i < 3; i++)
            add_exit(s, (char *[]){(char *)"a", (char *)"b", (char *)"c"}[i], jobs[k].part[i].source,
                     jobs[k].part[i].cpu * MS, jobs[k].part[i].unsure * MS);
        summary_add_sample(s, &sample);
        summary_finish(s);
        for (size_t i = 0; i < 3; i++) {
            const struct command *c = named(s, (const char *[]){"a", "b", "c"}[i]);
            cpu += c->value[COMMAND_CPU];
            assert_in_range(c->value[COMMAND_CPU], jobs[k].part[i].least * MS, jobs[k].part[i].most * MS);
            assert_true(k == 1 || i == 2 || c->cpu_unsure_ns > 2 * MS);
        }
        assert_in_range(cpu, 61 * MS - 4, 61 * MS);
        summary_free(s);
    }
}

/* The job is a control group, which has counted 61 ms. a, which has 121 ms, left it before it ended, and no reading was
 * in between: how much of it was in the group is not known. */
TEST(parts_that_left_the_job_are_estimates)
{
    struct baro_header h = {.version = "0", .cpus = 2, .mode = BARO_MODE_ATTACH, .cgroup_mode = "target"};
    struct baro_sample sample = {.t_ns = 200 * MS};
    struct baro_event end = {.t_ns = 200 * MS, .kind = BARO_EVENT_END, .text = ""};
    struct baro_summary *s = summary_new(&h);
    struct baro_value v;
    add_exit(s, (char *)"a", BARO_EXIT_TASKSTATS, 121 * MS, 0);
    sample.job[JOB_cpu] = 61 * MS;
    summary_add_sample(s, &sample);
    summary_finish(s);
    v = (struct baro_value){0};
    baro_summary_value(s, baro_summary_fact_find("commands", "cpu_ns"), 0, &v);
    assert_false(v.flags & BARO_VALUE_ESTIMATE); /* the job may have no newer reading */
    summary_add_event(s, &end);
    summary_finish(s);
    v = (struct baro_value){0};
    baro_summary_value(s, baro_summary_fact_find("commands", "cpu_ns"), 0, &v);
    assert_int_equal(v.u64, 121 * MS);
    assert_true(v.flags & BARO_VALUE_ESTIMATE);
    summary_free(s);
}

/* Samples at 200 and 400 ms. */
TEST(cores)
{
    static const struct {
        uint32_t cpus;
        uint64_t first_ns, second_ns;
        double mean, peak;
    } jobs[] = {
        {4, 100 * MS, 102 * MS, 0.255, 0.255}, /* 102 / 400; the peak is no less than that, not (102 - 100) / 200 */
        {2, 600 * MS, 801 * MS, 2,
         2}, /* what was used before the first instruction is included: no more than there is */
    };
    for (size_t i = 0; i < 2; i++) {
        struct baro_header h = {.version = "0", .cpus = jobs[i].cpus};
        struct baro_summary *s = summary_new(&h);
        struct baro_sample sample = {.t_ns = 200 * MS, .job[JOB_cpu] = jobs[i].first_ns};
        double mean, peak;
        summary_add_sample(s, &sample);
        sample.t_ns = 400 * MS;
        sample.job[JOB_cpu] = jobs[i].second_ns;
        summary_add_sample(s, &sample);
        summary_finish(s);
        assert_int_equal(summary_cores_mean(s, &mean), 0);
        assert_int_equal(summary_cores_peak(s, &peak), 0);
        assert_true(mean == jobs[i].mean && peak == jobs[i].peak);
        summary_free(s);
    }
}

/* ---- words ---- */

/* Every line fits, and is broken at blanks, except for a word that is longer than a line; a number keeps its unit. */
TEST(narrow)
{
    struct baro_summary *s = summary_of_story();
    for (unsigned width = 40; width <= 100; width++) {
        struct buf text = {0};
        report_block(s, "t", (struct report_style){.width = width}, &text);
        buf_byte(&text, 0);
        for (char *rest = (char *)text.at, *line; (line = strtok_r(rest, "\n", &rest)) != NULL;) {
            if (strlen(line) > width)
                fail_msg("%u columns: %s", width, line);
            assert_true(strncmp(line + strspn(line, " "), "MB", 2) != 0 &&
                        strncmp(line + strspn(line, " "), "s ", 2) != 0);
        }
        buf_done(&text);
    }
}

/* Page faults and context switches share a line. One that was not recorded does not hide the other. */
TEST(line_of_which_a_part_is_absent)
{
    for (int way = 0; way < 4; way++) {
        bool faults = way & 1, switches = way & 2;
        struct buf text = {0};
        char *argv[] = {(char *)"a", NULL};
        struct baro_header h = {.host = "h", .argv = argv};
        struct baro_summary *s = summary_new(&h);
        struct baro_sample sample = {.t_ns = 0};
        if (!faults)
            sample.job_absent[JOB_faults_minor] = sample.job_absent[JOB_faults_major] = BARO_ABSENT_NOT_ASKED;
        if (!switches)
            sample.job_absent[JOB_switches_voluntary] = sample.job_absent[JOB_switches_involuntary] =
                BARO_ABSENT_NOT_ASKED;
        summary_add_sample(s, &sample);
        sample.t_ns = 400 * MS;
        sample.job[JOB_faults_minor] = faults ? 200 : 0;
        sample.job[JOB_faults_major] = faults ? 3 : 0;
        sample.job[JOB_switches_voluntary] = switches ? 50 : 0;
        sample.job[JOB_switches_involuntary] = switches ? 4 : 0;
        summary_add_sample(s, &sample);
        summary_finish(s);
        report_block(s, "t", (struct report_style){.width = 100, .utf8 = true}, &text);
        buf_byte(&text, 0);
        assert_int_equal(strstr((char *)text.at, "200 minor, ") != NULL, faults);
        assert_int_equal(strstr((char *)text.at, "50 voluntary, ") != NULL, switches);
        assert_int_equal(strstr((char *)text.at, "\n  faults ") != NULL, faults || switches);
        buf_done(&text);
        summary_free(s);
    }
}

TEST(path_is_cut_in_the_middle)
{
    struct lines l = {.style = {.width = 100}};
    struct buf b = {0};
    lines_path(&l, &b, "cgroup /kubepods.slice/kubepods-burstable.slice/pod1/0123456789abcdef memory.max", 40);
    buf_byte(&b, 0);
    assert_string_equal((char *)b.at, "cgroup /kubep...3456789abcdef memory.max");
    buf_done(&b);
}

/* ---- live and replay ---- */

static void summary_text(const struct baro_summary *s, struct buf *ret)
{
    struct json json = {.out = ret, .pretty = true};
    summary_json(s, "t", &json);
    report_block(s, "t", (struct report_style){.width = 100, .utf8 = true}, ret);
}

/* Every fact of every row, whether JSON has it or not. */
static void compare_facts(const struct baro_summary *a, const struct baro_summary *b)
{
    for (int f = 0; f < baro_summary_fact_count(); f++) {
        int section = baro_summary_fact(f)->section;
        assert_int_equal(baro_summary_rows(a, section), baro_summary_rows(b, section));
        for (size_t row = 0; row < baro_summary_rows(a, section); row++) {
            struct baro_value v, w;
            assert_int_equal(baro_summary_value(a, f, row, &v), baro_summary_value(b, f, row, &w));
            assert_int_equal(v.flags, w.flags);
            assert_true(v.u64 == w.u64 && v.i64 == w.i64 && v.real == w.real);
            assert_true(!v.text == !w.text && (!v.text || strcmp(v.text, w.text) == 0));
        }
    }
}

static void compare_with_tape(const struct baro_summary *live)
{
    struct baro_summary *replay = summary_of_file(tape_path);
    struct buf a = {0}, b = {0};
    summary_text(live, &a);
    summary_text(replay, &b);
    buf_byte(&a, 0);
    buf_byte(&b, 0);
    assert_string_equal((char *)a.at, (char *)b.at);
    compare_facts(live, replay);
    summary_free(replay);
    buf_done(&a);
    buf_done(&b);
}

TEST(story_live_is_replay)
{
    struct baro_summary *s = summary_of_story();
    write_story();
    compare_with_tape(s);
}

TEST(world_live_is_replay)
{
    struct tape_writer *w = new_tape(tape_path, NULL);
    struct world *world = world_new(3);
    static char *argv[] = {"make", "-j8", NULL};
    struct baro_header h = {.host = "h", .argv = argv};
    struct baro_summary *live = summary_new(&h);
    for (unsigned i = 0; i < 1500; i++) {
        for (unsigned k = i % 3; k > 0; k--) {
            struct baro_exit e;
            char name[16];
            world_exit(world, &e, name);
            tape_writer_exit(w, &e);
            summary_add_exit(live, &e);
        }
        world_tick(world);
        tape_add(w, &world->sample);
        summary_add_sample(live, &world->sample);
    }
    const struct baro_event end = {.t_ns = world->sample.t_ns, .kind = BARO_EVENT_END, .text = "unknown"};
    tape_writer_event(w, &end);
    summary_add_event(live, &end);
    tape_ended(w);
    summary_finish(live);
    compare_with_tape(live);
    summary_free(live);
    world_free(world);
}

/* ---- golden ---- */

TEST(golden_report)
{
    static const struct {
        const char *name;
        struct report_style style;
    } styles[] = {
        {"summary-100.txt", {.width = 100, .utf8 = true}},
        {"summary-80-ascii.txt", {.width = 80}},
        {"summary-color.txt", {.width = 100, .utf8 = true, .color = true}},
        {"summary-40.txt", {.width = 20, .utf8 = true}},
    };
    struct baro_summary *s = summary_of_story();
    struct buf text = {0};
    for (size_t i = 0; i < sizeof(styles) / sizeof(*styles); i++) {
        buf_clear(&text);
        report_block(s, "/t/x.baro", styles[i].style, &text);
        expect_golden(styles[i].name, &text);
        for (size_t k = 0; k < text.len; k++)
            assert_true(text.at[k] >= 0x20 || text.at[k] == '\n' || (text.at[k] == 0x1b && styles[i].style.color));
    }
    buf_clear(&text);
    struct json json = {.out = &text, .pretty = true};
    summary_json(s, "/t/x.baro", &json);
    expect_golden("summary.json", &text);
    buf_done(&text);
}

/* The short block has at most 15 lines, none of them too long, for a job with hostile names as well. */
TEST(glance)
{
    struct baro_summary *s = summary_of_story();
    for (unsigned width = 40; width <= 200; width++) {
        for (int way = 0; way < 4; way++) {
            struct report_style style = {.width = width, .utf8 = way & 1, .curves = way & 2};
            struct buf text = {0};
            unsigned lines = 0;
            report_glance(s, NULL, "/tmp/a/long/path/of/a/tape/that/goes/on/and/on.baro", style, &text);
            if (way == 3 && (width == 80 || width == 40))
                expect_golden(width == 80 ? "glance-80.txt" : "glance-40.txt", &text);
            buf_byte(&text, 0);
            for (char *rest = (char *)text.at, *line; (line = strtok_r(rest, "\n", &rest)) != NULL; lines++) {
                if (utf8_columns(line, strlen(line)) > width)
                    fail_msg("%u columns: %s", width, line);
            }
            assert_true(lines >= 4 && lines <= 15);
            buf_done(&text);
        }
    }
}

/* A control byte becomes four. */
TEST(escaped_text_of_any_length)
{
    char text[1000];
    memset(text, 1, sizeof(text));
    for (size_t len = 0; len <= sizeof(text); len += len < 40 ? 1 : 40) {
        struct buf b = {0};
        csv_text(&b, text, len, false);
        assert_int_equal(b.len, 4 * len);
        assert_true(!len || memcmp(b.at + b.len - 4, "\\x01", 4) == 0);
        buf_done(&b);
    }
}

/* Text that a spreadsheet takes for a formula gets an apostrophe, and so does text with an apostrophe; a number that
 * begins with - does not. */
TEST(safe_csv)
{
    static const char *const names[][3] = {
        {"=cmd|' /C calc'!A0", "=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"},
        {"+1", "+1", "'+1"},
        {"-1", "-1", "'-1"},
        {"@SUM(A1)", "@SUM(A1)", "'@SUM(A1)"},
        {"\t=1", "\\x09=1", "'\\x09=1"},
        {"\r=1", "\\x0d=1", "'\\x0d=1"},
        {"'=1", "'=1", "''=1"},
        {"=1,\"a\"", "\"=1,\"\"a\"\"\"", "\"'=1,\"\"a\"\"\""},
        {"cc1", "cc1", "cc1"},
        {"a=1", "a=1", "a=1"},
        {"\n=1", "\\x0a=1", "\\x0a=1"},
        {"", "", ""},
    };
    const struct baro_column name_column = {.kind = BARO_COLUMN_NAME, .name = "name"};
    const struct baro_column nice_column = {.kind = BARO_COLUMN_METRIC,
                                            .id = PROCESS_nice,
                                            .name = "=nice",
                                            .metric = baro_metric_get(BARO_KIND_PROCESS, PROCESS_nice)};
    const struct baro_column *at[] = {&name_column, &nice_column};
    int metric[] = {-1, PROCESS_nice};
    uint64_t value[2];
    uint8_t absent[2];
    struct columns c = {
        .kind = BARO_KIND_PROCESS, .at = at, .n = 2, .metric = metric, .value = value, .absent = absent};
    struct buf text = {0};
    char expected[64];
    csv_header(&c, true, &text);
    buf_byte(&text, 0);
    assert_string_equal((char *)text.at, "name,'=nice\n");
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char name[32];
        struct baro_process p = {.name = strcpy(name, names[i][0])};
        const struct output_row row = {.process = ROW(&p)};
        p.value[PROCESS_nice] = (uint64_t)-5;
        for (int safe = 0; safe < 2; safe++) {
            buf_clear(&text);
            csv_row(&c, &row, safe, &text);
            buf_byte(&text, 0);
            snprintf(expected, sizeof(expected), "%s,-5\n", names[i][1 + safe]);
            assert_string_equal((char *)text.at, expected);
        }
    }
    buf_done(&text);
}

TEST(columns)
{
    struct columns c;
    char unknown[64];
    write_story();
    struct baro_tape *tape = tape_opened(tape_path);
    assert_int_equal(columns_choose(&c, ROW_EVENT, "time,cpu", tape, unknown, NULL), BARO_E_SYNTAX);
    assert_string_equal(unknown, "cpu");
    columns_done(&c);
    /* the sum differs */
    assert_int_equal(columns_choose(&c, BARO_KIND_JOB, "nice", tape, unknown, NULL), BARO_E_SYNTAX);
    columns_done(&c);
    assert_int_equal(columns_choose(&c, BARO_KIND_PROCESS, "", tape, unknown, NULL), BARO_E_SYNTAX);
    columns_done(&c);
    assert_gives(columns_choose(&c, BARO_KIND_JOB, "rss,rss_bytes,cpu_ns", tape, unknown, NULL), c.n, 3);
    assert_string_equal(c.at[0]->name, "rss_bytes");
    columns_done(&c);
    baro_tape_close(tape);
}
