/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds that are declared during a recording: what the public API returns for them, their limits, and invalid
 * declarations. */

#include "unit.h"

#include <math.h>

#include "libbaro/sample/row.h"
#include "baro/baro.h"
#include "libbaro/tape/row_encoding.h"
#include "tape_file.h"

enum { SECOND = 1000000000 };

static uint64_t real(double v)
{
    uint64_t stored;
    memcpy(&stored, &v, sizeof stored);
    return stored;
}

static const struct baro_metric depth = {.stem = "depth",
                                         .name = "depth",
                                         .help = "jobs that wait",
                                         .file = "",
                                         .unit = BARO_UNIT_REAL,
                                         .semantics = BARO_SEM_GAUGE};
static const struct baro_metric done = {.stem = "done",
                                        .name = "done_total",
                                        .help = "",
                                        .file = "",
                                        .unit = BARO_UNIT_REAL,
                                        .semantics = BARO_SEM_COUNTER};
static const struct baro_metric bytes = {.stem = "sent",
                                         .name = "sent_bytes",
                                         .help = "",
                                         .file = "",
                                         .unit = BARO_UNIT_BYTES,
                                         .semantics = BARO_SEM_COUNTER};

/* Two queues that are read every two seconds, from second 2 on; sent_bytes is there from second 10 on. */
static void write_queues(const char *name)
{
    const struct baro_metric *metrics[] = {&depth, &done, &bytes};
    const struct baro_attribute labels[] = {{.name = "host", .type = BARO_ATTRIBUTE_TEXT, .text = "a"},
                                            {.name = "weight", .type = BARO_ATTRIBUTE_REAL, .real = 0.5}};
    uint64_t value[2][3];
    uint8_t absent[2][3] = {{0}};
    struct baro_entity queue[2] = {
        {.id = 1,
         .name = "high",
         .value = value[0],
         .absent = absent[0],
         .n_attributes = 2,
         .attribute = labels,
         .owner = {BARO_OWNER_PROCESS, {815, 4711}, 0},
         .info_version = 1},
        {.id = 2, .name = "low", .value = value[1], .absent = absent[1], .owner = {.kind = BARO_OWNER_ENTITY, .id = 1}},
    };
    struct baro_entity *rows[] = {&queue[0], &queue[1]};
    struct baro_declared d = {.name = "jobqueue", .metric = metrics, .rows = {.n = 2, .at = rows}};
    struct baro_declared *all[] = {&d};
    struct baro_sample s = {.n_declared = 1, .declared = all};
    struct tape_writer *w = new_tape(name, NULL);
    const struct baro_event mark = {.kind = BARO_EVENT_MARK, .text = "epoch 3", .n_attributes = 2, .attribute = labels};
    tape_writer_event(w, &mark);
    for (unsigned i = 0; i < 20; i++) {
        s.t_ns = (i + 1) * (uint64_t)SECOND;
        d.n_metrics = i < 10 ? 2 : 3;
        for (unsigned k = 0; i % 2 == 1 && k < 2; k++) {
            value[k][0] = real(k ? -0.25 : i + 0.5);
            value[k][1] = real(3.0 * i);
            value[k][2] = 1000 * i;
            d.rows.read_ns = s.t_ns - 1000;
        }
        absent[1][0] = i == 5 ? BARO_ABSENT_TIMEOUT : BARO_PRESENT;
        value[1][0] = absent[1][0] ? 0 : value[1][0];
        tape_add(w, &s);
    }
    tape_ended(w);
}

static void expect_real(const struct baro_tape *t, const struct baro_row *e, int metric, double expected)
{
    uint64_t v = 0;
    assert_int_equal(baro_row_value(e, metric, &v), 0);
    assert_true(baro_metric_real(baro_tape_metric(t, baro_row_kind(e), metric), v) == expected);
}

