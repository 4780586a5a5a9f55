/* SPDX-License-Identifier: Apache-2.0 */
/* The structs of the Arrow interfaces, walked by hand: types, validity bits, dictionaries, releases, errors. That all
 * values are those of the CSV is the business of tests/e2e/test_formats.py. */
#include <errno.h>
#include <math.h>

#include "tapes.h"
#include "allocations.h"
#include "baro/baro.h"

/* The tape is closed at once: a stream does not need it. */
static struct ArrowArrayStream stream_of(const char *name, int rows, const char *columns,
                                         const struct baro_arrow_options *options)
{
    struct baro_tape *tape = kept_tape(name);
    struct ArrowArrayStream s;
    struct baro_error err;
    assert_int_equal(baro_tape_arrow(tape, rows, columns, options, &s, &err), 0);
    baro_tape_close(tape);
    return s;
}

static bool is_valid(const struct ArrowArray *a, int64_t i)
{
    const uint8_t *bits = a->buffers[0];
    return !bits || bits[i / 8] >> i % 8 & 1;
}

static const void *data(const struct ArrowArray *a)
{
    return a->buffers[1];
}

/* The text of row i, in room for 512 bytes; NULL if it is null. */
static const char *text(const struct ArrowArray *a, int64_t i, char room[512])
{
    if (!is_valid(a, i))
        return NULL;
    const struct ArrowArray *words = a->dictionary;
    int32_t number = ((const int32_t *)data(a))[i];
    const int32_t *end = words->buffers[1];
    const char *bytes = words->buffers[2];
    assert_in_range(number, 0, words->length - 1);
    assert_int_equal(end[0], 0);
    memcpy(room, bytes + end[number], (size_t)(end[number + 1] - end[number]));
    room[end[number + 1] - end[number]] = 0;
    return room;
}

/* The value of a key; NULL: there is none. */
static const char *metadata(const struct ArrowSchema *s, const char *key, char room[512])
{
    const char *at = s->metadata;
    int32_t n, len;
    if (!at)
        return NULL;
    memcpy(&n, at, 4);
    at += 4;
    while (n-- > 0) {
        memcpy(&len, at, 4);
        bool found = len == (int32_t)strlen(key) && memcmp(at + 4, key, (size_t)len) == 0;
        at += 4 + len;
        memcpy(&len, at, 4);
        if (found) {
            memcpy(room, at + 4, (size_t)len);
            room[len] = 0;
            return room;
        }
        at += 4 + len;
    }
    return NULL;
}

TEST(schema)
{
    static const struct {
        const char *name, *format, *unit, *semantics, *words;
    } expected[] = {
        {"time", "tsn:UTC", NULL, NULL, NULL},
        {"t_ns", "l", "ns", NULL, NULL},
        {"pid", "i", NULL, NULL, NULL},
        {"uid", "I", NULL, NULL, NULL},
        {"name", "i", NULL, NULL, "u"},
        {"cpu_ns", "L", "ns", "counter", NULL},
        {"rss_bytes", "L", "bytes", "gauge", NULL},
        {"nice", "l", NULL, "gauge", NULL},
        {"state", "i", NULL, "info", "u"},
        {"cores", "g", "cores", "gauge", NULL},
        {"rss_bytes_absent", "i", NULL, NULL, "u"},
        {"io_read_bytes_per_second", "g", "bytes per second", "gauge", NULL},
    };
    enum { N = sizeof(expected) / sizeof(*expected) };
    struct ArrowArrayStream s = stream_of("v1-small.baro", BARO_KIND_PROCESS,
                                          "time,t,pid,uid,name,cpu,rss,nice,state,cores,rss_absent,"
                                          "io_read_bytes_per_second",
                                          NULL);
    struct ArrowSchema schema, again;
    char room[512];
    assert_int_equal(s.get_schema(&s, &schema), 0);
    assert_int_equal(s.get_schema(&s, &again), 0); /* as often as one likes */
    s.release(&s);
    assert_null(s.release);
    again.release(&again);
    assert_null(again.release);
    assert_string_equal(schema.format, "+s");
    assert_string_equal(metadata(&schema, "kind", room), "process");
    assert_int_equal(schema.n_children, N);
    for (int i = 0; i < N; i++) {
        const struct ArrowSchema *f = schema.children[i];
        assert_string_equal(f->name, expected[i].name);
        assert_string_equal(f->format, expected[i].format);
        assert_int_equal(f->flags, ARROW_FLAG_NULLABLE);
        assert_int_equal(f->n_children, 0);
        if (expected[i].unit)
            assert_string_equal(metadata(f, "unit", room), expected[i].unit);
        else
            assert_null(metadata(f, "unit", room));
        if (expected[i].semantics)
            assert_string_equal(metadata(f, "semantics", room), expected[i].semantics);
        assert_int_equal(f->dictionary != NULL, expected[i].words != NULL);
        if (f->dictionary)
            assert_string_equal(f->dictionary->format, expected[i].words);
    }
    assert_string_equal(metadata(schema.children[6], "source", room), "/proc/PID/stat");
    assert_string_equal(metadata(schema.children[6], "absent", room), "not asked"); /* the tape has 2 metrics */
    schema.release(&schema);
    assert_null(schema.release);
}

