/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of $BARO_EVENTS. */
#include <math.h>

#include "unit.h"
#include "recorder/marks/mark.h"

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

static const char *json(const char *name)
{
    assert_int_equal(attribute(name)->type, BARO_ATTRIBUTE_JSON);
    return attribute(name)->text;
}

TEST(text)
{
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

TEST(json)
{
    assert_int_equal(parse("{\"mark\": \"a\\u00e4\\n\", \"n\": 18446744073709551615, \"i\": -3, \"r\": 2.0,"
                           " \"e\": 1e3,"
                           " \"t\": \"x\", \"b\": true, \"z\": null,"
                           " \"o\": {\"k\": {\"l\": 1}}, \"l\": [1, \"]\", {}]}"),
                     MARK_GOOD);
    assert_string_equal(m.name, "a\xc3\xa4\n");
    assert_int_equal(m.n_attributes, 9);
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
    assert_string_equal(json("z"), "null");
    assert_string_equal(json("o"), "{\"k\":{\"l\":1}}");
    assert_string_equal(json("l"), "[1,\"]\",{}]");
    assert_int_equal(parse("{\"a\": 1, \"a\": 2}"), MARK_GOOD); /* the last one counts; without a name */
    assert_string_equal(m.name, "mark");
    assert_int_equal(m.n_attributes, 1);
    assert_int_equal(attribute("a")->u64, 2);
}

/* What no other type holds as it is written is JSON, with numbers as they are spelled. */
TEST(as_written)
{
    /* clang-format off */
    static const char *const kept[] = {"18446744073709551616", "-9223372036854775809", "1e400", "-1E+999", "NaN",
                                       "Infinity", "-Infinity", "null", "\"a\\u0000b\"", "\"\\ud800\"",
                                       "[1.10,-0,{\"a\":1,\"a\":2}]", "\"\\udc00\\ud800\"", "{}", "[]"};
    /* clang-format on */
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
        char line[128];
        snprintf(line, sizeof(line), "{\"mark\": \"m\", \"k\": %s}", kept[i]);
        assert_int_equal(parse(line), MARK_GOOD);
        assert_string_equal(json("k"), kept[i]);
        assert_int_equal(m.left_out, 0);
    }
    char large[600];
    snprintf(large, sizeof(large), "{\"mark\": \"m\", \"k\": %0512d}", 7); /* a number as long as no double is */
    memset(strchr(large, '0'), '1', 511);
    assert_int_equal(parse(large), MARK_GOOD);
    assert_int_equal(strlen(json("k")), 512);
    assert_int_equal(parse("{\"a\": -0.0, \"b\": 1e308, \"c\": 9223372036854775808, \"d\": \"\\ud83d\\ude00\"}"),
                     MARK_GOOD);
    assert_true(attribute("a")->type == BARO_ATTRIBUTE_REAL && signbit(attribute("a")->real));
    assert_true(attribute("b")->type == BARO_ATTRIBUTE_REAL && attribute("b")->real == 1e308);
    assert_true(attribute("c")->type == BARO_ATTRIBUTE_UNSIGNED && attribute("c")->u64 == 1ull << 63);
    assert_string_equal(attribute("d")->text, "\xf0\x9f\x98\x80");
    /* names that have a meaning on the tape */
    assert_int_equal(parse("{\"mark\": \"m\", \"duration_ns\": 5, \"id\": \"x\"}"), MARK_GOOD);
    assert_string_equal(json("duration_ns"), "5");
    assert_string_equal(json("id"), "\"x\"");
    static const char *const bad[] = {"[1,]",   "[,1]", "{\"a\"}", "{\"a\":}", "{a:1}", "[1 2]", "01",  "1.",
                                      ".5",     "+1",   "1e",      "nul",      "[}",    "{]",    "'a'", "\"\\x\"",
                                      "\"\t\"", "[1",   "--1",     "-",        "[1]]",  "nan",   ""};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        char line[128];
        snprintf(line, sizeof(line), "{\"mark\": \"m\", \"k\": %s}", bad[i]);
        assert_int_equal(parse(line), MARK_BAD);
    }
}

TEST(left_out)
{
    char line[256] = "{\"mark\": \"m\", \"deep\": ";
    size_t n = strlen(line);
    for (unsigned levels = 15; levels < 20; levels++) {
        memset(line + n, '[', levels);
        memset(line + n + levels, ']', levels);
        strcpy(line + n + 2 * levels, ", \"b\": 1}");
        assert_int_equal(parse(line), MARK_GOOD);
        assert_int_equal(attribute("b")->u64, 1);
        assert_int_equal(m.n_attributes, levels <= 16 ? 2 : 1);
        assert_int_equal(m.left_out, levels > 16);
        if (levels > 16) {
            assert_string_equal(m.first_left_out, "\"deep\"");
            assert_string_equal(m.why_left_out, "which is nested too deeply");
        }
    }
    assert_int_equal(parse("{\"a\": \"\xff\", \"b\": [\"\xff\"], \"\": 1, \"c\\u0000\": 2, \"c\": 3}"), MARK_GOOD);
    assert_string_equal(attribute("a")->text, "\xff"); /* bytes, as names of files are */
    assert_int_equal(m.n_attributes, 2);
    assert_int_equal(m.left_out, 3);
    assert_string_equal(m.first_left_out, "\"b\"");
    assert_string_equal(m.why_left_out, "which is not UTF-8");
    char *text = malloc(MARK_LINE);
    assert_non_null(text);
    int at = snprintf(text, MARK_LINE, "{\"mark\": \"m\", \"k\": \"");
    memset(text + at, 'k', 10000);
    strcpy(text + at + 10000, "\"}");
    assert_int_equal(parse(text), MARK_GOOD);
    assert_int_equal(strlen(json("k")), 10002);
    free(text);
}

