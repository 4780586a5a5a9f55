/* SPDX-License-Identifier: Apache-2.0 */
/* The header as facts, what facts mean, the id of a tape, and the watch of a folder of runs. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tapes.h"
#include "baro/baro.h"

/* The header of this tape was written by hand (tests/unit/test_tape_golden.c). */
TEST(header_functions)
{
    struct baro_tape *t = kept_tape("v1-small.baro");
    const struct baro_header *h = baro_tape_header(t);
    static const struct {
        const char *fact;
        uint64_t number;
        const char *text;
    } facts[] = {{"mode", 0, "attach"},
                 {"cwd", 0, "/home/ada"},
                 {"uid", 1000, NULL},
                 {"interval_ns", 1000000000, NULL},
                 {"overhead_ppm", 10000, NULL},
                 {"recorder_pid", 0, NULL},
                 {"event_source", 0, "connector"},
                 {"exit_source", 0, "taskstats"},
                 {"start_monotonic_ns", 77, NULL},
                 {"boot_id", 0, "01234567-89ab-cdef-0123-456789abcdef"},
                 {"clock_ticks", 100, NULL},
                 {"host", 0, "golden"},
                 {"kernel", 0, "6.18.0"},
                 {"machine", 0, "x86_64"},
                 {"cpu_model", 0, NULL},
                 {"cpus", 8, NULL},
                 {"step_id", 0, "step"},
                 {"rank", 0, "3"}};
    struct baro_value v;
    for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
        bool is_absent = baro_header_value(h, baro_header_fact_find(facts[i].fact), 0, &v) != BARO_PRESENT;
        if (is_absent != (!facts[i].number && !facts[i].text) || v.u64 != facts[i].number ||
            strcmp(v.text ? v.text : "", facts[i].text ? facts[i].text : "") != 0)
            fail_msg("%s is %llu, %s", facts[i].fact, (unsigned long long)v.u64, v.text ? v.text : "no text");
    }
    assert_false(baro_header_wants(h, -1));
    assert_false(baro_header_wants(h, 9999));
    assert_true(baro_version_check(BARO_VERSION_MAJOR, BARO_VERSION_MINOR, BARO_VERSION_PATCH));
    assert_false(baro_version_check(BARO_VERSION_MAJOR, BARO_VERSION_MINOR, BARO_VERSION_PATCH + 1));
    baro_tape_close(t);
}

TEST(header)
{
    struct baro_tape *t = kept_tape("v1-small.baro");
    const struct baro_header *h = baro_tape_header(t);
    struct baro_value v;
    for (int f = 0; f < baro_header_fact_count(); f++) {
        const struct baro_fact *fact = baro_header_fact(f);
        assert_int_equal(fact->section, -1);
        assert_true(*fact->help);
        assert_int_equal(baro_header_fact_find(fact->name), f);
        assert_int_equal(baro_header_value(h, f, baro_header_rows(h, f), &v), BARO_ABSENT_UNSUPPORTED);
        for (size_t row = 0; row < baro_header_rows(h, f); row++) {
            enum baro_absent why = baro_header_value(h, f, row, &v);
            assert_int_equal(why, v.absent);
            assert_true(why == BARO_PRESENT || why == BARO_ABSENT_UNKNOWN);
            if (fact->type == BARO_FACT_TEXT && why == BARO_PRESENT)
                assert_non_null(v.text);
        }
    }
    assert_int_equal(baro_header_value(h, baro_header_fact_find("host"), 0, &v), BARO_PRESENT);
    assert_string_equal(v.text, baro_header_host(h));
    assert_gives(baro_header_value(h, baro_header_fact_find("start"), 0, &v), v.i64, baro_header_start_realtime_ns(h));
    assert_int_equal(baro_header_value(h, baro_header_fact_find("id"), 0, &v), BARO_PRESENT);
    assert_string_equal(v.text, baro_tape_id(t));
    assert_int_equal(baro_header_fact_find("no such"), -1);
    assert_null(baro_header_fact(-1));
    assert_null(baro_header_fact(baro_header_fact_count()));
    assert_int_equal(baro_header_rows(h, -1), 0);
    size_t n = 0;
    while (baro_header_argv(h)[n])
        n++;
    assert_int_equal(baro_header_rows(h, baro_header_fact_find("argument")), n);
    baro_tape_close(t);
}

/* Calls the functions of row.h that not every kind has. Returns how many of them say @p why. */
static int count_absent(const struct baro_row *row, enum baro_absent why)
{
    uint64_t ns;
    enum baro_origin origin;
    enum baro_exit_source source;
    const char *line;
    bool is_sampled;
    int status;
    return (baro_row_origin(row, &origin) == why) + (baro_row_cmdline(row, &line) == why) +
           (baro_row_first_ns(row, &ns) == why) + (baro_row_begin_ns(NULL, row, &ns) == why) +
           (baro_row_end_ns(row, &ns) == why) + (baro_row_status(row, &status) == why) +
           (baro_row_exit_source(row, &source) == why) + (baro_row_is_sampled(row, &is_sampled) == why);
}

