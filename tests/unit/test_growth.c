/* SPDX-License-Identifier: Apache-2.0 */
/* A counter that falls (base/growth.h) means the same to all readers: readings of 5, 9, 2 and 3 have grown by at least
 * 5, and the growth from 9 to 2 is not known. */
#include <math.h>

#include "unit.h"
#include "baro/baro.h"
#include "base/buf.h"
#include "base/growth.h"
#include "expect_facts.h"
#include "libbaro/fold/points.h"
#include "output/rows/trace.h"
#include "tape_file.h"

#define MS 1000000ull
#define SECOND (1000 * MS)
#define STEP (SECOND / 10) /* the counter's unit: a rate of 4 of them is 0.4 */

static const uint64_t readings[] = {5, 9, 2, 3};
static const double rates[] = {0.4, NAN, 0.1}; /* NaN: not known */

TEST(between_two_readings)
{
    uint64_t growth = 7;
    double real = 7;
    assert_true(growth_between(5, 9, &growth) && growth == 4);
    assert_true(growth_between(9, 9, &growth) && growth == 0);
    assert_true(!growth_between(9, 2, &growth) && growth == 0);
    assert_true(growth_between(0, UINT64_MAX, &growth) && growth == UINT64_MAX);
    assert_true(growth_between_reals(0.5, 2, &real) && real == 1.5);
    assert_true(!growth_between_reals(2, 0.5, &real) && real == 0);
    assert_true(!growth_between_reals(2, NAN, &real) && real == 0);
}

/* One stretch lasts from 0 to 100 ms, the next one ends with the fall at 150 ms, the last lasts to 260 ms. */
TEST(stretches)
{
    static const struct {
        uint64_t t_ms, value, begin_ms, by;
        bool is_over;
    } all[] = {{0, 5, 0, 0, false},   {60, 7, 0, 0, false},  {100, 9, 0, 4, true},
               {150, 2, 0, 0, false}, {200, 3, 0, 0, false}, {260, 3, 150, 1, true}};
    struct growth g = {0};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        uint64_t begin_ns = 0, by = 0;
        assert_int_equal(growth_take(&g, all[i].t_ms * MS, all[i].value, GROWTH_SHORT_NS, &begin_ns, &by),
                         all[i].is_over);
        assert_int_equal(begin_ns, all[i].begin_ms * MS);
        assert_int_equal(by, all[i].by);
    }
}

/* A curve that falls and rises beyond where it was within a stretch hides no growth of before. */
TEST(fall_within_a_stretch)
{
    struct growth g = {0};
    uint64_t begin_ns, by;
    growth_take(&g, 0, 5, GROWTH_SHORT_NS, &begin_ns, &by);
    growth_take(&g, 50 * MS, 2, GROWTH_SHORT_NS, &begin_ns, &by);
    assert_false(growth_take(&g, 100 * MS, 8, GROWTH_SHORT_NS, &begin_ns, &by));
    assert_true(growth_take(&g, 150 * MS, 9, GROWTH_SHORT_NS, &begin_ns, &by));
    assert_int_equal(begin_ns, 50 * MS);
    assert_int_equal(by, 7);
}

/* ---- the machine at 1, 2, 3 and 4 s ---- */

static void set_reading(struct baro_sample *s, size_t i)
{
    *s = (struct baro_sample){.t_ns = (i + 1) * SECOND, .has_host = true, .host_ns = (i + 1) * SECOND};
    memset(s->host_absent, BARO_ABSENT_UNSUPPORTED, sizeof(s->host_absent));
    s->host_absent[HOST_pressure_io_some] = s->host_absent[HOST_cpu_user] = BARO_PRESENT;
    s->host_absent[HOST_cpu_idle] = s->host_absent[HOST_swap_in] = BARO_PRESENT;
    s->host[HOST_pressure_io_some] = s->host[HOST_cpu_user] = readings[i] * STEP;
    s->host[HOST_cpu_idle] = 10 * SECOND + i * SECOND;
    s->host[HOST_swap_in] = readings[i];
}

