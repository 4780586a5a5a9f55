/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sorted.h"

#include <math.h>
#include <stdlib.h>

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void sort_numbers(double *at, size_t n)
{
    if (n)
        qsort(at, n, sizeof(*at), compare_numbers);
}

double sorted_median(const double *at, size_t n)
{
    if (!n)
        return NAN;
    return n % 2 ? at[n / 2] : (at[n / 2 - 1] + at[n / 2]) / 2;
}
