/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/tape/v1-small.baro was written by format 1 when that format was fixed, and every later version must read it to
 * these values. It is never written again. `make_golden` below shows how it was made.
 */
#include "unit.h"
#include "tape_file.h"

/* Every number follows from the tick and the index, so that expected values can be computed here. */
static uint64_t value_at(unsigned tick, unsigned process, unsigned metric)
{
    uint64_t base = (uint64_t)metric * 1000003 + process * 4096 * (metric + 1);
    switch (metric % 4) {
    case 0: return base + (uint64_t)tick * 10000019 * (process + 1);
    case 1: return base + (uint64_t)(tick / 3) * 4096;
    case 2: return base;
    default: return tick % 2 ? UINT64_MAX - tick : tick;
    }
}

enum { V1_ABSENT = 9 }; /* reasons as of format 1 */

static uint8_t absent_at(unsigned tick, unsigned process, unsigned metric)
{
    if ((metric + process) % 7 != 0 || tick < metric % 5)
        return 0;
    return (uint8_t)(1 + (metric + tick / 4) % V1_ABSENT);
}

/* The kinds as of format 1: later ones may have more columns. */
enum { V1_PROCESS = 38, V1_JOB = 38, V1_EXIT = 23, V1_RECORDER = 12, TICKS = 12, LIVING = 3 };

#ifdef MAKE_GOLDEN
static void fill(uint64_t *value, uint8_t *absent, unsigned n, unsigned tick, unsigned process)
{
    for (unsigned m = 0; m < n; m++) {
        absent[m] = absent_at(tick, process, m);
        value[m] = absent[m] ? 0 : value_at(tick, process, m);
    }
}

static void make_golden(const char *path)
{
    char *argv[] = {"make", "-j8", "all targets", NULL};
    int32_t targets[] = {17, 4000000};
    struct baro_header h = {.mode = BARO_MODE_ATTACH,
                            .version = "0.1.0",
                            .host = "golden",
                            .kernel = "6.18.0",
                            .machine = "x86_64",
                            .boot_id = "01234567-89ab-cdef-0123-456789abcdef",
                            .start_realtime_ns = 1795235690123456789,
                            .start_monotonic_ns = 77,
                            .start_boottime_ns = 78,
                            .interval_ns = 1000000000,
                            .overhead_ppm = 10000,
                            .wanted = 0x5,
                            .clk_tck = 100,
                            .cpus = 8,
                            .page_size = 4096,
                            .memory_total = 1ull << 40,
                            .uid = 1000,
                            .argv = argv,
                            .cwd = "/home/ada",
                            .event_source = "connector",
                            .exit_source = "taskstats",
                            .targets = targets,
                            .n_targets = 2,
                            .job_id = "job",
                            .step_id = "step",
                            .rank = "3"};
    struct baro_process p[LIVING] = {0}, *list[LIVING];
    struct baro_sample s = {.processes = list};
    struct tape_writer *w = tape_begun(path, &h);
    for (unsigned tick = 0; tick < TICKS; tick++) {
        s.t_ns = 1000000007ull * tick + 5;
        s.lossy = tick == 4;
        s.n = tick < 8 ? LIVING : LIVING - 1; /* the first one ends */
        fill(s.job, s.job_absent, V1_JOB, tick, 5);
        fill(s.self, s.self_absent, V1_RECORDER, tick, 6);
        for (unsigned i = 0; i < LIVING; i++) {
            p[i].id = i + 1;
            p[i].key = (struct baro_key){(int32_t)(100 + i), 5000 + i};
            p[i].parent = (struct baro_key){1, 7};
            p[i].uid = i ? 1000 : UINT32_MAX;
            p[i].first_ns = 3;
            p[i].info_version = tick < 6 ? 1 : 2;
            p[i].name = tick < 6 ? "cc" : "cc1 \xff";
            p[i].cmdline = i ? "cc -c x.c" : NULL;
            p[i].cmdline_absent = i ? 0 : BARO_ABSENT_DENIED;
            p[i].read_ns = s.t_ns - (i == 2 ? 1 : 0);
            fill(p[i].value, p[i].absent, V1_PROCESS, tick, i);
            list[i] = &p[tick < 8 ? i : (i + 1) % LIVING];
        }
        if (tick == 8) {
            struct baro_exit e = {.t_ns = s.t_ns - 2,
                                  .id = 1,
                                  .key = p[0].key,
                                  .parent = p[0].parent,
                                  .uid = 1000,
                                  .origin = BARO_ORIGIN_EVENT,
                                  .source = BARO_EXIT_WAIT4,
                                  .sampled = true,
                                  .status_known = true,
                                  .status = 256,
                                  .name = "cc",
                                  .cmdline = "cc"};
            struct baro_event v = {
                .t_ns = s.t_ns - 1, .kind = BARO_EVENT_STOP, .key = p[1].key, .number = 19, .text = "why"};
            fill(e.value, e.absent, V1_EXIT, tick, 7);
            tape_writer_exit(w, &e);
            tape_writer_event(w, &v);
        }
        tape_add(w, &s);
    }
    tape_ended(w);
}
#endif

