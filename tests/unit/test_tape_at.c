/* SPDX-License-Identifier: Apache-2.0 */
/* Times on a tape through the public API: copies, the previous sample, nearest samples, changes; other sources than a
 * path. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#define UNIT_OWN_MAIN
#include "unit.h"
#include "libbaro/sample/row.h"
#include "baro/baro.h"
#include "libbaro/sample/copy.h"
#include "tape_file.h"

enum { TICKS = 120 };

struct fixture {
    char path[64];
    struct log log; /* samples alone */
};

static struct fixture f;

static void write_samples(void)
{
    struct tape_writer *w = new_tape(f.path, NULL);
    struct world *world = world_new(11);
    for (int i = 0; i < TICKS; i++) {
        world_tick(world);
        tape_add(w, &world->sample);
        log_sample(&f.log, &world->sample, 0);
    }
    tape_ended(w);
    world_free(world);
}

static void expect_sample(const struct item *item, const struct baro_sample *s)
{
    struct snapshot now = snapshot_sample(s, false);
    assert_int_equal(baro_sample_t_ns(s), item->t_ns);
    assert_true(snapshot_equal(&now, &item->no_cmdline));
    free(now.at);
}

/* A copy does not change while the cursor moves and after it was closed. */
TEST(copy)
{
    struct baro_sample *copy[TICKS];
    struct baro_record r;
    size_t n = 0;
    struct baro_tape *t = tape_opened(f.path);
    while (baro_tape_next(t, &r, NULL) > 0) {
        assert_int_equal(r.kind, BARO_RECORD_SAMPLE);
        assert_int_equal(baro_sample_copy(r.u.sample, &copy[n++], NULL), 0);
    }
    baro_tape_close(t);
    assert_int_equal(n, f.log.n);
    for (size_t i = 0; i < n; i++) {
        struct snapshot now = snapshot_sample(copy[i], true);
        assert_true(snapshot_equal(&now, &f.log.at[i].whole));
        free(now.at);
        baro_sample_free(copy[i]);
    }
    baro_sample_free(NULL);
}

TEST(previous)
{
    struct baro_record r;
    struct baro_tape *t = tape_opened(f.path);
    assert_int_equal(baro_tape_previous(t, &r, NULL), 0); /* nothing was read yet */
    assert_int_equal(baro_tape_seek(t, UINT64_MAX, &r, NULL), 1);
    for (size_t i = f.log.n - 1; i-- > 0;) {
        assert_int_equal(baro_tape_previous(t, &r, NULL), 1);
        expect_sample(&f.log.at[i], r.u.sample);
    }
    assert_int_equal(baro_tape_previous(t, &r, NULL), 0);
    baro_tape_close(t);
}

static void expect_at(struct baro_tape *t, uint64_t t_ns, enum baro_at how, const struct item *item)
{
    struct baro_sample *s = NULL;
    assert_int_equal(baro_tape_at(t, t_ns, how, &s, NULL), item ? 1 : 0);
    if (!item) {
        assert_null(s); /* it is left alone */
        return;
    }
    expect_sample(item, s);
    baro_sample_free(s);
}

TEST(at)
{
    const struct item *at = f.log.at, *last = &at[f.log.n - 1];
    struct baro_tape *t = tape_opened(f.path);
    for (size_t i = 0; i + 1 < f.log.n; i += 7) {
        uint64_t gap = at[i + 1].t_ns - at[i].t_ns;
        assert_true(gap > 4);
        for (int how = BARO_AT_EXACT; how <= BARO_AT_INTERPOLATE; how++)
            expect_at(t, at[i].t_ns, (enum baro_at)how, &at[i]);
        expect_at(t, at[i].t_ns + 1, BARO_AT_EXACT, NULL);
        expect_at(t, at[i].t_ns + 1, BARO_AT_BEFORE, &at[i]);
        expect_at(t, at[i].t_ns + 1, BARO_AT_AFTER, &at[i + 1]);
        expect_at(t, at[i].t_ns + gap / 2 - 1, BARO_AT_NEAREST, &at[i]);
        expect_at(t, at[i + 1].t_ns - 1, BARO_AT_NEAREST, &at[i + 1]);
    }
    expect_at(t, last->t_ns + 1, BARO_AT_BEFORE, last);
    expect_at(t, last->t_ns + 1, BARO_AT_AFTER, NULL);
    expect_at(t, last->t_ns + 1, BARO_AT_NEAREST, last);
    expect_at(t, last->t_ns + 1, BARO_AT_INTERPOLATE, NULL);
    if (at->t_ns > 0) {
        expect_at(t, at->t_ns - 1, BARO_AT_BEFORE, NULL);
        expect_at(t, at->t_ns - 1, BARO_AT_AFTER, at);
        expect_at(t, at->t_ns - 1, BARO_AT_NEAREST, at);
        expect_at(t, at->t_ns - 1, BARO_AT_INTERPOLATE, NULL);
    }
    baro_tape_close(t);
}

