/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in order. */
#ifndef BASE_SORTED_H
#define BASE_SORTED_H

#include <stdbool.h>
#include <stddef.h>

void sort_numbers(double *at, size_t n);          /* the smallest first; none is NAN */
double sorted_median(const double *at, size_t n); /* of sorted numbers; NAN if there are none */
/* The interval of the median, of sorted numbers: it has the median of what they were drawn from with a probability of
 * at least 95 %. Example: of ten numbers it is from the second to the ninth. Returns whether there are enough, 6 to
 * 1000. */
bool sorted_median_interval(const double *at, size_t n, double ret[2]);

/* For qsort() and bsearch(): compares two numbers, or structs that begin with one, such as an id or a pid. */
int compare_u32(const void *a, const void *b);
int compare_i32(const void *a, const void *b);

#endif
