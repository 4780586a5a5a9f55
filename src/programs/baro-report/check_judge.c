/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs say of limits. Each run has an interval in which its value certainly is: of a lower bound it has no upper
 * end, of a value that is absent it is from 0 to infinity. Together they have one of which the limit is judged: broken
 * if its lower end is over the limit, kept if its upper end is not, else it can't be told.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/sorted.h"
#include "output/rows/escaped.h"
#include "output/text/read_fact.h"
#include "programs/baro-report/check.h"
#include "programs/common/opt.h"

#define ESTIMATE_RATIO 0.1 /* an estimate may be off by so much */
#define BASE_RUNS_LEAST 3u /* of fewer runs it is not known how much they differ */
#define NAMES_SHOWN 5u
#define RUNS_LEAST 3u /* of which one is in the middle */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static const struct bounds not_known = {0, NAN, INFINITY, 0};

static bool is_status(const struct limit *l)
{
    return strcmp(l->is.fact->name, "wait_status") == 0;
}

/* Times of another machine are not compared with the base; memory and counts are. */
static bool is_foreign(const struct check *c, const struct limit *l, size_t run)
{
    return l->factor > 0 && l->is.fact->unit == BARO_UNIT_NS && c->run[run].is_elsewhere;
}

/* Example: at least 1.2 GB with an upper bound of 1.3 GB is from 1.2 to 1.3 GB; about 100 is from 90 to 110. */
struct bounds check_bounds(const struct check *c, const struct limit *l, size_t row, size_t run)
{
    struct baro_value v;
    if (is_foreign(c, l, run) || baro_runset_value(c->set, row, run, &v) != BARO_PRESENT)
        return not_known;
    struct bounds ret = {v.real, v.real, baro_runset_most(c->set, row, run), v.flags};
    if (v.flags & BARO_VALUE_ESTIMATE)
        ret.low = v.real * (1 - ESTIMATE_RATIO);
    else if (v.flags & BARO_VALUE_UPPER_BOUND)
        ret.low = v.flags & BARO_VALUE_LOWER_BOUND ? v.real * (1 - ESTIMATE_RATIO) : 0;
    if (c->run[run].is_partial && !is_status(l)) {
        ret.high = INFINITY;
        ret.flags |= BARO_VALUE_LOWER_BOUND;
    }
    return ret;
}

/* Example: 1.05*base of a base of 5 runs from 2.9 to 3.2 s with the median 3 s allows 3.15 s, and is broken beyond
 * 3.36 s. Of one run of 3 s of CPU time it is broken beyond 1.05 * (3 s + 10 %). */
bool check_allowed(const struct check *c, const struct limit *l, const struct baro_runset_row *row, double *ret,
                   double *ret_top)
{
    *ret = *ret_top = l->plus;
    if (!(l->factor > 0))
        return true;
    const struct base_value *b = base_find(&c->base, row);
    if (!b)
        return false;
    double most = b->n < BASE_RUNS_LEAST ? b->median + baro_runset_fact_floor(l->is.number, b->median) : b->most;
    *ret += l->factor * b->median;
    *ret_top += l->factor * larger(most, b->median);
    return true;
}

/* ---- all runs together ---- */

double check_median(double *at, size_t n)
{
    sort_numbers(at, n);
    return sorted_median(at, n);
}

/* Returns how many numbers are left out at each end of n sorted ones so that the others have the median with 95 %; 0
 * below 6 numbers, where it is the whole range. Example: of 10 it is 1: from the second to the ninth. */
static size_t ends_of(size_t n)
{
    double p = 1, below = 0; /* p: of exactly k of n numbers below the median */
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        p /= 2;
    for (; k < n / 2; k++) {
        below += p;
        if (below > 0.025)
            break;
        p = p * (double)(n - k) / (double)(k + 1);
    }
    return k ? k - 1 : 0;
}

/* What all runs say of a row. room: for three numbers of each run. A limit of its own on a peak or a count is one on
 * each run; else it is one on the median: what the runs differ by counts on top of how far the middle one may be off,
 * not of the one that may be off most. Example: four runs of 39.0 MB and one of 39 to 57 MB are 39.0 to 39.1 MB. */