static void expect_kinds(struct baro_tape *t)
{
    assert_int_equal(baro_tape_kind_count(t), baro_kind_count());
    assert_int_equal(baro_tape_kind_find(t, "jobqueue"), -1);
    assert_int_equal(baro_tape_kind_find(t, "disk"), BARO_KIND_DISK);
    assert_int_equal(baro_tape_read_kinds(t, NULL), 0);
    int kind = baro_tape_kind_find(t, "jobqueue");
    assert_int_equal(kind, baro_kind_count());
    assert_string_equal(baro_tape_kind_name(t, kind), "jobqueue");
    assert_string_equal(baro_tape_kind_name(t, kind + 1), "unknown");
    assert_int_equal(baro_tape_metric_count(t, kind), 3);
    const struct baro_metric *first = baro_tape_metric(t, kind, 0);
    assert_string_equal(first->help, "jobs that wait");
    assert_int_equal(first->unit, BARO_UNIT_REAL);
    assert_int_equal(baro_tape_metric_find(t, kind, "done_total"), 1);
    assert_int_equal(baro_tape_metric_find(t, kind, "sent"), 2);
    assert_int_equal(baro_tape_metric_find(t, kind, "rss"), -1);
    assert_null(baro_tape_metric(t, kind, 3));
}

static void expect_mark(const struct baro_event *e)
{
    struct baro_attribute a;
    assert_string_equal(baro_event_kind_name(baro_event_kind_of(e)), "mark");
    assert_int_equal(baro_event_attribute_find(e, "name", &a), 0);
    assert_string_equal(a.text, "epoch 3");
    assert_then(baro_event_attribute_find(e, "weight", &a), a.real == 0.5);
}

static void expect_high(const struct baro_tape *t, const struct baro_row *e)
{
    struct baro_attribute a;
    uint64_t v = 0;
    assert_string_equal(baro_row_name(e), "high");
    assert_then(baro_row_read_ns(e, &v), v == 6 * (uint64_t)SECOND - 1000);
    assert_int_equal(baro_row_owner(e), BARO_OWNER_PROCESS);
    assert_int_equal(baro_row_owner_pid(e), 815);
    assert_int_equal(baro_row_owner_start_ticks(e), 4711);
    assert_int_equal(baro_row_attribute_count(e), 2);
    assert_int_equal(baro_row_attribute(e, 0, &a), 0);
    assert_string_equal(a.name, "host");
    assert_string_equal(a.text, "a");
    assert_then(baro_row_attribute_find(e, "weight", &a), a.type == BARO_ATTRIBUTE_REAL && a.real == 0.5);
    assert_int_equal(baro_row_attribute(e, 2, &a), BARO_E_RANGE);
    assert_int_equal(baro_row_attribute_find(e, "none", &a), BARO_E_RANGE);
    expect_real(t, e, 0, 5.5);
    expect_real(t, e, 1, 15);
    assert_int_equal(baro_row_value(e, 2, &v), BARO_ABSENT_UNKNOWN); /* no such column then */
}

static void expect_queues(const char *name)
{
    struct baro_record r;
    uint64_t v = 0;
    struct baro_tape *t = tape_opened(name);
    expect_kinds(t);
    int kind = baro_tape_kind_find(t, "jobqueue");
    const struct baro_metric *first = baro_tape_metric(t, kind, 0);
    assert_one(baro_tape_next(t, &r, NULL), r.kind, BARO_RECORD_EVENT);
    expect_mark(r.u.event);
    assert_int_equal(baro_tape_next(t, &r, NULL), 1);
    assert_int_equal(baro_sample_rows(r.u.sample, kind), 0);
    assert_int_equal(baro_sample_read_ns(r.u.sample, kind, &v), BARO_ABSENT_UNKNOWN);
    assert_int_equal(baro_tape_seek(t, 7 * (uint64_t)SECOND, &r, NULL), 1);
    assert_int_equal(baro_sample_rows(r.u.sample, kind), 2);
    assert_then(baro_sample_read_ns(r.u.sample, kind, &v), v == 6 * (uint64_t)SECOND - 1000);
    const struct baro_row *e = baro_sample_row(r.u.sample, kind, 0);
    assert_int_equal(baro_row_kind(e), kind);
    expect_high(t, e);
    e = baro_sample_row(r.u.sample, kind, 1);
    assert_int_equal(baro_row_owner(e), BARO_OWNER_ENTITY);
    assert_int_equal(baro_row_owner_id(e), 1);
    assert_int_equal(baro_row_value(e, 0, &v), BARO_ABSENT_TIMEOUT);

    assert_int_equal(baro_tape_seek(t, UINT64_MAX, &r, NULL), 1);
    e = baro_sample_row(r.u.sample, kind, 1);
    expect_real(t, e, 0, -0.25);
    assert_gives(baro_row_value(e, 2, &v), v, 19000);
    assert_true(first == baro_tape_metric(t, kind, 0));
    baro_tape_close(t);
}

