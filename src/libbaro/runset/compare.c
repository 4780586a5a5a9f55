/* SPDX-License-Identifier: Apache-2.0 */
/* The answer for each row: changed, same or unknown, from the interval of the shift and a floor. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "libbaro/runset/ranks.h"
#include "libbaro/runset/runset.h"

#define ALPHA 0.05
#define RANKS_LEAST 4u
#define STEADY_LEAST 4u
#define MORE_MOST 30.0 /* so many runs are no advice */
#define BOUNDS (BARO_VALUE_LOWER_BOUND | BARO_VALUE_UPPER_BOUND)

const char *baro_answer_name(enum baro_answer answer)
{
    static const char *const names[] = {"unknown", "same", "changed", "new", "gone"};
    return answer <= BARO_ANSWER_GONE ? names[answer] : "unknown";
}

/* The values of one side of a row. */
struct side {
    double *at;                /* known values */
    size_t n, lacking, absent; /* lacking: runs without such a row; absent: runs with a value that is not known */
    unsigned flags;
    double least, most;
    bool is_zero_lacking; /* a run without such a row has used nothing of it */
};

static void add_value(struct side *side, double v)
{
    side->least = side->n && side->least < v ? side->least : v;
    side->most = side->n && side->most > v ? side->most : v;
    side->at[side->n++] = v;
}

