/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of a job on a tape: found after it began, changed later, and known wherever a reader starts; and as in
 * tests/tape/v1-limits.baro, which is never written again (`make_golden` shows how it was made).
 */

#include "unit.h"

#include <errno.h>
#include <zstd.h>

#include "libbaro/tape/header_fields.h"
#include "tape_file.h"

enum { TICKS = 3000, FIRST = 3, SECOND = 1000, THIRD = 1001 };

static const struct baro_limits none_yet = {
    .memory_absent = BARO_ABSENT_NOT_YET, .cores_absent = BARO_ABSENT_NOT_YET, .pids_absent = BARO_ABSENT_NOT_YET};
static const struct baro_limits at[] = {
    {.memory_bytes = 1ull << 33,
     .memory_source = "cgroup /pod memory.max",
     .cores_ppm = 1500000,
     .cores_source = "cgroup /pod/a cpu.max"},
    {.cores_ppm = 2000000,
     .cores_source = "affinity",
     .cores_absent = BARO_ABSENT_UNKNOWN,
     .pids = UINT64_MAX,
     .pids_source = "RLIMIT_NPROC",
     .memory_absent = BARO_ABSENT_DENIED,
     .pids_absent = BARO_ABSENT_GONE},
    {0},
};

static const struct baro_limits *held(unsigned tick)
{
    return tick >= THIRD ? &at[2] : tick >= SECOND ? &at[1] : tick >= FIRST ? &at[0] : &none_yet;
}

/* Writes the same limits again and again, as the recorder may: equal limits make no record. */
static void write_tape(const char *path, uint64_t *times)
{
    char *argv[] = {"true", NULL};
    struct baro_header h = {.version = "0.1.0", .argv = argv, .limits = none_yet};
    struct world *world = world_new(5);
    struct tape_writer *w = tape_begun(path, &h);
    for (unsigned i = 0; i < TICKS; i++) {
        world_tick(world);
        times[i] = world->sample.t_ns;
        if (i == FIRST || i == FIRST + 1 || i == SECOND || i == THIRD)
            tape_writer_limits(w, held(i), world->sample.t_ns - 1);
        if (i == THIRD)
            tape_add(w, NULL); /* alone */
        tape_add(w, &world->sample);
    }
    tape_ended(w);
    world_free(world);
}

TEST(in_order)
{
    static uint64_t times[TICKS];
    struct baro_record r;
    write_tape(tape_path, times);
    struct baro_tape *t = tape_opened(tape_path);
    for (int round = 0; round < 2; round++) {
        unsigned tick = 0, count = 0;
        static const unsigned when[] = {FIRST, SECOND, THIRD};
        assert_true(baro_limits_equal(baro_tape_limits(t), &none_yet));
        while (baro_tape_next(t, &r, NULL) > 0) {
            if (r.kind == BARO_RECORD_LIMITS) {
                assert_true(count < 3 && r.t_ns == times[when[count]] - 1 && tick == when[count]);
                assert_true(baro_limits_equal(r.u.limits, &at[count++]));
            } else if (r.kind == BARO_RECORD_SAMPLE) {
                assert_true(baro_limits_equal(baro_tape_limits(t), held(tick++)));
            }
        }
        assert_int_equal(count, 3);
        assert_int_equal(tick, TICKS);
        assert_int_equal(baro_tape_rewind(t, NULL), 0);
    }
    baro_tape_close(t);
}

static void seek_tick(struct baro_tape *t, const uint64_t *times, unsigned tick)
{
    struct baro_record r;
    assert_int_equal(baro_tape_seek(t, times[tick], &r, NULL), 1);
    assert_true(baro_limits_equal(baro_tape_limits(t), held(tick)));
}

/* Beside a change, and at one tick of so many others; with BARO_FULL (make check-full) at all. */
TEST(from_anywhere)
{
    static const unsigned changes[] = {FIRST, SECOND, THIRD};
    static uint64_t times[TICKS];
    write_tape(tape_path, times);
    struct baro_tape *t = tape_opened(tape_path);
    for (unsigned i = 0; i < TICKS; i += getenv("BARO_FULL") ? 1 : 11)
        seek_tick(t, times, i * 1009 % TICKS);
    for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
        for (unsigned tick = changes[i] - 2; tick <= changes[i] + 2; tick++)
            seek_tick(t, times, tick);
    }
    baro_tape_close(t);
}

enum { GOLDEN_TICKS = 6, GOLDEN_FIRST = 1, GOLDEN_SECOND = 4 };

static void make_golden(const char *path)
{
    char *argv[] = {"true", NULL};
    struct baro_header h = {.version = "0.1.0", .host = "golden", .argv = argv, .limits = none_yet};
    struct baro_process p = {
        .id = 1, .key = {100, 5000}, .info_version = 1, .name = "true", .cmdline_absent = BARO_ABSENT_DENIED};
    struct baro_process *list[] = {&p};
    struct baro_sample s = {.n = 1, .processes = list};
    struct tape_writer *w = tape_begun(path, &h);
    for (unsigned i = 0; i < GOLDEN_TICKS; i++) {
        s.t_ns = p.read_ns = 1000000007ull * i;
        if (i == GOLDEN_FIRST || i == GOLDEN_SECOND)
            tape_writer_limits(w, &at[i == GOLDEN_SECOND], s.t_ns + 5);
        tape_add(w, &s);
    }
    tape_ended(w);
}