TEST(rows_of_another_kind)
{
    struct baro_tape *t = kept_tape("v1-small.baro");
    struct baro_record r;
    int exits = 0, processes = 0;
    assert_int_equal(count_absent(NULL, BARO_ABSENT_UNKNOWN), 8);
    while (baro_tape_next(t, &r, NULL) > 0) {
        if (r.kind == BARO_RECORD_EXIT) { /* all but the time when it was found */
            assert_int_equal(count_absent(r.u.exit, BARO_ABSENT_UNSUPPORTED), 1);
            exits++;
        }
        for (int kind = 0; r.kind == BARO_RECORD_SAMPLE && kind < baro_kind_count(); kind++) {
            for (size_t i = 0; i < baro_sample_rows(r.u.sample, kind); i++) {
                const struct baro_row *row = baro_sample_row(r.u.sample, kind, i);
                assert_int_equal(count_absent(row, BARO_ABSENT_UNSUPPORTED), kind == BARO_KIND_PROCESS ? 4 : 8);
                processes += kind == BARO_KIND_PROCESS;
            }
        }
    }
    assert_true(exits > 0 && processes > 0);
    baro_tape_close(t);
}

/* The id of a tape that has none is made of its header, and so the same each time. */
TEST(id)
{
    struct baro_tape *a = kept_tape("v1-small.baro"), *b = kept_tape("v1-small.baro");
    assert_int_equal(strspn(baro_tape_id(a), "0123456789abcdef"), 32);
    assert_string_equal(baro_tape_id(a), baro_tape_id(b));
    baro_tape_close(a);
    baro_tape_close(b);
}

TEST(meaning)
{
    static const struct {
        const char *section, *name;
        enum baro_fact_semantics semantics;
        enum baro_fact_trend trend;
    } known[] = {
        {"job", "cpu_ns", BARO_FACT_SUM, BARO_TREND_MORE_IS_WORSE},
        {"job", "cores_mean", BARO_FACT_MEAN, BARO_TREND_NONE},
        {"job", "rss_peak_bytes", BARO_FACT_PEAK, BARO_TREND_MORE_IS_WORSE},
        {"job", "rss_peak_age_ns", BARO_FACT_INSTANT, BARO_TREND_NONE},
        {"job", "memory_peak_t_ns", BARO_FACT_INSTANT, BARO_TREND_NONE},
        {"job", "faults_major", BARO_FACT_SUM, BARO_TREND_MORE_IS_WORSE},
        {"job", "processes_started", BARO_FACT_SUM, BARO_TREND_NONE},
        {"", "start", BARO_FACT_INSTANT, BARO_TREND_NONE},
        {"", "wall_ns", BARO_FACT_SUM, BARO_TREND_MORE_IS_WORSE},
        {"", "cpus", BARO_FACT_PROPERTY, BARO_TREND_NONE},
        {"exit", "status", BARO_FACT_PROPERTY, BARO_TREND_NONE},
        {"limits", "memory_bytes", BARO_FACT_PROPERTY, BARO_TREND_NONE},
        {"limits", "cores", BARO_FACT_PROPERTY, BARO_TREND_NONE},
        {"limits", "throttled_ns", BARO_FACT_SUM, BARO_TREND_MORE_IS_WORSE},
        {"limits", "memory_peak_ratio", BARO_FACT_PEAK, BARO_TREND_MORE_IS_WORSE},
        {"host", "memory_available_least_bytes", BARO_FACT_LEAST, BARO_TREND_MORE_IS_BETTER},
        {"host", "cpu_idle_ratio", BARO_FACT_SHARE, BARO_TREND_NONE},
        {"host", "cpu_steal_ratio", BARO_FACT_SHARE, BARO_TREND_MORE_IS_WORSE},
        {"host.pressure", "cpu_some_ratio", BARO_FACT_SHARE, BARO_TREND_MORE_IS_WORSE},
        {"host", "memory_total_bytes", BARO_FACT_PROPERTY, BARO_TREND_NONE},
        {"commands", "name", BARO_FACT_PROPERTY, BARO_TREND_NONE},
        {"course", "t_ns", BARO_FACT_INSTANT, BARO_TREND_NONE},
        {"course", "cores", BARO_FACT_MEAN, BARO_TREND_NONE},
        {"recorder", "missed", BARO_FACT_SUM, BARO_TREND_MORE_IS_WORSE},
        {"recorder", "cpu_ratio", BARO_FACT_MEAN, BARO_TREND_MORE_IS_WORSE},
        {"limits", "memory_group_ratio", BARO_FACT_PEAK, BARO_TREND_MORE_IS_WORSE},
        {"host", "cores", BARO_FACT_PROPERTY, BARO_TREND_NONE},
        {"directories", "read_age_ns", BARO_FACT_INSTANT, BARO_TREND_NONE},
        {"carbon", "grams_per_kwh", BARO_FACT_PROPERTY, BARO_TREND_NONE},
        {"carbon", "job_grams", BARO_FACT_SUM, BARO_TREND_MORE_IS_WORSE},
        {"pss_peak_held_by", "bytes", BARO_FACT_PEAK, BARO_TREND_MORE_IS_WORSE},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        const struct baro_fact *f = baro_summary_fact(baro_summary_fact_find(known[i].section, known[i].name));
        assert_non_null(f);
        if (f->semantics != known[i].semantics || f->trend != known[i].trend)
            fail_msg("%s.%s: %s, trend %s", known[i].section, known[i].name, baro_fact_semantics_name(f->semantics),
                     baro_fact_trend_name(f->trend));
    }
    const struct baro_fact *phase = baro_timeline_fact(baro_timeline_fact_find("cpu_ns"));
    assert_int_equal(phase->semantics, BARO_FACT_SUM);
    for (int i = 0; i < baro_header_fact_count(); i++) {
        const struct baro_fact *f = baro_header_fact(i);
        assert_int_equal(f->trend, BARO_TREND_NONE);
        bool is_instant = strncmp(f->name, "start", 5) == 0;
        assert_int_equal(f->semantics, is_instant ? BARO_FACT_INSTANT : BARO_FACT_PROPERTY);
    }
    assert_string_equal(baro_fact_semantics_name((enum baro_fact_semantics)99), "unknown");
}

