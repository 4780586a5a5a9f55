/* SPDX-License-Identifier: Apache-2.0 */
/* A writer whose file fails: what was acknowledged is on the tape, what was not is reported as lost. */
#include <errno.h>

#include "unit.h"
#include "allocations.h"
#include "libbaro/writer/writer_state.h"
#include "tape_file.h"

/* ---- a file that fails ---- */
struct fake {
    int fail_in;  /* write() calls until it begins to fail; -1: never */
    int fail_for; /* calls that it then fails for; -1: for ever */
    int code;
    size_t short_by; /* the first of them writes this much less than all instead, if that is more than none */
    bool no_truncate;
    struct world *random; /* fails at random */
    unsigned failed;
};

static ssize_t fake_write(void *context, int fd, const void *at, size_t len)
{
    struct fake *f = context;
    if (f->random && f->fail_in < 0 && world_below(f->random, 5) == 0) {
        f->fail_in = 0;
        f->fail_for = 1 + (int)world_below(f->random, 3);
        f->short_by = world_below(f->random, 2) ? world_below(f->random, 300) : 0;
        f->no_truncate = world_below(f->random, 3) == 0;
    }
    if (f->fail_in > 0)
        f->fail_in--;
    else if (f->fail_in == 0 && f->fail_for != 0) {
        if (f->short_by > 0 && f->short_by < len) {
            len -= f->short_by;
            f->short_by = 0;
            return write(fd, at, len);
        }
        f->fail_for -= f->fail_for > 0;
        f->failed++;
        errno = f->code;
        return -1;
    } else if (f->fail_in == 0) {
        f->fail_in = -1;
    }
    return write(fd, at, len);
}

static int fake_truncate(void *context, int fd, off_t len)
{
    struct fake *f = context;
    if (f->no_truncate) {
        errno = EIO;
        return -1;
    }
    return ftruncate(fd, len);
}

static int fake_sync(void *context, int fd)
{
    (void)context;
    return fdatasync(fd);
}

static struct tape_io io_of(struct fake *f)
{
    return (struct tape_io){fake_write, fake_truncate, fake_sync, f, NULL};
}

static struct baro_event event_at(uint64_t t_ns, const char *text)
{
    return (struct baro_event){.t_ns = t_ns, .kind = BARO_EVENT_WARNING, .text = text};
}

static void full_disk(bool no_truncate, size_t expected_damage)
{
    struct fake fake = {.fail_in = -1, .fail_for = 3, .code = ENOSPC, .short_by = 20, .no_truncate = no_truncate};
    struct tape_io io = io_of(&fake);
    struct tape_writer *w = new_tape(tape_path, &io);
    struct world *world = world_new(3);
    struct log l = {0};
    uint64_t before = 0;
    for (int i = 0; i < 20; i++) {
        world_tick(world);
        if (i == 9) {
            struct baro_event e = event_at(world->sample.t_ns, "kept over the gap");
            tape_writer_event(w, &e);
            fake.fail_in = 0;
            before = tape_writer_bytes(w);
        }
        int r = tape_writer_commit(w, &world->sample, NULL);
        assert_int_equal(r, i >= 9 && i < 12 ? -ENOSPC : 0);
        assert_int_equal(tape_writer_failing(w), r < 0);
        if (r < 0 && !no_truncate)
            assert_int_equal(tape_writer_bytes(w), before);
        log_sample(&l, &world->sample, 0);
    }
    tape_ended(w);

    struct baro_record r;
    bool gap = false, kept = false, damaged = false;
    struct baro_tape *t = tape_opened(tape_path);
    for (size_t i = 0; baro_tape_next(t, &r, NULL) == 1;) {
        if (r.kind == BARO_RECORD_EVENT && r.u.event->kind == BARO_EVENT_GAP) {
            gap = true;
            assert_string_equal(r.u.event->text, "No space left on device: 3 samples, 0 exits, 0 events lost");
            assert_int_equal(r.u.event->number, l.at[12].t_ns - l.at[8].t_ns);
            assert_int_equal(r.t_ns, l.at[12].t_ns);
            i = 12;
        } else if (r.kind == BARO_RECORD_EVENT) {
            kept = strcmp(r.u.event->text, "kept over the gap") == 0;
        } else if (r.kind == BARO_RECORD_DAMAGE) {
            damaged = true;
        } else {
            assert_true(same_as(&l.at[i++], &r, true));
        }
    }
    assert_true(gap && kept);
    assert_int_equal(damaged, expected_damage > 0);
    assert_true(baro_tape_complete(t));
    assert_true(expected_damage ? baro_tape_damage(t) > 0 : baro_tape_damage(t) == 0);
    assert_int_equal(baro_tape_seek(t, l.at[15].t_ns, &r, NULL), 1);
    assert_true(same_as(&l.at[15], &r, false));
    baro_tape_close(t);
    world_free(world);
    log_free(&l);
}