TEST(ends)
{
    struct ArrowArrayStream s = stream_of("v1-small.baro", BARO_KIND_PROCESS, "t,pid,cpu,name,cpu_absent", NULL);
    struct ArrowArray a, end;
    char room[512];
    assert_then(s.get_next(&s, &a), a.n_children == 5 && a.n_buffers == 1 && a.offset == 0 && a.length == 32);
    int64_t nulls = 0;
    for (int64_t row = 0; row < a.length; row++) {
        bool valid = is_valid(a.children[2], row);
        nulls += !valid;
        assert_int_equal(text(a.children[4], row, room) == NULL, valid);
    }
    assert_true(nulls > 0 && nulls == a.children[2]->null_count);
    for (int i = 0; i < 5; i++)
        assert_int_equal(a.children[i]->length, a.length);
    assert_int_equal(a.children[3]->dictionary->length, 2);
    assert_then(s.get_next(&s, &end), !end.release);
    assert_then(s.get_next(&s, &end), !end.release); /* the end stays the end */
    assert_null(s.get_last_error(&s));
    s.release(&s);
    a.release(&a); /* an array does not need its stream */
    assert_null(a.release);
}

/* Bits behind the last value are 0: what a program writes to a file has no stale memory of ours in it. */
TEST(no_stale_bits)
{
    struct baro_arrow_options options = BARO_ARROW_OPTIONS_INIT;
    void *dirt[64];
    for (size_t n = 1; n < 12; n++) {
        struct ArrowArray a;
        for (size_t i = 0; i < 64; i++) {
            dirt[i] = malloc(128);
            memset(dirt[i], 0xff, 128);
        }
        for (size_t i = 0; i < 64; i++)
            free(dirt[i]);
        options.batch_rows = n;
        struct ArrowArrayStream s = stream_of("v1-small.baro", BARO_KIND_JOB, "lossy,cpu", &options);
        assert_gives(s.get_next(&s, &a), a.length, n);
        for (int c = 0; n % 8 && c < 2; c++) {
            const uint8_t *bits = c ? a.children[c]->buffers[0] : data(a.children[c]);
            if (bits)
                assert_int_equal(bits[n / 8] >> n % 8, 0);
        }
        a.release(&a);
        s.release(&s);
    }
}

/* A consumer takes a child out of a batch: it marks it as released there, and releases it on its own. */
TEST(moved_child)
{
    struct ArrowArrayStream s = stream_of("v1-small.baro", BARO_KIND_PROCESS, "name,pid", NULL);
    struct ArrowArray a, child;
    char room[512];
    assert_int_equal(s.get_next(&s, &a), 0);
    child = *a.children[0];
    a.children[0]->release = NULL;
    a.release(&a);
    s.release(&s);
    assert_string_equal(text(&child, 0, room), "cc");
    child.release(&child);
    assert_null(child.release);
}

static int64_t count(struct ArrowArrayStream *s, int64_t most)
{
    struct ArrowArray a;
    int64_t rows = 0;
    for (;;) {
        assert_int_equal(s->get_next(s, &a), 0);
        if (!a.release)
            return rows;
        assert_in_range(a.length, 1, most);
        rows += a.length;
        a.release(&a);
    }
}

TEST(batches)
{
    for (size_t n = 1; n < 40; n++) {
        struct baro_arrow_options options = BARO_ARROW_OPTIONS_INIT;
        options.batch_rows = n;
        struct ArrowArrayStream s = stream_of("v1-small.baro", BARO_KIND_PROCESS, NULL, &options);
        assert_int_equal(count(&s, (int64_t)n), 32);
        s.release(&s);
    }
}

