/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of the public API: of one sample in arrays, reasons, and texts that are put together. */

#include "tapes.h"

#include "baro/baro.h"

enum { ROWS = 7, METRICS = 64 };

static int value_of(const struct baro_sample *s, int kind, size_t row, int metric, uint64_t *ret)
{
    switch (kind) {
    case BARO_KIND_PROCESS: return baro_row_value(baro_sample_row(s, BARO_KIND_PROCESS, row), metric, ret);
    case BARO_KIND_JOB: return baro_row_value(baro_sample_row(s, BARO_KIND_JOB, 0), metric, ret);
    case BARO_KIND_RECORDER: return baro_row_value(baro_sample_row(s, BARO_KIND_RECORDER, 0), metric, ret);
    case BARO_KIND_HOST: return baro_row_value(baro_sample_row(s, BARO_KIND_HOST, 0), metric, ret);
    default: return baro_row_value(baro_sample_row(s, kind, row), metric, ret);
    }
}

static size_t count_of(const struct baro_sample *s, int kind)
{
    uint64_t ns;
    if (kind == BARO_KIND_JOB || kind == BARO_KIND_RECORDER)
        return 1;
    if (kind == BARO_KIND_HOST)
        return baro_sample_read_ns(s, BARO_KIND_HOST, &ns) == BARO_PRESENT;
    return kind == BARO_KIND_PROCESS ? baro_sample_rows(s, BARO_KIND_PROCESS) : baro_sample_rows(s, kind);
}

/* All metrics of a kind, ROWS at a time, are what the getters say. Returns how many rows there were. */
static size_t check_kind(const struct baro_tape *tape, const struct baro_sample *s, int kind)
{
    int n = baro_tape_metric_count(tape, kind), column[METRICS];
    uint64_t value[METRICS][ROWS], *values[METRICS];
    uint8_t absent[METRICS][ROWS], *reasons[METRICS];
    size_t row = 0, got;
    n = n < METRICS ? n : METRICS;
    for (int i = 0; i < n; i++) {
        column[i] = i;
        values[i] = value[i];
        reasons[i] = absent[i];
    }
    while ((got = baro_sample_columns(s, kind, column, (size_t)n, row, ROWS, values, reasons)) > 0) {
        for (size_t k = 0; k < got; k++) {
            for (int i = 0; i < n; i++) {
                uint64_t v = 0;
                assert_int_equal(value_of(s, kind, row + k, i, &v), absent[i][k]);
                assert_int_equal(v, value[i][k]);
            }
        }
        row += got;
    }
    assert_int_equal(row, count_of(s, kind));
    return row;
}

TEST(columns_of_a_sample)
{
    static const char *const names[] = {"v1-small.baro", "v1-machine.baro", "v1-entities.baro"};
    struct baro_record r;
    size_t rows = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct baro_tape *tape = kept_tape(names[i]);
        while (baro_tape_next(tape, &r, NULL) > 0) {
            for (int kind = 0; r.kind == BARO_RECORD_SAMPLE && kind < baro_tape_kind_count(tape); kind++)
                rows += kind == BARO_KIND_EXIT ? 0 : check_kind(tape, r.u.sample, kind);
        }
        baro_tape_close(tape);
    }
    assert_true(rows > 100);
}

TEST(identities_of_a_sample)
{
    static const int columns[] = {BARO_COLUMN_ID_OF(BARO_COLUMN_PID),  BARO_COLUMN_ID_OF(BARO_COLUMN_START),
                                  BARO_COLUMN_ID_OF(BARO_COLUMN_PPID), BARO_COLUMN_ID_OF(BARO_COLUMN_ID),
                                  BARO_COLUMN_ID_OF(BARO_COLUMN_NAME), 0};
    uint64_t pid[ROWS], start[ROWS], ppid[ROWS], id[ROWS], *values[] = {pid, start, ppid, id, NULL, NULL};
    uint8_t name_absent[ROWS], *reasons[] = {NULL, NULL, NULL, NULL, name_absent, NULL};
    struct baro_tape *tape = kept_tape("v1-small.baro");
    struct baro_record r;
    while (baro_tape_next(tape, &r, NULL) > 0 && r.kind != BARO_RECORD_SAMPLE)
        ;
    const struct baro_sample *s = r.u.sample;
    assert_int_equal(baro_sample_columns(s, BARO_KIND_PROCESS, columns, 6, 0, ROWS, values, reasons),
                     baro_sample_rows(s, BARO_KIND_PROCESS));
    for (size_t i = 0; i < baro_sample_rows(s, BARO_KIND_PROCESS); i++) {
        const struct baro_row *p = baro_sample_row(s, BARO_KIND_PROCESS, i);
        assert_int_equal(pid[i], baro_row_pid(p));
        assert_int_equal(start[i], baro_row_start_ticks(p));
        assert_int_equal(ppid[i], baro_row_ppid(p));
        assert_int_equal(id[i], baro_row_id(p));
        assert_int_equal(name_absent[i], BARO_ABSENT_UNKNOWN);
    }
    assert_int_equal(baro_sample_columns(s, BARO_KIND_PROCESS, columns, 6, 1, 1, values, NULL), 1);
    assert_int_equal(pid[0], baro_row_pid(baro_sample_row(s, BARO_KIND_PROCESS, 1)));
    assert_int_equal(baro_sample_columns(s, BARO_KIND_PROCESS, columns, 6, 1000, 1, values, NULL), 0);
    assert_int_equal(baro_sample_columns(s, BARO_KIND_EXIT, columns, 6, 0, 1, values, NULL), 0);
    assert_int_equal(baro_sample_columns(s, 99, columns, 6, 0, 1, values, NULL), 0);
    baro_tape_close(tape);
}

