/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of $BARO_EVENTS. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reading/mark.h"

static struct mark m;

static enum mark_result parse(const char *line)
{
    return mark_parse(span_str(line), &m);
}

static const struct baro_attribute *attribute(const char *name)
{
    for (size_t i = 0; i < m.n_attributes; i++) {
        if (strcmp(m.attribute[i].name, name) == 0)
            return &m.attribute[i];
    }
    fail_msg("no attribute %s", name);
    return NULL;
}

static void test_text(void **state)
{
    (void)state;
    assert_int_equal(parse("  epoch 3\t\r"), MARK_GOOD);
    assert_string_equal(m.name, "epoch 3");
    assert_int_equal(m.kind, MARK_POINT);
    assert_int_equal(m.clock, MARK_UNTIMED);
    assert_int_equal(parse(""), MARK_EMPTY);
    assert_int_equal(parse(" \t\r"), MARK_EMPTY);
    assert_int_equal(mark_parse(span_of("\0\0a\0b\0", 6), &m), MARK_GOOD); /* as a truncated file has them */
    assert_string_equal(m.name, "ab");
    assert_int_equal(parse("\xff\x1b[0m\xe2\x80\xae"), MARK_GOOD); /* bytes as they are: outputs escape them */
    assert_string_equal(m.name, "\xff\x1b[0m\xe2\x80\xae");
}

static void test_json(void **state)
{
    (void)state;
    assert_int_equal(parse("{\"mark\": \"a\\u00e4\\n\", \"n\": 18446744073709551615, \"i\": -3, \"r\": 2.0,"
                           " \"e\": 1e3,"
                           " \"t\": \"x\", \"b\": true, \"z\": null,"
                           " \"o\": {\"k\": {\"l\": 1}}, \"l\": [1, \"]\", {}]}"),
                     MARK_GOOD);
    assert_string_equal(m.name, "a\xc3\xa4\n");
    assert_int_equal(m.n_attributes, 8);
    assert_int_equal(attribute("n")->type, BARO_ATTRIBUTE_UNSIGNED);
    assert_true(attribute("n")->u64 == UINT64_MAX);
    assert_int_equal(attribute("i")->type, BARO_ATTRIBUTE_SIGNED);
    assert_int_equal(attribute("i")->i64, -3);
    assert_int_equal(attribute("r")->type, BARO_ATTRIBUTE_REAL);
    assert_true(attribute("r")->real == 2);
    assert_true(attribute("e")->real == 1000);
    assert_string_equal(attribute("t")->text, "x");
    assert_int_equal(attribute("b")->type, BARO_ATTRIBUTE_BOOLEAN);
    assert_int_equal(attribute("b")->u64, 1);
    assert_int_equal(attribute("o.k.l")->u64, 1);
    assert_string_equal(attribute("l")->text, "[1, \"]\", {}]");
    assert_int_equal(parse("{\"a\": 1, \"a\": 2}"), MARK_GOOD); /* the last one counts; without a name */
    assert_string_equal(m.name, "mark");
    assert_int_equal(m.n_attributes, 1);
    assert_int_equal(attribute("a")->u64, 2);
}

static void test_edges_and_times(void **state)
{
    (void)state;
    assert_int_equal(parse("{\"begin\": \"load\", \"id\": \"7\", \"pid\": 12, \"start_ticks\": 99,"
                           " \"monotonic_ns\": 5}"),
                     MARK_GOOD);
    assert_int_equal(m.kind, MARK_BEGIN);
    assert_string_equal(m.id, "7");
    assert_int_equal(m.pid, 12);
    assert_int_equal(m.start_ticks, 99);
    assert_int_equal(m.clock, MARK_MONOTONIC);
    assert_int_equal(m.time_ns, 5);
    assert_int_equal(m.n_attributes, 0);
    assert_int_equal(parse("{\"end\": \"load\", \"time\": 1700000000.5, \"pid\": 12}"), MARK_GOOD);
    assert_int_equal(m.kind, MARK_END);
    assert_int_equal(m.clock, MARK_REALTIME);
    assert_int_equal(m.time_ns, 1700000000500000000);
    assert_int_equal(attribute("pid")->u64, 12); /* the job's own */
    assert_int_equal(parse("{\"phase\": \"fit\", \"seconds\": 1.25, \"monotonic\": 2}"), MARK_GOOD);
    assert_int_equal(m.kind, MARK_WHOLE);
    assert_int_equal(m.duration_ns, 1250000000);
    assert_int_equal(m.time_ns, 2000000000);
    assert_int_equal(parse("{\"phase\": \"fit\"}"), MARK_GOOD);
    assert_int_equal(m.kind, MARK_POINT);
    assert_int_equal(parse("{\"mark\": \"a\", \"time\": -1, \"seconds\": 3}"), MARK_GOOD);
    assert_int_equal(m.clock, MARK_UNTIMED);
    assert_int_equal(attribute("seconds")->u64, 3);
}

