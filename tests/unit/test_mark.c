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

static int add_attribute(char *ret, size_t size, const struct baro_attribute *a)
{
    switch (a->type) {
    case BARO_ATTRIBUTE_UNSIGNED: return snprintf(ret, size, " %s=u%llu", a->name, (unsigned long long)a->u64);
    case BARO_ATTRIBUTE_SIGNED: return snprintf(ret, size, " %s=i%lld", a->name, (long long)a->i64);
    case BARO_ATTRIBUTE_REAL: return snprintf(ret, size, " %s=r%g", a->name, a->real);
    case BARO_ATTRIBUTE_BOOLEAN: return snprintf(ret, size, " %s=%s", a->name, a->u64 ? "true" : "false");
    case BARO_ATTRIBUTE_JSON: return snprintf(ret, size, " %s=json %s", a->name, a->text);
    default: return snprintf(ret, size, " %s=\"%s\"", a->name, a->text);
    }
}

/* A mark as text: its kind, its name in brackets, and what else is known of it. ' in the line stands for ". */
static const char *said(const char *line)
{
    static const char *const kinds[] = {"point", "begin", "end", "whole", "task", "task_end"};
    static char text[4096];
    char *copy = strdup(line);
    for (char *c = copy; (c = strchr(c, '\''));)
        *c = '"';
    enum mark_result r = parse(copy);
    free(copy);
    if (r != MARK_GOOD)
        return r == MARK_BAD ? "bad" : "empty";
    int n = snprintf(text, sizeof(text), "%s%s [%s]", m.itself ? "itself " : "", kinds[m.kind], m.name);
    if (*m.id)
        n += snprintf(text + n, sizeof(text) - (size_t)n, " id %s", m.id);
    if (m.pid)
        n += snprintf(text + n, sizeof(text) - (size_t)n, " of %d %llu", m.pid, (unsigned long long)m.start_ticks);
    if (m.clock != MARK_UNTIMED)
        n += snprintf(text + n, sizeof(text) - (size_t)n, " at %s%llu", m.clock == MARK_REALTIME ? "time " : "",
                      (unsigned long long)m.time_ns);
    if (m.kind == MARK_WHOLE)
        n += snprintf(text + n, sizeof(text) - (size_t)n, " for %llu", (unsigned long long)m.duration_ns);
    for (size_t i = 0; i < m.n_attributes; i++)
        n += add_attribute(text + n, sizeof(text) - (size_t)n, &m.attribute[i]);
    if (m.left_out)
        snprintf(text + n, sizeof(text) - (size_t)n, " without %zu: %s, %s", m.left_out, m.first_left_out,
                 m.why_left_out);
    return text;
}

#define TS "'ts': '2026-01-02T03:04:05.678+00:00', " /* date -u -d ... +%s */
#define AT " at time 1767323045678000000"