static void write_machine(void)
{
    struct tape_writer *w = new_tape(tape_path, NULL);
    struct baro_event phase = {.kind = BARO_EVENT_PHASE_BEGIN, .t_ns = SECOND, .text = "all"};
    tape_writer_event(w, &phase);
    for (size_t i = 0; i < 4; i++) {
        struct baro_sample s;
        set_reading(&s, i);
        tape_add(w, &s);
        phase = (struct baro_event){.kind = BARO_EVENT_PHASE_BEGIN, .t_ns = s.t_ns, .text = "second"};
        if (i < 3)
            tape_writer_event(w, &phase);
        phase = (struct baro_event){.kind = BARO_EVENT_PHASE_END, .t_ns = s.t_ns + SECOND, .text = "second"};
        if (i < 3)
            tape_writer_event(w, &phase);
    }
    phase = (struct baro_event){.kind = BARO_EVENT_PHASE_END, .t_ns = 4 * SECOND, .text = "all"};
    tape_writer_event(w, &phase);
    tape_ended(w);
}

static void same(double a, double b)
{
    if (isnan(a) != isnan(b) || fabs(a - b) > 1e-9)
        fail_msg("%g is not %g", a, b);
}

TEST(two_rows)
{
    struct baro_sample s[4];
    struct baro_previous *previous;
    double v;
    assert_int_equal(baro_previous_new(&previous), 0);
    for (size_t i = 0; i < 4; i++) {
        set_reading(&s[i], i);
        const struct baro_row *now = baro_sample_row(&s[i], BARO_KIND_HOST, 0),
                              *before = i ? baro_sample_row(&s[i - 1], BARO_KIND_HOST, 0) : NULL;
        int why = baro_previous_cores(previous, NULL, s[i].t_ns, now, &v);
        assert_int_equal(why, !i ? BARO_ABSENT_NOT_YET : isnan(rates[i - 1]) ? BARO_ABSENT_UNKNOWN : BARO_PRESENT);
        if (!i)
            continue;
        same(why ? NAN : v, rates[i - 1]);
        why = baro_row_rate(before, now, HOST_pressure_io_some, &v);
        same(why ? NAN : v / 1e9, rates[i - 1]);
        why = baro_row_derived(before, now, baro_derived_find(BARO_KIND_HOST, "pressure_io_some_ratio"), &v);
        same(why ? NAN : v, rates[i - 1]);
    }
    baro_previous_free(previous);
}

TEST(curves)
{
    struct baro_series *s;
    int curve[3];
    write_machine();
    struct baro_tape *tape = tape_opened(tape_path);
    assert_int_equal(baro_series_new(&s, SECOND, 4 * SECOND, 3, NULL), 0);
    curve[0] = baro_series_add_rate(s, BARO_KIND_HOST, 0, NULL, HOST_pressure_io_some, NULL);
    curve[1] = baro_series_add_derived(s, BARO_KIND_HOST, 0, NULL,
                                       baro_derived_find(BARO_KIND_HOST, "pressure_io_some_ratio"), NULL);
    curve[2] =
        baro_series_add_derived(s, BARO_KIND_HOST, 0, NULL, baro_derived_find(BARO_KIND_HOST, "cpu_busy_ratio"), NULL);
    static const double shares[] = {0.4 / 1.4, NAN, 0.1 / 1.1};
    assert_int_equal(baro_series_read(s, tape, NULL), 0);
    for (size_t i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            const struct baro_bucket *b = baro_series_bucket(s, curve[k], i);
            double want = k == 2 ? shares[i] : rates[i] * (k ? 1 : 1e9);
            assert_int_equal(b->covered_ns, isnan(want) ? 0 : SECOND);
            same(b->covered_ns ? b->mean : NAN, want);
            same(b->covered_ns ? b->max : NAN, want);
        }
    }
    baro_series_free(s);
    baro_tape_close(tape);
}

