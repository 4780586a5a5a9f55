/* SPDX-License-Identifier: Apache-2.0 */
/* Series of entities that are read at times of their own. */
#include "unit.h"
#include "baro/baro.h"
#include "tape_file.h"

#define SECOND 1000000000ull

/* A GPU that was busy all the time, and was read 0.3 s late once: no second of it has more than a second. */
TEST(growth_is_over_the_time_between_its_own_readings)
{
    static const uint64_t at_ms[] = {1000, 2000, 3300, 4000, 5000};
    char path[64];
    uint64_t value[GPU_MAX] = {0};
    uint8_t absent[GPU_MAX] = {0};
    struct baro_entity gpu = {.kind = KIND_gpu, .n_values = GPU_MAX, .value = value, .absent = absent};
    struct baro_entity *gpus[] = {&gpu};
    struct baro_sample s = {.t_ns = 0};
    struct baro_series *busy;
    gpu.id = 9, gpu.name = (char *)"gpu0", gpu.label = (char *)"";
    snprintf(path, sizeof path, "/tmp/test_series_gpu.%d.baro", (int)getpid());
    struct tape_writer *w = new_tape(path, NULL);
    for (uint64_t i = 0; i < 5; i++) {
        s.t_ns = (i + 1) * SECOND + SECOND / 2;
        s.entities[KIND_gpu] = (struct baro_entities){.at = gpus, .n = 1, .read_ns = (i + 1) * SECOND};
        value[GPU_busy] = value[GPU_read_at] = at_ms[i] * (SECOND / 1000);
        tape_add(w, &s);
    }
    tape_ended(w);
    assert_int_equal(baro_series_new(&busy, 1 * SECOND, 5 * SECOND, 4, NULL), 0);
    int curve = baro_series_add_rate(busy, KIND_gpu, 9, NULL, GPU_busy, NULL);
    assert_true(curve >= 0);
    struct baro_tape *t = tape_opened(path);
    assert_int_equal(baro_series_read(busy, t, NULL), 0);
    baro_tape_close(t);
    for (size_t i = 0; i < 4; i++) {
        const struct baro_bucket *b = baro_series_bucket(busy, curve, i);
        assert_int_equal(b->covered_ns, SECOND);
        assert_true(b->mean > 1e9 - 1 && b->mean < 1e9 + 1);
        assert_true(b->max > 1e9 - 1 && b->max < 1e9 + 1);
    }
    baro_series_free(busy);
    unlink(path);
}