/* slowness: of each run, by which its values are divided; NULL: by nothing */
static void take_side(const struct set_row *row, size_t from, size_t to, const double *slowness, struct side *ret)
{
    for (size_t i = from; i < to; i++) {
        const struct cell *c = i < row->n ? &row->cell[i] : NULL;
        bool is_lacking = !c || c->absent == BARO_ABSENT_NONE;
        ret->lacking += is_lacking;
        if (is_lacking && !ret->is_zero_lacking)
            continue;
        if (!is_lacking && c->absent) {
            ret->absent++;
            continue;
        }
        add_value(ret, is_lacking ? 0 : c->value / (slowness ? slowness[i] : 1));
        ret->flags |= is_lacking ? 0 : c->flags;
    }
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double floor_of(const struct compared *how, double value, bool is_one)
{
    return larger((is_one ? how->relative_one : how->relative) * value, is_one ? how->absolute_one : how->absolute);
}

/* With one run on a side: a change is beyond the floor, and beyond all values of the other side. */
static enum baro_answer answer_of_one(const struct side *a, const struct side *b, const struct baro_difference *d,
                                      bool is_exact)
{
    bool apart = b->least > a->most || b->most < a->least,
         equal = a->least == a->most && b->least == b->most && d->shift == 0;
    double gap = b->least > a->most ? b->least - a->most : a->least - b->most;
    if (is_exact && equal)
        return BARO_ANSWER_SAME;
    return apart && gap > d->floor ? BARO_ANSWER_CHANGED : BARO_ANSWER_UNKNOWN;
}

/* The interval shrinks with the square root of the number of runs. Example: with 4 runs it is 6 to each side of a shift
 * of 3, and the floor is 2: it has to shrink to 3, which takes 4 times as many. */
static unsigned runs_to_decide(const struct baro_difference *d, size_t n)
{
    double half = (d->high - d->low) / 2, size = d->shift < 0 ? -d->shift : d->shift;
    double wanted = size > d->floor ? size : d->floor - size;
    double times = wanted > 0 ? half / wanted : MORE_MOST;
    double runs = (double)n * times * times;
    return runs > (double)n && runs <= MORE_MOST ? (unsigned)runs + 1 : 0;
}

/* Of pairs the narrower of two intervals, each with half of alpha: that of the pairs, which what changes with time does
 * not widen, or that of two groups, which takes fewer runs where nothing changes with time. Example: six runs of 100 to
 * 108 ms and six of 122 to 155 ms are apart as groups; six pairs are too few for the signed-rank test. */
static struct shift shift_of(const struct side *a, const struct side *b, double alpha, bool is_paired)
{
    size_t least = a->n < b->n ? a->n : b->n;
    struct shift s = {NAN, NAN, NAN};
    alpha = is_paired ? alpha / 2 : alpha;
    if (least >= RANKS_LEAST)
        s = ranks_shift(a->at, a->n, b->at, b->n, alpha);
    if (least >= 2 && isnan(s.low)) /* too few, or too few for so many rows */
        s = ranks_shift_t(a->at, a->n, b->at, b->n, alpha);
    struct shift of_pairs = is_paired && least >= 2 ? ranks_shift_pairs(a->at, b->at, least, alpha) : s;
    return of_pairs.high - of_pairs.low < s.high - s.low ? of_pairs : s;
}

/* Did an exact fact not vary at all, in runs enough? Then each difference is one. Example: five runs wrote 76,400 bytes
 * each, five others 87,300. */
static bool is_steady(const struct compared *how, const struct side *a, const struct side *b)
{
    return how->is_exact && a->n >= STEADY_LEAST && b->n >= STEADY_LEAST && a->least == a->most && b->least == b->most;
}

/* What a row is compared with besides its own values. */
struct comparison {
    const struct baro_runset *set;
    size_t before, rows; /* before: runs before; rows: those that share alpha */
    bool is_paired;      /* run i of both sides is of one pair */
    double *slowness;    /* of each run: see find_slowness(); NULL: not known */
    double *room;        /* for three values of each run: those of a row, those of another one, sorted ones */
};

/* ---- a run that was slow as a whole ---- */

#define COMMANDS_LEAST 8u /* that have CPU time in every run */
#define COMMANDS_MOST 256u

static bool is_cpu_of_command(const struct set_row *row)
{
    return strcmp(row->how->fact, "cpu_ns") == 0 && strcmp(row->how->scope, "command") == 0;
}

/*
 * How slow each run was: of all commands the median of their CPU time, divided by their own median over all runs. The
 * clock, a busy neighbour on the same core or in the same cache make all commands of a run slower together, and what is
 * left is the command's own. Example: c17 used 50.2, 53.9 and 55.0 ms in three runs in which most commands used 1.00,
 * 1.07 and 1.09 times their median: divided by that it used 50.2, 50.4 and 50.5 ms. Half of the commands have to change
 * before it is taken for slowness that they did. Returns whether it is known.
 */
static bool find_slowness(const struct baro_runset *set, double *room, double *ret)
{
    size_t commands = 0;
    double *ratios = calloc(COMMANDS_MOST, set->n_runs * sizeof(*ratios));
    for (size_t i = 0; ratios && i < set->n_rows && commands < COMMANDS_MOST; i++) {
        const struct set_row *row = &set->row[i];
        struct side all = {.at = room};
        if (!is_cpu_of_command(row))
            continue;
        take_side(row, 0, set->n_runs, NULL, &all);
        if (all.n < set->n_runs || !(all.least > 0))
            continue;
        double median = ranks_median(all.at, all.n);
        for (size_t k = 0; k < set->n_runs; k++)
            ratios[k * COMMANDS_MOST + commands] = row->cell[k].value / median;
        commands++;
    }
    for (size_t k = 0; commands >= COMMANDS_LEAST && k < set->n_runs; k++)
        ret[k] = ranks_median(&ratios[k * COMMANDS_MOST], commands);
    free(ratios);
    return commands >= COMMANDS_LEAST;
}

/* ---- one row ---- */

/* 1, -1: beyond the floor; 0: not */
static int way_of(double shift, double floor)
{
    return shift > floor ? 1 : shift < -floor ? -1 : 0;
}

/* The interval of the shift; of the CPU time of a command the narrower one of two, with half of alpha each: as it is,
 * or divided by how slow its run was, if both shifts say the same. Example: all commands use 50 % more after, so that
 * none does by the slowness of its run: the CPU times as they are count. */
static struct shift interval_of(const struct comparison *c, const struct set_row *row, const struct side *a,
                                const struct side *b, double floor)
{
    bool is_slowness_used = c->slowness && is_cpu_of_command(row),
         is_paired = c->is_paired && a->n == c->before && b->n == c->before;
    double alpha = ALPHA / (double)c->rows / (is_slowness_used ? 2 : 1);
    struct shift s = shift_of(a, b, alpha, is_paired);
    if (!is_slowness_used || isnan(s.low))
        return s;
    struct side own_a = {.at = a->at, .is_zero_lacking = a->is_zero_lacking},
                own_b = {.at = b->at, .is_zero_lacking = b->is_zero_lacking};
    take_side(row, 0, c->before, c->slowness, &own_a);
    take_side(row, c->before, c->set->n_runs, c->slowness, &own_b);
    struct shift own = shift_of(&own_a, &own_b, alpha, is_paired);
    bool agrees = way_of(own.estimate, floor) == way_of(s.estimate, floor);
    return agrees && own.high - own.low < s.high - s.low ? own : s;
}

static double median_of(const struct side *side, double *room)
{
    memcpy(room, side->at, side->n * sizeof(*room));
    return side->n ? ranks_median(room, side->n) : NAN;
}

/* How much of a difference of wall time the waits for cores explain, which other processes used: of one run each all
 * that a run waited, of more the difference of the medians if it has the same sign. Example: 277 ms more wall time, and
 * 290 ms more waits: the program may be as fast as it was. */
static double waited_ns(const struct comparison *c, const struct set_row *row, double shift, bool is_one)
{
    bool is_wall = strcmp(row->how->fact, "wall_ns") == 0;
    const struct set_row *waits = is_wall ? runset_beside(c->set, row->how->scope, "run_delay_ns", row->is.name) : NULL;
    size_t runs = c->set->n_runs;
    double *room = c->room + runs;
    struct side a = {.at = room}, b = {.at = room + c->before};
    if (!waits)
        return is_wall && is_one ? NAN : 0;
    take_side(waits, 0, c->before, NULL, &a);
    take_side(waits, c->before, runs, NULL, &b);
    if (is_one)
        return a.n + b.n == runs ? larger(a.most, b.most) : NAN;
    double more = median_of(&b, room + runs) - median_of(&a, room + runs);
    return (more > 0) == (shift > 0) ? fabs(more) : 0; /* of NAN: NAN or 0 */
}

/* A bound can tell of a change in one direction alone, unless it is known how far it may be off: then the largest
 * values that are possible have to tell it, too. Example: at least 7 is more than 5; but 7 may not be more than at
 * least 5, unless that is at most 6. */
static bool bounds_allow(const struct comparison *c, struct side *a, struct side *b, const struct baro_difference *d)
{
    bool grew = d->shift > 0;
    struct side *less = grew ? a : b;
    const struct side *more = grew ? b : a;
    if (more->flags & BARO_VALUE_UPPER_BOUND)
        return false;
    if (!(less->flags & BARO_VALUE_LOWER_BOUND))
        return true;
    size_t from = grew ? 0 : c->before, to = grew ? c->before : c->set->n_runs;
    if (less->n < to - from) /* not all are known */
        return false;
    less->n = 0;
    for (size_t i = from; i < to; i++) {
        double most = baro_runset_most(c->set, d->row, i);
        if (isinf(most))
            return false;
        add_value(less, most);
    }
    if (isnan(d->low))
        return more->least - less->most > d->floor;
    struct shift s = shift_of(a, b, ALPHA / (double)c->rows, c->is_paired && a->n == c->before && b->n == c->before);
    return way_of(s.estimate, d->floor) == way_of(d->shift, d->floor) && (grew ? s.low > 0 : s.high < 0);
}

static void judge(const struct comparison *c, const struct set_row *row, struct side *a, struct side *b,
                  struct baro_difference *d)
{
    size_t least = a->n < b->n ? a->n : b->n;
    bool is_one = least < 2;
    struct shift s = {NAN, NAN, NAN};
    d->floor = is_steady(row->how, a, b) ? 0 : floor_of(row->how, d->before, is_one);
    if (!is_one)
        s = interval_of(c, row, a, b, d->floor);
    d->shift = isnan(s.estimate) ? d->after - d->before : s.estimate;
    d->low = s.low;
    d->high = s.high;
    double waited = waited_ns(c, row, d->shift, is_one);
    if (is_one)
        d->floor += waited;
    double nearest = d->shift > 0 ? s.low : -s.high; /* the end of the interval that is nearer to zero */
    bool is_waited = !is_one && waited > 0 && way_of(d->shift, d->floor) &&
                     (nearest <= waited || !way_of(d->shift, d->floor + waited));
    if (is_waited)
        d->answer = BARO_ANSWER_UNKNOWN;
    else if (isnan(s.low))
        d->answer = answer_of_one(a, b, d, row->how->is_exact);
    else if (way_of(d->shift, d->floor) && (s.low > 0 || s.high < 0))
        d->answer = BARO_ANSWER_CHANGED;
    else if (s.low >= -d->floor && s.high <= d->floor)
        d->answer = BARO_ANSWER_SAME;
    else
        d->more_runs = d->flags & BOUNDS ? 0 : runs_to_decide(d, least);
    bool is_same = d->answer == BARO_ANSWER_SAME;
    if ((is_same && d->flags & BOUNDS) || (d->answer == BARO_ANSWER_CHANGED && !bounds_allow(c, a, b, d))) {
        d->answer = BARO_ANSWER_UNKNOWN;
        d->more_runs = 0;
    }
}

/* May the row say "changed" at all, whichever of its runs are those before? Only such rows share alpha (Tarone 1990).
 * Example: the peaks of forty commands spread by 100 kB each, and the floor is 1 MB: no order of the runs makes a
 * change of them, so that the forty CPU times beside them need not be told with half of alpha. */
static bool may_change(const struct set_row *row, size_t runs, double *room)
{
    struct side all = {.at = room};
    if (row->how->is_kept_only)
        return false;
    take_side(row, 0, runs, NULL, &all);
    return all.n > 1 && all.most - all.least > floor_of(row->how, all.least, false);
}

static void compare_row(const struct comparison *c, const struct set_row *row, struct baro_difference *d)
{
    size_t runs = c->set->n_runs;
    double *sorted = c->room + runs;
    struct side a = {.at = c->room}, b = {.at = c->room + c->before};
    take_side(row, 0, c->before, NULL, &a);
    take_side(row, c->before, runs, NULL, &b);
    bool is_some = (a.lacking && a.lacking < c->before) || (b.lacking && b.lacking < runs - c->before);
    if (is_some && row->is.fact->semantics == BARO_FACT_SUM) { /* a short process had another name at its last sample */
        a = (struct side){.at = c->room, .is_zero_lacking = true};
        b = (struct side){.at = c->room + c->before, .is_zero_lacking = true};
        take_side(row, 0, c->before, NULL, &a);
        take_side(row, c->before, runs, NULL, &b);
    }
    d->n_before = a.n;
    d->n_after = b.n;
    d->flags = a.flags | b.flags;
    d->low = d->high = d->shift = NAN;
    d->before = median_of(&a, sorted);
    d->after = median_of(&b, sorted);
    if (a.lacking == c->before && !b.lacking && b.n)
        d->answer = BARO_ANSWER_NEW;
    else if (b.lacking == runs - c->before && !a.lacking && a.n)
        d->answer = BARO_ANSWER_GONE;
    else if (a.n && b.n)
        judge(c, row, &a, &b, d);
}

/* ---- order ---- */

static int rank_of_scope(const char *scope)
{
    static const char *const scopes[] = {"job", "phase", "task", "command"};
    int i = 0;
    while (i < 3 && strcmp(scopes[i], scope) != 0)
        i++;
    return i;
}

static double size_of(const struct baro_difference *d)
{
    double before = isnan(d->before) ? 0 : d->before, after = isnan(d->after) ? 0 : d->after;
    double shift = isnan(d->shift) ? after - before : d->shift;
    return shift < 0 ? -shift : shift;
}

/* The job's rows stay in the order of compared.def; of a fact of commands the largest difference comes first. */
static int compare_differences(const void *one, const void *other)
{
    const struct baro_difference *a = one, *b = other;
    int order = rank_of_scope(a->scope) - rank_of_scope(b->scope);
    if (!order && *a->name && strcmp(a->fact->name, b->fact->name) != 0)
        order = strcmp(a->fact->name, b->fact->name);
    if (!order && *a->name && size_of(a) != size_of(b))
        order = size_of(a) > size_of(b) ? -1 : 1;
    return order ? order : (a->row > b->row) - (a->row < b->row);
}

/* ---- circumstances ---- */

static const char *text_of_side(const struct baro_runset *set, size_t which, size_t from, size_t to)
{
    for (size_t i = from + 1; i < to; i++) {
        if (strcmp(set->run[i].text[which], set->run[from].text[which]) != 0)
            return "several";
    }
    return set->run[from].text[which];
}

static void find_circumstances(struct baro_runset *set, size_t before)
{
    set->n_circumstances = 0;
    for (size_t i = 0; i < CIRCUMSTANCES; i++) {
        const char *a = text_of_side(set, i, 0, before), *b = text_of_side(set, i, before, set->n_runs);
        if (strcmp(a, b) != 0 || strcmp(a, "several") == 0)
            set->circumstance[set->n_circumstances++] = (struct baro_circumstance){circumstance_name(i), a, b};
    }
}

static int compare_all(struct baro_runset *set, size_t before, bool is_paired, struct baro_error *err)
{
    if (before < 1 || before >= set->n_runs)
        return error_set(err, -EINVAL, "there is nothing to compare: it takes a run on both sides");
    struct baro_difference *all = calloc(set->n_rows + 1, sizeof(*all));
    double *room = calloc(4 * set->n_runs, sizeof(*room)), *slowness = room + 3 * set->n_runs;
    if (!all || !room) {
        free(all);
        free(room);
        return error_set(err, -ENOMEM, "out of memory");
    }
    struct comparison c = {.set = set, .before = before, .is_paired = is_paired, .room = room};
    size_t n = 0;
    for (size_t i = 0; i < set->n_rows; i++)
        c.rows += may_change(&set->row[i], set->n_runs, room);
    c.rows = c.rows ? c.rows : 1;
    c.slowness = find_slowness(set, room, slowness) ? slowness : NULL;
    for (size_t i = 0; i < set->n_rows; i++) {
        const struct set_row *row = &set->row[i];
        if (row->how->is_kept_only)
            continue;
        struct baro_difference d = {.scope = row->is.scope, .name = row->is.name, .fact = row->is.fact, .row = i};
        compare_row(&c, row, &d);
        if (d.n_before || d.n_after)
            all[n++] = d;
    }
    free(room);
    qsort(all, n, sizeof(*all), compare_differences);
    free(set->difference);
    set->difference = all;
    set->n_differences = n;
    find_circumstances(set, before);
    return 0;
}

int baro_runset_compare(struct baro_runset *set, size_t before, struct baro_error *err)
{
    return compare_all(set, before, false, err);
}

int baro_runset_compare_pairs(struct baro_runset *set, struct baro_error *err)
{
    if (set->n_runs % 2)
        return error_set(err, -EINVAL, "%zu runs are not pairs", set->n_runs);
    return compare_all(set, set->n_runs / 2, true, err);
}

size_t baro_difference_count(const struct baro_runset *set)
{
    return set->n_differences;
}

const struct baro_difference *baro_difference_get(const struct baro_runset *set, size_t i)
{
    return i < set->n_differences ? &set->difference[i] : NULL;
}

size_t baro_circumstance_count(const struct baro_runset *set)
{
    return set->n_circumstances;
}

const struct baro_circumstance *baro_circumstance_get(const struct baro_runset *set, size_t i)
{
    return i < set->n_circumstances ? &set->circumstance[i] : NULL;
}