TEST(api)
{
    write_queues(tape_path);
    expect_queues(tape_path);
}

TEST(golden)
{
    const char *name = kept("tape/v1-entities.baro");
#ifdef MAKE_GOLDEN
    write_queues(name);
#endif
    expect_queues(name);
}

/* Rates, curves, copies and interpolation of its values. */
TEST(derived)
{
    struct baro_record r;
    struct baro_sample *a, *b;
    struct baro_series *s;
    double rate = 0;
    uint64_t v = 0;
    write_queues(tape_path);
    struct baro_tape *t = tape_opened(tape_path);
    assert_int_equal(baro_tape_seek(t, 12 * (uint64_t)SECOND, &r, NULL), 1);
    assert_int_equal(baro_sample_copy(r.u.sample, &a, NULL), 0);
    assert_int_equal(baro_tape_seek(t, 14 * (uint64_t)SECOND, &r, NULL), 1);
    assert_int_equal(baro_sample_copy(r.u.sample, &b, NULL), 0);
    int kind = baro_tape_kind_find(t, "jobqueue");
    const struct baro_row *before = baro_sample_row(a, kind, 0), *now = baro_sample_row(b, kind, 0);
    assert_then(baro_row_rate(before, now, 1, &rate), rate == 3);
    assert_then(baro_row_rate(before, now, 2, &rate), rate == 1000);
    assert_int_equal(baro_row_rate(before, now, 0, &rate), BARO_ABSENT_UNSUPPORTED);
    assert_int_equal(baro_row_rate(now, before, 1, &rate), BARO_ABSENT_UNKNOWN);
    baro_sample_free(a);
    assert_int_equal(baro_row_attribute_count(now), 2);
    baro_sample_free(b);

    /* read at 12 s and 14 s less 1 µs: at 13 s less 1 µs it is half-way */
    assert_int_equal(baro_tape_at(t, 13 * (uint64_t)SECOND - 1000, BARO_AT_INTERPOLATE, &a, NULL), 1);
    assert_then(baro_sample_read_ns(a, kind, &v),
                v == 12 * (uint64_t)SECOND - 1000); /* the sample at 13 s has no newer reading to go towards */
    expect_real(t, baro_sample_row(a, kind, 0), 0, 11.5);
    baro_sample_free(a);
    assert_int_equal(baro_tape_at(t, 13 * (uint64_t)SECOND + SECOND / 2, BARO_AT_INTERPOLATE, &a, NULL), 1);
    const struct baro_row *e = baro_sample_row(a, kind, 0);
    assert_int_equal(baro_row_value(e, 0, &v), 0);
    double half = baro_metric_real(baro_tape_metric(t, kind, 0), v);
    assert_true(half > 12.9 && half < 13.1); /* 11.5 at 12 s, 13.5 at 14 s */
    baro_sample_free(a);

    assert_int_equal(baro_series_new(&s, 0, 20 * (uint64_t)SECOND, 2, NULL), 0);
    int high = baro_series_add_value(s, kind, 1, NULL, 0, NULL);
    int low = baro_series_add_value(s, kind, 0, "low", 0, NULL);
    int grown = baro_series_add_rate(s, kind, 0, NULL, 1, NULL);
    assert_int_equal(baro_series_read(s, t, NULL), 0);
    assert_true(baro_series_bucket(s, high, 0)->min == 1.5 && baro_series_bucket(s, high, 0)->max == 9.5);
    assert_true(baro_series_bucket(s, high, 1)->last == 19.5);
    assert_true(baro_series_bucket(s, low, 1)->min == -0.25 && baro_series_bucket(s, low, 1)->max == -0.25);
    assert_true(baro_series_bucket(s, grown, 1)->mean == 6); /* 3 per second, of both */
    baro_series_free(s);
    baro_tape_close(t);
}

