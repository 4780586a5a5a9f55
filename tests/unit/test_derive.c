/* SPDX-License-Identifier: Apache-2.0 */
/* Rates, sums, closure and JSON's numbers, against values worked out by hand. */
#include <math.h>

#include "unit.h"
#include "base/json.h"
#include "libbaro/interval/derive.h"
#include "libbaro/sample/sample.h"

TEST(rate)
{
    double r = -1;
    assert_then(derive_rate(0, 0, 1000000000, 500, &r), r == 500);
    assert_then(derive_rate(1000000000, 10, 3000000000, 10, &r), r == 0);
    assert_int_equal(derive_rate(0, 10, 1, 9, &r), BARO_ABSENT_UNKNOWN); /* fell: another counter */
    assert_int_equal(derive_rate(5, 1, 5, 2, &r), BARO_ABSENT_UNKNOWN);  /* no time passed */
    assert_int_equal(derive_rate(6, 1, 5, 2, &r), BARO_ABSENT_UNKNOWN);
    assert_then(derive_rate(0, 0, 2000000000, UINT64_MAX, &r), r == (double)UINT64_MAX / 2);
}

TEST(remainder)
{
    assert_true(derive_remainder(0, 0) == 0);
    assert_true(derive_remainder(100, 100) == 0);
    assert_true(derive_remainder(75, 100) == 0.25);
    assert_true(derive_remainder(125, 100) == -0.25);
    assert_true(derive_remainder(1, 0) == -1);
}

TEST(sum)
{
    struct baro_process p[4] = {0};
    struct baro_process *rows[] = {&p[0], &p[1], &p[2], &p[3]};
    struct baro_sample s = {.n = 3, .processes = rows};
    p[0].value[PROCESS_pss] = 5;
    p[1].absent[PROCESS_pss] = BARO_ABSENT_DENIED;
    p[2].value[PROCESS_pss] = 7;
    struct derive_sum sum = derive_sum(&s, PROCESS_pss);
    assert_int_equal(sum.value, 12);
    assert_int_equal(sum.members, 3);
    assert_int_equal(sum.covered, 2);
    assert_int_equal(sum.absent, BARO_PRESENT);
    p[0].absent[PROCESS_pss] = p[2].absent[PROCESS_pss] = BARO_ABSENT_DENIED;
    assert_int_equal(derive_sum(&s, PROCESS_pss).absent, BARO_ABSENT_DENIED);
    /* a zombie has no memory, so none is missing */
    s.n = 4;
    p[0].absent[PROCESS_pss] = BARO_PRESENT;
    p[1].absent[PROCESS_pss] = p[2].absent[PROCESS_pss] = BARO_PRESENT;
    p[3].value[PROCESS_state] = 'Z';
    p[3].absent[PROCESS_pss] = BARO_ABSENT_GONE;
    sum = derive_sum(&s, PROCESS_pss);
    assert_int_equal(sum.members, 3);
    assert_int_equal(sum.covered, 3);
    s.n = 0;
    sum = derive_sum(&s, PROCESS_pss);
    assert_int_equal(sum.absent, BARO_PRESENT);
    assert_int_equal(sum.value, 0);
}

/* 10 ms between samples, and the counter moves in steps of 30 ms: no interval below 100 ms may count. */
TEST(peak_over_100_ms)
{
    struct derive_peak p = {0};
    for (uint64_t i = 0; i <= 30; i++)
        derive_peak_add(&p, i * 10000000, i / 3 * 30000000, NULL);
    assert_true(p.found);
    assert_true(p.rate >= 1e9 && p.rate <= 1.2e9 + 1);
    struct derive_peak few = {0};
    derive_peak_add(&few, 0, 0, NULL);
    derive_peak_add(&few, 99999999, 1000, NULL);
    assert_false(few.found);
    derive_peak_add(&few, 100000000, 1000, NULL);
    assert_true(few.found);
    assert_true(few.rate == 10000);
}

TEST(peak_ring)
{
    struct derive_peak p = {0};
    /* more samples than the ring holds within 100 ms: some are dropped, none is wrong */
    for (uint64_t i = 0; i < 100000; i++)
        derive_peak_add(&p, i * 1000000, i * 2000000, NULL);
    assert_true(p.found);
    assert_true(p.rate == 2e9);
}

