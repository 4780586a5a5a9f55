/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in order. */
#ifndef BASE_SORTED_H
#define BASE_SORTED_H

#include <stddef.h>

void sort_numbers(double *at, size_t n);          /* the smallest first; none is NAN */
double sorted_median(const double *at, size_t n); /* of sorted numbers; NAN if there are none */

#endif