/* Released before its end, and before it was read at all. */
TEST(early_release)
{
    struct baro_arrow_options options = BARO_ARROW_OPTIONS_INIT;
    struct ArrowArrayStream s;
    struct ArrowArray a;
    options.batch_rows = 3;
    s = stream_of("v1-small.baro", BARO_KIND_PROCESS, NULL, &options);
    assert_int_equal(s.get_next(&s, &a), 0);
    s.release(&s);
    assert_int_equal(a.length, 3);
    a.release(&a);
    s = stream_of("v1-small.baro", BARO_KIND_JOB, NULL, NULL);
    s.release(&s);
}

/* Ranges are cut out of the whole, and what is compared with the row before is the same. */
TEST(range)
{
    struct baro_arrow_options options = BARO_ARROW_OPTIONS_INIT;
    struct ArrowArrayStream s = stream_of("v1-machine.baro", BARO_KIND_JOB, "t,cores", NULL);
    struct ArrowArray all, a;
    assert_int_equal(s.get_next(&s, &all), 0);
    s.release(&s);
    const int64_t *t = data(all.children[0]);
    const double *cores = data(all.children[1]);
    for (int64_t from = 0; from < all.length; from++) {
        options.from_ns = (uint64_t)t[from];
        options.to_ns = (uint64_t)t[from < all.length - 2 ? from + 2 : all.length - 1];
        s = stream_of("v1-machine.baro", BARO_KIND_JOB, "t,cores", &options);
        assert_gives(s.get_next(&s, &a), a.length, from < all.length - 2 ? 3 : all.length - from);
        for (int64_t i = 0; i < a.length; i++) {
            assert_int_equal(((const int64_t *)data(a.children[0]))[i], t[from + i]);
            assert_int_equal(is_valid(a.children[1], i), is_valid(all.children[1], from + i));
            assert_memory_equal((const double *)data(a.children[1]) + i, &cores[from + i], sizeof(double));
        }
        a.release(&a);
        s.release(&s);
    }
    options.from_ns = (uint64_t)t[all.length - 1] + 1;
    options.to_ns = UINT64_MAX;
    s = stream_of("v1-machine.baro", BARO_KIND_JOB, "t", &options);
    assert_int_equal(count(&s, 1), 0);
    s.release(&s);
    options.size = 8; /* a program that knew no other member */
    s = stream_of("v1-machine.baro", BARO_KIND_JOB, "t", &options);
    assert_int_equal(count(&s, 100), all.length);
    s.release(&s);
    options = (struct baro_arrow_options){.size = sizeof(options)}; /* what is not named limits nothing */
    s = stream_of("v1-machine.baro", BARO_KIND_JOB, "t", &options);
    assert_int_equal(count(&s, 100), all.length);
    s.release(&s);
    options.from_ns = (uint64_t)t[1];
    s = stream_of("v1-machine.baro", BARO_KIND_JOB, "t", &options);
    assert_int_equal(count(&s, 100), all.length - 1);
    s.release(&s);
    all.release(&all);
}

/* The last exit of the tape happened before all others. */
TEST(range_of_exits)
{
    struct baro_arrow_options options = BARO_ARROW_OPTIONS_INIT;
    struct ArrowArrayStream s = stream_of("v1-tasks.baro", BARO_KIND_EXIT, "t_ns", NULL);
    struct ArrowArray all, a;
    assert_int_equal(s.get_next(&s, &all), 0);
    s.release(&s);
    const int64_t *t = data(all.children[0]);
    assert_true(all.length == 9 && t[8] < t[0]);
    options.from_ns = (uint64_t)t[1];
    options.to_ns = (uint64_t)t[6];
    s = stream_of("v1-tasks.baro", BARO_KIND_EXIT, "t_ns", &options);
    assert_gives(s.get_next(&s, &a), a.length, 6);
    assert_memory_equal(data(a.children[0]), &t[1], (size_t)a.length * sizeof(*t));
    a.release(&a);
    s.release(&s);
    all.release(&all);
}

/* For the job without sums, and for events, processes are not decoded; what is read is the same. */
TEST(projection)
{
    static const char *const tapes[] = {"v1-small.baro", "v1-machine.baro", "v1-entities.baro", "v1-limits.baro"};
    for (size_t i = 0; i < sizeof(tapes) / sizeof(*tapes); i++) {
        struct ArrowArrayStream part = stream_of(tapes[i], BARO_KIND_JOB, "t,cpu,processes,lossy,cores", NULL);
        struct ArrowArrayStream all = stream_of(tapes[i], BARO_KIND_JOB, "t,cpu,processes,lossy,cores,rss", NULL);
        struct ArrowArray a, b;
        assert_int_equal(part.get_next(&part, &a), 0);
        assert_gives(all.get_next(&all, &b), a.length, b.length);
        for (int64_t row = 0; row < a.length; row++) {
            for (int c = 0; c < 5; c++) {
                assert_int_equal(is_valid(a.children[c], row), is_valid(b.children[c], row));
                if (c != 3)
                    assert_memory_equal((const uint64_t *)data(a.children[c]) + row,
                                        (const uint64_t *)data(b.children[c]) + row, 8);
            }
        }
        a.release(&a);
        b.release(&b);
        part.release(&part);
        all.release(&all);
    }
}