static const char *text_of(struct buf *b)
{
    buf_byte(b, 0);
    return (const char *)b->at;
}

TEST(json_numbers)
{
    static const double values[] = {0,
                                    0.1,
                                    1.8,
                                    1.0 / 3,
                                    7.6,
                                    1e22,
                                    1e23,
                                    5e-324,
                                    1.7976931348623157e308,
                                    -2.5,
                                    0.0475,
                                    123456.789,
                                    0.17847646216284932,
                                    2.0 / 3 * 1e-5,
                                    4503599627370497.5,
                                    1e-7};
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        struct buf b = {0};
        struct json j = {.out = &b};
        json_double(&j, values[i]);
        assert_true(strtod(text_of(&b), NULL) == values[i]);
        buf_done(&b);
    }
    for (int i = 0; i < 100000; i++) {
        struct buf b = {0};
        struct json j = {.out = &b};
        double v = (double)rand() / (double)(1 + rand()) * (i % 2 ? 1e-9 : 1e9);
        json_double(&j, v);
        assert_true(strtod(text_of(&b), NULL) == v);
        buf_done(&b);
    }
}

/* What printf writes: with 15 digits if they read back as the same number, else with 17. */
static void same_as_printf(double v)
{
    struct buf b = {0};
    char expected[40];
    snprintf(expected, sizeof(expected), "%.15g", v);
    if (strtod(expected, NULL) != v)
        snprintf(expected, sizeof(expected), "%.17g", v);
    buf_double(&b, v);
    if (fabs(v) < 1e-7 || fabs(v) > 1e30) /* 17 digits more often than is needed */
        assert_true(strtod(text_of(&b), NULL) == v);
    else
        assert_string_equal(text_of(&b), expected);
    buf_done(&b);
}

TEST(doubles_as_printf)
{
    /* clang-format off */
    static const double values[] = {1e-6, 9.999999999999999e-7, 9.99999999999999e-5, 0.0001, 0.00012345, 0.001, 0.1,
                                    0.3, 0.1 + 0.2, 0.99999999999999989, 1, 9.9999999999999982, 10, 100, 123.456,
                                    99999999999999.984, 999999999999999.88, 1e15, 1e300, 5e-324, 2.5, 1024, -0.25, -3e9,
                                    1.0 / 3, 2.0 / 3, 1e-5 / 3};
    /* clang-format on */
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
        same_as_printf(values[i]);
    uint64_t bits = 88172645463325252u;
    for (int i = 0; i < 200000; i++) {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        double whole = (double)(bits >> 11), decimals = (double)(bits % 100000) / 1000;
        same_as_printf(ldexp(whole, (int)(bits % 80) - 80)); /* from 2^-80 to 2^53 */
        same_as_printf(decimals);
        same_as_printf((double)(bits >> 40) * 1e9 / (double)(1 + (bits >> 30 & 0x3fffffff)) / 1e9);
    }
}

TEST(json_text)
{
    struct buf b = {0};
    struct json j = {.out = &b};
    json_begin(&j, '{');
    json_key(&j, "a");
    json_text(&j, "q\" b\\ n\n e\x1b u\xc3\xa9 x\xff");
    json_key(&j, "b");
    json_begin(&j, '[');
    json_u64(&j, UINT64_MAX);
    json_i64(&j, INT64_MIN);
    json_bool(&j, true);
    json_null(&j);
    json_double(&j, 1.0 / 0.0);
    json_text(&j, NULL);
    json_end(&j, ']');
    json_key(&j, "c");
    json_begin(&j, '{');
    json_end(&j, '}');
    json_end(&j, '}');
    assert_string_equal(text_of(&b),
                        "{\"a\":\"q\\\" b\\\\\\\\ n\\\\x0a e\\\\x1b u\xc3\xa9 x\\\\xff\","
                        "\"b\":[18446744073709551615,-9223372036854775808,true,null,null,null],\"c\":{}}\n");
    buf_done(&b);
}
