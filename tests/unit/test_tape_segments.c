/* SPDX-License-Identifier: Apache-2.0 */
/* A tape in segments: what is read is what was written, in any direction, with segments removed or damaged. */

#define UNIT_EACH set_up, tear_down
#include "unit.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "baro/baro.h"
#include "baro/runs.h"
#include "base/fd.h"
#include "libbaro/tape/segments.h"
#include "tape_file.h"

enum { TICKS = 160, EACH = 8 /* ticks of a segment */, SEGMENTS = TICKS / EACH };

static char *argv[] = {"make", "-j8", NULL};

struct fixture {
    char folder[64], path[80];
    struct log log;
};

static struct fixture f;

static struct baro_header header_of(uint32_t segment)
{
    return (struct baro_header){.version = "0.1.0",
                                .host = "h",
                                .clk_tck = 100,
                                .wanted = UINT32_MAX,
                                .argv = argv,
                                .start_monotonic_ns = 5,
                                .segment = segment,
                                .keep_bytes = 1 << 20};
}

static int create(uint32_t number)
{
    char name[SEGMENT_NAME_SIZE], path[120];
    segment_name(number, name);
    snprintf(path, sizeof path, "%s/%s", f.path, name);
    return tape_create(path, NULL);
}

static void segment_path(uint32_t number, char ret[static 120])
{
    char name[SEGMENT_NAME_SIZE];
    segment_name(number, name);
    snprintf(ret, 120, "%s/%s", f.path, name);
}

static void write_exit(struct tape_writer *w, struct log *log, uint64_t t_ns)
{
    struct baro_exit e = {.t_ns = t_ns, .id = 7, .key = {700, 9}, .name = (char *)"cc1", .cmdline = (char *)"cc1 -O2"};
    e.value[EXIT_cpu_user] = t_ns;
    tape_writer_exit(w, &e);
    log_add(log, BARO_RECORD_EXIT, t_ns)->whole = snapshot_exit(&e);
}

/* One recorder: the same writer goes on from segment to segment. */
static int set_up(void **state)
{
    f = (struct fixture){0};
    struct baro_header h = header_of(1);
    struct world *world = world_new(3);
    struct tape_writer *w;
    snprintf(f.folder, sizeof f.folder, "/tmp/baro-segments-XXXXXX");
    assert_non_null(mkdtemp(f.folder));
    snprintf(f.path, sizeof f.path, "%s/t.baro", f.folder);
    assert_int_equal(mkdir(f.path, 0700), 0);
    assert_int_equal(tape_writer_new(&w, create(1), &h, NULL, NULL), 0);
    for (int i = 0; i < TICKS; i++) {
        world_tick(world);
        write_exit(w, &f.log, world->sample.t_ns);
        tape_add(w, &world->sample);
        log_sample(&f.log, &world->sample, 0);
        if (i % EACH != EACH - 1 || i + 1 == TICKS)
            continue;
        h = header_of((uint32_t)(i / EACH + 2));
        assert_int_equal(tape_writer_next(w, create(h.segment), &h, NULL), 0);
    }
    tape_ended(w);
    world_free(world);
    return 0;
}

static int tear_down(void **state)
{
    if (access(f.path, F_OK) == 0)
        assert_int_equal(baro_runs_remove(f.path, 0, NULL), 0);
    rmdir(f.folder);
    log_free(&f.log);
    return 0;
}

/* All from item `from` on. */
static void expect_from(struct baro_tape *t, size_t from)
{
    struct baro_record r;
    for (size_t i = from; i < f.log.n; i++) {
        assert_int_equal(baro_tape_next(t, &r, NULL), 1);
        assert_true(same_as(&f.log.at[i], &r, true));
    }
    assert_int_equal(baro_tape_next(t, &r, NULL), 0);
    assert_true(baro_tape_complete(t));
    assert_int_equal(baro_tape_damage(t), 0);
}

