/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-top/curves.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"

#define BIN_FIRST (10 * NS_PER_MS)

void curves_init(struct curves *h)
{
    memset(h, 0, sizeof(*h));
    h->bin_ns = BIN_FIRST;
}

static float larger(float a, float b)
{
    return isnan(a) || b > a ? b : a;
}

/* Two neighbours become one. */
static void halve(struct curves *h)
{
    int n = (h->n_bins + 1) / 2;
    for (int c = 0; c < CURVES; c++) {
        for (int i = 0; i < n; i++)
            h->bin[c][i] = larger(h->bin[c][2 * i], 2 * i + 1 < h->n_bins ? h->bin[c][2 * i + 1] : NAN);
    }
    h->n_bins = n;
    h->bin_ns *= 2;
}

void curves_add(struct curves *h, uint64_t t_ns, const float value[CURVES])
{
    while (t_ns / h->bin_ns >= CURVES_BINS)
        halve(h);
    int first = h->last_ns ? (int)(h->last_ns / h->bin_ns) : 0, last = (int)(t_ns / h->bin_ns);
    for (int c = 0; c < CURVES; c++) {
        for (int i = first; i <= last; i++)
            h->bin[c][i] = i < h->n_bins ? larger(h->bin[c][i], value[c]) : value[c];
        h->point[c][h->n_points % CURVES_POINTS] = value[c];
    }
    h->point_ns[h->n_points++ % CURVES_POINTS] = t_ns;
    if (last >= h->n_bins)
        h->n_bins = last + 1;
    h->last_ns = t_ns;
}

/* Adds a value that holds from one time to another to all parts between them. */
static void spread(float *ret, int n, uint64_t from_ns, uint64_t to_ns, uint64_t begin_ns, uint64_t end_ns, float value)
{
    if (end_ns <= from_ns || begin_ns >= to_ns || to_ns <= from_ns)
        return;
    double scale = (double)n / (double)(to_ns - from_ns);
    int first = begin_ns <= from_ns ? 0 : (int)((double)(begin_ns - from_ns) * scale);
    int last = end_ns >= to_ns ? n - 1 : (int)((double)(end_ns - 1 - from_ns) * scale);
    for (int i = first; i <= last && i < n; i++)
        ret[i] = larger(ret[i], value);
}

void curves_read(const struct curves *h, enum curve curve, uint64_t from_ns, uint64_t to_ns, float *ret, int n)
{
    unsigned kept = h->n_points < CURVES_POINTS ? h->n_points : CURVES_POINTS;
    unsigned oldest = h->n_points - kept;
    for (int i = 0; i < n; i++)
        ret[i] = NAN;
    if (kept && (oldest == 0 || h->point_ns[oldest % CURVES_POINTS] <= from_ns)) {
        uint64_t begin_ns = oldest ? h->point_ns[oldest % CURVES_POINTS] : 0;
        for (unsigned i = oldest; i != h->n_points; i++) {
            uint64_t end_ns = h->point_ns[i % CURVES_POINTS];
            float value = h->point[curve][i % CURVES_POINTS];
            spread(ret, n, from_ns, to_ns, begin_ns, end_ns + (end_ns == begin_ns), value);
            begin_ns = end_ns;
        }
        return;
    }
    for (int i = 0; i < h->n_bins; i++)
        spread(ret, n, from_ns, to_ns, (uint64_t)i * h->bin_ns, (uint64_t)(i + 1) * h->bin_ns, h->bin[curve][i]);
}