TEST(summary_and_phases)
{
    struct baro_fold *fold;
    struct baro_value v;
    write_machine();
    struct baro_tape *tape = tape_opened(tape_path);
    assert_int_equal(baro_fold_of_tape(tape, BARO_FOLD_TIMELINE, &fold, NULL), 0);
    const struct baro_summary *s = baro_fold_summary(fold);
    const struct baro_timeline *t = baro_fold_timeline(fold);
    static const struct {
        const char *section, *fact;
        double value;
        unsigned flags;
    } facts[] = {{"host.pressure", "io_some_ratio", 0.5 / 3, BARO_VALUE_LOWER_BOUND},
                 {"host", "cpu_mean_cores", 0.5 / 3, BARO_VALUE_LOWER_BOUND},
                 {"host", "cpu_user_ratio", 0.5 / 2.8, BARO_VALUE_ESTIMATE}};
    for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
        assert_int_equal(baro_summary_value(s, baro_summary_fact_find(facts[i].section, facts[i].fact), 0, &v), 0);
        same(v.real, facts[i].value);
        assert_int_equal(v.flags, facts[i].flags);
    }
    assert_int_equal(baro_summary_value(s, baro_summary_fact_find("host", "swap_in_bytes"), 0, &v), 0);
    assert_int_equal(v.u64, 5);
    assert_int_equal(v.flags, BARO_VALUE_LOWER_BOUND);
    int fact = baro_timeline_fact_find("host_pressure_io_some_ns");
    for (size_t i = 0; i < 4; i++) {
        const struct baro_timeline_item *item = baro_timeline_get(t, i);
        int why = baro_timeline_value(t, i, fact, &v);
        bool is_all = strcmp(item->name, "all") == 0;
        double want = is_all ? 0.5 : rates[item->begin_ns / SECOND - 1];
        assert_int_equal(why, isnan(want) ? BARO_ABSENT_UNKNOWN : BARO_PRESENT);
        same(why ? NAN : (double)v.u64 / 1e9, want);
        assert_int_equal(v.flags, is_all ? BARO_VALUE_LOWER_BOUND : 0);
    }
    baro_fold_free(fold);
    baro_tape_close(tape);
}

/* The total of a task whose recorder was started again: what it had, and what it has grown by since. */
TEST(task)
{
    uint64_t value[TASK_MAX] = {0};
    uint8_t absent[TASK_MAX] = {0};
    struct baro_entity web = {.id = 9,
                              .kind = KIND_task,
                              .name = (char *)"web",
                              .label = (char *)"",
                              .n_values = TASK_MAX,
                              .value = value,
                              .absent = absent};
    struct baro_entity *all[] = {&web};
    const struct baro_header h = {.version = "0", .cpus = 2};
    struct baro_summary *s = summary_new(&h);
    struct baro_value v;
    for (size_t i = 0; i < 4; i++) {
        struct baro_sample one = {.t_ns = (i + 1) * SECOND};
        value[TASK_cpu] = value[TASK_processes_unread] = readings[i];
        value[TASK_processes_peak] = readings[i];
        one.entities[KIND_task] = (struct baro_entities){.at = all, .n = 1, .read_ns = one.t_ns};
        summary_add_sample(s, &one);
    }
    value[TASK_processes_unread] = 0;
    struct baro_sample last = {.t_ns = 5 * SECOND};
    last.entities[KIND_task] = (struct baro_entities){.at = all, .n = 1, .read_ns = last.t_ns};
    summary_add_sample(s, &last);
    summary_finish(s);
    assert_gives(baro_summary_value(s, baro_summary_fact_find("tasks", "cpu_ns"), 0, &v), v.u64, 5 + 5);
    assert_int_equal(v.flags, BARO_VALUE_LOWER_BOUND);
    assert_gives(baro_summary_value(s, baro_summary_fact_find("tasks", "processes_peak"), 0, &v), v.u64, 9);
    assert_gives(baro_summary_value(s, baro_summary_fact_find("tasks", "processes_unread"), 0, &v), v.u64, 0);
    assert_int_equal(v.flags, 0);
    summary_free(s);
}

