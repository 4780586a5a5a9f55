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

/* Bytes that did not vary in four runs on each side differ, if it is more than 1 % and 64 B; in one run each it can't
 * be told. */
TEST(counts_that_do_not_vary)
{
    const double written[] = {76400, 76400, 76400, 76400, 87300, 87300, 87300, 87300}, one[] = {76400, 87300};
    struct hand_set h = {0};
    add_row(&h, 8, "job", "io_wchar_bytes", written);
    assert_int_equal(compared(&h, 4, "", "io_wchar_bytes")->answer, BARO_ANSWER_CHANGED);
    free(h.set.difference);
    const double digits[] = {812, 812, 812, 812, 821, 821, 821, 821}; /* pids of more digits in lines of marks */
    memset(&h, 0, sizeof(h));
    add_row(&h, 8, "job", "io_wchar_bytes", digits);
    assert_int_equal(compared(&h, 4, "", "io_wchar_bytes")->answer, BARO_ANSWER_SMALL);
    free(h.set.difference);
    memset(&h, 0, sizeof(h));
    add_row(&h, 2, "job", "io_wchar_bytes", one);
    add_row(&h, 2, "job", "io_write_bytes", (double[]){4096, 4096});
    assert_int_equal(compared(&h, 1, "", "io_wchar_bytes")->answer, BARO_ANSWER_UNKNOWN);
    assert_int_equal(compared(&h, 1, "", "io_write_bytes")->answer, BARO_ANSWER_SAME);
    free(h.set.difference);
}

/* What a run has, of which one is before or after; runs of which the second half is after. */
struct waiting {
    double wall, cpu, waits, cores, others;
};

static const struct baro_difference *wall_of(struct hand_set *h, size_t runs, const struct waiting *a,
                                             const struct waiting *b)
{
    double wall[SET_RUNS], cpu[SET_RUNS], waits[SET_RUNS], cores[SET_RUNS], others[SET_RUNS];
    for (size_t k = 0; k < 2 * runs; k++) {
        const struct waiting *w = k < runs ? a : b;
        wall[k] = w->wall + (double)(k % runs) * 1e6;
        cpu[k] = w->cpu;
        waits[k] = w->waits;
        cores[k] = w->cores;
        others[k] = w->others;
    }
    memset(h, 0, sizeof(*h));
    add_row(h, 2 * runs, "job", "wall_ns", wall);
    add_row(h, 2 * runs, "job", "cpu_ns", cpu);
    add_row(h, 2 * runs, "job", "run_delay_ns", waits);
    add_row(h, 2 * runs, "job", "cores_at_most", cores);
    add_row(h, 2 * runs, "job", "cpu_others_mean_cores", others);
    for (size_t i = 0; i < h->set.n_rows; i++)
        runset_index(&h->set, i);
    const struct baro_difference *d = compared(h, runs, "", "wall_ns");
    map_done(&h->set.by_name);
    return d;
}

/* More wall time is no change of the job where it waited as much more for cores that others used: of one run each and
 * of five. Where its own threads compete, where others used next to nothing, and with fewer cores it is one. */
TEST(wall_time_that_waits_explain)
{
    static const struct {
        struct waiting a, b;
        enum baro_answer answer, of_one; /* of five runs each, and of one */
    } of[] = {
        {{2e9, 2e9, 0.1e9, 2, 0.1},
         {6e9, 2e9, 4.5e9, 2, 1.9},
         BARO_ANSWER_OTHERS,
         BARO_ANSWER_OTHERS}, /* hogs beside it */
        {{6e9, 2e9, 4.5e9, 2, 1.9},
         {2e9, 2e9, 0.1e9, 2, 0.1},
         BARO_ANSWER_OTHERS,
         BARO_ANSWER_UNKNOWN}, /* hogs before */
        {{2e9, 2e9, 0.1e9, 2, 0.1},
         {6e9, 2e9, 0.2e9, 2, 1.9},
         BARO_ANSWER_CHANGED,
         BARO_ANSWER_CHANGED}, /* it did not wait */
        {{2e9, 2e9, 0.1e9, 2, 0.1},
         {6e9, 2e9, 4.5e9, 2, 0.05},
         BARO_ANSWER_CHANGED,
         BARO_ANSWER_CHANGED}, /* nobody else used the cores */
        {{2e9, 4e9, 0.1e9, 2, 0.1},
         {4.1e9, 4e9, 4e9, 1, 1.0},
         BARO_ANSWER_CHANGED,
         BARO_ANSWER_CHANGED}, /* two threads, one core */
        {{2e9, 4e9, 0.1e9, 2, 0.1},
         {4.5e9, 8.9e9, 8.8e9, 2, 0.1},
         BARO_ANSWER_CHANGED,
         BARO_ANSWER_CHANGED}, /* more threads than cores */
    };
    for (size_t i = 0; i < 2 * sizeof(of) / sizeof(*of); i++) {
        struct hand_set h;
        enum baro_answer answer = wall_of(&h, i % 2 ? 1 : 5, &of[i / 2].a, &of[i / 2].b)->answer;
        if (answer != (i % 2 ? of[i / 2].of_one : of[i / 2].answer))
            fail_msg("%zu: %s", i, baro_answer_name(answer));
        free(h.set.difference);
    }
    struct hand_set h; /* a difference that is not certain is nobody's */
    struct waiting a = {2e9, 2e9, 0.1e9, 2, 0.1}, b = {2.001e9, 2e9, 0.2e9, 2, 1.9};
    assert_int_equal(wall_of(&h, 5, &a, &b)->answer, BARO_ANSWER_SAME);
    free(h.set.difference);
}