/* A tape of another program may have NaN and infinity. A column of Arrow has a null there, as CSV and JSON do. */
TEST(numbers_that_are_none)
{
    const struct baro_metric *metrics[] = {&depth};
    uint64_t value[1];
    uint8_t absent[1] = {BARO_PRESENT};
    struct baro_entity queue = {.id = 1, .name = "high", .value = value, .absent = absent, .info_version = 1};
    struct baro_entity *rows[] = {&queue};
    struct baro_declared d = {.name = "jobqueue", .metric = metrics, .n_metrics = 1, .rows = {.n = 1, .at = rows}};
    struct baro_declared *all[] = {&d};
    struct baro_sample s = {.n_declared = 1, .declared = all};
    const double stored[] = {1.5, NAN, INFINITY, -INFINITY};
    struct tape_writer *w = new_tape(tape_path, NULL);
    for (unsigned i = 0; i < 4; i++) {
        s.t_ns = (i + 1) * (uint64_t)SECOND;
        d.rows.read_ns = s.t_ns;
        value[0] = real(stored[i]);
        tape_add(w, &s);
    }
    tape_ended(w);

    struct ArrowArrayStream stream;
    struct ArrowArray a;
    struct baro_tape *t = tape_opened(tape_path);
    assert_int_equal(baro_tape_read_kinds(t, NULL), 0);
    assert_int_equal(baro_tape_arrow(t, baro_tape_kind_find(t, "jobqueue"), "depth", NULL, &stream, NULL), 0);
    baro_tape_close(t);
    assert_gives(stream.get_next(&stream, &a), a.length, 4);
    assert_int_equal(a.children[0]->null_count, 3);
    const uint8_t *valid = a.children[0]->buffers[0];
    assert_int_equal(valid[0] & 15, 1);
    assert_true(((const double *)a.children[0]->buffers[1])[0] == 1.5);
    a.release(&a);
    stream.release(&stream);
}

/* Names of metrics that collide with each other or with a column of the library, or that no output could take. */
TEST(names_of_columns)
{
    static const char *const names[][2] = {
        {"Foo", "Foo"},       {"foo", "foo_3"},         {"time", "time_2"},
        {"Foo_2", "Foo_2"},   {"FOO", "FOO_4"},         {"b\x81\x1b\xe2\x80\xaex", "b\\x81\\x1b\\xe2\\x80\\xaex"},
        {"LABEL", "LABEL_2"}, {"\xc3\xa9", "\xc3\xa9"},
    };
    enum { N = sizeof(names) / sizeof(*names) };
    struct baro_metric metric[N];
    const struct baro_metric *metrics[N];
    uint64_t value[N] = {0};
    uint8_t absent[N] = {BARO_PRESENT};
    struct baro_entity app = {.id = 1, .name = "", .value = value, .absent = absent, .info_version = 1};
    struct baro_entity *rows[] = {&app};
    struct baro_declared d = {.name = "app", .metric = metrics, .n_metrics = N, .rows = {.n = 1, .at = rows}};
    struct baro_declared *all[] = {&d};
    struct baro_sample s = {.t_ns = SECOND, .n_declared = 1, .declared = all};
    for (size_t i = 0; i < N; i++) {
        metric[i] = depth;
        metric[i].stem = metric[i].name = names[i][0];
        metrics[i] = &metric[i];
    }
    struct tape_writer *w = new_tape(tape_path, NULL);
    tape_add(w, &s);
    tape_ended(w);

    struct baro_columns *c;
    struct baro_tape *t = tape_opened(tape_path);
    assert_int_equal(baro_tape_read_kinds(t, NULL), 0);
    int kind = baro_tape_kind_find(t, "app");
    assert_int_equal(baro_columns_new(&c, t, kind, NULL, NULL), 0);
    size_t first = baro_columns_count(c) - N;
    for (size_t i = 0; i < N; i++)
        assert_string_equal(baro_columns_get(c, first + i)->name, names[i][1]);
    baro_columns_free(c);
    assert_int_equal(baro_columns_new(&c, t, kind, "time_2,FOO_4,FOO_4_absent,foo", NULL), 0);
    static const char *const chosen[] = {"time_2", "FOO_4", "FOO_4_absent", "foo_3"};
    static const int id[] = {2, 4, 4, 1};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(baro_columns_get(c, i)->name, chosen[i]);
        assert_int_equal(baro_columns_get(c, i)->id, id[i]);
    }
    baro_columns_free(c);
    baro_tape_close(t);
}

