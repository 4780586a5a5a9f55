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
    static const char *const names[] = {"unknown", "same", "changed", "new", "gone", "small", "others"};
    return answer < sizeof(names) / sizeof(*names) ? names[answer] : "unknown";
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
                                      const struct set_row *row)
{
    bool apart = b->least > a->most || b->most < a->least,
         equal = a->least == a->most && b->least == b->most && d->shift == 0;
    double gap = b->least > a->most ? b->least - a->most : a->least - b->most;
    if (equal && (row->how->is_exact || row->is.fact->unit == BARO_UNIT_BYTES))
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

/* Can the signed-rank test of so many pairs tell a shift at all? Example: of 8 pairs all differ in the same direction
 * with a probability of 1 / 128. */
static bool pairs_suffice(size_t n, double alpha)
{
    double least = 2;
    for (size_t i = 0; i < n; i++)
        least /= 2;
    return least <= alpha;
}

/* Of pairs, if there are enough, the interval of their differences, which what changes with time does not widen. Else
 * that of two groups, which takes fewer runs: of five runs each, at 0.05. */
static struct shift shift_of(const struct side *a, const struct side *b, double alpha, bool is_paired)
{
    size_t least = a->n < b->n ? a->n : b->n;
    struct shift s = {NAN, NAN, NAN};
    if (is_paired && pairs_suffice(least, alpha))
        return ranks_shift_pairs(a->at, b->at, least, alpha);
    if (least >= RANKS_LEAST)
        s = ranks_shift(a->at, a->n, b->at, b->n, alpha);
    /* Too few, or too few for so many rows. With half of alpha: values are not normal, as memory that is whole pages.
     * Of 200 null comparisons of three runs each, with some hundred rows, 14 said "changed" with all of it. */
    if (least >= 2 && isnan(s.low))
        s = ranks_shift_t(a->at, a->n, b->at, b->n, alpha / 2);
    return s;
}

#define STEADY_FLOOR 64.0 /* bytes: lines of `baro phase` have pids of more digits */

/* Did an exact fact not vary at all, in runs enough? Then the absolute floor is next to nothing. Example: five runs
 * wrote 76,400 bytes each, five others 87,300. */
static bool is_steady(const struct compared *how, const struct side *a, const struct side *b)
{
    return how->is_exact && a->n >= STEADY_LEAST && b->n >= STEADY_LEAST && a->least == a->most && b->least == b->most;
}

/* What a row is compared with besides its own values. */
struct comparison {
    const struct baro_runset *set;
    size_t before, rows, all_rows; /* before: runs before; rows: those that share alpha for a change; all_rows: all of
                                      them, which share it for a difference below the floor */
    bool is_paired;                /* run i of both sides is of one pair */
    double *slowness;              /* of each run: see find_slowness(); NULL: not known */
    double *room;                  /* for three values of each run: those of a row, those of another one, sorted ones */
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
                                const struct side *b, double floor, size_t rows)
{
    bool is_slowness_used = c->slowness && is_cpu_of_command(row),
         is_paired = c->is_paired && a->n == c->before && b->n == c->before;
    double alpha = ALPHA / (double)rows / (is_slowness_used ? 2 : 1);
    struct shift s = shift_of(a, b, alpha, is_paired);
    if (!is_slowness_used || isnan(s.low))
        return s;
    double *room = c->room + c->set->n_runs; /* not that of a and b, which are needed again */
    struct side own_a = {.at = room, .is_zero_lacking = a->is_zero_lacking},
                own_b = {.at = room + c->before, .is_zero_lacking = b->is_zero_lacking};
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

/* ---- wall time ---- */

#define OTHERS_PART 0.5 /* waits that explain so much of a difference, and leave no certain rest, are its cause */

/* Returns the value of a run in a row of a scope and a fact; NAN: it has none. */
static double value_beside(const struct baro_runset *set, const char *scope, const char *fact, const char *name,
                           size_t run)
{
    const struct set_row *row = runset_beside(set, scope, fact, name);
    return row && run < row->n && !row->cell[run].absent ? row->cell[run].value : NAN;
}

/*
 * How long a run waited for cores that other processes used, as the verdict cpu-neighbour has it: not what its threads
 * would have waited anyway, nor while a quota stopped it, and at most what others used. Example: two threads on the one
 * core that they are allowed wait 1 s each second, for each other. What is not known is left out. NAN: waits are not
 * known.
 */
static double lost_to_others(const struct baro_runset *set, const struct set_row *wall_row, size_t run)
{
    const char *scope = wall_row->how->scope, *name = wall_row->is.name;
    double waited = value_beside(set, scope, "run_delay_ns", name, run), wall = wall_row->cell[run].value,
           own = value_beside(set, scope, "cpu_ns", name, run) + waited -
                 value_beside(set, "job", "cores_at_most", "", run) * wall,
           used = value_beside(set, "job", "cpu_others_mean_cores", "", run) * wall,
           stopped = value_beside(set, "job", "throttled_ns", "", run);
    double lost = waited - (own > 0 ? own : 0) - (stopped > 0 ? stopped : 0);
    lost = lost > used ? used : lost;
    return lost < 0 ? 0 : lost;
}

/* The median over runs, without those in which it is not known; ret_most: the largest one. */
static double median_lost(const struct comparison *c, const struct set_row *wall, size_t from, size_t to,
                          double *ret_most)
{
    struct side side = {.at = c->room + c->set->n_runs};
    for (size_t i = from; i < to && i < wall->n; i++) {
        double lost = lost_to_others(c->set, wall, i);
        if (!isnan(lost))
            add_value(&side, lost);
    }
    *ret_most = side.n == to - from ? larger(*ret_most, side.most) : NAN;
    return side.n ? ranks_median(side.at, side.n) : NAN;
}

/* Are fewer, or more, cores allowed after? Then waits for cores are due to that. */
static bool cores_differ(const struct comparison *c)
{
    double before = value_beside(c->set, "job", "cores_at_most", "", 0),
           after = value_beside(c->set, "job", "cores_at_most", "", c->before);
    return before < after || before > after;
}

/* The answer for a certain difference of wall time, of which waits for cores may be the cause. Of one run each all that
 * a run waited may be chance. Example: 277 ms more wall time, and 290 ms more waits: the program is as fast as it was.
 */
static enum baro_answer answer_of_wall(const struct comparison *c, const struct set_row *row, const struct side *a,
                                       const struct side *b, struct baro_difference *d)
{
    bool is_one = isnan(d->low);
    double size = fabs(d->shift), nearest = d->shift > 0 ? d->low : -d->high, most = 0;
    double before = median_lost(c, row, 0, c->before, &most),
           more = (median_lost(c, row, c->before, c->set->n_runs, &most) - before) * (d->shift > 0 ? 1 : -1);
    if (cores_differ(c))
        return BARO_ANSWER_CHANGED;
    if (is_one)
        d->floor += most;
    bool is_left = is_one ? answer_of_one(a, b, d, row) == BARO_ANSWER_CHANGED
                          : !(more > 0) || (nearest > more && size > d->floor + more);
    return is_left ? BARO_ANSWER_CHANGED : more >= OTHERS_PART * size ? BARO_ANSWER_OTHERS : BARO_ANSWER_UNKNOWN;
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

/* Is it certain that it differs, by more than the relative floor? */
static bool is_small(const struct comparison *c, const struct set_row *row, const struct side *a, const struct side *b,
                     const struct baro_difference *d)
{
    struct shift s = interval_of(c, row, a, b, d->floor, c->all_rows);
    return way_of(d->shift, row->how->relative * d->before) && (s.low > 0 || s.high < 0);
}

static void judge(const struct comparison *c, const struct set_row *row, struct side *a, struct side *b,
                  struct baro_difference *d)
{
    size_t least = a->n < b->n ? a->n : b->n;
    bool is_one = least < 2;
    struct shift s = {NAN, NAN, NAN};
    d->floor = floor_of(row->how, d->before, is_one);
    if (is_steady(row->how, a, b) && row->is.fact->unit == BARO_UNIT_BYTES)
        d->floor = larger(row->how->relative * d->before, STEADY_FLOOR);
    if (!is_one)
        s = interval_of(c, row, a, b, d->floor, c->rows);
    d->shift = isnan(s.estimate) ? d->after - d->before : s.estimate;
    d->low = s.low;
    d->high = s.high;
    bool is_apart = s.low > 0 || s.high < 0, is_within = s.low >= -d->floor && s.high <= d->floor;
    if (isnan(s.low))
        d->answer = answer_of_one(a, b, d, row);
    else if (way_of(d->shift, d->floor) && is_apart)
        d->answer = BARO_ANSWER_CHANGED;
    else if (is_within)
        d->answer = is_apart && is_small(c, row, a, b, d) ? BARO_ANSWER_SMALL : BARO_ANSWER_SAME;
    else
        d->more_runs = d->flags & BOUNDS ? 0 : runs_to_decide(d, least);
    if (d->answer == BARO_ANSWER_CHANGED && strcmp(row->how->fact, "wall_ns") == 0)
        d->answer = answer_of_wall(c, row, a, b, d);
    bool is_same = d->answer == BARO_ANSWER_SAME || d->answer == BARO_ANSWER_SMALL;
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

/* May runs that lack a command have it unseen? No process had its name last (pyenv, which becomes python3: a sample
 * sees it or not), or as many processes of these runs have no name. is_new: these are the runs before. */
static bool may_be_unseen(const struct comparison *c, const struct set_row *row, bool is_new)
{
    const struct set_row *processes = runset_beside(c->set, row->how->scope, "processes", row->is.name),
                         *nameless = runset_beside(c->set, row->how->scope, "processes", "");
    size_t runs = c->set->n_runs;
    struct side has = {.at = c->room + runs}, lacks = {.at = c->room + 2 * runs, .is_zero_lacking = true};
    if (!processes)
        return false;
    take_side(processes, is_new ? c->before : 0, is_new ? runs : c->before, NULL, &has);
    if (nameless)
        take_side(nameless, is_new ? 0 : c->before, is_new ? c->before : runs, NULL, &lacks);
    return !*row->is.name || (has.n && (has.most == 0 || (lacks.n && lacks.least >= has.least)));
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
    bool is_new = a.lacking == c->before && !b.lacking && b.n,
         is_gone = b.lacking == runs - c->before && !a.lacking && a.n;
    if (is_new || is_gone)
        d->answer = may_be_unseen(c, row, is_new) ? BARO_ANSWER_UNKNOWN : is_new ? BARO_ANSWER_NEW : BARO_ANSWER_GONE;
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
    for (size_t i = 0; i < set->n_rows; i++) {
        c.rows += may_change(&set->row[i], set->n_runs, room);
        c.all_rows += !set->row[i].how->is_kept_only;
    }
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

/* Were run i of both sides made one after the other, before the next two, as by `baro compare`? */
static bool are_in_turn(const struct baro_runset *set, size_t before)
{
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < before && 2 * before == set->n_runs; i++) {
        int64_t a = set->run[i].start_ns, b = set->run[before + i].start_ns;
        if ((a < b ? a : b) <= last)
            return false;
        last = a > b ? a : b;
    }
    return 2 * before == set->n_runs;
}

int baro_runset_compare(struct baro_runset *set, size_t before, struct baro_error *err)
{
    return compare_all(set, before, are_in_turn(set, before), err);
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