/* Ten runs of each side that were made in turn are pairs, whoever compares them: 2 % more are told though all runs
 * become slower. Runs that were made side after side are none. */
TEST(runs_that_were_made_in_turn)
{
    for (int is_in_turn = 0; is_in_turn < 2; is_in_turn++) {
        struct hand_set h = {0};
        double values[20];
        for (size_t k = 0; k < 20; k++)
            values[k] = (1 + (double)(k % 10) / 10) * 1e9 * (k < 10 ? 1 : 1.02);
        add_row(&h, 20, "job", "cpu_ns", values);
        for (size_t k = 0; k < 20; k++) /* 0 1, 3 2, 4 5, ... */
            h.run[k].start_ns = (int64_t)(is_in_turn ? k % 10 * 2 + (k / 10 + k % 10) % 2 : k) * 1000000000;
        assert_int_equal(compared(&h, 10, "", "cpu_ns")->answer,
                         is_in_turn ? BARO_ANSWER_CHANGED : BARO_ANSWER_UNKNOWN);
        assert_int_equal(baro_runset_compare_pairs(&h.set, NULL), 0);
        assert_int_equal(baro_difference_get(&h.set, 0)->answer, BARO_ANSWER_CHANGED);
        free(h.set.difference);
    }
}

/* A difference that is certain, and more than 2 %, but less than the absolute floor, is not "the same". */
TEST(differences_below_the_absolute_floor)
{
    static const struct {
        double before, after;
        enum baro_answer answer;
    } of[] = {{3e6, 3.2e6, BARO_ANSWER_SMALL},
              {3e6, 3.6e6, BARO_ANSWER_CHANGED},
              {100e6, 100.8e6, BARO_ANSWER_SAME},
              {3e6, 3e6, BARO_ANSWER_SAME}};
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
        struct hand_set h = {0};
        double values[10];
        for (int k = 0; k < 10; k++)
            values[k] = (k < 5 ? of[i].before : of[i].after) + k % 5 * 1e4;
        add_row(&h, 10, "job", "rss_peak_bytes", values);
        assert_int_equal(compared(&h, 5, "", "rss_peak_bytes")->answer, of[i].answer);
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
    for (size_t i = 0; i < h.set.n_rows; i++)
        runset_index(&h.set, i);
    for (int k = 4; k < 8; k++) /* pyenv was seen in each, before it became python3 */
        h.cell[1][k] = (struct cell){0};
    assert_int_equal(compared(&h, 4, "b", "processes")->answer, BARO_ANSWER_UNKNOWN);
    map_done(&h.set.by_name);
    for (int k = 4; k < 8; k++)
        h.cell[1][k] = (struct cell){.value = 2};
    add_row(&h, 8, "command", "processes", one);
    h.names[2][0] = 0; /* the name of a process is not known in each run before: it may be one of these two, not both */
    for (size_t i = 0; i < h.set.n_rows; i++)
        runset_index(&h.set, i);
    for (int k = 0; k < 8; k++)
        h.cell[2][k].value = 1;
    assert_int_equal(compared(&h, 4, "b", "processes")->answer, BARO_ANSWER_NEW);
    for (int k = 0; k < 4; k++)
        h.cell[2][k].value = 2;
    assert_int_equal(compared(&h, 4, "b", "processes")->answer, BARO_ANSWER_UNKNOWN);
    map_done(&h.set.by_name);
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