/* Two samples by hand: at 1 s and 11 s. */
static void write_two(const char *path)
{
    struct tape_writer *w = new_tape(path, NULL);
    struct baro_process stays = {.id = 1, .key = {100, 7}, .name = (char *)"stays"},
                        ends = {.id = 2, .key = {101, 8}, .name = (char *)"ends"},
                        begins = {.id = 3, .key = {102, 9}, .name = (char *)"begins"};
    struct baro_process *first[] = {&stays, &ends}, *second[] = {&stays, &begins};
    struct baro_sample s = {.t_ns = 1000000000, .n = 2, .processes = first};
    s.job[JOB_cpu] = 100;
    s.job_absent[JOB_io_read] = BARO_ABSENT_DENIED;
    stays.value[PROCESS_rss] = 5000;
    stays.value[PROCESS_state] = 'R';
    tape_add(w, &s);
    s.t_ns = 11000000000;
    s.processes = second;
    s.job[JOB_cpu] = 200;
    s.job_absent[JOB_io_read] = BARO_PRESENT;
    stays.value[PROCESS_rss] = 4000;
    stays.value[PROCESS_state] = 'S';
    tape_add(w, &s);
    tape_ended(w);
}

TEST(interpolate)
{
    struct baro_sample *s;
    uint64_t v = 0;
    write_two(tape_path);
    struct baro_tape *t = tape_opened(tape_path);
    assert_int_equal(baro_tape_at(t, 4000000000, BARO_AT_INTERPOLATE, &s, NULL), 1); /* 3 of 10 seconds */
    assert_int_equal(baro_sample_t_ns(s), 4000000000);
    assert_gives(baro_row_value(baro_sample_row(s, BARO_KIND_JOB, 0), JOB_cpu, &v), v, 130);
    assert_int_equal(baro_row_value(baro_sample_row(s, BARO_KIND_JOB, 0), JOB_io_read, &v), BARO_ABSENT_DENIED);
    assert_int_equal(baro_sample_rows(s, BARO_KIND_PROCESS), 1);
    const struct baro_row *p = baro_sample_row(s, BARO_KIND_PROCESS, 0);
    assert_int_equal(baro_row_id(p), 1);
    assert_gives(baro_row_value(p, PROCESS_rss, &v), v, 4700);
    assert_gives(baro_row_value(p, PROCESS_state, &v), v, 'R');
    baro_sample_free(s);
    baro_tape_close(t);
}

/* On a damaged tape a sample may be no later than the one before it. There is nothing between such two. */
TEST(interpolate_where_time_runs_back)
{
    struct baro_sample earlier = {.t_ns = 5000}, later = {.t_ns = 5000}, *s = NULL;
    assert_int_equal(sample_interpolate(&earlier, &later, 6000, &s, NULL), 0);
    later.t_ns = 4000;
    assert_int_equal(sample_interpolate(&earlier, &later, 6000, &s, NULL), 0);
    assert_int_equal(sample_interpolate(&earlier, &later, 4500, &s, NULL), 0);
    assert_null(s);
    later.t_ns = 7000;
    assert_int_equal(sample_interpolate(&earlier, &later, 6000, &s, NULL), 1);
    assert_int_equal(s->t_ns, 6000);
    baro_sample_free(s);
}

