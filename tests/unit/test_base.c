/* SPDX-License-Identifier: Apache-2.0 */
/* base: how times are printed, and lists of words. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <time.h>
#include <unistd.h>

#include "unit.h"
#include "base/array.h"
#include "base/block_chars.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/fmt.h"
#include "base/json_scan.h"
#include "base/namespace.h"
#include "base/span.h"

static void check_second(int64_t seconds)
{
    struct utc got = utc_of(seconds * (int64_t)NS_PER_SEC + 123456789);
    time_t t = (time_t)seconds;
    struct tm tm;
    assert_non_null(gmtime_r(&t, &tm));
    assert_int_equal(got.year, tm.tm_year + 1900);
    assert_int_equal(got.month, tm.tm_mon + 1);
    assert_int_equal(got.day, tm.tm_mday);
    assert_int_equal(got.hour, tm.tm_hour);
    assert_int_equal(got.minute, tm.tm_min);
    assert_int_equal(got.second, tm.tm_sec);
    assert_int_equal(got.ns, 123456789);
}

/* The first and last second of every day of an int64_t of nanoseconds (1677 to 2262), compared with the C library. */
TEST(utc)
{
    for (int64_t day = -106000; day < 106000; day++) {
        check_second(day * 86400);
        check_second(day * 86400 + 86399);
    }
}

TEST(text)
{
    static const struct {
        int64_t ns;
        const char *text;
    } rows[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {951827696789000000, "2000-02-29T12:34:56.789Z"},
        {1795248000000000000, "2026-11-21T08:00:00.000Z"},
        {INT64_MAX, "2262-04-11T23:47:16.854Z"},
        {INT64_MIN, "1677-09-21T00:12:43.145Z"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct buf b = {0};
        fmt_time_utc(&b, rows[i].ns);
        assert_int_equal(b.len, 24);
        assert_memory_equal(b.at, rows[i].text, 24);
        buf_done(&b);
    }
}

TEST(words)
{
    static const char list[] = "cpuset cpu  io\tmemory\npids\n";
    const char *const words[] = {"cpuset", "cpu", "io", "memory", "pids"}, *const others[] = {"",    "cpus",
                                                                                              "set", "mem",
                                                                                              "pid", "io\tmemory"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        assert_true(span_has_word(span_str(list), words[i]));
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        assert_false(span_has_word(span_str(list), others[i]));
    assert_true(span_has_word(span_of(list, 10), "cpu")); /* cut there: nothing after it is read */
    assert_false(span_has_word(span_of(list, 9), "cpu"));
    assert_false(span_has_word(span_of(list, 0), "cpuset"));
}

/* The check value of the catalogue of parametrised CRCs (CRC-32/ISCSI), whole and in pieces, by table and by
 * instruction. */
TEST(time_namespaces)
{
    int64_t ns = 7;
    assert_int_equal(
        namespace_offset_parse(span_str("monotonic        1000         0\nboottime         2000         0\n"), &ns), 0);
    assert_true(ns == 1000000000000);
    assert_then(namespace_offset_parse(span_str("boottime 1 2\nmonotonic -3 999999999\n"), &ns), ns == -2000000001);
    /* clang-format off */
    static const char wrong[][40] = {"", "monotonic", "monotonic \n", "monotonic x 0\n", "monotonic 1\n",
                                     "monotonic 1 -1\n", "monotonic 1 1000000000\n", "monotonic 9000000001 0\n",
                                     "monotonic 1 0 0\n", "boottime 1 0\n", "monotonic 99999999999999999999 0\n"};
    /* clang-format on */
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        ns = 7;
        assert_int_equal(namespace_offset_parse(span_str(wrong[i]), &ns), BARO_E_SYNTAX);
        assert_true(ns == 7);
    }
}

TEST(own_proc)
{
    int fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(namespace_proc_is_own(fd));
    assert_false(namespace_proc_is_own(root));
    assert_false(namespace_proc_is_own(-1));
    close(fd);
    close(root);
}

TEST(crc)
{
    const char *digits = "123456789";
    unsigned char bytes[300];
    assert_int_equal(crc32c(0, digits, 9), 0xe3069283);
    assert_int_equal(crc32c(crc32c(0, digits, 4), digits + 4, 5), 0xe3069283);
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 37 + 11);
    for (size_t len = 0; len <= sizeof(bytes) && crc32c_has_instruction(); len++)
        assert_int_equal(crc32c_by_instruction(7, bytes, len), crc32c(7, bytes, len));
}

/* Eighths of one cell and of two; a small value that is not zero is visible. */
TEST(blocks)
{
    assert_int_equal(blocks_height(3, 8, 1), 3);
    assert_int_equal(blocks_height(3, 8, 2), 6);
    assert_int_equal(blocks_height(0.01, 8, 1), 1);
    assert_int_equal(blocks_height(0, 8, 1), 0);
    assert_int_equal(blocks_height(99, 8, 2), 16);
    assert_int_equal(blocks_height(1, 0, 1), 0);
    assert_int_equal(blocks_height(NAN, 8, 1), 0);
    assert_int_equal(blocks_point(0, true), ' ');
    assert_int_equal(blocks_point(1, true), 0x2581);
    assert_int_equal(blocks_point(8, true), 0x2588);
    assert_int_equal(blocks_point(8, false), '#');
}