TEST(full_disk)
{
    full_disk(false, 0);
    full_disk(true, 1);
}

TEST(never_again)
{
    struct fake fake = {.fail_in = 4, .fail_for = -1, .code = EDQUOT};
    struct tape_io io = io_of(&fake);
    struct baro_error err = BARO_ERROR_INIT;
    struct tape_writer *w = new_tape(tape_path, &io);
    struct world *world = world_new(3);
    struct log l = {0};
    for (int i = 0; i < 300; i++) {
        char name[16];
        struct baro_exit e;
        world_tick(world);
        for (int k = 0; k < 20; k++) {
            world_exit(world, &e, name);
            tape_writer_exit(w, &e);
        }
        if (tape_writer_commit(w, &world->sample, &err) == 0)
            log_sample(&l, &world->sample, 0);
    }
    assert_int_equal(tape_writer_finish(w, &err), -EDQUOT);
    assert_non_null(strstr(err.text, "Disk quota exceeded"));
    tape_writer_free(w);
    assert_int_equal(l.n, 3); /* one write was the header's */

    struct baro_record r;
    size_t n = 0;
    struct baro_tape *t = tape_opened(tape_path);
    while (baro_tape_next(t, &r, &err) == 1)
        if (r.kind == BARO_RECORD_SAMPLE)
            assert_true(same_as(&l.at[n++], &r, true));
    assert_int_equal(n, l.n);
    assert_false(baro_tape_complete(t));
    baro_tape_close(t);
    world_free(world);
    log_free(&l);
}

/* Many failures of all kinds: each sample is on the tape if and only if its commit returned success; each exit is there
 * or counted. */
TEST(at_random)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct world *world = world_new(seed), *luck = world_new(seed + 100);
        struct fake fake = {.fail_in = -1, .code = ENOSPC, .random = luck};
        struct tape_io io = io_of(&fake);
        struct tape_writer *w = new_tape(tape_path, &io);
        struct log l = {0};
        size_t exits = 0, n = 0, n_exits = 0, gaps = 0;
        for (int i = 0; i < 200; i++) {
            char name[16];
            struct baro_exit e;
            world_tick(world);
            if (i % 3 == 0) {
                world_exit(world, &e, name);
                tape_writer_exit(w, &e);
                exits++;
            }
            if (tape_writer_commit(w, &world->sample, NULL) == 0)
                log_sample(&l, &world->sample, 0);
        }
        fake.random = NULL;
        fake.fail_in = -1;
        tape_ended(w);
        assert_true(fake.failed > 10);

        struct baro_record r;
        struct baro_tape *t = tape_opened(tape_path);
        while (baro_tape_next(t, &r, NULL) == 1) {
            if (r.kind == BARO_RECORD_SAMPLE) {
                assert_true(n < l.n && same_as(&l.at[n], &r, true));
                n++;
            }
            n_exits += r.kind == BARO_RECORD_EXIT;
            gaps += r.kind == BARO_RECORD_EVENT && r.u.event->kind == BARO_EVENT_GAP;
        }
        assert_int_equal(n, l.n);
        assert_int_equal(n_exits, exits);
        assert_true(gaps > 0);
        assert_true(baro_tape_complete(t));
        baro_tape_close(t);
        world_free(world);
        world_free(luck);
        log_free(&l);
    }
}