/* Several values in one call equal those of the getters of one value. */
TEST(values)
{
    const int metrics[] = {PROCESS_rss, -1, PROCESS_cpu, PROCESS_pss, PROCESS_rss, 1000, PROCESS_children};
    enum { N = sizeof(metrics) / sizeof(*metrics) };
    struct baro_record r;
    size_t rows = 0;
    struct baro_tape *t = tape_opened(f.path);
    while (baro_tape_next(t, &r, NULL) > 0) {
        for (size_t i = 0; i < baro_sample_rows(r.u.sample, BARO_KIND_PROCESS); i++, rows++) {
            const struct baro_row *p = baro_sample_row(r.u.sample, BARO_KIND_PROCESS, i);
            uint64_t value[N];
            uint8_t absent[N];
            size_t present = baro_row_values(p, metrics, N, value, absent);
            for (size_t k = 0; k < N; k++) {
                uint64_t v = 0;
                assert_int_equal(absent[k], baro_row_value(p, metrics[k], &v));
                assert_int_equal(value[k], v);
                present -= absent[k] == BARO_PRESENT;
            }
            assert_int_equal(present, 0);
        }
    }
    assert_true(rows > TICKS);
    baro_tape_close(t);
}

TEST(range)
{
    struct baro_record r;
    uint64_t first = 0, last = 0;
    struct baro_tape *t = tape_opened(f.path);
    assert_int_equal(baro_tape_next(t, &r, NULL), 1);
    assert_one(baro_tape_range(t, &first, &last, NULL), first, f.log.at[0].t_ns);
    assert_int_equal(last, f.log.at[f.log.n - 1].t_ns);
    assert_int_equal(baro_tape_next(t, &r, NULL), 1); /* the cursor stayed where it was */
    assert_int_equal(r.t_ns, f.log.at[1].t_ns);
    baro_tape_close(t);
}

/* A limit of CPU time holds for everything that reads the tape, also with a cursor of its own. */
TEST(limit)
{
    struct baro_tape_end end = {.size = sizeof(end), .last_ns = 7};
    uint64_t first = 7, last = 7;
    int64_t realtime = 7;
    struct baro_tape *t = tape_opened(f.path);
    assert_int_equal(baro_tape_realtime_ns(t, f.log.at[0].t_ns, &realtime, NULL), 0);
    baro_tape_limit_cpu(t, 1);
    assert_int_equal(baro_tape_range(t, &first, &last, NULL), -ETIME);
    assert_int_equal(first, 7);
    assert_int_equal(last, 7);
    assert_int_equal(baro_tape_realtime_ns(t, UINT64_MAX, &realtime, NULL), -ETIME);
    assert_int_equal(baro_tape_read_kinds(t, NULL), -ETIME);
    assert_int_equal(baro_tape_read_end(t, &end, NULL), -ETIME);
    assert_int_equal(end.last_ns, 7);
    baro_tape_limit_cpu(t, 0);
    assert_int_equal(baro_tape_realtime_ns(t, UINT64_MAX, &realtime, NULL), 0);
    assert_one(baro_tape_range(t, &first, &last, NULL), first, f.log.at[0].t_ns);
    baro_tape_close(t);
}

static void expect_all(struct baro_tape *t)
{
    struct baro_record r;
    uint64_t first, last;
    for (size_t i = 0; i < f.log.n; i++) {
        assert_int_equal(baro_tape_next(t, &r, NULL), 1);
        assert_true(same_as(&f.log.at[i], &r, true));
    }
    assert_int_equal(baro_tape_next(t, &r, NULL), 0);
    assert_true(baro_tape_complete(t));
    assert_one(baro_tape_range(t, &first, &last, NULL), last, f.log.at[f.log.n - 1].t_ns);
}

TEST(sources)
{
    struct baro_tape *t;
    int fd = open(f.path, O_RDONLY), pipes[2];
    size_t size = (size_t)lseek(fd, 0, SEEK_END);
    unsigned char *data = malloc(size);
    assert_int_equal(pread(fd, data, size, 0), (ssize_t)size);
    assert_int_equal(baro_tape_open_memory(&t, data, size, NULL), 0);
    expect_all(t);
    baro_tape_close(t);
    for (size_t n = 0; n < size; n += n < 100 ? 1 : 997) { /* cut off anywhere: an error, or fewer records */
        unsigned char *part = malloc(n ? n : 1);           /* of its own, so that a sanitizer sees a read behind it */
        struct baro_record r;
        memcpy(part, data, n);
        if (baro_tape_open_memory(&t, part, n, NULL) == 0) {
            while (baro_tape_next(t, &r, NULL) > 0)
                ;
            baro_tape_close(t);
        }
        free(part);
    }
    assert_int_equal(baro_tape_open_fd(&t, fd, NULL, NULL), 0);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), (off_t)size);
    close(fd);
    expect_all(t);
    baro_tape_close(t);
    struct baro_error err = BARO_ERROR_INIT;
    assert_int_equal(pipe(pipes), 0);
    assert_true(baro_tape_open_fd(&t, pipes[0], "it", &err) < 0);
    assert_string_equal(err.text, "it is not a regular file");
    close(pipes[0]);
    close(pipes[1]);
    free(data);
}

