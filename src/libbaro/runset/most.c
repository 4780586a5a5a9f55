/* SPDX-License-Identifier: Apache-2.0 */
/* How large a value may be that is only a bound, or an estimate. */
#include <math.h>
#include <string.h>

#include "libbaro/runset/runset.h"

#define ESTIMATE_RATIO 0.1 /* an estimate may be off by so much */

const struct set_row *runset_beside(const struct baro_runset *set, const char *scope, const char *fact,
                                    const char *name)
{
    for (size_t i = 0; i < compared_count; i++) {
        if (strcmp(compared_facts[i].scope, scope) == 0 && strcmp(compared_facts[i].fact, fact) == 0)
            return runset_find(set, &compared_facts[i], name);
    }
    return NULL;
}

static const struct cell *cell_of(const struct set_row *row, size_t run)
{
    return row && run < row->n && !row->cell[run].absent ? &row->cell[run] : NULL;
}

/* By itself, or by the fact that is its upper bound. Example: at least 1.2 GB, and at most 1.3. */
static double most_of_cell(const struct baro_runset *set, const struct set_row *row, size_t run)
{
    static const char *const at_most[][2] = {{"rss_peak_bytes", "rss_peak_at_most_bytes"},
                                             {"processes_started", "processes_started_at_most"},
                                             {"memory_peak_bytes", "memory_peak_at_most_bytes"}};
    const unsigned both = BARO_VALUE_LOWER_BOUND | BARO_VALUE_UPPER_BOUND;
    const struct cell *c = cell_of(row, run);
    if (!c)
        return INFINITY;
    if (c->flags & BARO_VALUE_ESTIMATE || (c->flags & both) == both)
        return c->value * (1 + ESTIMATE_RATIO);
    if (!(c->flags & BARO_VALUE_LOWER_BOUND))
        return c->value;
    for (size_t i = 0; i < sizeof(at_most) / sizeof(*at_most); i++) {
        if (strcmp(row->how->fact, at_most[i][0]) == 0 && strcmp(row->how->scope, "job") == 0)
            return most_of_cell(set, runset_beside(set, "job", at_most[i][1], ""), run);
    }
    return INFINITY;
}

/* What the others of the same fact have at least. */
static double others_of(const struct baro_runset *set, const struct set_row *row, size_t run)
{
    double sum = 0;
    for (size_t i = 0; i < set->n_rows; i++) {
        const struct cell *c = set->row[i].how == row->how && &set->row[i] != row ? cell_of(&set->row[i], run) : NULL;
        sum += c ? c->value : 0;
    }
    return sum;
}

double baro_runset_most(const struct baro_runset *set, size_t row, size_t run)
{
    const struct set_row *of = row < set->n_rows ? &set->row[row] : NULL;
    const struct cell *c = cell_of(of, run);
    if (!c)
        return INFINITY;
    double most = most_of_cell(set, of, run);
    if (most <= c->value)
        return c->value;
    if (strcmp(of->how->scope, "job") == 0)
        return most;
    double job = most_of_cell(set, runset_beside(set, "job", of->how->fact, ""), run);
    if (strcmp(of->how->scope, "command") == 0 && strcmp(of->how->fact, "cpu_ns") == 0)
        job -= others_of(set, of, run);
    most = job < most ? job : most;
    return most > c->value ? most : c->value;
}