static void expect(int got, const uint64_t *value, unsigned tick, unsigned process, unsigned metric)
{
    assert_int_equal(got, absent_at(tick, process, metric));
    if (got == 0)
        assert_true(*value == value_at(tick, process, metric));
}

static void expect_sample(const struct baro_sample *s, unsigned tick)
{
    uint64_t v = 0;
    assert_true(s->t_ns == 1000000007ull * tick + 5);
    assert_int_equal(s->lossy, tick == 4);
    assert_int_equal(baro_sample_rows(s, BARO_KIND_PROCESS), tick < 8 ? 3 : 2);
    for (unsigned m = 0; m < V1_JOB; m++)
        expect(baro_row_value(baro_sample_row(s, BARO_KIND_JOB, 0), (int)m, &v), &v, tick, 5, m);
    for (unsigned m = 0; m < V1_RECORDER; m++)
        expect(baro_row_value(baro_sample_row(s, BARO_KIND_RECORDER, 0), (int)m, &v), &v, tick, 6, m);
    for (unsigned k = 0; k < baro_sample_rows(s, BARO_KIND_PROCESS); k++) {
        const struct baro_row *p = baro_sample_row(s, BARO_KIND_PROCESS, k);
        unsigned i = tick < 8 ? k : k + 1;
        assert_int_equal(baro_row_pid(p), 100 + i);
        assert_int_equal(baro_row_start_ticks(p), 5000 + i);
        assert_int_equal(baro_row_ppid(p), 1);
        assert_int_equal(baro_row_uid(p), i ? 1000 : UINT32_MAX);
        assert_string_equal(baro_row_name(p), tick < 6 ? "cc" : "cc1 \xff");
        assert_then(baro_row_read_ns(p, &v), v == s->t_ns - (i == 2 ? 1 : 0));
        const char *cmdline = NULL;
        assert_int_equal(baro_row_cmdline(p, &cmdline), i ? 0 : BARO_ABSENT_DENIED);
        if (i)
            assert_string_equal(cmdline, "cc -c x.c");
        else
            assert_null(cmdline);
        for (unsigned m = 0; m < V1_PROCESS; m++)
            expect(baro_row_value(p, (int)m, &v), &v, tick, i, m);
    }
}

static void expect_exit(const struct baro_row *e)
{
    uint64_t v = 0;
    int status = 0;
    assert_int_equal(baro_row_pid(e), 100);
    assert_gives(baro_row_status(e, &status), status, 256);
    assert_string_equal(baro_row_name(e), "cc");
    enum baro_exit_source source;
    assert_gives(baro_row_exit_source(e, &source), source, BARO_EXIT_WAIT4);
    for (unsigned m = 0; m < V1_EXIT; m++)
        expect(baro_row_value(e, (int)m, &v), &v, 8, 7, m);
}

static void expect_header(const struct baro_header *h)
{
    assert_int_equal(h->mode, BARO_MODE_ATTACH);
    assert_string_equal(h->host, "golden");
    assert_string_equal(h->boot_id, "01234567-89ab-cdef-0123-456789abcdef");
    assert_true(h->start_realtime_ns == 1795235690123456789);
    assert_true(h->memory_total == 1ull << 40);
    assert_string_equal(baro_header_argv(h)[2], "all targets");
    assert_null(baro_header_argv(h)[3]);
    assert_string_equal(h->cwd, "/home/ada");
    assert_int_equal(h->n_targets, 2);
    assert_int_equal(h->targets[1], 4000000);
    assert_int_equal(h->wanted, 0x5);
    assert_string_equal(h->rank, "3");
}

TEST(v1)
{
    struct baro_record r;
    unsigned tick = 0, exits = 0, events = 0;
    const char *path = kept("tape/v1-small.baro");
#ifdef MAKE_GOLDEN
    make_golden(path);
#endif
    struct baro_tape *t = tape_opened(path);
    expect_header(baro_tape_header(t));
    while (baro_tape_next(t, &r, NULL) == 1) {
        if (r.kind == BARO_RECORD_SAMPLE) {
            expect_sample(r.u.sample, tick++);
        } else if (r.kind == BARO_RECORD_EXIT) {
            expect_exit(r.u.exit);
            exits++;
        } else {
            assert_string_equal(baro_event_kind_name(baro_event_kind_of(r.u.event)), "stop");
            assert_string_equal(baro_event_text(r.u.event), "why");
            assert_int_equal(baro_event_number(r.u.event), 19);
            assert_int_equal(baro_event_pid(r.u.event), 101);
            events++;
        }
    }
    assert_int_equal(tick, TICKS);
    assert_int_equal(exits, 1);
    assert_int_equal(events, 1);
    assert_true(baro_tape_complete(t));
    assert_int_equal(baro_tape_damage(t), 0);
    baro_tape_close(t);
}