TEST(is_one_tape)
{
    uint64_t first, last;
    struct baro_tape_end end = {.size = sizeof end};
    struct baro_tape *t = tape_opened(f.path);
    assert_int_equal(baro_header_segment(baro_tape_header(t)), 1);
    struct baro_value keep;
    assert_int_equal(baro_header_value(baro_tape_header(t), baro_header_fact_find("keep_bytes"), 0, &keep), 0);
    assert_int_equal(keep.u64, 1 << 20);
    expect_from(t, 0);
    assert_one(baro_tape_range(t, &first, &last, NULL), first, f.log.at[1].t_ns);
    assert_int_equal(last, f.log.at[f.log.n - 1].t_ns);
    assert_int_equal(baro_tape_rewind(t, NULL), 0);
    expect_from(t, 0);
    assert_gives(baro_tape_read_end(t, &end, NULL), end.last_ns, last);
    assert_true(end.complete);
    baro_tape_close(t);
}

TEST(by_descriptor)
{
    struct baro_tape *t;
    int fd = open(f.path, O_RDONLY | O_DIRECTORY);
    assert_int_equal(baro_tape_open_fd(&t, fd, NULL, NULL), 0);
    close(fd);
    expect_from(t, 0);
    baro_tape_close(t);
}

/* Each segment alone is a tape with the same records: nothing in it refers to another one. */
TEST(each_is_a_tape)
{
    size_t item = 0;
    for (uint32_t n = 1; n <= SEGMENTS; n++) {
        struct baro_tape *t;
        struct baro_record r;
        char path[120];
        segment_path(n, path);
        t = tape_opened(path);
        assert_int_equal(baro_header_segment(baro_tape_header(t)), n);
        while (baro_tape_next(t, &r, NULL) > 0) {
            assert_true(item < f.log.n);
            assert_true(same_as(&f.log.at[item++], &r, true));
        }
        assert_true(baro_tape_complete(t));
        baro_tape_close(t);
    }
    assert_int_equal(item, f.log.n);
}

static void expect_seek(struct baro_tape *t, uint64_t t_ns, const struct item *item)
{
    struct baro_record r;
    assert_int_equal(baro_tape_seek(t, t_ns, &r, NULL), 1);
    assert_true(same_as(item, &r, false));
}

/* Items come in pairs: an exit and a sample. */
TEST(any_time)
{
    const struct item *at = f.log.at;
    struct baro_record r;
    struct baro_tape *t = tape_opened(f.path);
    for (size_t k = 0, i = 1; k < f.log.n / 2; k++, i = (i + 2 * 37) % f.log.n) {
        i |= 1;
        expect_seek(t, at[i].t_ns, &at[i]);
        expect_seek(t, at[i].t_ns + 1, &at[i]);
        if (i + 1 < f.log.n) {
            assert_int_equal(baro_tape_next(t, &r, NULL), 1);
            assert_true(same_as(&at[i + 1], &r, false));
        }
    }
    expect_seek(t, 0, &at[1]);
    expect_seek(t, UINT64_MAX, &at[f.log.n - 1]);
    for (size_t i = f.log.n - 1; i > 1; i -= 2) {
        assert_int_equal(baro_tape_previous(t, &r, NULL), 1);
        assert_true(same_as(&at[i - 2], &r, false));
    }
    assert_int_equal(baro_tape_previous(t, &r, NULL), 0);
    baro_tape_close(t);
}

/* The recorder removes the oldest: a new cursor begins later, an open one skips what it has not read. */
TEST(removed)
{
    struct baro_tape *old, *t;
    struct baro_record r;
    old = tape_opened(f.path);
    assert_int_equal(baro_tape_next(old, &r, NULL), 1);
    for (uint32_t n = 1; n <= 3; n++) {
        char path[120];
        segment_path(n, path);
        assert_int_equal(unlink(path), 0);
    }
    t = tape_opened(f.path);
    assert_int_equal(baro_header_segment(baro_tape_header(t)), 4);
    assert_false(baro_header_has_start(baro_tape_header(t)));
    expect_from(t, 3 * 2 * EACH);
    expect_seek(t, 0, &f.log.at[3 * 2 * EACH + 1]);
    baro_tape_close(t);
    for (size_t i = 1; i < 2 * EACH; i++) { /* its first segment is still open */
        assert_int_equal(baro_tape_next(old, &r, NULL), 1);
        assert_true(same_as(&f.log.at[i], &r, true));
    }
    expect_from(old, 3 * 2 * EACH);
    baro_tape_close(old);
}

