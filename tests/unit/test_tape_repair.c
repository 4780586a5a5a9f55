/* SPDX-License-Identifier: Apache-2.0 */
/* Damage to a tape, and what can be read in spite of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tape_file.h"

static char path[64];

static int set_up(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/baro-repair-%d.baro", (int)getpid());
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

struct bytes {
    uint8_t *at;
    size_t len;
    size_t samples; /* on the whole tape */
};

static struct bytes make(unsigned ticks, bool finish)
{
    struct bytes b = {.samples = ticks};
    struct tape_writer *w = new_tape(path, NULL);
    struct world *world = world_new(3);
    while (world->n > 4)
        world_died(world, 0);
    for (unsigned i = 0; i < ticks; i++) {
        world_tick(world);
        while (world->n > 5)
            world_died(world, 0);
        world->sample.n = world->n;
        assert_int_equal(tape_writer_commit(w, &world->sample, NULL), 0);
    }
    if (finish)
        assert_int_equal(tape_writer_finish(w, NULL), 0);
    b.len = (size_t)tape_writer_bytes(w);
    tape_writer_free(w);
    world_free(world);
    b.at = malloc(b.len);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, b.at, b.len), (ssize_t)b.len);
    close(fd);
    return b;
}

static size_t samples_of(const uint8_t *at, size_t len)
{
    struct baro_tape *t;
    struct baro_record r;
    size_t n = 0;
    if (baro_tape_open_memory(&t, at, len, NULL) < 0)
        return 0;
    while (baro_tape_next(t, &r, NULL) > 0)
        n += r.kind == BARO_RECORD_SAMPLE;
    baro_tape_close(t);
    return n;
}

/* Wherever so many bytes are overwritten, no record is lost. */
static void expect_whole(const struct bytes *b, size_t run, size_t step, size_t until)
{
    uint8_t *copy = malloc(b->len);
    assert_int_equal(samples_of(b->at, b->len), b->samples);
    for (size_t at = 0; at + run <= until; at += step) {
        memcpy(copy, b->at, b->len);
        for (size_t i = 0; i < run; i++)
            copy[at + i] = (uint8_t)(0x5a ^ (i * 7 + at));
        size_t n = samples_of(copy, b->len);
        if (n != b->samples)
            print_error("%zu bytes at %zu of %zu: %zu of %zu samples\n", run, at, b->len, n, b->samples);
        assert_int_equal(n, b->samples);
    }
    free(copy);
}

static void test_short_tape(void **state)
{
    (void)state;
    struct bytes b = make(60, true);
    expect_whole(&b, 29, b.len / 400 + 1, b.len);
    expect_whole(&b, 128, b.len / 100 + 1, b.len);
    expect_whole(&b, 1, b.len / 200 + 1, b.len);
    free(b.at);
}

static void test_long_tape(void **state)
{
    (void)state;
    struct bytes b = make(800, true);
    assert_true(b.len > 3 * 32768);
    expect_whole(&b, 29, b.len / 100, b.len);
    expect_whole(&b, 400, b.len / 40, b.len);
    free(b.at);
}

/* A whole page at the beginning, which is more than parity can restore. */
static void test_front(void **state)
{
    (void)state;
    struct bytes b = make(60, true);
    expect_whole(&b, 1000, 100, 2000);
    free(b.at);
}

/* Two damaged places in two parts of the tape, and a run of zeros, as of a page that was never written. */
static void test_two_places(void **state)
{
    (void)state;
    struct bytes b = make(800, true);
    uint8_t *copy = malloc(b.len);
    memcpy(copy, b.at, b.len);
    memset(copy + 10000, 0, 512);
    memset(copy + 50000, 0, 128);
    assert_int_equal(samples_of(copy, b.len), b.samples);
    free(copy);
    free(b.at);
}

/* The file by its path, with seeks as well. */
static void test_seek_in_damaged(void **state)
{
    (void)state;
    struct bytes b = make(800, true);
    memset(b.at + b.len / 2, 0xee, 100);
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_int_equal(write(fd, b.at, b.len), (ssize_t)b.len);
    close(fd);
    struct baro_tape *t;
    struct baro_record r;
    assert_int_equal(baro_tape_open(&t, path, NULL), 0);
    size_t n = 0;
    while (baro_tape_next(t, &r, NULL) > 0)
        n += r.kind == BARO_RECORD_SAMPLE;
    assert_int_equal(n, b.samples);
    assert_int_equal(baro_tape_damage(t), 0);
    assert_int_equal(baro_tape_seek(t, UINT64_MAX, &r, NULL), 1);
    uint64_t last = r.t_ns;
    assert_int_equal(baro_tape_seek(t, last / 2, &r, NULL), 1);
    assert_true(r.t_ns <= last / 2);
    baro_tape_close(t);
    free(b.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_tape), cmocka_unit_test(test_long_tape),       cmocka_unit_test(test_front),
        cmocka_unit_test(test_two_places), cmocka_unit_test(test_seek_in_damaged),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