/* Each prefix of a line, in memory of its exact size, so that a read beyond it is found. */
static void test_cut(void **state)
{
    (void)state;
    static const char line[] = "{\"begin\": \"a\\u00e4\", \"x\": [1, {\"y\": \"]\"}], \"o\": {\"p\": -1.5e3},"
                               " \"t\": true}";
    for (size_t n = 1; n < sizeof(line) - 1; n++) {
        char *copy = malloc(n);
        assert_non_null(copy);
        memcpy(copy, line, n);
        assert_int_equal(mark_parse(span_of(copy, n), &m), MARK_BAD);
        free(copy);
    }
    assert_int_equal(parse(line), MARK_GOOD);
}

static void test_limits(void **state)
{
    (void)state;
    size_t size = 4 * MARK_LINE;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, 'x', size);
    assert_int_equal(mark_parse(span_of(text, size), &m), MARK_GOOD);
    assert_int_equal(strlen(m.name), MARK_NAME - 1);
    memset(text, '{', size);
    assert_int_equal(mark_parse(span_of(text, size), &m), MARK_BAD);
    assert_int_equal(mark_parse(span_of(text, 1000), &m), MARK_BAD);
    size_t n = (size_t)snprintf(text, size, "{\"mark\": \"many\"");
    for (int i = 0; i < 100; i++)
        n += (size_t)snprintf(text + n, size - n, ", \"k%d\": \"v\"", i);
    snprintf(text + n, size - n, "}");
    assert_int_equal(parse(text), MARK_GOOD);
    assert_int_equal(m.n_attributes, MARK_ATTRIBUTES);
    assert_int_equal(m.left_out, 100 - MARK_ATTRIBUTES);
    n = (size_t)snprintf(text, size, "{\"mark\": \"long\", \"");
    memset(text + n, 'k', 300);
    snprintf(text + n + 300, size - n - 300, "\": 1, \"b\": 2}");
    assert_int_equal(parse(text), MARK_GOOD);
    assert_int_equal(m.n_attributes, 1);
    free(text);
}

static void test_runlog(void **state)
{
    (void)state;
    assert_int_equal(parse("{\"ts\": \"2026-01-02T03:04:05.678+00:00\", \"type\": \"phase\", \"name\": \"fit\","
                           " \"seconds\": 1.25, \"rows\": 7, \"ok\": true}"),
                     MARK_GOOD);
    assert_int_equal(m.kind, MARK_WHOLE);
    assert_string_equal(m.name, "fit");
    assert_int_equal(m.duration_ns, 1250000000);
    assert_int_equal(m.clock, MARK_REALTIME);
    assert_int_equal(m.time_ns, 1767323045678000000); /* date -u -d ... +%s */
    assert_int_equal(m.n_attributes, 2);
    assert_int_equal(attribute("rows")->u64, 7);
    assert_int_equal(parse("{\"ts\": \"2024-02-29T23:59:59-01:30\", \"type\": \"event\", \"event\": \"saved\","
                           " \"data\": {\"step\": 3, \"by\": {\"host\": \"a\"}}}"),
                     MARK_GOOD);
    assert_int_equal(m.kind, MARK_POINT);
    assert_string_equal(m.name, "saved");
    assert_int_equal(m.time_ns, 1709256599000000000);
    assert_int_equal(m.n_attributes, 2);
    assert_int_equal(attribute("step")->u64, 3);
    assert_string_equal(attribute("by.host")->text, "a");
    /* A line that is not of that form is a mark with these attributes. */
    assert_int_equal(parse("{\"type\": \"phase\", \"name\": \"fit\"}"), MARK_GOOD);
    assert_int_equal(m.kind, MARK_POINT);
    assert_int_equal(parse("{\"mark\": \"a\", \"type\": \"phase\", \"seconds\": 1}"), MARK_GOOD);
    assert_int_equal(m.kind, MARK_POINT);
    assert_string_equal(attribute("type")->text, "phase");
    assert_int_equal(attribute("seconds")->u64, 1);
    assert_int_equal(parse("{\"type\": \"phase\", \"name\": \"fit\", \"seconds\": 2, \"ts\": \"yesterday\"}"),
                     MARK_GOOD);
    assert_int_equal(m.kind, MARK_WHOLE);
    assert_int_equal(m.clock, MARK_UNTIMED);
    assert_string_equal(attribute("ts")->text, "yesterday");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text), cmocka_unit_test(test_json),   cmocka_unit_test(test_edges_and_times),
        cmocka_unit_test(test_cut),  cmocka_unit_test(test_limits), cmocka_unit_test(test_runlog),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