/* A process that is not listed as changed has the values of the previous sample. */
TEST(changed)
{
    struct baro_record r;
    struct baro_sample *before = NULL;
    size_t unchanged = 0;
    struct baro_tape *t = tape_opened(f.path);
    while (baro_tape_next(t, &r, NULL) > 0) {
        const struct baro_sample *s = r.u.sample;
        size_t next = baro_sample_next_changed(s, 0);
        for (size_t i = 0; i < baro_sample_rows(s, BARO_KIND_PROCESS); i++) {
            const struct baro_row *p = baro_sample_row(s, BARO_KIND_PROCESS, i);
            assert_ptr_equal(baro_sample_find_id(s, BARO_KIND_PROCESS, baro_row_id(p)), p);
            if (i == next) {
                next = baro_sample_next_changed(s, i + 1);
                continue;
            }
            const struct baro_row *before_row =
                before ? baro_sample_find_id(before, BARO_KIND_PROCESS, baro_row_id(p)) : NULL;
            assert_non_null(before_row);
            const struct baro_process *old = row_process(before_row), *now = row_process(p);
            assert_memory_equal(old->value, now->value, sizeof now->value);
            assert_memory_equal(old->absent, now->absent, sizeof now->absent);
            assert_string_equal(old->name, now->name);
            unchanged++;
        }
        assert_int_equal(next, baro_sample_rows(s, BARO_KIND_PROCESS));
        baro_sample_free(before);
        assert_int_equal(baro_sample_copy(s, &before, NULL), 0);
    }
    assert_true(unchanged > 100);
    baro_sample_free(before);
    baro_tape_close(t);
}

TEST(attributes)
{
    struct baro_event step = {.kind = BARO_EVENT_CLOCK_STEP,
                              .number = (uint64_t)-5,
                              .text = "the wall clock was set",
                              .t_ns = 9},
                      unknown = {.kind = (enum baro_event_kind)1000, .number = 3, .text = "x"},
                      cont = {.kind = BARO_EVENT_CONT, .text = ""};
    struct baro_attribute a;
    assert_string_equal(baro_event_kind_name(baro_event_kind_of(&step)), "clock_step");
    assert_int_equal(baro_event_t_ns(&step), 9);
    assert_int_equal(baro_event_attribute_count(&step), 2);
    assert_gives(baro_event_attribute_find(&step, "step_ns", &a), a.type, BARO_ATTRIBUTE_SIGNED);
    assert_int_equal(a.i64, -5);
    assert_gives(baro_event_attribute(&step, 1, &a), a.type, BARO_ATTRIBUTE_TEXT);
    assert_string_equal(a.text, "the wall clock was set");
    assert_int_equal(baro_event_attribute(&step, 2, &a), BARO_E_RANGE);
    assert_int_equal(baro_event_attribute_find(&step, "no_such", &a), BARO_E_RANGE);
    assert_int_equal(baro_event_attribute_count(&cont), 0);
    assert_gives(baro_event_attribute_find(&unknown, "number", &a), a.u64, 3);
}

static size_t read_on(struct baro_tape *t)
{
    struct baro_record r;
    size_t n = 0;
    while (baro_tape_next(t, &r, NULL) > 0)
        n += r.kind == BARO_RECORD_SAMPLE;
    return n;
}

static bool is_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