TEST(damaged)
{
    struct baro_record r;
    char path[120];
    struct stat st;
    size_t n = 0, damages = 0;
    segment_path(5, path);
    int fd = open(path, O_WRONLY | O_TRUNC);
    assert_int_equal(write(fd, "no tape", 7), 7);
    close(fd);
    segment_path(9, path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size / 2), 0);
    struct baro_tape *t = tape_opened(f.path);
    while (baro_tape_next(t, &r, NULL) > 0) {
        damages += r.kind == BARO_RECORD_DAMAGE;
        n += r.kind != BARO_RECORD_DAMAGE;
    }
    assert_true(damages >= 1);
    assert_true(n >= f.log.n - 2 * 2 * EACH && n < f.log.n - 2 * EACH);
    assert_true(baro_tape_damage(t) >= 7);
    expect_seek(t, UINT64_MAX, &f.log.at[f.log.n - 1]);
    baro_tape_close(t);
}

/* Damage costs the rest of its block, and nothing of other segments. */
TEST(damaged_segments)
{
    char path[120];
    struct stat st;
    for (uint32_t number = 3; number < 8; number++) {
        segment_path(number, path);
        assert_int_equal(stat(path, &st), 0);
        int fd = open(path, O_WRONLY);
        assert_int_equal(pwrite(fd, "damaged", 7, st.st_size / 8 * 7), 7);
        close(fd);
    }
    struct baro_record r;
    size_t at = 0, damaged = 0, left_out = 0;
    struct baro_tape *t = tape_opened(f.path);
    while (baro_tape_next(t, &r, NULL) == 1) {
        if (r.kind == BARO_RECORD_DAMAGE) {
            damaged++;
            continue;
        }
        for (; at < f.log.n && (f.log.at[at].kind != r.kind || f.log.at[at].t_ns != r.t_ns); at++)
            left_out++;
        assert_true(at < f.log.n);
        assert_true(same_as(&f.log.at[at++], &r, false));
    }
    assert_int_equal(at, f.log.n);
    assert_int_equal(damaged, 5);
    assert_true(left_out > 0 && left_out < 5 * 2 * EACH);
    assert_true(baro_tape_complete(t));
    baro_tape_close(t);
}

/* While the newest segment has no header yet, the tape ends before it, and continues later. */
TEST(growing)
{
    struct baro_record r;
    struct baro_header h = header_of(SEGMENTS + 1);
    struct world *world = world_new(4);
    struct tape_writer *w;
    struct baro_tape *t = tape_opened(f.path);
    int fd = create(SEGMENTS + 1);
    for (size_t i = 0; i < f.log.n; i++)
        assert_int_equal(baro_tape_next(t, &r, NULL), 1);
    assert_int_equal(baro_tape_next(t, &r, NULL), 0);
    assert_int_equal(tape_writer_new(&w, fd, &h, NULL, NULL), 0);
    assert_int_equal(tape_writer_start(w, NULL), 0);
    assert_int_equal(baro_tape_next(t, &r, NULL), 0);
    world_tick(world);
    world->sample.t_ns += f.log.at[f.log.n - 1].t_ns;
    tape_add(w, &world->sample);
    assert_one(baro_tape_next(t, &r, NULL), r.t_ns, world->sample.t_ns);
    assert_false(baro_tape_complete(t));
    assert_int_equal(tape_writer_finish(w, NULL), 0);
    assert_int_equal(baro_tape_next(t, &r, NULL), 0);
    assert_true(baro_tape_complete(t));
    tape_writer_free(w);
    world_free(world);
    baro_tape_close(t);
}

static ssize_t refuse(void *context, int fd, const void *at, size_t len)
{
    (void)at;
    if (fd == *(int *)context) {
        errno = ENOSPC;
        return -1;
    }
    return (ssize_t)len;
}

/* A segment that can't be created leaves the writer unchanged. */
TEST(no_room)
{
    int refused = -1;
    struct tape_io io = tape_io_real;
    struct baro_header h = header_of(1);
    struct world *world = world_new(4);
    struct tape_writer *w;
    io.write = refuse;
    io.context = &refused;
    io.look = NULL;
    assert_int_equal(tape_writer_new(&w, create(100), &h, &io, NULL), 0);
    world_tick(world);
    tape_add(w, &world->sample);
    uint64_t bytes = tape_writer_bytes(w);
    refused = create(101);
    assert_int_equal(tape_writer_next(w, refused, &h, NULL), -ENOSPC);
    refused = -1;
    world_tick(world);
    tape_add(w, &world->sample);
    assert_true(tape_writer_bytes(w) > bytes);
    tape_writer_free(w);
    world_free(world);
}