TEST(errors)
{
    struct baro_tape *tape = kept_tape("v1-small.baro");
    struct ArrowArrayStream s = {.private_data = tape};
    struct baro_error err;
    assert_int_equal(baro_tape_arrow(tape, BARO_KIND_PROCESS, "t,no_such", NULL, &s, &err), BARO_E_SYNTAX);
    assert_non_null(strstr(err.text, "'no_such'"));
    assert_int_equal(baro_tape_arrow(tape, BARO_KIND_RECORDER, NULL, NULL, &s, &err), BARO_E_RANGE);
    assert_int_equal(baro_tape_arrow(tape, 99, NULL, NULL, &s, NULL), BARO_E_RANGE);
    assert_int_equal(baro_tape_arrow(tape, -2, NULL, NULL, &s, NULL), BARO_E_RANGE);
    assert_ptr_equal(s.private_data, tape); /* left alone */
    baro_tape_close(tape);
}

/* A tape in memory whose rows are cut off: what is whole is read. */
TEST(torn_tape)
{
    static char bytes[1 << 16];
    struct baro_tape *tape;
    struct ArrowArrayStream s;
    FILE *f = fopen(kept("tape/v1-small.baro"), "rb");
    assert_non_null(f);
    size_t size = fread(bytes, 1, sizeof(bytes), f);
    fclose(f);
    for (size_t n = size; n > 0; n -= n < 97 ? n : 97) {
        if (baro_tape_open_memory(&tape, bytes, n, NULL) < 0)
            continue;
        assert_int_equal(baro_tape_arrow(tape, BARO_KIND_PROCESS, NULL, NULL, &s, NULL), 0);
        baro_tape_close(tape);
        assert_in_range(count(&s, 32), 0, 32);
        s.release(&s);
    }
}

static int measure(void *context, const char *text, size_t len)
{
    (void)text;
    *(size_t *)context += len;
    return 0;
}

/* Who ends first: what is made from a tape in memory outlives the caller's bytes, and the cursor that it was made from.
 * Here a sanitizer sees what is read behind its end. */
TEST(outlives_its_tape)
{
    char *bytes = malloc(1 << 16);
    struct baro_tape *tape;
    struct ArrowArrayStream s[2];
    struct baro_fold *fold;
    struct baro_sample *sample;
    size_t length = 0;
    FILE *f = fopen(kept("tape/v1-small.baro"), "rb");
    assert_non_null(f);
    size_t size = fread(bytes, 1, 1 << 16, f);
    fclose(f);
    assert_int_equal(baro_tape_open_memory(&tape, bytes, size, NULL), 0);
    memset(bytes, 0xff, size);
    free(bytes);
    assert_int_equal(baro_tape_arrow(tape, BARO_KIND_PROCESS, "t,name,cpu,phase", NULL, &s[0], NULL), 0);
    assert_int_equal(baro_tape_arrow(tape, BARO_ROWS_EVENT, NULL, NULL, &s[1], NULL), 0);
    assert_int_equal(baro_fold_of_tape(tape, BARO_FOLD_VERDICTS, &fold, NULL), 0);
    assert_int_equal(baro_tape_at(tape, 0, BARO_AT_AFTER, &sample, NULL), 1);
    baro_tape_close(tape);
    s[1].release(&s[1]);
    assert_int_equal(count(&s[0], 65536), 32);
    s[0].release(&s[0]);
    assert_true(baro_sample_rows(sample, BARO_KIND_PROCESS) > 0);
    for (size_t i = 0; i < baro_sample_rows(sample, BARO_KIND_PROCESS); i++)
        assert_non_null(baro_row_name(baro_sample_row(sample, BARO_KIND_PROCESS, i)));
    baro_sample_free(sample);
    assert_int_equal(
        baro_verdicts_json(baro_fold_verdicts(fold), baro_fold_summary(fold), NULL, measure, &length, NULL), 0);
    assert_true(length > 1000);
    for (size_t i = 0; i < baro_timeline_count(baro_fold_timeline(fold)); i++)
        length += strlen(baro_timeline_get(baro_fold_timeline(fold), i)->name);
    baro_fold_free(fold);
}

