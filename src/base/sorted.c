/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sorted.h"

#include <math.h>
#include <stdint.h>
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

/* The median is below the k-th number if fewer than k numbers are below it, which is as likely as fewer than k heads of
 * n coins. */
bool sorted_median_interval(const double *at, size_t n, double ret[2])
{
    double likely = 1, below = 0;
    size_t k = 0;
    if (n > 1000) /* that likelihood is no double */
        return false;
    for (size_t i = 0; i < n; i++)
        likely /= 2;
    while (k < n / 2 && below + likely <= 0.025) {
        below += likely;
        likely *= (double)(n - k) / (double)(k + 1);
        k++;
    }
    if (!k)
        return false;
    ret[0] = at[k - 1];
    ret[1] = at[n - k];
    return true;
}

int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

int compare_i32(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}
