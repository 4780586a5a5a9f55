/* SPDX-License-Identifier: Apache-2.0 */
/* Shifts between two groups of numbers, and what is said of them. Quantiles are those of scipy 1.17. */
#include <math.h>

#include "unit.h"
#include "baro/runset.h"
#include "base/sorted.h"
#include "libbaro/runset/ranks.h"
#include "libbaro/runset/runset.h"
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
    near(s.low, 1.5 - 12.7062 * 0.5, 1e-3);
}

/* scipy's exact tests, benchstat's interval of a median and pyperf's t test of the same numbers. */
TEST(as_others_say)
{
    for (size_t i = 0; i < sizeof(of_others) / sizeof(*of_others); i++) {
        size_t n = of_others[i].n;
        const double *a = of_others[i].a, *b = of_others[i].b;
        struct shift s = ranks_shift(a, n, b, n, 0.05);
        near(s.low, of_others[i].groups[0], 1e-6);
        near(s.high, of_others[i].groups[1], 1e-6);
        s = ranks_shift_pairs(a, b, n, 0.05);
        near(s.low, of_others[i].pairs[0], 1e-6);
        near(s.high, of_others[i].pairs[1], 1e-6);
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
    static const char *const scopes[] = {"job", "command", "phase", "task", "holder"};
    int n = baro_runset_fact_count(), found[5] = {0};
    for (int i = 0; i < n; i++) {
        assert_non_null(baro_runset_fact(i));
        for (int k = 0; k < 5; k++)
            found[k] += strcmp(baro_runset_fact_scope(i), scopes[k]) == 0;
        assert_true(baro_runset_fact_floor(i, 0) > 0 &&
                    baro_runset_fact_floor(i, 1e12) >= baro_runset_fact_floor(i, 0));
    }
    assert_int_equal(found[0] + found[1] + found[2] + found[3] + found[4], n);
    assert_true(found[0] && found[1] && found[2] && found[3]);
    assert_null(baro_runset_fact(n));
    assert_null(baro_runset_fact_scope(-1));
    assert_true(isnan(baro_runset_fact_floor(n, 1)));
}

/* ---- answers, of sets made by hand ---- */

#define SET_RUNS 20u
#define SET_ROWS 12u

struct hand_set {
    struct baro_runset set;
    struct set_row row[SET_ROWS];
    struct cell cell[SET_ROWS][SET_RUNS];
    struct set_run run[SET_RUNS];
    char names[SET_ROWS][4];
};

static const struct compared *how_of(const char *scope, const char *fact)
{
    size_t i = 0;
    while (strcmp(compared_facts[i].scope, scope) != 0 || strcmp(compared_facts[i].fact, fact) != 0)
        assert_true(++i < compared_count);
    return &compared_facts[i];
}

/* Adds a row to a set of n runs. */
static void add_row(struct hand_set *h, size_t n, const char *scope, const char *fact, const double *values)
{
    size_t i = h->set.n_rows++;
    const struct compared *how = how_of(scope, fact);
    snprintf(h->names[i], sizeof(h->names[i]), "%c", strcmp(scope, "job") == 0 ? 0 : 'a' + (int)i);
    h->row[i] =
        (struct set_row){{scope, h->names[i], baro_runset_fact((int)(how - compared_facts))}, how, h->cell[i], n};
    for (size_t k = 0; k < n; k++)
        h->cell[i][k] = (struct cell){.value = values[k]};
    h->set.row = h->row;
    h->set.run = h->run;
    h->set.n_runs = n;
}

static const struct baro_difference *compared(struct hand_set *h, size_t before, const char *name, const char *fact)
{
    for (size_t i = 0; i < h->set.n_runs; i++) {
        for (size_t k = 0; k < CIRCUMSTANCES; k++)
            h->run[i].text[k] = (char *)"";
    }
    assert_int_equal(baro_runset_compare(&h->set, before, NULL), 0);
    for (size_t i = 0; i < baro_difference_count(&h->set); i++) {
        const struct baro_difference *d = baro_difference_get(&h->set, i);
        if (strcmp(d->name, name) == 0 && strcmp(d->fact->name, fact) == 0)
            return d;
    }
    return NULL;
}

/* Ten commands, of which the first one uses 4 % more after; runs are slower as a whole by 0 to 10 %. */
TEST(runs_that_were_slow_as_a_whole)
{
    struct hand_set h = {0};
    for (size_t i = 0; i < 10; i++) {
        double values[SET_RUNS];
        for (size_t k = 0; k < SET_RUNS; k++) {
            double slow = 1 + (double)(k * 7 % 11) / 100, own = 1 + (double)((k * 3 + i) % 5) / 1000;
            values[k] = 100e6 * slow * own * (i == 0 && k >= 10 ? 1.04 : 1);
        }
        add_row(&h, SET_RUNS, "command", "cpu_ns", values);
    }
    const struct baro_difference *d = compared(&h, 10, "a", "cpu_ns");
    assert_int_equal(d->answer, BARO_ANSWER_CHANGED);
    near(d->shift, 4e6, 1e6);
    assert_true(compared(&h, 10, "b", "cpu_ns")->answer != BARO_ANSWER_CHANGED);
    free(h.set.difference);
    memset(&h, 0,
           sizeof(h)); /* all use more: it is not taken for slowness that the last one, which doesn't, uses less */
    for (size_t i = 0; i < 10; i++) {
        double values[SET_RUNS];
        for (size_t k = 0; k < SET_RUNS; k++)
            values[k] = (100e6 + (double)(k * 7 % 11) * 1e5) * (i < 9 && k >= 10 ? 1.5 : 1);
        add_row(&h, SET_RUNS, "command", "cpu_ns", values);
    }
    assert_int_equal(compared(&h, 10, "a", "cpu_ns")->answer, BARO_ANSWER_CHANGED);
    assert_true(compared(&h, 10, "j", "cpu_ns")->answer != BARO_ANSWER_CHANGED);
    free(h.set.difference);
}

/* Bytes that did not vary in four runs on each side differ, however few they are; in one run each it can't be told. */
TEST(counts_that_do_not_vary)
{
    const double written[] = {76400, 76400, 76400, 76400, 87300, 87300, 87300, 87300}, one[] = {76400, 87300};
    struct hand_set h = {0};
    add_row(&h, 8, "job", "io_wchar_bytes", written);
    assert_int_equal(compared(&h, 4, "", "io_wchar_bytes")->answer, BARO_ANSWER_CHANGED);
    free(h.set.difference);
    memset(&h, 0, sizeof(h));
    add_row(&h, 2, "job", "io_wchar_bytes", one);
    assert_int_equal(compared(&h, 1, "", "io_wchar_bytes")->answer, BARO_ANSWER_UNKNOWN);
    free(h.set.difference);
}

/* One run each: 4 s more wall time are nothing if the run waited 5 s for cores that others used. */
TEST(wall_time_of_one_run_each)
{
    const double wall[] = {2e9, 6e9}, waited[] = {0.1e9, 5e9}, little[] = {0.1e9, 0.2e9};
    for (int way = 0; way < 3; way++) {
        struct hand_set h = {0};
        add_row(&h, 2, "job", "wall_ns", wall);
        if (way < 2)
            add_row(&h, 2, "job", "run_delay_ns", way ? little : waited);
        for (size_t i = 0; i < h.set.n_rows; i++)
            runset_index(&h.set, i);
        assert_int_equal(compared(&h, 1, "", "wall_ns")->answer, way == 1 ? BARO_ANSWER_CHANGED : BARO_ANSWER_UNKNOWN);
        map_done(&h.set.by_name);
        free(h.set.difference);
    }
}

/* 277 ms more wall time in five runs each are no change if they waited 300 ms more for cores. */
TEST(wall_time_that_waits_explain)
{
    double wall[10], waits[10];
    for (int is_waited = 0; is_waited < 2; is_waited++) {
        struct hand_set h = {0};
        for (int k = 0; k < 10; k++) {
            wall[k] = 500e6 + k % 5 * 1e6 + (k < 5 ? 0 : 277e6);
            waits[k] = 200e6 + (k < 5 ? 0 : is_waited * 300e6);
        }
        add_row(&h, 10, "job", "wall_ns", wall);
        add_row(&h, 10, "job", "run_delay_ns", waits);
        for (size_t i = 0; i < h.set.n_rows; i++)
            runset_index(&h.set, i);
        assert_int_equal(compared(&h, 5, "", "wall_ns")->answer, is_waited ? BARO_ANSWER_UNKNOWN : BARO_ANSWER_CHANGED);
        map_done(&h.set.by_name);
        free(h.set.difference);
    }
}

/* A short process is called as at its last sample, which only some runs have taken in time: no command is new. */
TEST(names_that_only_some_runs_have)
{
    const double bash[] = {36, 35, 36, 36, 36, 36, 35, 36}, one[] = {0, 0, 0, 0, 1, 1, 1, 1};
    struct hand_set h = {0};
    add_row(&h, 8, "command", "processes", bash);
    add_row(&h, 8, "command", "processes", one);
    for (int k = 0; k < 4; k++)
        h.cell[1][k].absent = BARO_ABSENT_NONE;
    assert_int_equal(compared(&h, 4, "b", "processes")->answer, BARO_ANSWER_NEW);
    h.cell[1][6].absent = h.cell[1][7].absent = BARO_ABSENT_NONE;
    const struct baro_difference *d = compared(&h, 4, "b", "processes");
    assert_int_equal(d->answer, BARO_ANSWER_UNKNOWN);
    near(d->before, 0, 0);
    free(h.set.difference);
}

/* A command's CPU time may be more by what no command is known to have used: 5 ms do not hide 40, and 60 do. */
TEST(a_bound_that_is_known_to_be_near)
{
    for (int missing = 5; missing <= 60; missing += 55) {
        struct hand_set h = {0};
        double cpu[10], job[10];
        for (int k = 0; k < 10; k++) {
            cpu[k] = (100 + k % 5 * 0.1 + (k < 5 ? 0 : 40)) * 1e6;
            job[k] = cpu[k] + missing * 1e6;
        }
        add_row(&h, 10, "job", "cpu_ns", job);
        add_row(&h, 10, "command", "cpu_ns", cpu);
        for (int k = 0; k < 10; k++)
            h.cell[1][k].flags = BARO_VALUE_LOWER_BOUND;
        for (size_t k = 0; k < h.set.n_rows; k++)
            runset_index(&h.set, k);
        near(baro_runset_most(&h.set, 1, 0), (100 + missing) * 1e6, 1);
        assert_int_equal(compared(&h, 5, "b", "cpu_ns")->answer,
                         missing == 5 ? BARO_ANSWER_CHANGED : BARO_ANSWER_UNKNOWN);
        map_done(&h.set.by_name);
        free(h.set.difference);
    }
}
