/* SPDX-License-Identifier: Apache-2.0 */
/* Change points of a row of values by E-divisive: Matteson and James, "A nonparametric approach for multiple change
 * point analysis of multivariate data", 2014; in the form of MongoDB's signal_processing_algorithms, whose figures
 * tests/unit/test_change_points.c has. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "baro/runset.h"

#define SIDE_LEAST 3u
#define PERMUTATIONS 199
#define BETTER_MOST 2 /* of the permutations: 1 % of them and the order as it is */

struct split {
    size_t at; /* 0: there is none */
    double t;
};

/* Finds the split with the largest energy statistic nm/(n+m) (2 E|X-Y| - E|X-X'| - E|Y-Y'|). Example: of 1 1 1 5 5 5 it
 * is the one at 3: 9/6 * (2 * 4 - 0 - 0) = 12. */
static struct split best_split(const double *v, size_t n)
{
    struct split best = {0, -1};
    double within_x = 0, within_y = 0, between = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = i + 1; k < n; k++)
            within_y += fabs(v[i] - v[k]);
    }
    for (size_t i = 0; i + SIDE_LEAST < n; i++) {
        double left = 0, right = 0;
        for (size_t k = 0; k < i; k++)
            left += fabs(v[i] - v[k]);
        for (size_t k = i + 1; k < n; k++)
            right += fabs(v[i] - v[k]);
        within_x += left;
        within_y -= right;
        between += right - left;
        double a = (double)(i + 1), b = (double)(n - i - 1),
               t = a * b / (a + b) * (2 * between / (a * b) - 2 * within_x / (a * a) - 2 * within_y / (b * b));
        if (i + 1 >= SIDE_LEAST && t > best.t)
            best = (struct split){i + 1, t};
    }
    return best;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void shuffle(double *v, size_t n, uint64_t *state)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = next_random(state) % i;
        double last = v[i - 1];
        v[i - 1] = v[k];
        v[k] = last;
    }
}

/* ends: where the levels begin that are known, and n. Would the values of each level, in another order, split as well?
 */
static bool is_by_chance(const double *values, const size_t *ends, size_t n_ends, double t, double *scratch)
{
    uint64_t state = 0x9e3779b97f4a7c15u;
    unsigned better = 0;
    memcpy(scratch, values, ends[n_ends - 1] * sizeof(*values));
    for (int p = 0; p < PERMUTATIONS && better <= BETTER_MOST; p++) {
        double most = -1;
        for (size_t i = 0, from = 0; i < n_ends; from = ends[i++]) {
            shuffle(scratch + from, ends[i] - from, &state);
            double one = best_split(scratch + from, ends[i] - from).t;
            most = one > most ? one : most;
        }
        better += most >= t;
    }
    return better > BETTER_MOST;
}

static bool is_constant(const double *v, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (v[i] != v[0])
            return false;
    }
    return true;
}

int baro_change_points(const double *values, size_t n, size_t *ret, size_t most)
{
    size_t ends[BARO_CHANGE_POINTS_MOST / SIDE_LEAST + 2] = {n}, n_ends = 1;
    if (n > BARO_CHANGE_POINTS_MOST)
        return BARO_E_RANGE;
    double *scratch = malloc((n + 1) * sizeof(*scratch));
    if (!scratch)
        return -ENOMEM;
    while (n && n_ends <= most && !is_constant(values, n)) {
        struct split best = {0, 0};
        size_t level = 0;
        for (size_t i = 0, from = 0; i < n_ends; from = ends[i++]) {
            struct split one = best_split(values + from, ends[i] - from);
            if (one.at && one.t > best.t) {
                best = (struct split){from + one.at, one.t};
                level = i;
            }
        }
        if (!best.at || is_by_chance(values, ends, n_ends, best.t, scratch))
            break;
        memmove(ends + level + 1, ends + level, (n_ends - level) * sizeof(*ends));
        ends[level] = best.at;
        n_ends++;
    }
    free(scratch);
    memcpy(ret, ends, (n_ends - 1) * sizeof(*ends));
    return (int)(n_ends - 1);
}