static bool ends_with(const char *name, const char *with)
{
    size_t n = strlen(name), len = strlen(with);
    return n >= len && strcmp(name + n - len, with) == 0;
}

/* What the type, the unit and the name of a fact say is said by its semantics, too. */
TEST(meaning_agrees)
{
    for (int i = 0; i < baro_summary_fact_count(); i++) {
        const struct baro_fact *f = baro_summary_fact(i);
        print_message("%s.%s\n", baro_summary_section(f->section)->name, f->name);
        bool is_number = f->type != BARO_FACT_TEXT && f->type != BARO_FACT_BOOLEAN && f->type != BARO_FACT_TIME;
        if (f->type == BARO_FACT_TIME || ends_with(f->name, "_t_ns"))
            assert_int_equal(f->semantics, BARO_FACT_INSTANT);
        else if (!is_number)
            assert_int_equal(f->semantics, BARO_FACT_PROPERTY);
        else if (ends_with(f->name, "_peak_bytes") || ends_with(f->name, "_peak"))
            assert_int_equal(f->semantics, BARO_FACT_PEAK);
        if (f->unit == BARO_UNIT_RATIO)
            assert_int_not_equal(f->semantics, BARO_FACT_SUM);
        if (!is_number || f->semantics == BARO_FACT_INSTANT)
            assert_int_equal(f->trend, BARO_TREND_NONE);
        assert_true(f->trend != BARO_TREND_MORE_IS_BETTER || f->semantics == BARO_FACT_LEAST);
    }
    assert_string_equal(baro_fact_trend_name(BARO_TREND_MORE_IS_BETTER), "more_is_better");
    assert_string_equal(baro_fact_trend_name((enum baro_fact_trend)99), "unknown");
}

static bool readable(const struct baro_runs_watch *w)
{
    struct pollfd p = {.fd = baro_runs_watch_fd(w), .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static void touch(const char *folder, const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

TEST(watch)
{
    char folder[] = "/tmp/test_public.XXXXXX", path[256];
    struct baro_runs_watch *w;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(baro_runs_watch(&w, folder, NULL), 0);
    assert_false(readable(w));
    assert_int_equal(baro_runs_watch_read(w, NULL), 0);
    touch(folder, "notes.txt");
    assert_int_equal(baro_runs_watch_read(w, NULL), 0);
    touch(folder, "a.baro");
    assert_true(readable(w));
    assert_int_equal(baro_runs_watch_read(w, NULL), 1);
    assert_false(readable(w));
    snprintf(path, sizeof(path), "%s/b.baro", folder);
    assert_int_equal(mkdir(path, 0700), 0); /* a tape in segments */
    assert_int_equal(baro_runs_watch_read(w, NULL), 1);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(baro_runs_watch_read(w, NULL), 1);
    for (const char *name = "a.baro"; name; name = *name == 'a' ? "notes.txt" : NULL) {
        snprintf(path, sizeof(path), "%s/%s", folder, name);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(baro_runs_watch_read(w, NULL), 1);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(baro_runs_watch_read(w, NULL), -ENOENT);
    baro_runs_watch_free(w);
    baro_runs_watch_free(NULL);
    assert_true(baro_runs_watch(&w, folder, NULL) < 0);
}

/* A watch of the kept runs makes their folder. */
TEST(watch_kept)
{
    char folder[] = "/tmp/test_public.XXXXXX", path[256];
    struct baro_runs_watch *w;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/runs", folder);
    assert_int_equal(setenv("BARO_DIR", path, 1), 0);
    assert_int_equal(baro_runs_watch(&w, NULL, NULL), 0);
    touch(path, "x.baro");
    assert_int_equal(baro_runs_watch_read(w, NULL), 1);
    baro_runs_watch_free(w);
    char file[300];
    snprintf(file, sizeof(file), "%s/x.baro", path);
    unlink(file);
    rmdir(path);
    rmdir(folder);
}