static struct bounds bounds_of_all(const struct check *c, const struct limit *l, size_t row, double *room)
{
    size_t runs = baro_runset_runs(c->set), n = runs + c->unread, known = 0;
    double *low = room, *high = room + n, *value = room + 2 * n;
    struct bounds ret = {0, NAN, INFINITY, 0};
    for (size_t i = 0; i < n; i++) {
        struct bounds b = i < runs ? check_bounds(c, l, row, i) : not_known;
        low[i] = b.low;
        high[i] = b.high;
        ret.flags |= b.flags;
        if (!isnan(b.value))
            value[known++] = b.value;
    }
    if (!n)
        return ret;
    ret.value = check_median(value, known);
    sort_numbers(low, n);
    sort_numbers(high, n);
    bool is_each = !(l->factor > 0) && (l->is.fact->semantics == BARO_FACT_PEAK || l->is.fact->unit == BARO_UNIT_NONE);
    size_t k = is_each ? 0 : ends_of(n);
    ret.low = is_each ? low[n - 1] : low[k];
    ret.high = high[n - 1 - k];
    if (known && is_each)
        ret.value = value[known - 1];
    if (is_each || known < n || n < RUNS_LEAST || isinf(high[n - 1]))
        return ret;
    double least = check_median(low, n) - (ret.value - value[k]),
           most = check_median(high, n) + (value[n - 1 - k] - ret.value);
    ret.low = larger(ret.low, least);
    ret.high = most < ret.high ? most : ret.high;
    return ret;
}

/* ---- words ---- */

void check_put_number(struct buf *b, const struct limit *l, double value)
{
    if (is_status(l))
        report_status((int)value, b);
    else
        report_format(l->is.fact)(b, whole_of(value + 0.5));
}

void check_put_value(const struct check *c, struct buf *b, const struct limit *l)
{
    size_t runs = baro_runset_runs(c->set) + c->unread;
    if (isnan(l->middle)) {
        buf_str(b, "-");
        return;
    }
    buf_str(b, baro_value_prefix(l->flags, BARO_PREFIX_SYMBOL));
    check_put_number(b, l, l->middle);
    if (runs > 1 && l->low < l->high && !isinf(l->high)) {
        buf_str(b, " (");
        check_put_number(b, l, l->low);
        buf_str(b, " to ");
        check_put_number(b, l, l->high);
        buf_byte(b, ')');
    }
}

/* "; there are: compile, test" */
static void put_names(const struct check *c, const struct limit *l, struct buf *b)
{
    const char *names[256];
    const struct baro_runset_row *row;
    size_t n = 0;
    for (size_t i = 0; (row = baro_runset_row(c->set, i)) && n < 255; i++) {
        if (row->fact == l->is.fact && strcmp(row->scope, l->is.scope) == 0)
            names[n++] = row->name;
    }
    names[n] = NULL;
    const char *near = opt_nearest(l->is.name, names);
    buf_str(b, near || n == 1 ? "; there is " : n ? "; there are " : "; there is none");
    for (size_t i = 0; i < n && (near ? i < 1 : i < NAMES_SHOWN); i++) {
        buf_str(b, i ? ", " : "");
        text_escaped(b, near ? near : names[i], strlen(near ? near : names[i]));
    }
    if (!near && n > NAMES_SHOWN)
        buf_printf(b, " and %zu more", n - NAMES_SHOWN);
}

/* Says of some runs why they have no value. Returns false if all have one. */
static bool put_lack(const struct check *c, const struct limit *l, size_t row, struct buf *b)
{
    size_t runs = baro_runset_runs(c->set), lacking = c->unread, elsewhere = 0, first = 0;
    enum baro_absent reason = BARO_ABSENT_UNKNOWN;
    for (size_t i = 0; i < runs; i++) {
        struct baro_value v;
        if (is_foreign(c, l, i)) {
            first = elsewhere++ ? first : i;
        } else if (baro_runset_value(c->set, row, i, &v) != BARO_PRESENT) {
            lacking++;
            reason = v.absent;
        }
    }
    if (elsewhere)
        buf_printf(b, "another machine: %s differs from that of the base", c->run[first].differs);
    else if (lacking && runs + c->unread == 1)
        buf_printf(b, "absent: %s", baro_absent_name(reason));
    else if (lacking)
        buf_printf(b, "%zu of %zu runs have no value", lacking, runs + c->unread);
    return lacking || elsewhere;
}

/* Why it can't be told. top: beyond it the limit is certainly broken. */
static void put_doubt(const struct check *c, const struct limit *l, size_t row, double top, struct buf *b)
{
    size_t runs = baro_runset_runs(c->set) + c->unread;
    if (put_lack(c, l, row, b))
        return;
    if (l->flags & BARO_VALUE_LOWER_BOUND && isinf(l->high))
        buf_str(b, "it may be more: what is known is a lower bound");
    else if (l->flags)
        buf_str(b, "the limit lies within what is not known exactly");
    else if (limit_is_over(l, l->low, l->allowed)) {
        buf_str(b, "over ");
        check_put_number(b, l, l->allowed);
        buf_str(b, ", but runs may differ by that: up to ");
        check_put_number(b, l, top);
    } else if (runs > 1)
        buf_str(b, "the limit lies within what the runs differ by");
}