/* Rows of one kind, with a name of so many bytes each. */
static void write_rows(size_t n, size_t columns, size_t name_len, struct baro_sample *s, struct baro_declared *d)
{
    static const struct baro_metric *metrics[COLUMNS_MAX];
    struct tape_writer *w = new_tape(tape_path, NULL);
    struct baro_entity *row = calloc(n, sizeof *row), **rows = calloc(n, sizeof *rows);
    uint64_t *value = calloc(columns + 1, sizeof *value);
    uint8_t *absent = calloc(columns + 1, 1);
    char *name = calloc(1, name_len + 1);
    assert_true(row && rows && value && absent && name);
    memset(name, 'x', name_len);
    for (size_t i = 0; i < columns; i++)
        metrics[i] = &bytes;
    for (size_t i = 0; i < n; i++) {
        row[i] = (struct baro_entity){.id = (uint32_t)i + 1, .name = name, .value = value, .absent = absent};
        rows[i] = &row[i];
    }
    d->metric = metrics;
    d->n_metrics = columns;
    d->rows = (struct baro_entities){.n = n, .at = rows};
    for (unsigned i = 1; i < 4; i++) {
        s->t_ns = i * (uint64_t)SECOND;
        d->rows.read_ns = s->t_ns;
        tape_add(w, s);
    }
    tape_ended(w);
    free(row);
    free(rows);
    free(value);
    free(absent);
    free(name);
}

static size_t count_rows(unsigned expected_samples, const char *kind_name)
{
    struct baro_record r;
    size_t n = 0;
    unsigned samples = 0;
    struct baro_tape *t = tape_opened(tape_path);
    for (; baro_tape_next(t, &r, NULL) == 1; samples++) {
        assert_int_equal(r.kind, BARO_RECORD_SAMPLE);
        n = baro_sample_rows(r.u.sample, baro_tape_kind_find(t, kind_name));
    }
    assert_int_equal(samples, expected_samples);
    assert_int_equal(baro_tape_damage(t), 0);
    baro_tape_close(t);
    return n;
}

/* Rows and columns beyond a limit are left out; the sample and all others are on the tape. */
TEST(limits)
{
    struct baro_declared d = {.name = "many"};
    struct baro_declared *all[] = {&d};
    struct baro_sample s = {.n_declared = 1, .declared = all};
    write_rows(20000, 12, 5, &s, &d);
    assert_int_equal(count_rows(3, "many"), 262144 / 16);
    write_rows(5000, 128, 5, &s, &d);
    assert_int_equal(count_rows(3, "many"), 262144 / 132);
    write_rows(70000, 0, 5, &s, &d);
    assert_int_equal(count_rows(3, "many"), 65536);
    write_rows(15000, 1, 4000, &s, &d); /* 60 MB of names: the reading is left out */
    assert_int_equal(count_rows(3, "many"), 0);
}

/* Names that no reader would accept, and more kinds than there are numbers. */
TEST(names)
{
    enum { KINDS = 70 };
    struct baro_declared d[KINDS], *all[KINDS];
    char names[KINDS][80];
    struct baro_sample s = {.t_ns = SECOND, .n_declared = KINDS, .declared = all};
    const struct baro_metric *metrics[] = {&depth};
    struct baro_record r;
    for (unsigned i = 0; i < KINDS; i++) {
        snprintf(names[i], sizeof names[i], "kind%u", i);
        d[i] = (struct baro_declared){.name = names[i], .metric = metrics, .n_metrics = 1};
        all[i] = &d[i];
    }
    d[3].name = "disk";
    d[4].name = "kind2";
    d[5].name = "";
    memset(names[6], 'n', sizeof names[6] - 1);
    names[6][sizeof names[6] - 1] = 0;
    struct tape_writer *w = new_tape(tape_path, NULL);
    tape_add(w, &s);
    tape_ended(w);
    struct baro_tape *t = tape_opened(tape_path);
    assert_int_equal(baro_tape_next(t, &r, NULL), 1);
    assert_int_equal(baro_tape_kind_count(t), baro_kind_count() + 60);
    assert_int_equal(baro_tape_kind_find(t, "kind2"), baro_kind_count() + 2);
    assert_int_equal(baro_tape_kind_find(t, "kind7"), baro_kind_count() + 3);
    assert_int_equal(baro_tape_damage(t), 0);
    baro_tape_close(t);
}