TEST(selection)
{
    struct baro_tape *tape = kept_tape("v1-small.baro");
    struct baro_error err;
    struct baro_columns *c = NULL;
    const char *names[4];
    assert_int_equal(baro_columns_new(&c, tape, BARO_KIND_JOB, "t,cpu,rss,pss_absent,cpu_ns_absent,cores", &err), 0);
    static const struct {
        const char *name;
        enum baro_column_kind kind;
    } expected[] = {{"t_ns", BARO_COLUMN_T},
                    {"cpu_ns", BARO_COLUMN_METRIC},
                    {"rss_bytes", BARO_COLUMN_SUM},
                    {"pss_bytes_absent", BARO_COLUMN_SUM_REASON},
                    {"cpu_ns_absent", BARO_COLUMN_REASON},
                    {"cores", BARO_COLUMN_CORES}};
    assert_int_equal(baro_columns_count(c), 6);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(baro_columns_get(c, i)->name, expected[i].name);
        assert_int_equal(baro_columns_get(c, i)->kind, expected[i].kind);
    }
    assert_string_equal(baro_columns_get(c, 3)->metric->name, "pss_bytes");
    assert_null(baro_columns_get(c, 6));
    baro_columns_free(c);
    assert_int_equal(baro_columns_new(&c, tape, BARO_KIND_JOB, "cpu,_absent", &err), BARO_E_SYNTAX);
    assert_non_null(strstr(err.text, "'_absent'"));
    assert_int_equal(baro_columns_new(&c, tape, BARO_KIND_RECORDER, NULL, &err), BARO_E_RANGE);
    assert_int_equal(baro_columns_new(&c, tape, -2, NULL, &err), BARO_E_RANGE);
    char large[2001] = ""; /* longer than any name */
    memset(large, 'x', sizeof(large) - 1);
    assert_int_equal(baro_columns_new(&c, tape, BARO_KIND_JOB, large, &err), BARO_E_SYNTAX);
    assert_int_equal(baro_columns_new(&c, tape, BARO_KIND_PROCESS, large, &err), BARO_E_SYNTAX);
    assert_int_equal(baro_columns_new(&c, tape, BARO_ROWS_EVENT, "pid,cpu", &err), BARO_E_SYNTAX);
    assert_int_equal(baro_rows_find(tape, "event"), BARO_ROWS_EVENT);
    assert_int_equal(baro_rows_find(tape, "phase"), BARO_ROWS_PHASE);
    assert_int_equal(baro_rows_find(tape, "recorder"), -1);
    assert_int_equal(baro_rows_find(tape, "host"), BARO_KIND_HOST);
    size_t n = baro_columns_names(tape, BARO_KIND_PROCESS, names, 4);
    assert_true(n > 60);
    assert_string_equal(names[3], "start_ticks");
    assert_int_equal(baro_columns_names(tape, BARO_KIND_PROCESS, NULL, 0), n);
    baro_columns_free(NULL);
    baro_tape_close(tape);
}

TEST(phases)
{
    static const struct {
        const char *name;
        enum baro_column_kind kind;
    } expected[] = {{"path", BARO_COLUMN_PATH},
                    {"status", BARO_COLUMN_STATUS},
                    {"cpu_ns", BARO_COLUMN_FACT},
                    {"cpu_ns_absent", BARO_COLUMN_FACT_REASON}};
    struct baro_tape *tape = kept_tape("v1-small.baro");
    struct baro_columns *c = NULL;
    struct baro_error err;
    assert_int_equal(baro_columns_new(&c, tape, BARO_ROWS_PHASE, "path,status,cpu_ns,cpu_ns_absent", &err), 0);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(baro_columns_get(c, i)->name, expected[i].name);
        assert_int_equal(baro_columns_get(c, i)->kind, expected[i].kind);
    }
    assert_int_equal(baro_columns_get(c, 3)->id, baro_timeline_fact_find("cpu_ns"));
    baro_columns_free(c);
    static const char *const wrong[] = {"phase", "rss_bytes", "path_absent", "_absent", ""};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(baro_columns_new(&c, tape, BARO_ROWS_PHASE, wrong[i], &err), BARO_E_SYNTAX);
    assert_int_equal(baro_columns_new(&c, tape, BARO_KIND_JOB, "path", &err), BARO_E_SYNTAX);
    assert_int_equal(baro_columns_new(&c, tape, BARO_ROWS_PHASE, NULL, &err), 0);
    assert_int_equal(baro_columns_count(c), baro_columns_names(tape, BARO_ROWS_PHASE, NULL, 0));
    baro_columns_free(c);
    baro_tape_close(tape);
}

TEST(texts)
{
    struct baro_tape *tape = kept_tape("v1-attributes.baro");
    struct baro_record r;
    char all[1024], few[4];
    size_t given = 0;
    while (baro_tape_next(tape, &r, NULL) > 0) {
        if (r.kind != BARO_RECORD_EVENT)
            continue;
        size_t len = baro_event_given_json(r.u.event, all, sizeof(all));
        assert_int_equal(strlen(all), len);
        assert_int_equal(baro_event_given_json(r.u.event, NULL, 0), len);
        if (len == 0)
            continue;
        given++;
        assert_true(all[0] == '{' && all[len - 1] == '}');
        assert_int_equal(baro_event_given_json(r.u.event, few, sizeof(few)), len);
        assert_memory_equal(few, all, 3);
        assert_int_equal(few[3], 0);
    }
    assert_true(given > 0);
    baro_tape_close(tape);
}
