/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of two groups of numbers. Nothing is dropped as an outlier. */
#ifndef LIBBARO_RUNSET_RANKS_H
#define LIBBARO_RUNSET_RANKS_H

#include <stddef.h>

#define RANKS_MOST 64u /* numbers of a group that are used; of more the first ones */

struct shift {
    double estimate, low, high; /* low, high: NAN: there are too few numbers for an interval */
};

/* Sorts the numbers, and returns their median. n is at least 1. */
double ranks_median(double *at, size_t n);

/* By how much b is shifted against a: the Hodges-Lehmann estimate, which is the median of all differences b - a, with
 * the interval that belongs to the exact two-sided Mann-Whitney test: it has the true shift with a probability of at
 * least 1 - alpha. Example: a = 1 2 3 4 5 and b = 11 12 13 14 15 have the shift 10, and from 7 to 13 with alpha 0.05.
 * With too few numbers for alpha there is no interval. */
struct shift ranks_shift(const double *a, size_t na, const double *b, size_t nb, double alpha);

/* The same by Student's t with a common spread, for groups too small for ranks. There are at least three numbers in
 * both together, and one in each. */
struct shift ranks_shift_t(const double *a, size_t na, const double *b, size_t nb, double alpha);

/* The same of runs in pairs (before, after) that were made in turn: the estimate is the median of the means of all two
 * differences, with the interval of the exact signed-rank test; with too few pairs for alpha by Student's t of the
 * differences. What changes with time meets both of a pair alike and drops out. Example: before 1.0, 1.5, 2.0 and after
 * 1.1, 1.6, 2.1 differ by 0.1 in each pair, though all runs together spread by 1. n is at least 2. */
struct shift ranks_shift_pairs(const double *before, const double *after, size_t n, double alpha);

#endif
