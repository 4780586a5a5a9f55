/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/runset/ranks.h"

#include <math.h>
#include <stdlib.h>

#include "base/sorted.h"

double ranks_median(double *at, size_t n)
{
    sort_numbers(at, n);
    return sorted_median(at, n);
}

/*
 * Returns the largest k for which the test statistic U of groups of these sizes is at most k - 1 with a probability of
 * at most alpha / 2; 0 if there is none. ways[u] counts the orders of na + nb numbers with U = u, divided by all
 * orders: the number of partitions of u into at most nb parts of at most na, by the recursion over the largest number,
 * which is one of a (then U grows by nb) or one of b.
 */
static size_t critical(size_t na, size_t nb, double alpha)
{
    size_t most = na * nb, width = most + 1;
    double *ways = calloc((nb + 1) * width, sizeof(*ways)), below = 0;
    size_t k = 0;
    if (!ways)
        return 0;
    for (size_t j = 0; j <= nb; j++)
        ways[j * width] = 1; /* no number of a: U is 0 */
    for (size_t i = 1; i <= na; i++) {
        for (size_t j = 1; j <= nb; j++) {
            double of_a = (double)i / (double)(i + j), of_b = (double)j / (double)(i + j);
            double *row = &ways[j * width];
            const double *shorter = &ways[(j - 1) * width]; /* of this i already */
            for (size_t u = i * j + 1; u-- > 0;)
                row[u] = (u >= j ? row[u - j] * of_a : 0) + (u <= i * (j - 1) ? shorter[u] * of_b : 0);
        }
    }
    const double *all = &ways[nb * width];
    while (k < most && below + all[k] <= alpha / 2)
        below += all[k++];
    free(ways);
    return k;
}

struct shift ranks_shift(const double *a, size_t na, const double *b, size_t nb, double alpha)
{
    struct shift ret = {NAN, NAN, NAN};
    na = na < RANKS_MOST ? na : RANKS_MOST;
    nb = nb < RANKS_MOST ? nb : RANKS_MOST;
    size_t n = na * nb;
    double *differences = malloc(n * sizeof(*differences));
    if (!differences)
        return ret;
    for (size_t i = 0; i < na; i++) {
        for (size_t k = 0; k < nb; k++)
            differences[i * nb + k] = b[k] - a[i];
    }
    ret.estimate = ranks_median(differences, n);
    size_t k = critical(na, nb, alpha);
    if (k > 0) {
        ret.low = differences[k - 1];
        ret.high = differences[n - k];
    }
    free(differences);
    return ret;
}

/* By Newton's method, so that the library needs no libm. */
static double square_root(double v)
{
    double root = v > 1 ? v : 1;
    for (int i = 0; i < 600 && root * root > v * (1 + 1e-14); i++)
        root = (root + v / root) / 2;
    return v > 0 ? root : 0;
}

static double power(double base, size_t exponent)
{
    double ret = 1;
    for (; exponent; exponent /= 2, base *= base)
        ret *= exponent % 2 ? base : 1;
    return ret;
}

/*
 * Returns the t beyond which, to both sides, Student's distribution has the share alpha. With t = sqrt(freedom) cot(x)
 * that share is the integral of sin^(freedom - 1) from 0 to x, divided by that from 0 to pi / 2, which is Wallis's. It
 * is summed up in steps, in each of which the angle is turned by as much; the library has no libm.
 */
static double t_quantile(size_t freedom, double alpha)
{
    const double quarter = 1.57079632679489662, step = quarter / 4096;
    const double sin_step = step * (1 - step * step / 6), cos_step = 1 - step * step / 2 * (1 - step * step / 12);
    double all = freedom % 2 ? quarter : 1, below = 0, part, sine = step / 2, cosine = 1 - step * step / 8;
    for (size_t k = freedom % 2 ? 2 : 3; k < freedom; k += 2)
        all *= (double)(k - 1) / (double)k;
    for (;;) { /* sine and cosine are those of the middle of the step */
        part = power(sine, freedom - 1) * step / all;
        if (below + part >= alpha || cosine <= 0)
            break;
        below += part;
        double turned = sine * cos_step + cosine * sin_step;
        cosine = cosine * cos_step - sine * sin_step;
        sine = turned;
    }
    double rest = ((alpha - below) / part - 0.5) * step; /* from the middle of the step */
    return square_root((double)freedom) * (cosine - sine * rest) / (sine + cosine * rest);
}

static double mean(const double *at, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += at[i];
    return sum / (double)n;
}

static double squares(const double *at, size_t n, double center)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (at[i] - center) * (at[i] - center);
    return sum;
}

struct shift ranks_shift_t(const double *a, size_t na, const double *b, size_t nb, double alpha)
{
    double ma = mean(a, na), mb = mean(b, nb);
    size_t freedom = na + nb - 2;
    double variance = (squares(a, na, ma) + squares(b, nb, mb)) / (double)freedom;
    double half = t_quantile(freedom, alpha) * square_root(variance * (1 / (double)na + 1 / (double)nb));
    return (struct shift){mb - ma, mb - ma - half, mb - ma + half};
}

/* As critical(), of the sum of the ranks of positive differences: ways[w] counts the subsets of 1 ... n with the sum w,
 * divided by all subsets. */
static size_t critical_of_pairs(size_t n, double alpha)
{
    size_t most = n * (n + 1) / 2, k = 0;
    double *ways = calloc(most + 1, sizeof(*ways)), below = 0;
    if (!ways)
        return 0;
    ways[0] = 1;
    for (size_t rank = 1; rank <= n; rank++) {
        for (size_t w = most + 1; w-- > 0;)
            ways[w] = (ways[w] + (w >= rank ? ways[w - rank] : 0)) / 2;
    }
    while (k < most && below + ways[k] <= alpha / 2)
        below += ways[k++];
    free(ways);
    return k;
}

struct shift ranks_shift_pairs(const double *before, const double *after, size_t n, double alpha)
{
    struct shift ret = {NAN, NAN, NAN};
    n = n < RANKS_MOST ? n : RANKS_MOST;
    size_t n_means = n * (n + 1) / 2, at = 0;
    double *means = malloc((n_means + n) * sizeof(*means)), *difference = means ? means + n_means : NULL;
    if (!means)
        return ret;
    for (size_t i = 0; i < n; i++) {
        difference[i] = after[i] - before[i];
        for (size_t k = 0; k <= i; k++)
            means[at++] = (difference[i] + difference[k]) / 2;
    }
    ret.estimate = ranks_median(means, n_means);
    size_t k = critical_of_pairs(n, alpha);
    double center = mean(difference, n);
    double half = t_quantile(n - 1, alpha) * square_root(squares(difference, n, center) / (double)(n - 1) / (double)n);
    ret.low = k ? means[k - 1] : center - half;
    ret.high = k ? means[n_means - k] : center + half;
    if (!k)
        ret.estimate = center;
    free(means);
    return ret;
}