/* A step that fell is remembered where its point is dropped. */
TEST(points)
{
    struct points p;
    struct fold f;
    fold_init(&f);
    assert_int_equal(points_init(&p), 0);
    for (size_t i = 0; i < 4; i++) {
        struct baro_sample s;
        set_reading(&s, i);
        fold_add(&f, &s);
        points_add(&p, &f);
    }
    assert_true(f.cell[FOLD_HOST_IO].fell && !f.cell[FOLD_HOST_IO].fell_now);
    assert_int_equal(f.cell[FOLD_HOST_IO].grown, 5 * STEP);
    assert_int_equal(f.cell[FOLD_HOST_IO].first, 5 * STEP);
    same(points_growth(&p, FOLD_HOST_IO, SECOND, 4 * SECOND), 5 * STEP);
    for (uint64_t begin = 1; begin < 4; begin++) {
        for (uint64_t end = begin + 1; end <= 4; end++)
            assert_int_equal(points_fell(&p, FOLD_HOST_IO, begin * SECOND, end * SECOND), begin < 3 && end > 2);
    }
    assert_false(points_fell(&p, FOLD_HOST_STEAL, SECOND, 4 * SECOND));
    for (size_t i = 4; i < 2 * POINTS_MOST; i++) {
        struct baro_sample s;
        set_reading(&s, 3);
        s.t_ns = s.host_ns = (i + 1) * SECOND;
        fold_add(&f, &s);
        points_add(&p, &f);
    }
    assert_true(points_fell(&p, FOLD_HOST_IO, SECOND, 10 * SECOND));
    assert_false(points_fell(&p, FOLD_HOST_IO, 10 * SECOND, 1000 * SECOND));
    points_done(&p);
    fold_done(&f);
}

/* A viewer of traces gets no value for the step. */
TEST(trace)
{
    struct buf text = {0};
    struct baro_record r;
    struct trace *trace;
    size_t n = 0;
    write_machine();
    struct baro_tape *tape = tape_opened(tape_path);
    assert_int_equal(trace_new(&trace, tape, NULL), 0);
    while (baro_tape_next(tape, &r, NULL) > 0)
        trace_record(trace, &r, &text);
    buf_byte(&text, '\0');
    for (const char *at = (const char *)text.at; (at = strstr(at, "pressure i/o\"")); at++) {
        double value = strtod(strstr(at, "percent\":") + strlen("percent\":"), NULL);
        same(value, n ? 10 : 40);
        n++;
    }
    assert_int_equal(n, 2);
    trace_free(trace);
    buf_done(&text);
    baro_tape_close(tape);
}

/* Time waiting for I/O is a part of the time of a CPU. It may fall: the time of all parts grew by 0.5 + 1.5 - 0.5 s. */
TEST(part_of_a_sum)
{
    struct baro_series *s;
    struct tape_writer *w = new_tape(tape_path, NULL);
    for (size_t i = 0; i < 2; i++) {
        struct baro_sample one = {.t_ns = (i + 1) * SECOND, .has_host = true, .host_ns = (i + 1) * SECOND};
        one.host[HOST_cpu_user] = 7 * SECOND + i * SECOND / 2;
        one.host[HOST_cpu_idle] = 9 * SECOND + i * SECOND * 3 / 2;
        one.host[HOST_cpu_iowait] = 2 * SECOND - i * SECOND / 2;
        tape_add(w, &one);
    }
    tape_ended(w);
    struct baro_tape *tape = tape_opened(tape_path);
    assert_int_equal(baro_series_new(&s, SECOND, 2 * SECOND, 1, NULL), 0);
    int curve =
        baro_series_add_derived(s, BARO_KIND_HOST, 0, NULL, baro_derived_find(BARO_KIND_HOST, "cpu_busy_ratio"), NULL);
    assert_int_equal(baro_series_read(s, tape, NULL), 0);
    same(baro_series_bucket(s, curve, 0)->mean, 0.5 / 1.5);
    baro_series_free(s);
    baro_tape_close(tape);
}
