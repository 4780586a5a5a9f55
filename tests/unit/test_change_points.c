/* SPDX-License-Identifier: Apache-2.0 */
/* Change points. The truth is what energy_statistics.e_divisive(values, 0.01, 199) of signal_processing_algorithms
 * 2.1.6 (PyPI) says of the same values, as python3 made them with the same generator. */
#include "unit.h"
#include "baro/runset.h"

#define VALUES 60

/* About normal, with a spread of 1. */
static void fill(double *ret)
{
    unsigned state = 7;
    for (size_t i = 0; i < VALUES; i++) {
        double sum = 0;
        for (int k = 0; k < 12; k++) {
            state = state * 1103515245u + 12345u;
            sum += (state >> 8 & 0xffff) / 65536.0;
        }
        ret[i] = 100 + sum - 6;
    }
}

static void expect(const double *v, size_t n, int points, size_t first, size_t second)
{
    size_t at[8] = {0};
    assert_int_equal(baro_change_points(v, n, at, 8), points);
    assert_int_equal(at[0], first);
    assert_int_equal(at[1], second);
}

TEST(as_the_reference)
{
    double v[VALUES];
    fill(v);
    assert_true(v[0] > 97.994354 && v[0] < 97.994355); /* the generator is the same */
    expect(v, VALUES, 0, 0, 0);
    for (size_t i = 30; i < VALUES; i++)
        v[i] += 3;
    expect(v, VALUES, 1, 30, 0);
    fill(v);
    for (size_t i = 20; i < VALUES; i++)
        v[i] += i < 35 ? 4 : -2;
    expect(v, VALUES, 2, 20, 36);
    fill(v);
    v[30] = 150;
    expect(v, VALUES, 0, 0, 0);
}

/* One value of a new level is none: three are. */
TEST(short_rows)
{
    double v[40];
    for (size_t i = 0; i < 40; i++)
        v[i] = i < 37 ? 1 : 2;
    expect(v, 38, 0, 0, 0);
    expect(v, 40, 1, 37, 0);
    expect(v, 37, 0, 0, 0); /* all are equal */
    expect(v, 5, 0, 0, 0);
    expect(v, 1, 0, 0, 0);
    expect(v, 0, 0, 0, 0);
    assert_int_equal(baro_change_points(v, BARO_CHANGE_POINTS_MOST + 1, NULL, 0), BARO_E_RANGE);
}

/* Of 200 rows without a change, at most 1 in 50 has one: it is tested at 1 %. */
TEST(no_change)
{
    unsigned seed = 3;
    int found = 0;
    for (int row = 0; row < 200; row++) {
        double v[30];
        size_t at[8];
        for (size_t i = 0; i < 30; i++) {
            v[i] = 0;
            for (int k = 0; k < 4; k++) {
                seed = seed * 1103515245u + 12345u;
                v[i] += (seed >> 8 & 0xffff) / 65536.0;
            }
        }
        found += baro_change_points(v, 30, at, 8) > 0;
    }
    assert_in_range(found, 0, 4);
}
