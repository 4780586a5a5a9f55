/* SPDX-License-Identifier: Apache-2.0 */
/* Shifts between two groups of numbers, and what is said of them. Quantiles are those of scipy 1.17. */
#include <math.h>

#include "unit.h"
#include "baro/runset.h"
#include "base/sorted.h"
#include "libbaro/runset/ranks.h"
#include "shifts_of_others.h"

static void near(double a, double b, double within)
{
    if (!(fabs(a - b) <= within))
        fail_msg("%g is not %g", a, b);
}

TEST(median)
{
    double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2};
    near(ranks_median(odd, 3), 3, 0);
    near(ranks_median(even, 4), 2.5, 0);
}

/* Counted over all orders of the numbers: of five against five the interval has the differences of ranks 3 to 23 of 25;
 * of four against four all of them at 0.05, and there is none at 0.01. */
TEST(shift_by_ranks)
{
    double a[] = {1, 2, 3, 4, 5}, b[] = {11.1, 12.3, 13.2, 14.6, 15.9};
    struct shift s = ranks_shift(a, 5, b, 5, 0.05);
    near(s.estimate, 10.3, 1e-9);
    near(s.low, 7.3, 1e-9);
    near(s.high, 13.6, 1e-9);
    s = ranks_shift(a, 4, b, 4, 0.05);
    near(s.low, 7.1, 1e-9);
    near(s.high, 13.6, 1e-9);
    s = ranks_shift(a, 4, b, 4, 0.01);
    assert_true(isnan(s.low) && isnan(s.high));
}

/* Pairs: 9 of the sums of ranks of ten differences are at most 8, with a probability of 25 / 1024 (as in tables of the
 * signed-rank test), so the interval is from the 9th to the 47th of 55 means. */
TEST(shift_of_pairs)
{
    double before[10], after[10];
    for (int i = 0; i < 10; i++) {
        before[i] = i * i; /* what changes with time drops out */
        after[i] = i * i + 1 + i;
    }
    struct shift s = ranks_shift_pairs(before, after, 10, 0.05);
    near(s.estimate, 5.5, 1e-12);
    near(s.low, 3, 1e-12);
    near(s.high, 8, 1e-12);
    s = ranks_shift_pairs(before, after, 10, 1e-4); /* too few: t of the differences, 9 degrees of freedom: 6.5937 */
    near(s.estimate, 5.5, 1e-12);
    near(s.high - 5.5, 6.5937 * 3.02765 / 3.16228, 0.02);
    s = ranks_shift_pairs(before, after, 2, 0.05);
    near(s.estimate, 1.5, 1e-12);
    near(s.low, 1.5 - 6366.2 * 0.5, 0.1);
}

/* scipy's exact tests, benchstat's interval of a median and pyperf's t test of the same numbers. */
TEST(as_others_say)
{
    for (size_t i = 0; i < sizeof(of_others) / sizeof(*of_others); i++) {
        size_t n = of_others[i].n;
        const double *a = of_others[i].a, *b = of_others[i].b;
        struct shift s = ranks_shift(a, n, b, n, 0.05);
        near(s.low, of_others[i].groups[0], 1e-9);
        near(s.high, of_others[i].groups[1], 1e-9);
        s = ranks_shift_pairs(a, b, n, 0.05);
        near(s.low, of_others[i].pairs[0], 1e-9);
        near(s.high, of_others[i].pairs[1], 1e-9);
        s = ranks_shift_t(a, n, b, n, 0.05);
        near(s.low, of_others[i].t[0], 1e-4);
        near(s.high, of_others[i].t[1], 1e-4);
        assert_int_equal(s.low > 0 || s.high < 0, of_others[i].pyperf_is_significant);
        double sorted[20], median[2];
        memcpy(sorted, a, n * sizeof(*a));
        sort_numbers(sorted, n);
        assert_true(sorted_median_interval(sorted, n, median));
        near(median[0], of_others[i].median[0], 0);
        near(median[1], of_others[i].median[1], 0);
        assert_false(sorted_median_interval(sorted, 5, median));
    }
}

/* Two groups of three with means 2 and 12 and variances of 1: 10 +- 4.604 * sqrt(2 / 3). */
TEST(shift_by_t)
{
    const double a[] = {1, 2, 3}, b[] = {11, 12, 13};
    struct shift s = ranks_shift_t(a, 3, b, 3, 0.01);
    near(s.estimate, 10, 1e-9);
    near(s.high - s.estimate, 4.604 * sqrt(2.0 / 3), 1e-3);
    double many[30];
    for (int i = 0; i < 30; i++)
        many[i] = i % 2;
    s = ranks_shift_t(many, 30, many, 30, 0.01); /* 58 degrees of freedom: 2.6633 */
    near(s.high, 2.6633 * sqrt(15.0 / 58 * 2 / 30), 2e-3);
}

static double noise(unsigned *state)
{
    double sum = 0;
    for (int i = 0; i < 12; i++) {
        *state = *state * 1103515245u + 12345u;
        sum += (*state >> 8 & 0xffff) / 65536.0;
    }
    return sum - 6; /* about normal, with a spread of 1 */
}

/* Of intervals of groups that do not differ 95 % have 0, or more: an exact test errs on the safe side. */
TEST(groups_that_do_not_differ)
{
    unsigned seed = 7, outside = 0;
    for (int k = 0; k < 2000; k++) {
        double a[10], b[10];
        for (int i = 0; i < 10; i++) {
            a[i] = noise(&seed);
            b[i] = noise(&seed);
        }
        struct shift s = ranks_shift(a, 10, b, 10, 0.05);
        outside += s.low > 0 || s.high < 0;
    }
    assert_true(outside > 40 && outside < 140);
}

/* compared.def names facts that there are. */
TEST(facts_that_have_rows)
{
    static const char *const scopes[] = {"job", "command", "phase", "task"};
    int n = baro_runset_fact_count(), found[4] = {0};
    for (int i = 0; i < n; i++) {
        assert_non_null(baro_runset_fact(i));
        for (int k = 0; k < 4; k++)
            found[k] += strcmp(baro_runset_fact_scope(i), scopes[k]) == 0;
        assert_true(baro_runset_fact_floor(i, 0) > 0 &&
                    baro_runset_fact_floor(i, 1e12) >= baro_runset_fact_floor(i, 0));
    }
    assert_int_equal(found[0] + found[1] + found[2] + found[3], n);
    assert_true(found[0] && found[1] && found[2] && found[3]);
    assert_null(baro_runset_fact(n));
    assert_null(baro_runset_fact_scope(-1));
    assert_true(isnan(baro_runset_fact_floor(n, 1)));
}
