/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that are parts of one job, such as its ranks: how they differ, and what they are together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "baro/fold.h"
#include "libbaro/runset/ranks.h"
#include "libbaro/runset/runset.h"

static bool is_wall(const struct set_row *row)
{
    return strcmp(row->how->fact, "wall_ns") == 0;
}

static struct baro_value value_of(const struct baro_fact *fact, const struct cell *c)
{
    struct baro_value v = {.absent = c->absent, .flags = c->flags};
    if (c->absent)
        return v;
    if (fact->type == BARO_FACT_REAL)
        v.real = c->value;
    else if (fact->type == BARO_FACT_SIGNED)
        v.i64 = (int64_t)c->value;
    else
        v.u64 = c->value > 0 ? (uint64_t)c->value : 0;
    return v;
}

/* From the first start of a run to the last end: ranks run at the same time. Example: one from 0 to 10 s and one from 1
 * to 12 s took 12 s. Of a phase, the longest counts. */
static struct baro_value wall_of(const struct baro_runset *set, const struct set_row *row, size_t from, size_t to)
{
    struct baro_value all = {.absent = BARO_ABSENT_NONE};
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
    for (size_t i = from; i < to && i < row->n; i++) {
        const struct cell *c = &row->cell[i];
        if (c->absent)
            continue;
        int64_t start_ns = *row->is.name ? 0 : set->run[i].start_ns, end_ns;
        if (__builtin_add_overflow(start_ns, c->value < 9e18 ? (int64_t)c->value : INT64_MAX, &end_ns))
            end_ns = INT64_MAX;
        first_ns = start_ns < first_ns ? start_ns : first_ns;
        last_ns = end_ns > last_ns ? end_ns : last_ns;
        all.absent = BARO_PRESENT;
        all.flags |= c->flags;
    }
    all.u64 = all.absent ? 0 : (uint64_t)last_ns - (uint64_t)first_ns;
    return all;
}

/* The largest process of all ranks is that of one of them; that of a command is the memory of its largest process. */
static bool is_of_one_process(const struct set_row *row)
{
    return strncmp(row->how->fact, "process_", 8) == 0 ||
           (strcmp(row->how->scope, "command") == 0 && row->is.fact->semantics == BARO_FACT_PEAK);
}

/* A run that has no such command or phase used nothing of it; one whose value is not known makes the sum a bound. */
static struct baro_value all_of(const struct baro_runset *set, const struct set_row *row, size_t from, size_t to)
{
    const struct baro_fact *fact = row->is.fact;
    struct baro_combined all = {.value.absent = BARO_ABSENT_NONE};
    if (is_wall(row))
        return wall_of(set, row, from, to);
    for (size_t i = from; i < to && i < row->n; i++) {
        const struct cell *c = &row->cell[i];
        const struct baro_combined one = {
            .value = value_of(fact, c), .weight = 1, .count = 1, .known = c->absent ? 0 : 1};
        if (c->absent != BARO_ABSENT_NONE)
            baro_combine(fact, is_of_one_process(row) ? BARO_COMBINE_JOIN : BARO_COMBINE_UNION, &all, &one);
    }
    return all.known ? all.value : (struct baro_value){.absent = BARO_ABSENT_NONE};
}

/* Where parts are missing a sum is a lower bound, and an upper bound is none. */
static unsigned flags_of_some(const struct baro_fact *fact, unsigned flags)
{
    bool grows = fact->semantics == BARO_FACT_SUM || fact->semantics == BARO_FACT_PEAK;
    if (!grows || !(flags & BARO_VALUE_UPPER_BOUND))
        return grows ? flags | BARO_VALUE_LOWER_BOUND : flags;
    return (flags & ~(unsigned)BARO_VALUE_UPPER_BOUND) | BARO_VALUE_ESTIMATE;
}

static int spread_of(const struct baro_runset *set, size_t row, size_t from, size_t to, bool is_part,
                     struct baro_spread *ret, struct baro_error *err)
{
    *ret = (struct baro_spread){.all.absent = BARO_ABSENT_UNSUPPORTED};
    if (row >= set->n_rows || from >= to || to > set->n_runs)
        return error_set(err, -EINVAL, "no such row or runs");
    const struct set_row *r = &set->row[row];
    double *sorted = calloc(to - from, sizeof(*sorted)), sum = 0;
    if (!sorted)
        return error_set(err, -ENOMEM, "out of memory");
    for (size_t i = from; i < to && i < r->n; i++) {
        const struct cell *c = &r->cell[i];
        if (c->absent)
            continue;
        if (!ret->n || c->value < ret->least) {
            ret->least = c->value;
            ret->least_run = i;
        }
        if (!ret->n || c->value > ret->most) {
            ret->most = c->value;
            ret->most_run = i;
        }
        sum += c->value;
        ret->flags |= c->flags;
        sorted[ret->n++] = c->value;
    }
    if (ret->n) {
        ret->median = ranks_median(sorted, ret->n);
        ret->mean = sum / (double)ret->n;
    }
    free(sorted);
    ret->all = all_of(set, r, from, to);
    ret->all.real = runset_number(r->is.fact, &ret->all);
    if (is_part && !ret->all.absent)
        ret->all.flags = flags_of_some(r->is.fact, ret->all.flags);
    return 0;
}

int baro_runset_spread(const struct baro_runset *set, size_t row, size_t from, size_t to, bool is_part,
                       struct baro_spread *ret, struct baro_error *err)
{
    struct baro_spread all;
    size_t size = ret->size < sizeof(all) ? ret->size : sizeof(all);
    int code = spread_of(set, row, from, to, is_part, &all, err);
    all.size = ret->size;
    memcpy(ret, &all, size);
    return code;
}

/* Makes the cells of a row one. */
static void merge_row(struct baro_runset *set, struct set_row *row, size_t from, bool is_part)
{
    if (row->n <= from)
        return;
    struct baro_value all = all_of(set, row, from, set->n_runs);
    unsigned flags = is_part ? flags_of_some(row->is.fact, all.flags) : all.flags;
    row->cell[from] = (struct cell){runset_number(row->is.fact, &all), flags, all.absent};
    row->n = from + 1;
}

int baro_runset_merge(struct baro_runset *set, size_t from, const char *name, bool is_part, struct baro_error *err)
{
    char *copy = strdup(name);
    if (!copy)
        return error_set(err, -ENOMEM, "out of memory");
    if (from >= set->n_runs) {
        free(copy);
        return error_set(err, -EINVAL, "there are no runs to merge");
    }
    for (size_t i = 0; i < set->n_rows; i++)
        merge_row(set, &set->row[i], from, is_part);
    struct set_run *to = &set->run[from];
    free(to->name);
    to->name = copy;
    for (size_t i = from + 1; i < set->n_runs; i++) {
        for (size_t k = 0; k < CIRCUMSTANCES; k++) {
            const char *text = set->run[i].text[k];
            if (to->text[k] && text && strcmp(to->text[k], text) != 0) {
                char *several = strdup("several");
                if (!several) /* then that of the first run stands for all */
                    continue;
                free(to->text[k]);
                to->text[k] = several;
            }
        }
        runset_run_done(&set->run[i]);
    }
    set->n_runs = from + 1;
    return 0;
}