TEST(lines)
{
    static const char *const lines[][2] = {
        {"  epoch 3\t\r", "point [epoch 3]"},
        {"", "empty"},
        {" \t\r", "empty"},
        /* bytes as they are: outputs escape them */
        {"\xff\x1b[0m\xe2\x80\xae", "point [\xff\x1b[0m\xe2\x80\xae]"},
        {"{'mark': 'a\\u00e4\\n', 'n': 18446744073709551615, 'i': -3, 'r': 2.0, 'e': 1e3, 't': 'x', 'b': true,"
         " 'z': null, 'o': {'k': {'l': 1}}, 'l': [1, ']', {}]}",
         "point [a\xc3\xa4\n] n=u18446744073709551615 i=i-3 r=r2 e=r1000 t=\"x\" b=true z=json null"
         " o=json {\"k\":{\"l\":1}} l=json [1,\"]\",{}]"},
        /* the last one counts; without a name */
        {"{'a': 1, 'a': 2}", "point [mark] a=u2"},
        /* The text is the name, and what comes after it an attribute. */
        {"{'name': 'x', 'name': 0.5}", "point [x] name=r0.5"},
        {"{'begin': 'a', 'begin': 5}", "begin [a] begin=u5"},
        {"{'begin': 'a', 'begin': 'b'}", "begin [b]"},
        /* names that have a meaning on the tape */
        {"{'mark': 'm', 'duration_ns': 5, 'id': 'x'}", "point [m] duration_ns=json 5 id=json \"x\""},
        {"{'a': '\xff', 'b': ['\xff'], '': 1, 'c\\u0000': 2, 'c': 3}", /* bytes, as names of files are */
         "point [mark] a=\"\xff\" c=u3 without 3: \"b\", which is not UTF-8"},
        {"{'begin': 'load', 'id': '7', 'pid': 12, 'start_ticks': 99, 'monotonic_ns': 5}",
         "begin [load] id 7 of 12 99 at 5"},
        /* a pid alone is the job's own */
        {"{'end': 'load', 'time': 1700000000.5, 'pid': 12}", "end [load] at time 1700000000500000000 pid=u12"},
        {"{'phase': 'fit', 'seconds': 1.25, 'monotonic': 2}", "whole [fit] at 2000000000 for 1250000000"},
        {"{'phase': 'fit'}", "point [fit]"},
        {"{'mark': 'a', 'time': -1, 'seconds': 3}", "point [a] time=i-1 seconds=u3"},
        {"{'run_task': 'load', 'pid': 12, 'start_ticks': 99}", "task [load] of 12 99"},
        {"{'run_task': 'load', 'itself': true, 'pid': 12, 'start_ticks': 99}", "itself task [load] of 12 99"},
        {"{'run_task': 'load', 'itself': 1, 'pid': 12, 'start_ticks': 99}", "task [load] of 12 99"},
        {"{'mark': 'load', 'itself': true}", "point [load] itself=true"},
        /* a RunLog: nothing but ts, type, name, seconds, event and data has a meaning */
        {"{" TS "'type': 'phase', 'name': 'fit', 'seconds': 1.25, 'rows': 7, 'ok': true}",
         "whole [fit]" AT " for 1250000000 rows=u7 ok=true"},
        {"{'ts': '2024-02-29T23:59:59-01:30', 'type': 'event', 'event': 'saved', 'data': {'step': 3, 'by': {'h': "
         "'a'}}}",
         "point [saved] at time 1709256599000000000 step=u3 by=json {\"h\":\"a\"}"},
        {"{" TS "'type': 'phase', 'name': 'fit', 'seconds': 7, 'phase': 'warm', 'time': 5, 'id': 'x', 'pid': 1,"
         " 'start_ticks': 2, 'data': {'a': 1}, 'mark': 'm'}",
         "whole [fit]" AT " for 7000000000 phase=\"warm\" time=u5 id=json \"x\" pid=u1 start_ticks=u2"
         " data=json {\"a\":1} mark=\"m\""},
        {"{" TS "'type': 'event', 'event': 'e', 'data': 5}", "point [e]" AT " data=u5"},
        {"{" TS "'type': 'event', 'event': 'e', 'data': null}", "point [e]" AT " data=json null"},
        {"{" TS "'type': 'event', 'event': 'e', 'data': {}}", "point [e]" AT " data=json {}"},
        {"{" TS "'type': 'event', 'event': 'e', 'data': {'': 1}}", "point [e]" AT " data=json {\"\":1}"},
        {"{" TS "'type': 'event', 'event': 'e', 'data': {'a': 1}, 'level': 3}",
         "point [e]" AT " data=json {\"a\":1} level=u3"},
        {"{" TS "'type': 'event', 'event': 'e', 'level': 3}", "point [e]" AT " level=u3"},
        {"{" TS "'type': 'event', 'event': 'e', 'data': {'a': 1}, 'data': {'b': 2}}", "point [e]" AT " b=u2"},
        {"{" TS "'type': 'event', 'event': 'e'}", "point [e]" AT},
        {"{" TS "'type': 'phase', 'name': 'fit', 'seconds': NaN}", "whole [fit]" AT " for 0"},
        {"{" TS "'type': 'phase', 'name': 'fit', 'seconds': -0.5}", "whole [fit]" AT " for 0"},
        /* A line that is not of that form is a mark with these attributes. */
        {"{'type': 'phase', 'name': 'fit'}", "point [fit] type=\"phase\""},
        {"{'mark': 'a', 'type': 'phase', 'seconds': 1}", "point [a] type=\"phase\" seconds=u1"},
        {"{'type': 'phase', 'name': 'fit', 'seconds': 2, 'ts': 'yesterday'}",
         "whole [fit] for 2000000000 ts=\"yesterday\""},
    };
    bool all = true;
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        const char *is = said(lines[i][0]);
        if (strcmp(is, lines[i][1]) != 0)
            print_error("%s\n  is  %s\n  not %s\n", lines[i][0], is, lines[i][1]);
        all &= strcmp(is, lines[i][1]) == 0;
    }
    assert_true(all);
    assert_int_equal(mark_parse(span_of("\0\0a\0b\0", 6), &m), MARK_GOOD); /* as a truncated file has them */
    assert_string_equal(m.name, "ab");
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
    char *text = malloc(MARK_LINE);
    assert_non_null(text);
    int at = snprintf(text, MARK_LINE, "{\"mark\": \"m\", \"k\": \"");
    memset(text + at, 'k', 10000);
    strcpy(text + at + 10000, "\"}");
    assert_int_equal(parse(text), MARK_GOOD);
    assert_int_equal(strlen(json("k")), 10002);
    free(text);
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

/* More than attributes may be: "data" is one. */
TEST(many_in_data)
{
    char line[2048] = "{'type': 'event', 'event': 'config', 'ts': '2026-01-02T03:04:05Z', 'data': {'k': 0";
    for (int i = 0; i < 60; i++)
        snprintf(line + strlen(line), sizeof(line) - strlen(line), ", 'k%d': %d", i, i);
    strcat(line, "}}");
    said(line);
    assert_int_equal(m.n_attributes, 1);
    assert_int_equal(m.left_out, 0);
}