TEST(dev_full)
{
    struct baro_header h = {.clk_tck = 100};
    struct baro_sample s = {.t_ns = 1};
    struct tape_writer *w;
    assert_int_equal(tape_writer_new(&w, open("/dev/full", O_WRONLY), &h, NULL, NULL), 0);
    assert_int_equal(tape_writer_start(w, NULL), -ENOSPC);
    assert_int_equal(tape_writer_commit(w, &s, NULL), -ENOSPC);
    assert_true(tape_writer_failing(w));
    assert_int_equal(tape_writer_bytes(w), 0);
    tape_writer_free(w);
}

TEST(create)
{
    struct baro_error err = BARO_ERROR_INIT;
    char link[80];
    unlink(tape_path);
    int fd = tape_create(tape_path, &err);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(tape_create(tape_path, &err), -EEXIST);
    assert_non_null(strstr(err.text, "--force"));
    snprintf(link, sizeof link, "%s.link", tape_path);
    unlink(link);
    assert_int_equal(symlink("/etc/none", link), 0);
    assert_true(tape_create(link, &err) < 0);
    assert_int_equal(tape_create("/nowhere/x", &err), -ENOENT);
    unlink(link);
}

static int no_sync(void *context, int fd)
{
    (void)fd;
    errno = *(int *)context;
    return -1;
}

/* A server or a user's program without fsync: written data stays. */
TEST(sync_that_is_not_there)
{
    static const int codes[] = {EINVAL, EOPNOTSUPP, ENOSYS, EROFS};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        int code = codes[i];
        struct tape_io io = tape_io_real;
        io.sync = no_sync;
        io.context = &code;
        struct tape_writer *w = new_tape(tape_path, &io);
        w->network = true;
        struct world *world = world_new(5);
        for (int k = 0; k < 5; k++) {
            world_tick(world);
            tape_add(w, &world->sample);
        }
        tape_ended(w);
        world_free(world);
        struct baro_tape *t = tape_opened(tape_path);
        struct baro_record r;
        assert_int_equal(baro_tape_seek(t, UINT64_MAX, &r, NULL), 1);
        while (baro_tape_next(t, &r, NULL) > 0)
            ;
        assert_true(baro_tape_complete(t));
        baro_tape_close(t);
    }
}

/* Once its tables fit the job, a tick costs no memory, also where blocks change and processes come and go. */
TEST(allocates_nothing)
{
    if (!COUNTS_ALLOCATIONS)
        skip(); /* the allocator is the sanitizer's */
    struct tape_writer *w = new_tape(tape_path, NULL);
    struct world *world = world_new(5);
    unsigned long spent = 0;
    for (int i = 0; i < 45000; i++) {
        char name[16];
        struct baro_exit e;
        world_tick(world);
        while (world->n > 20)
            world_died(world, 0);
        world->sample.n = world->n;
        world_exit(world, &e, name);
        unsigned long before = allocations;
        tape_writer_exit(w, &e);
        tape_add(w, &world->sample);
        if (i >= 25000)
            spent += allocations - before;
    }
    assert_true(allocations > 0);
    assert_in_range(spent, 0, 2); /* a buffer grows with the largest record so far: one came at 24,562 */
    tape_writer_free(w);
    world_free(world);
}

/* More exits within one tick than may wait are written to the file at once; none is lost. */
TEST(storm)
{
    struct tape_writer *w = new_tape(tape_path, NULL);
    struct world *world = world_new(5);
    struct log l = {0};
    char name[16];
    struct baro_exit e;
    world_tick(world);
    tape_add(w, &world->sample);
    for (int i = 0; i < 5000; i++) {
        world_exit(world, &e, name);
        tape_writer_exit(w, &e);
        log_add(&l, BARO_RECORD_EXIT, e.t_ns)->whole = snapshot_exit(&e);
    }
    tape_ended(w);

    struct baro_record r;
    struct baro_tape *t = tape_opened(tape_path);
    assert_int_equal(baro_tape_next(t, &r, NULL), 1);
    for (size_t i = 0; i < l.n; i++) {
        assert_int_equal(baro_tape_next(t, &r, NULL), 1);
        assert_true(same_as(&l.at[i], &r, true));
    }
    assert_int_equal(baro_tape_next(t, &r, NULL), 0);
    assert_true(baro_tape_complete(t));
    baro_tape_close(t);
    world_free(world);
    log_free(&l);
}