TEST(points)
{
    struct buf b = {0};
    buf_point(&b, 'a');
    buf_point(&b, 0xb5);
    buf_point(&b, 0x2588);
    buf_point(&b, 0x1f600);
    buf_byte(&b, 0);
    assert_string_equal((char *)b.at, "a\302\265\342\226\210\360\237\230\200");
    buf_done(&b);
}

/* As it was set: in MiB, or in MB. */
TEST(limit)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {{300 << 20, "300 MiB"},
                 {8ull << 30, "8 GiB"},
                 {2000ull << 20, "2,000 MiB"},
                 {500000000, "500 MB"},
                 {8191000000, "8.19 GB"},
                 {16384000000, "16.4 GB"},
                 {4096, "4.10 kB"},
                 {0, "0 B"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct buf b = {0};
        fmt_limit(&b, cases[i].bytes);
        buf_byte(&b, 0);
        assert_string_equal((char *)b.at, cases[i].text);
        buf_done(&b);
    }
}

/* Doubles that were made of any numbers, as a damaged tape has them. */
TEST(whole)
{
    assert_true(whole_of(2.9) == 2 && whole_of(-1) == 0 && whole_of(__builtin_nan("")) == 0);
    assert_true(whole_of(18446744073709549568.0) == 18446744073709549568u);
    assert_true(whole_of(18446744073709551616.0) == UINT64_MAX && whole_of(1e300) == UINT64_MAX);
}

TEST(base_names)
{
    static const char *const names[][2] = {
        {"/usr/bin/mysql", "mysql"}, {"mysql", "mysql"}, {"./a b", "a b"}, {"a/", ""}, {"/", ""}, {"", ""},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        assert_true(span_equal(span_base_name(span_str(names[i][0])), names[i][1]));
        assert_string_equal(path_base_name(names[i][0]), names[i][1]);
    }
}

/* Room for at least what is asked, what was there stays, and nothing is allocated while it suffices. */
TEST(arrays)
{
    uint32_t *at = NULL, *before;
    size_t cap = 0;
    assert_then(array_reserve(&at, 10, &cap, sizeof(*at)), cap >= 10);
    for (uint32_t i = 0; i < cap; i++)
        at[i] = i;
    before = at;
    size_t had = cap;
    assert_then(array_reserve(&at, had, &cap, sizeof(*at)), at == before && cap == had);
    assert_then(array_reserve(&at, had + 1, &cap, sizeof(*at)), cap >= had + had / 2);
    for (uint32_t i = 0; i < had; i++)
        assert_int_equal(at[i], i);
    had = cap;
    before = at;
    assert_int_equal(array_reserve(&at, SIZE_MAX / 4, &cap, sizeof(*at)), -ENOMEM);
    assert_int_equal(array_reserve(&at, SIZE_MAX, &cap, sizeof(*at)), -ENOMEM);
    assert_true(at == before && cap == had);
    free(at);
}

TEST(decimal)
{
    static const char *const wrong[] = {"", ".", "1.", "-1", "1.05x", "1,05", "99999999999999999999", " 1"};
    double v = 0;
    assert_int_equal(parse_decimal("1.05", &v, NULL), 0);
    assert_true(v == 1.05);
    assert_int_equal(parse_decimal("500", &v, NULL), 0);
    assert_true(v == 500);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_true(parse_decimal(wrong[i], &v, NULL) < 0);
    assert_true(v == 500);
}

static size_t fault_of(const char *text)
{
    return json_fault(span_str(text));
}

TEST(json_faults)
{
    static const struct {
        const char *text;
        size_t at;
    } wrong[] = {{"", 0}, {"  ", 2}, {"{\"a\": x}", 6}, {"[1, 2", 5}, {"[1 2]", 3}, {"{} x", 3}, {"\"a", 0}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_int_equal(fault_of(wrong[i].text), wrong[i].at);
    assert_true(fault_of(" {\"a\": [1, {}, \"x\"]} \n") == SIZE_MAX);
}

TEST(json_members)
{
    struct span object = span_str(" {\"a\": {\"b\": 1}, \"b\" : [7], \"a\": 2, \"\\u0063\": \"d\"}"), s = object, one;
    char text[4];
    size_t len;
    uint64_t v = 0;
    assert_true(json_member(&s, span_str("b"))); /* of the object itself */
    assert_true(json_element(&s, &one) && scan_u64(&one, &v) && v == 7);
    assert_false(json_element(&s, &one));
    s = object;
    assert_true(json_member(&s, span_str("a")) && *s.at == '{'); /* the first of that name */
    assert_true(json_member(&s, span_str("b")) && *s.at == '1');
    s = object;
    assert_true(json_member(&s, span_str("c")) && json_string(&s, text, sizeof(text), &len) && text[0] == 'd');
    s = object;
    assert_false(json_member(&s, span_str("d")));
    s = span_str("[1]");
    assert_false(json_member(&s, span_str("a")));
    s = span_str("[]");
    assert_false(json_element(&s, &one));
    s = span_str("[ [1, 2], 3]");
    assert_true(json_element(&s, &one) && *one.at == '[');
    assert_true(json_element(&s, &one) && *one.at == '3');
    assert_false(json_element(&s, &one));
}