/* "1.20 s (37 %) over 30 s" */
static void put_excess(const struct limit *l, struct buf *b)
{
    double over = l->middle - l->allowed;
    if (is_status(l))
        return;
    if (!(over > 0)) {
        buf_str(b, "not below ");
        check_put_number(b, l, l->allowed);
        return;
    }
    check_put_number(b, l, over);
    if (l->allowed > 0) {
        buf_str(b, " (");
        fmt_decimal(b, 100 * over / l->allowed, over < 0.0995 * l->allowed ? 1 : 0);
        buf_str(b, " %)");
    }
    buf_str(b, " over");
    if (l->factor > 0) {
        buf_byte(b, ' ');
        check_put_number(b, l, l->allowed);
    }
}

static void put_lack_of_base(const struct check *c, const struct limit *l, struct buf *b)
{
    if (c->base.is_there)
        buf_str(b, isinf(l->high)
                       ? "the base has no value of it, nor can --update give it one: it may be more than is known"
                       : "the base has no value of it (--update)");
    else if (c->base_path) {
        buf_str(b, "there is no base ");
        text_escaped(b, c->base_path, strlen(c->base_path));
        buf_str(b, " (--update makes it)");
    } else
        buf_str(b, "no base is named (--base FILE)");
}

/* ---- judging ---- */

static void judge_row(const struct check *c, struct limit *l, size_t row, double *room)
{
    double top = NAN;
    const struct baro_runset_row *is = baro_runset_row(c->set, row);
    struct bounds all = bounds_of_all(c, l, row, room);
    struct limit one = *l;
    bool has_base = check_allowed(c, l, is, &one.allowed, &top);
    one.row = is;
    one.low = all.low;
    one.middle = all.value;
    one.high = all.high;
    one.flags = all.flags;
    one.outcome = !has_base                                  ? OUTCOME_UNKNOWN
                  : limit_is_over(l, all.low, top)           ? OUTCOME_BROKEN
                  : !limit_is_over(l, all.high, one.allowed) ? OUTCOME_KEPT
                                                             : OUTCOME_UNKNOWN;
    bool is_worse = !l->row || one.outcome > l->outcome || (one.outcome == l->outcome && one.low > l->low);
    if (!is_worse)
        return;
    one.rows = l->rows;
    buf_clear(&one.why);
    if (one.outcome != OUTCOME_KEPT && strpbrk(l->is.name, "*?")) {
        text_escaped(&one.why, is->name, strlen(is->name));
        buf_str(&one.why, ": ");
    }
    if (!has_base)
        put_lack_of_base(c, &one, &one.why);
    else if (one.outcome == OUTCOME_UNKNOWN)
        put_doubt(c, &one, row, top, &one.why);
    else if (one.outcome == OUTCOME_BROKEN)
        put_excess(&one, &one.why);
    *l = one;
}

static bool judge(const struct check *c, struct limit *l, double *room)
{
    l->outcome = OUTCOME_UNKNOWN;
    l->allowed = l->factor > 0 ? NAN : l->plus;
    l->middle = NAN;
    l->low = 0;
    l->high = INFINITY;
    for (size_t i = 0; i < baro_runset_rows(c->set); i++) {
        if (!scoped_fact_names(&l->is, baro_runset_row(c->set, i)))
            continue;
        l->rows++;
        judge_row(c, l, i, room);
    }
    if (!l->rows) {
        buf_printf(&l->why, "no %s has this name", l->is.scope);
        put_names(c, l, &l->why);
    }
    buf_byte(&l->why, 0);
    if (!l->cause.len)
        buf_byte(&l->cause, 0);
    return !l->why.failed && !l->cause.failed;
}

bool check_judge(struct check *c)
{
    double *room = calloc(3 * (baro_runset_runs(c->set) + c->unread) + 1, sizeof(*room));
    bool fits = room;
    for (size_t i = 0; i < c->n && fits; i++)
        fits = judge(c, &c->limit[i], room);
    free(room);
    return fits;
}

size_t check_count(const struct check *c, enum outcome outcome, bool is_warning)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        n += c->limit[i].outcome == outcome && c->limit[i].is_warning == is_warning;
    return n;
}

int check_status(const struct check *c)
{
    return check_count(c, OUTCOME_BROKEN, false)                            ? 1
           : check_count(c, OUTCOME_UNKNOWN, false) && c->unknown_fails > 0 ? 3
                                                                            : 0;
}

const char *check_outcome_name(const struct limit *l)
{
    static const char *const names[] = {"kept", "cannot tell", "broken"};
    return names[l->outcome];
}
