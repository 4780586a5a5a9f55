/* SPDX-License-Identifier: Apache-2.0 */
/* The use of all GPUs: each device's over the time between its own readings. */
#include "unit.h"
#include "libbaro/sample/row.h"
#include "output/rows/dialect_share.h"

enum { SECOND = 1000000000 };

static void take_reading(struct shares *s, uint32_t id, uint64_t read_ns, uint64_t busy_ns, enum baro_absent absent)
{
    uint64_t value[GPU_MAX] = {0};
    uint8_t none[GPU_MAX] = {0};
    struct baro_entity e = {.kind = KIND_gpu, .id = id, .value = value, .absent = none};
    value[GPU_busy] = busy_ns;
    none[GPU_busy] = absent;
    value[GPU_read_at] = read_ns;
    shares_take(s, ROW(&e), GPU_busy);
}

/* One device is read each second, the other one each two: they are busy for a half and a quarter of the time. */
TEST(own_readings)
{
    struct shares s = {0};
    double sum;
    uint64_t used;
    take_reading(&s, 1, SECOND, 0, BARO_PRESENT);
    take_reading(&s, 2, SECOND, 0, BARO_PRESENT);
    assert_int_equal(shares_sum(&s, false, &sum, &used), BARO_ABSENT_NOT_YET);
    take_reading(&s, 1, 2ull * SECOND, SECOND / 2, BARO_PRESENT);
    take_reading(&s, 2, SECOND, 0, BARO_PRESENT);
    assert_then(shares_sum(&s, false, &sum, &used), sum == 0.5 && used == 1);
    take_reading(&s, 1, 3ull * SECOND, SECOND, BARO_PRESENT);
    take_reading(&s, 2, 3ull * SECOND, SECOND / 2, BARO_PRESENT);
    assert_then(shares_sum(&s, false, &sum, &used), sum == 0.75 && used == 2);
    shares_done(&s);
}

/* The use of a device that lacks the value, or whose counter fell, is not known. It is not 0. */
TEST(not_known)
{
    struct shares s = {0};
    double sum;
    uint64_t used;
    take_reading(&s, 1, SECOND, SECOND, BARO_PRESENT);
    shares_sum(&s, false, &sum, &used);
    take_reading(&s, 1, 2ull * SECOND, SECOND / 2, BARO_PRESENT);
    assert_int_equal(shares_sum(&s, false, &sum, &used), BARO_ABSENT_UNKNOWN);
    take_reading(&s, 1, 3ull * SECOND, SECOND, BARO_PRESENT);
    assert_then(shares_sum(&s, false, &sum, &used), sum == 0.5);
    take_reading(&s, 1, 4ull * SECOND, 0, BARO_ABSENT_TIMEOUT);
    assert_int_equal(shares_sum(&s, false, &sum, &used), BARO_ABSENT_TIMEOUT);
    assert_int_equal(shares_sum(&s, false, &sum, &used), BARO_ABSENT_UNKNOWN); /* a sample without devices */
    shares_done(&s);
}
