/* SPDX-License-Identifier: Apache-2.0 */
/* What nvidia-smi prints: by its headers, and each of the words that stand for no number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "baro/metric.h"
#include "base/fd.h"
#include "programs/baro-gpu/smi_text.h"

static char text[8192];

static struct span fixture(const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/gpus/smi/%s", getenv("BARO_FIXTURES"), name);
    ssize_t n = fd_read_file(-1, path, text, sizeof(text));
    assert_true(n > 0);
    return span_of(text, (size_t)n);
}

static uint64_t number(const struct smi_line *header, const struct smi_line *row, const char *name)
{
    uint64_t v = 0;
    int at = smi_column(header, name);
    assert_true(at >= 0);
    assert_int_equal(smi_number(row->cell[at], &v), BARO_PRESENT);
    return v;
}

static void by_headers(void **state)
{
    struct span rest = fixture("l4"), line;
    struct smi_line header, row;
    uint64_t v;
    (void)state;
    assert_true(scan_line(&rest, &line) && smi_line(line, &header));
    assert_true(scan_line(&rest, &line) && smi_line(line, &row));
    assert_int_equal(header.n, 17);
    assert_int_equal(row.n, 17);
    assert_int_equal(number(&header, &row, "power.draw"), 34390000);
    assert_int_equal(number(&header, &row, "memory.used"), 7532000000ull);
    assert_int_equal(number(&header, &row, "clocks.sm"), 1455000000ull);
    assert_int_equal(number(&header, &row, "pstate"), 0);
    assert_int_equal(number(&header, &row, "utilization.memory"), 12000000);
    assert_int_equal(smi_column(&header, "power"), -1); /* a beginning is not the name */
    assert_int_equal(smi_column(&header, "temperature.gpu"), 11);
    assert_int_equal(smi_number(row.cell[smi_column(&header, "fan.speed")], &v), BARO_ABSENT_UNSUPPORTED);
    assert_true(span_equal(row.cell[2], "NVIDIA L4"));
}

static void words_for_no_number(void **state)
{
    static const struct {
        const char *cell;
        int why;
    } table[] = {
        {"[N/A]", BARO_ABSENT_UNSUPPORTED},
        {"N/A", BARO_ABSENT_UNSUPPORTED},
        {"[Not Supported]", BARO_ABSENT_UNSUPPORTED},
        {"Not available in WDDM driver model", BARO_ABSENT_UNSUPPORTED},
        {"[GPU is lost]", BARO_ABSENT_GONE},
        {"[GPU requires reset]", BARO_ABSENT_GONE},
        {"[Insufficient Permissions]", BARO_ABSENT_DENIED},
        {"[Unknown Error]", BARO_ABSENT_UNKNOWN},
        {"ERR!", BARO_ABSENT_UNKNOWN},
        {"", BARO_ABSENT_UNKNOWN},
        {"-1", BARO_ABSENT_UNKNOWN},
        {"0x00", BARO_ABSENT_UNKNOWN},
        {"18446744073709551615", BARO_ABSENT_UNKNOWN},
    };
    uint64_t v = 7;
    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        assert_int_equal(smi_number(span_str(table[i].cell), &v), table[i].why);
    assert_int_equal(v, 7);
    assert_int_equal(smi_number(span_str("0.1234567 W"), &v), 0);
    assert_int_equal(v, 123456);
    assert_int_equal(smi_number(span_str("P12"), &v), 0);
    assert_int_equal(v, 12000000);
}

static void odd_lines(void **state)
{
    char many[256] = "a";
    struct smi_line l;
    struct span field;
    (void)state;
    assert_false(smi_line(span_str(""), &l) || smi_line(span_str(" \r"), &l));
    assert_true(smi_line(span_str(",,"), &l) && l.n == 3 && !l.cell[2].len);
    for (unsigned i = 0; i < SMI_COLUMNS_MOST; i++)
        strcat(many, ",b");
    assert_false(smi_line(span_str(many), &l));
    assert_true(smi_bad_field(span_str("Field \"fan.speed\" is not a valid field to query.\n"), &field));
    assert_true(span_equal(field, "fan.speed"));
    assert_false(smi_bad_field(span_str("Field \"\" is not a valid field to query."), &field));
    assert_false(smi_bad_field(span_str("Field \"fan.spe"), &field));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_headers),
        cmocka_unit_test(words_for_no_number),
        cmocka_unit_test(odd_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