TEST(golden)
{
    char path[4096];
    struct baro_record r;
    unsigned tick = 0, count = 0;
    snprintf(path, sizeof path, "%s/../tape/v1-limits.baro", getenv("BARO_FIXTURES"));
    if (getenv("BARO_GOLDEN_WRITE") && access(path, F_OK) != 0)
        make_golden(path);
    struct baro_tape *t = tape_opened(path);
    assert_true(baro_limits_equal(baro_tape_limits(t), &none_yet));
    while (baro_tape_next(t, &r, NULL) > 0) {
        if (r.kind == BARO_RECORD_LIMITS) {
            assert_true(baro_limits_equal(r.u.limits, &at[count]));
            assert_true(r.t_ns == 1000000007ull * (count ? GOLDEN_SECOND : GOLDEN_FIRST) + 5);
            count++;
        }
        tick += r.kind == BARO_RECORD_SAMPLE;
    }
    assert_int_equal(count, 2);
    assert_int_equal(tick, GOLDEN_TICKS);
    assert_true(baro_tape_complete(t));
    baro_tape_close(t);
}

TEST(getters)
{
    const char *source;
    uint64_t v;
    assert_then(baro_limits_get(&at[0], BARO_LIMIT_MEMORY, &v, &source), v == 1ull << 33);
    assert_string_equal(source, "cgroup /pod memory.max");
    assert_then(baro_limits_get(&at[0], BARO_LIMIT_PIDS, &v, &source), v == 0 && !*source);
    assert_int_equal(baro_limits_get(&at[1], BARO_LIMIT_CORES, &v, &source), BARO_ABSENT_UNKNOWN);
    assert_int_equal(v, 2000000);
    assert_string_equal(source, "affinity");
}

struct disk {
    int fails; /* so many writes */
};

static ssize_t failing(void *context, int fd, const void *from, size_t len)
{
    struct disk *d = context;
    if (d->fails > 0) {
        d->fails--;
        errno = ENOSPC;
        return -1;
    }
    return write(fd, from, len);
}

/* A record that could not be written is written later. */
TEST(full_disk)
{
    struct disk disk = {0};
    struct tape_io io = tape_io_real;
    struct baro_record r;
    io.write = failing;
    io.context = &disk;
    char *argv[] = {"true", NULL};
    struct baro_header h = {.version = "0.1.0", .argv = argv, .limits = none_yet};
    struct tape_writer *w;
    unlink(tape_path);
    assert_int_equal(tape_writer_new(&w, tape_create(tape_path, NULL), &h, &io, NULL), 0);
    assert_int_equal(tape_writer_start(w, NULL), 0);
    tape_writer_limits(w, &at[0], 7);
    disk.fails = 2;
    assert_int_equal(tape_writer_commit(w, NULL, NULL), -ENOSPC);
    tape_writer_limits(w, &at[1], 9);
    assert_int_equal(tape_writer_commit(w, NULL, NULL), -ENOSPC);
    tape_ended(w);
    struct baro_tape *t = tape_opened(tape_path);
    assert_one(baro_tape_next(t, &r, NULL), r.kind, BARO_RECORD_LIMITS);
    assert_int_equal(r.t_ns, 9);
    assert_true(baro_limits_equal(r.u.limits, &at[1]));
    assert_int_equal(baro_tape_next(t, &r, NULL), 0);
    assert_true(baro_tape_complete(t));
    baro_tape_close(t);
}

/* Typed by hand: field, length, bytes. */
TEST(fields)
{
    static const char text[] = "\x1a\x03\x00\x00\x01" /* 26: 65536 bytes */
                               "\x1b\x09RLIMIT_AS"    /* 27 */
                               "\x7f\x02zz"           /* unknown */
                               "\x24\x01\x03"         /* 36: denied */
                               "\x25\x01\x63";        /* 37: a reason of a newer writer */
    struct baro_limits l, untouched = {.pids = 5};
    assert_true(limits_scan(span_of(text, sizeof(text) - 1), &l));
    assert_int_equal(l.memory_bytes, 65536);
    assert_string_equal(l.memory_source, "RLIMIT_AS");
    assert_int_equal(l.memory_absent, 0);
    assert_int_equal(l.cores_absent, BARO_ABSENT_DENIED);
    assert_int_equal(l.pids_absent, BARO_ABSENT_UNKNOWN);
    for (size_t n = 0; n < sizeof(text) - 1; n++) {
        l = untouched;
        if (!limits_scan(span_of(text, n), &l))
            assert_true(baro_limits_equal(&l, &untouched));
    }
    assert_true(limits_scan(span_of("", 0), &l));
    assert_true(baro_limits_equal(&l, &at[2]));
}