/* An event of a kind with attributes of its own, and others beside them. */
TEST(event_attributes)
{
    char long_text[ATTRIBUTE_TEXT_MAX + 2];
    memset(long_text, 't', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = 0;
    const struct baro_attribute given[] = {
        {.name = "step", .type = BARO_ATTRIBUTE_UNSIGNED, .u64 = 7},
        {.name = "change", .type = BARO_ATTRIBUTE_SIGNED, .i64 = -7},
        {.name = "", .type = BARO_ATTRIBUTE_UNSIGNED},
        {.name = "long", .type = BARO_ATTRIBUTE_TEXT, .text = long_text},
        {.name = "note", .type = BARO_ATTRIBUTE_TEXT, .text = "half\n"},
        {.name = "loss", .type = BARO_ATTRIBUTE_REAL, .real = 0.125},
        {.name = "ok", .type = BARO_ATTRIBUTE_BOOLEAN, .u64 = 1},
        {.name = "last", .type = BARO_ATTRIBUTE_BOOLEAN, .u64 = 0},
        {.name = "by", .type = BARO_ATTRIBUTE_JSON, .text = "{\"host\":[null,1e400]}"},
        {.name = "broken", .type = BARO_ATTRIBUTE_JSON, .text = "{\"host\":"},
        {.name = "two", .type = BARO_ATTRIBUTE_JSON, .text = "1 2"},
        {.name = "bytes", .type = BARO_ATTRIBUTE_JSON, .text = "\"\xff\""},
        {.name = "deep", .type = BARO_ATTRIBUTE_JSON, .text = "[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]"},
        {.name = "none", .type = BARO_ATTRIBUTE_JSON},
    };
    struct tape_writer *w = new_tape(tape_path, NULL);
    struct baro_event e = {.kind = BARO_EVENT_MARK, .text = "epoch 3", .n_attributes = 14, .attribute = given};
    struct baro_record r;
    struct baro_attribute a;
    tape_writer_event(w, &e);
    e.attribute = NULL;
    e.n_attributes = 0;
    tape_writer_event(w, &e);
    tape_ended(w);
    struct baro_tape *t = tape_opened(tape_path);
    assert_one(baro_tape_next(t, &r, NULL), r.kind, BARO_RECORD_EVENT);
    assert_string_equal(baro_event_kind_name(baro_event_kind_of(r.u.event)), "mark");
    assert_int_equal(baro_event_attribute_count(r.u.event), 8);
    assert_int_equal(baro_event_attribute(r.u.event, 0, &a), 0);
    assert_string_equal(a.name, "name");
    assert_string_equal(a.text, "epoch 3");
    assert_int_equal(baro_event_attribute(r.u.event, 1, &a), 0);
    assert_true(strcmp(a.name, "step") == 0 && a.type == BARO_ATTRIBUTE_UNSIGNED && a.u64 == 7);
    assert_then(baro_event_attribute_find(r.u.event, "change", &a), a.type == BARO_ATTRIBUTE_SIGNED && a.i64 == -7);
    assert_int_equal(baro_event_attribute_find(r.u.event, "long", &a), BARO_E_RANGE);
    assert_int_equal(baro_event_attribute_find(r.u.event, "note", &a), 0);
    assert_string_equal(a.text, "half\n");
    assert_then(baro_event_attribute_find(r.u.event, "loss", &a), a.type == BARO_ATTRIBUTE_REAL && a.real == 0.125);
    assert_then(baro_event_attribute_find(r.u.event, "ok", &a), a.type == BARO_ATTRIBUTE_BOOLEAN && a.u64 == 1);
    assert_then(baro_event_attribute_find(r.u.event, "last", &a), a.type == BARO_ATTRIBUTE_BOOLEAN && a.u64 == 0);
    assert_gives(baro_event_attribute_find(r.u.event, "by", &a), a.type, BARO_ATTRIBUTE_JSON);
    assert_string_equal(a.text, "{\"host\":[null,1e400]}");
    assert_int_equal(baro_tape_next(t, &r, NULL), 1);
    assert_int_equal(baro_event_attribute_count(r.u.event), 1);
    baro_tape_close(t);
}