/* ---- which segments are created and removed ---- */

TEST(keep)
{
    const uint64_t s = 1000000000;
    struct segments_writer w;
    int parent = open(f.folder, O_RDONLY | O_DIRECTORY), fd;
    fd = segments_create(&w, parent, "k.baro", "k.baro", false, (struct segments_keep){.ns = 160 * s}, NULL);
    assert_true(fd >= 0);
    for (uint64_t t = s; t <= 1000 * s; t += s) {
        fd_close(fd);
        segments_drop_old(&w, t, 1000);
        fd = segments_due(&w, t, 1000) ? segments_next(&w, t, 1000) : -1;
        /* 160 s at least, and 170 s at most. */
        assert_true(w.list.at[0].first_ns == 0 || t - w.list.at[0].first_ns >= 160 * s);
        assert_true(t < 170 * s || t - w.list.at[0].first_ns <= 170 * s);
    }
    assert_int_equal(w.list.at[w.list.n - 1].number, 101);
    fd_close(fd);
    segments_writer_done(&w);
    assert_int_equal(segments_create(&w, parent, "k.baro", "k.baro", false, (struct segments_keep){0}, NULL), -EEXIST);
    fd = segments_create(&w, parent, "k.baro", "k.baro", true, (struct segments_keep){.bytes = 3200000}, NULL);
    assert_true(fd >= 0);
    uint64_t bytes = 0;
    for (uint64_t t = 1; t <= 1000; t++) {
        bytes += 50000;
        segments_drop_old(&w, t, bytes);
        assert_true(w.bytes + bytes <= 3200000);
        if (!segments_due(&w, t, bytes))
            continue;
        fd_close(fd);
        fd = segments_next(&w, t, bytes);
        bytes = 0;
    }
    assert_true(w.bytes > 2800000);
    segments_take_back(&w); /* the next one has the same number */
    uint32_t last = w.list.at[w.list.n - 1].number;
    fd_close(fd);
    fd = segments_next(&w, 2000, 1);
    assert_int_equal(w.list.at[w.list.n - 1].number, last + 1);
    fd_close(fd);
    segments_writer_done(&w);
    assert_int_equal(segments_remove(parent, "k.baro", true), 0);
    assert_int_equal(faccessat(parent, "k.baro", F_OK, 0), -1);
    close(parent);
}

static void expect_stopped(bool stopped)
{
    struct baro_value v;
    struct baro_tape_end end = {.size = sizeof end};
    struct baro_tape *t = tape_opened(f.path);
    assert_int_equal(baro_tape_read_end(t, &end, NULL), 0);
    assert_true(!end.ended && end.complete == stopped && end.detached == stopped);
    struct baro_summary *s = summary_of_file(f.path);
    assert_gives(baro_summary_value(s, baro_summary_fact_find("exit", "is_detached"), 0, &v), v.u64, stopped);
    summary_free(s);
    baro_tape_close(t);
}

/* A footer without an end: the recorder was told to stop, and another one may go on. Without both it was killed. */
TEST(stopped)
{
    struct stat st;
    char path[120];
    expect_stopped(true);
    segment_path(SEGMENTS, path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size - 1), 0);
    expect_stopped(false);
}

TEST(other_folders)
{
    struct baro_tape *t;
    int parent = open(f.folder, O_RDONLY | O_DIRECTORY);
    assert_int_equal(baro_tape_open(&t, f.folder, NULL), -EISDIR);
    assert_int_equal(baro_runs_remove(f.folder, 0, NULL), -EISDIR);
    assert_int_equal(mkdirat(parent, "empty", 0700), 0);
    assert_int_equal(segments_remove(parent, "empty", true), -ENOTDIR);
    assert_int_equal(unlinkat(parent, "empty", AT_REMOVEDIR), 0);
    close(parent);
}