/* Follows a tape that is finished, or left without its footer. */
static void follow(const char *path, bool finish)
{
    struct tape_writer *w = new_tape(path, NULL);
    struct world *world = world_new(3);
    world_tick(world);
    tape_add(w, &world->sample);
    struct baro_tape *t = tape_opened(path);
    assert_int_equal(read_on(t), 1);
    while (baro_tape_wait(t, 0, NULL) == 1)
        assert_int_equal(read_on(t), 0);
    assert_int_equal(baro_tape_wait(t, 1, NULL), 0);
    int wakes = baro_tape_poll_fd(t);
    for (int i = 0; i < 10; i++) {
        assert_false(is_readable(wakes));
        world_tick(world);
        tape_add(w, &world->sample);
        assert_true(wakes < 0 || is_readable(wakes));
        assert_int_equal(baro_tape_wait(t, 10000, NULL), 1);
        assert_int_equal(read_on(t), 1);
        assert_int_equal(baro_tape_state(t), BARO_TAPE_RUNNING);
    }
    if (finish)
        assert_int_equal(tape_writer_finish(w, NULL), 0);
    tape_writer_free(w); /* closes the file, and so releases the lock */
    world_free(world);
    int r;
    while ((r = baro_tape_wait(t, 100000, NULL)) == 1)
        assert_int_equal(read_on(t), 0);
    assert_int_equal(r, BARO_E_ENDED);
    assert_int_equal(baro_tape_state(t), finish ? BARO_TAPE_ENDED : BARO_TAPE_CUT_OFF);
    baro_tape_close(t);
}

TEST(follow)
{
    follow(tape_path, true);
    follow(tape_path, false);
}

/* A tape without an index that is longer than the part that is walked: a block is found by bisection. */
enum { LONG_TICKS = 4000 };

static void write_long(const char *path)
{
    struct tape_writer *w = new_tape(path, NULL);
    struct world *world = world_new(12);
    for (int i = 0; i < LONG_TICKS; i++) {
        world_tick(world);
        tape_add(w, &world->sample);
    }
    tape_writer_free(w);
    world_free(world);
}

static void damage(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_then(fstat(fd, &st), st.st_size > 4 << 20);
    static const uint8_t junk[300000];
    assert_int_equal(pwrite(fd, junk, sizeof junk, st.st_size / 2), sizeof junk);
    close(fd);
}

/* What distinguishes each sample from the others. */
struct seen {
    uint64_t t_ns;
    size_t n;
};

static size_t read_all(const char *path, struct seen *ret)
{
    struct baro_record r;
    size_t n = 0;
    struct baro_tape *t = tape_opened(path);
    while (baro_tape_next(t, &r, NULL) > 0) {
        if (r.kind == BARO_RECORD_SAMPLE)
            ret[n++] = (struct seen){r.t_ns, baro_sample_rows(r.u.sample, BARO_KIND_PROCESS)};
    }
    baro_tape_close(t);
    return n;
}

static void expect_seek(struct baro_tape *t, const struct seen *seen, size_t n, uint64_t t_ns)
{
    struct baro_record r;
    size_t k = 0;
    while (k + 1 < n && seen[k + 1].t_ns <= t_ns)
        k++;
    assert_one(baro_tape_seek(t, t_ns, &r, NULL), r.t_ns, seen[k].t_ns);
    assert_int_equal(baro_sample_rows(r.u.sample, BARO_KIND_PROCESS), seen[k].n);
}

static void seek_long(const char *path)
{
    static struct seen seen[LONG_TICKS];
    size_t n = read_all(path, seen);
    uint64_t first = seen[0].t_ns, length = seen[n - 1].t_ns - first, random = 1;
    struct baro_tape *t = tape_opened(path);
    expect_seek(t, seen, n, UINT64_MAX);
    expect_seek(t, seen, n, 0);
    for (int i = 0; i < 60; i++) {
        random = random * 6364136223846793005ull + 1442695040888963407ull;
        expect_seek(t, seen, n, first + (random >> 16) % length);
    }
    for (size_t k = n; k-- > n - 100;) /* backwards, over the end of the part that was walked */
        expect_seek(t, seen, n, seen[k].t_ns);
    baro_tape_close(t);
}

TEST(without_index)
{
    write_long(tape_path);
    seek_long(tape_path);
    damage(tape_path);
    seek_long(tape_path);
}

static int set_up(void **state)
{
    snprintf(f.path, sizeof f.path, "/tmp/test_tape_at.%d.baro", (int)getpid());
    write_samples();
    return 0;
}

static int tear_down(void **state)
{
    log_free(&f.log);
    return unlink(f.path);
}

int main(void)
{
    return cmocka_run_group_tests(unit_tests, set_up, tear_down);
}
