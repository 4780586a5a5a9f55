/* SPDX-License-Identifier: Apache-2.0 */
/* Why runs of the same thing differ, as far as their own tapes tell. */
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/sorted.h"
#include "output/text/read_fact.h"
#include "programs/baro-report/diff.h"

#define REASONS_MOST 2u /* of a run */

/* What makes runs slower, the most frequent first; and which difference of two runs is worth a word. */
static const struct {
    const char *fact, *before, *after;
    double least;
} reasons[] = {
    {"cpu_others_mean_cores", "other processes used ", " cores", 0.3},
    {"run_delay_ns", "it waited ", " for cores", 100e6},
    {"cpu_steal_ratio", "the hypervisor took ", " of the CPU time", 0.02},
    {"throttled_ns", "the CPU quota stopped it for ", "", 50e6},
    {"memory_some_ratio", "some thread waited for memory in ", " of the time", 0.02},
    {"swap_in_bytes", "the machine swapped in ", "", 8e6},
    {"io_read_bytes", "it read ", " from disks, not from the page cache", 8e6},
    {"io_some_ratio", "some thread waited for I/O in ", " of the time", 0.1},
};
#define REASONS (sizeof(reasons) / sizeof(*reasons))

size_t diff_job_row(const struct baro_runset *set, const char *fact)
{
    size_t i = 0;
    while (i < baro_runset_rows(set) && (strcmp(baro_runset_row(set, i)->scope, "job") != 0 ||
                                         strcmp(baro_runset_row(set, i)->fact->name, fact) != 0))
        i++;
    return i;
}

size_t diff_values(const struct baro_runset *set, size_t row, size_t from, size_t to, size_t without, double *ret)
{
    size_t n = 0;
    for (size_t i = from; i < to; i++) {
        struct baro_value v;
        if (i != without && baro_runset_value(set, row, i, &v) == BARO_PRESENT)
            ret[n++] = v.real;
    }
    sort_numbers(ret, n);
    return n;
}

static void put_value(struct buf *b, const struct baro_fact *fact, double value)
{
    if (fact->unit == BARO_UNIT_RATIO)
        buf_printf(b, "%.0f %%", value * 100);
    else if (fact->type == BARO_FACT_REAL)
        fmt_decimal(b, value, 1);
    else
        report_format(fact)(b, whole_of(value + 0.5));
}

bool noise_of_run(const struct baro_runset *set, size_t run, size_t from, size_t to, struct buf *ret)
{
    double *others = calloc(to - from, sizeof(*others));
    unsigned n = 0;
    for (size_t i = 0; others && i < REASONS && n < REASONS_MOST; i++) {
        size_t row = diff_job_row(set, reasons[i].fact);
        struct baro_value v;
        if (baro_runset_value(set, row, run, &v) != BARO_PRESENT)
            continue;
        size_t known = diff_values(set, row, from, to, run, others);
        if (!known || v.real - sorted_median(others, known) < reasons[i].least)
            continue;
        buf_printf(ret, "%s%s", n++ ? ", and " : "", reasons[i].before);
        put_value(ret, baro_runset_row(set, row)->fact, v.real);
        buf_str(ret, reasons[i].after);
    }
    free(others);
    return n > 0;
}

/* "0.1 to 1.8", "0.1" */
static void put_range(struct buf *b, const struct baro_fact *fact, const double *sorted, size_t n)
{
    struct buf least = {0}, most = {0};
    put_value(&least, fact, sorted[0]);
    put_value(&most, fact, sorted[n - 1]);
    buf_add(b, least.at, least.len);
    if (least.len != most.len || memcmp(least.at, most.at, least.len) != 0) {
        buf_str(b, " to ");
        buf_add(b, most.at, most.len);
    }
    buf_done(&least);
    buf_done(&most);
}

#define COMMANDS_LEAST 8u
#define SLOWER_LEAST 0.02

size_t diff_ratios(const struct baro_runset *set, double **ret)
{
    size_t all = baro_difference_count(set), n = 0;
    *ret = calloc(all + 1, sizeof(**ret));
    for (size_t i = 0; *ret && i < all; i++) {
        const struct baro_difference *d = baro_difference_get(set, i);
        if (strcmp(d->scope, "command") == 0 && strcmp(d->fact->name, "cpu_ns") == 0 && d->before > 0 && d->after > 0)
            (*ret)[n++] = d->after / d->before;
    }
    if (n)
        sort_numbers(*ret, n);
    return n;
}

/* Did the CPU time of the job differ in this direction as well? */
static bool is_of_job(const struct baro_runset *set, double more)
{
    for (size_t i = 0; i < baro_difference_count(set); i++) {
        const struct baro_difference *d = baro_difference_get(set, i);
        if (strcmp(d->scope, "job") == 0 && strcmp(d->fact->name, "cpu_ns") == 0)
            return more * (d->after - d->before) > 0;
    }
    return false;
}

/* Writes "most commands used 4.1 % more CPU: the machine may have been slower": a program that changed seldom changes
 * in most of its commands alike. Returns whether it is so. */
static bool put_slowness(const struct baro_runset *set, bool is_first, struct buf *ret)
{
    double *ratio;
    size_t n = diff_ratios(set, &ratio);
    double more = n >= COMMANDS_LEAST ? sorted_median(ratio, n) - 1 : 0, size = more < 0 ? -more : more;
    free(ratio);
    if (size < SLOWER_LEAST || !is_of_job(set, more))
        return false;
    buf_str(ret, is_first ? "" : "; ");
    buf_str(ret, "most commands used ");
    fmt_decimal(ret, size * 100, size < 0.0995 ? 1 : 0);
    buf_printf(ret, " %% %s CPU: the machine may have been %s", more > 0 ? "more" : "less",
               more > 0 ? "slower" : "faster");
    return true;
}

/* Writes "other processes used 0.1 to 1.8 cores before, 0.2 after". */
size_t noise_of_sides(const struct baro_runset *set, size_t before, struct buf *ret)
{
    size_t runs = baro_runset_runs(set), n = 0;
    double *a = calloc(2 * runs, sizeof(*a)), *b = a + runs;
    for (size_t i = 0; a && i < REASONS; i++) {
        size_t row = diff_job_row(set, reasons[i].fact), n_a = diff_values(set, row, 0, before, runs, a);
        size_t n_b = diff_values(set, row, before, runs, runs, b);
        if (!n_a || !n_b)
            continue;
        double least = a[0] < b[0] ? a[0] : b[0], most = a[n_a - 1] > b[n_b - 1] ? a[n_a - 1] : b[n_b - 1];
        if (most - least < reasons[i].least)
            continue;
        const struct baro_fact *fact = baro_runset_row(set, row)->fact;
        buf_printf(ret, "%s%s", n++ ? "; " : "", reasons[i].before);
        put_range(ret, fact, a, n_a);
        buf_printf(ret, "%s before, ", reasons[i].after);
        put_range(ret, fact, b, n_b);
        buf_str(ret, " after");
    }
    free(a);
    return n + put_slowness(set, n == 0, ret);
}