/* The text is the name, and what comes after it an attribute. */
TEST(a_name_twice)
{
    assert_int_equal(parse("{\"name\": \"x\", \"name\": 0.5}"), MARK_GOOD);
    assert_string_equal(m.name, "x");
    assert_true(attribute("name")->real == 0.5);
    assert_int_equal(parse("{\"begin\": \"a\", \"begin\": 5}"), MARK_GOOD);
    assert_string_equal(m.name, "a");
    assert_int_equal(m.kind, MARK_BEGIN);
    assert_int_equal(parse("{\"begin\": \"a\", \"begin\": \"b\"}"), MARK_GOOD);
    assert_string_equal(m.name, "b");
}

TEST(edges_and_times)
{
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

TEST(tasks)
{
    assert_int_equal(parse("{\"run_task\": \"load\", \"pid\": 12, \"start_ticks\": 99}"), MARK_GOOD);
    assert_int_equal(m.kind, MARK_TASK);
    assert_false(m.itself);
    assert_int_equal(parse("{\"run_task\": \"load\", \"itself\": true, \"pid\": 12, \"start_ticks\": 99}"), MARK_GOOD);
    assert_int_equal(m.kind, MARK_TASK);
    assert_true(m.itself);
    assert_int_equal(m.pid, 12);
    assert_int_equal(m.n_attributes, 0);
    assert_int_equal(parse("{\"run_task\": \"load\", \"itself\": 1, \"pid\": 12, \"start_ticks\": 99}"), MARK_GOOD);
    assert_false(m.itself);
    assert_int_equal(parse("{\"mark\": \"load\", \"itself\": true}"), MARK_GOOD);
    assert_false(m.itself);
    assert_int_equal(attribute("itself")->u64, 1); /* the job's own */
}

/* Each prefix of a line, in memory of its exact size, so that a read beyond it is found. */
TEST(cut)
{
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

TEST(limits)
{
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

TEST(runlog)
{
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
    assert_string_equal(json("by"), "{\"host\":\"a\"}");
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

#define TS "\"ts\": \"2026-01-02T03:04:05.678+00:00\", "

/* In a line of a RunLog nothing but ts, type, name, seconds, event and data has a meaning. */
TEST(runlog_members)
{
    assert_int_equal(parse("{" TS "\"type\": \"phase\", \"name\": \"fit\", \"seconds\": 7, \"phase\": \"warm\","
                           " \"time\": 5, \"id\": \"x\", \"pid\": 1, \"start_ticks\": 2, \"data\": {\"a\": 1},"
                           " \"mark\": \"m\"}"),
                     MARK_GOOD);
    assert_int_equal(m.kind, MARK_WHOLE);
    assert_string_equal(m.name, "fit");
    assert_int_equal(m.duration_ns, 7000000000);
    assert_int_equal(m.n_attributes, 7);
    assert_string_equal(json("data"), "{\"a\":1}");
    assert_string_equal(json("id"), "\"x\"");
    assert_string_equal(m.id, "");
    static const char *const beside[] = {
        "\"data\": 5", "\"data\": null", "\"data\": {}", "\"data\": {\"\": 1}", "\"data\": {\"a\": 1}, \"level\": 3",
        "\"level\": 3"};
    for (size_t i = 0; i < sizeof(beside) / sizeof(*beside); i++) {
        char line[256];
        snprintf(line, sizeof(line), "{" TS "\"type\": \"event\", \"event\": \"e\", %s}", beside[i]);
        assert_int_equal(parse(line), MARK_GOOD);
        assert_string_equal(m.name, "e");
        assert_int_equal(m.n_attributes, i == 4 ? 2 : 1);
    }
    assert_int_equal(parse("{" TS "\"type\": \"event\", \"event\": \"e\", \"data\": {\"a\": 1},"
                           " \"data\": {\"b\": 2}}"),
                     MARK_GOOD);
    assert_int_equal(m.n_attributes, 1);
    assert_int_equal(attribute("b")->u64, 2);
    assert_int_equal(parse("{" TS "\"type\": \"event\", \"event\": \"e\"}"), MARK_GOOD);
    assert_int_equal(m.n_attributes, 0);
    assert_int_equal(parse("{" TS "\"type\": \"phase\", \"name\": \"fit\", \"seconds\": NaN}"), MARK_GOOD);
    assert_true(m.kind == MARK_WHOLE && m.duration_ns == 0);
    assert_int_equal(parse("{" TS "\"type\": \"phase\", \"name\": \"fit\", \"seconds\": -0.5}"), MARK_GOOD);
    assert_true(m.kind == MARK_WHOLE && m.duration_ns == 0);
    char line[2048] = "{" TS "\"type\": \"event\", \"event\": \"config\", \"data\": {\"k\": 0";
    for (int i = 0; i < 60; i++)
        snprintf(line + strlen(line), sizeof(line) - strlen(line), ", \"k%d\": %d", i, i);
    strcat(line, "}}");
    assert_int_equal(parse(line), MARK_GOOD); /* more than attributes may be: "data" is one */
    assert_int_equal(m.n_attributes, 1);
    assert_int_equal(m.left_out, 0);
}