static int table_of_all_types(struct ArrowArrayStream *s)
{
    const char *const texts[] = {"a\n", NULL, "a\n"};
    const double reals[] = {1.5, NAN, -2};
    const int64_t numbers[] = {-1, 7, INT64_MAX};
    const uint8_t absent[] = {0, 0, 2};
    const struct baro_arrow_column columns[] = {
        {"text", BARO_FACT_TEXT, texts, NULL},       {"real", BARO_FACT_REAL, reals, absent},
        {"signed", BARO_FACT_SIGNED, numbers, NULL}, {"unsigned", BARO_FACT_UNSIGNED, numbers, absent},
        {"flag", BARO_FACT_BOOLEAN, numbers, NULL},  {"time", BARO_FACT_TIME, numbers, NULL},
    };
    return baro_arrow_table(columns, 6, 3, s, NULL);
}

TEST(table_that_a_program_made)
{
    static const char *const formats[] = {"i", "g", "l", "L", "b", "tsn:UTC"};
    struct ArrowArrayStream s;
    struct ArrowSchema schema;
    struct ArrowArray a, end;
    char room[512];
    assert_int_equal(table_of_all_types(&s), 0);
    assert_int_equal(s.get_schema(&s, &schema), 0);
    assert_int_equal(s.get_next(&s, &a), 0);
    assert_int_equal(s.get_next(&s, &end), 0);
    assert_null(end.release);
    s.release(&s); /* what it delivered is independent of it */
    for (int i = 0; i < 6; i++)
        assert_string_equal(schema.children[i]->format, formats[i]);
    assert_string_equal(schema.children[1]->name, "real");
    assert_int_equal(a.length, 3);
    assert_string_equal(text(a.children[0], 0, room), "a\\x0a");
    assert_null(text(a.children[0], 1, room));
    assert_int_equal(a.children[0]->dictionary->length, 1);
    assert_int_equal(a.children[1]->null_count, 2); /* NaN, and the one that is absent */
    assert_true(((const double *)data(a.children[1]))[0] == 1.5);
    assert_int_equal(((const int64_t *)data(a.children[2]))[2], INT64_MAX);
    assert_int_equal(a.children[3]->null_count, 1);
    assert_int_equal(*(const uint8_t *)data(a.children[4]), 7);
    a.release(&a);
    schema.release(&schema);
}

#if COUNTS_ALLOCATIONS
TEST(table_without_memory)
{
    for (unsigned long n = 1;; n++) {
        struct ArrowArrayStream s;
        struct ArrowArray a = {0};
        allocations_until_failure = n;
        int code = table_of_all_types(&s);
        bool is_made = code == 0;
        code = is_made ? s.get_next(&s, &a) : code;
        bool none_failed = allocations_until_failure > 0;
        allocations_until_failure = 0;
        assert_int_equal(code, none_failed ? 0 : is_made ? ENOMEM : -ENOMEM);
        if (a.release)
            a.release(&a);
        if (is_made)
            s.release(&s);
        if (none_failed)
            break;
    }
}

/* Each allocation fails once: a code and a text, and what was there is freed. */
TEST(without_memory)
{
    struct baro_tape *tape = kept_tape("v1-small.baro");
    unsigned failures = 0;
    for (unsigned long n = 1;; n++) {
        struct ArrowArrayStream s;
        struct ArrowArray a = {0};
        struct ArrowSchema schema = {0};
        allocations_until_failure = n;
        int code =
            baro_tape_arrow(tape, BARO_KIND_PROCESS, "t,name,cpu,cores,io_read_bytes_per_second", NULL, &s, NULL);
        bool made = code == 0;
        if (made && (code = s.get_schema(&s, &schema)) == 0)
            code = s.get_next(&s, &a);
        bool none_failed = allocations_until_failure > 0;
        allocations_until_failure = 0;
        if (code != 0) {
            failures++;
            assert_true(made ? code == ENOMEM : code == -ENOMEM);
            if (made)
                assert_non_null(s.get_last_error(&s));
        }
        if (a.release)
            a.release(&a);
        if (schema.release)
            schema.release(&schema);
        if (made)
            s.release(&s);
        if (none_failed)
            break;
    }
    assert_true(failures > 20);
    baro_tape_close(tape);
}
#endif
