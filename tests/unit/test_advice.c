/* SPDX-License-Identifier: Apache-2.0 */
/* What to ask for after some runs: all by hand. */
#include <math.h>

#include "unit.h"
#include "baro/advice.h"

#define MIB 1048576.0
#define MINUTE 60e9

static struct baro_need need_of(double memory, double wall, double cores)
{
    struct baro_need n = BARO_NEED_INIT;
    n.memory_bytes = memory;
    n.memory_at_most_bytes = memory;
    n.wall_ns = wall;
    n.cores = cores;
    n.gpu_memory_bytes = NAN;
    return n;
}

static struct baro_advice advice_of(const struct baro_need *n, size_t count, double risk)
{
    const struct baro_need *at[64];
    struct baro_advice a = BARO_ADVICE_INIT;
    for (size_t i = 0; i < count; i++)
        at[i] = &n[i];
    assert_int_equal(baro_advise(at, count, risk, &a), 0);
    return a;
}

TEST(one_run)
{
    struct baro_need n = need_of(1000 * MIB, 10 * MINUTE, 2);
    struct baro_advice a = advice_of(&n, 1, 0);
    assert_true(a.memory_bytes == 1280 * MIB); /* 1,250 MiB in steps of 64 */
    assert_true(a.time_ns == 15 * MINUTE);
    assert_true(a.cores == 2);
    assert_true(isnan(a.gpu_memory_bytes));
    n.memory_at_most_bytes = 2000 * MIB;
    assert_true(advice_of(&n, 1, 0).memory_bytes == 2112 * MIB); /* 2,100 */
}

/* Ten runs have smaller margins; with a risk of a tenth the largest does not count. */
TEST(ten_runs)
{
    struct baro_need n[10];
    for (size_t i = 0; i < 10; i++)
        n[i] = need_of(1000 * MIB, 8 * MINUTE, 1);
    n[3] = need_of(2000 * MIB, 16 * MINUTE, 4);
    struct baro_advice a = advice_of(n, 10, 0);
    assert_true(a.memory_bytes == 2304 * MIB); /* 2,300 */
    assert_true(a.time_ns == 20 * MINUTE);
    assert_true(a.cores == 1); /* one of ten runs may have work for more */
    a = advice_of(n, 10, 0.1);
    assert_true(a.memory_bytes == 1152 * MIB); /* 1,150 */
    assert_true(a.time_ns == 10 * MINUTE);
}

/* After memory ran out, the peak is a bound: half more. After a time limit, the time is one: it counts as what was not
 * enough, and alone it gives no time to ask for. */
TEST(bounds)
{
    struct baro_need n[2] = {need_of(1000 * MIB, 2 * MINUTE, 1), need_of(900 * MIB, 4 * MINUTE, 1)};
    n[1].flags = BARO_NEED_MEMORY_BOUND | BARO_NEED_TIME_BOUND;
    struct baro_advice a = advice_of(n, 2, 0);
    assert_true(a.memory_bytes == 1408 * MIB); /* 1,350 */
    assert_true(a.time_ns == 6 * MINUTE);
    assert_int_equal(a.memory_bounds, 1);
    assert_int_equal(a.time_bounds, 1);
    assert_true(isnan(advice_of(n + 1, 1, 0).time_ns));
}

/* What failed says less than what succeeded; but it counts if nothing succeeded. */
TEST(failed_runs_are_left_out)
{
    struct baro_need n[3] = {need_of(1000 * MIB, MINUTE, 1), need_of(9000 * MIB, MINUTE, 9),
                             need_of(2000 * MIB, MINUTE, 1)};
    n[1].flags = BARO_NEED_FAILED;
    n[2].flags = BARO_NEED_MEMORY_BOUND | BARO_NEED_TIME_BOUND;
    struct baro_advice a = advice_of(n, 3, 0);
    assert_int_equal(a.runs, 2);
    assert_int_equal(a.failed, 1);
    assert_int_equal(a.memory_bounds, 1);
    assert_true(a.memory_bytes == 3008 * MIB); /* 3,000 */
    a = advice_of(n + 1, 1, 0);
    assert_int_equal(a.runs, 1);
    assert_int_equal(a.failed, 1);
    assert_true(a.cores == 9);
}

TEST(partial_runs_are_left_out)
{
    struct baro_need n[2] = {need_of(1000 * MIB, MINUTE, 1), need_of(9000 * MIB, MINUTE, 9)};
    n[1].flags = BARO_NEED_PARTIAL;
    struct baro_advice a = advice_of(n, 2, 0);
    assert_int_equal(a.runs, 1);
    assert_true(a.memory_bytes == 1280 * MIB);
    const struct baro_need *only = &n[1];
    assert_int_equal(baro_advise(&only, 1, 0, &a), BARO_E_RANGE);
    a.size = 0;
    only = &n[0];
    assert_int_equal(baro_advise(&only, 1, 0, &a), BARO_E_RANGE);
}
