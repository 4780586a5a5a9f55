/* SPDX-License-Identifier: Apache-2.0 */
/* What is written to a tape is read back bit for bit, in order, from the beginning and from any place. */

#include "unit.h"

#include <zstd.h>

#include "libbaro/tape/schema.h"
#include "tape_file.h"

#ifdef __SANITIZE_ADDRESS__
enum { TICKS = 2000 }; /* sanitizers take five times as long */
#else
enum { TICKS = 5000 };
#endif

static void write_extras(struct tape_writer *w, struct world *world, struct log *l)
{
    for (uint64_t i = world_below(world, 3); i > 0; i--) {
        struct baro_exit e;
        char name[16];
        world_exit(world, &e, name);
        tape_writer_exit(w, &e);
        log_add(l, BARO_RECORD_EXIT, e.t_ns)->whole = snapshot_exit(&e);
    }
    if (world_below(world, 3) == 0) {
        char *text = world_text(world, 50);
        struct baro_event e = {.t_ns = world->sample.t_ns + world_below(world, 1000),
                               .kind = (enum baro_event_kind)world_below(world, EVENT_KIND_COUNT),
                               .key = {(int32_t)world_below(world, 100), world_any(world)},
                               .number = world_any(world),
                               .text = text};
        e.attribute = world_attributes(world, &e.n_attributes);
        tape_writer_event(w, &e);
        log_add(l, BARO_RECORD_EVENT, e.t_ns)->whole = snapshot_event(&e);
        world_free_attributes(e.attribute, e.n_attributes);
        free(text);
    }
}

/* Sometimes the compressor is freed within a block, and several frames go on without it. */
static void write_world_by(struct tape_writer *w, unsigned ticks, uint64_t seed, struct log *l)
{
    struct world *world = world_new(seed);
    for (unsigned i = 0; i < ticks; i++) {
        if (i % 60 == 40)
            tape_writer_rest(w);
        if (i % 120 == 49)
            tape_writer_wake(w);
        write_extras(w, world, l);
        if (i % 50 == 7)
            tape_add(w, NULL);
        world_tick(world);
        tape_add(w, &world->sample);
        log_sample(l, &world->sample, 0);
    }
    tape_ended(w);
    world_free(world);
}

static void write_world(unsigned ticks, uint64_t seed, struct log *l)
{
    write_world_by(new_tape(tape_path, NULL), ticks, seed, l);
}

static void expect(const struct item *item, const struct baro_record *r, bool with_cmdline)
{
    assert_true(same_as(item, r, with_cmdline));
}

TEST(round_trip)
{
    struct log l = {0};
    struct baro_record r;
    write_world(TICKS, 1, &l);
    struct baro_tape *t = tape_opened(tape_path);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < l.n; i++) {
            assert_int_equal(baro_tape_next(t, &r, NULL), 1);
            expect(&l.at[i], &r, true);
        }
        assert_false(baro_tape_complete(t));
        assert_int_equal(baro_tape_next(t, &r, NULL), 0);
        assert_true(baro_tape_complete(t));
        assert_int_equal(baro_tape_damage(t), 0);
        assert_int_equal(baro_tape_rewind(t, NULL), 0);
    }
    baro_tape_close(t);
    log_free(&l);
}

static void expect_all(const struct log *l)
{
    struct baro_record r;
    struct baro_tape *t = tape_opened(tape_path);
    for (size_t i = 0; i < l->n; i++) {
        assert_int_equal(baro_tape_next(t, &r, NULL), 1);
        expect(&l->at[i], &r, true);
    }
    assert_int_equal(baro_tape_next(t, &r, NULL), 0);
    assert_int_equal(baro_tape_damage(t), 0);
    baro_tape_close(t);
}

TEST(round_trip_of_a_small_writer)
{
    struct log l = {0};
    struct tape_writer *w = new_tape(tape_path, NULL);
    tape_writer_small(w);
    write_world_by(w, TICKS / 5, 9, &l);
    expect_all(&l);
    log_free(&l);
}

/* Seeks one record of so many, in no order; with BARO_FULL (make check-full) all. */
static void seek_all(const struct log *l)
{
    struct baro_record r;
    struct baro_tape *t = tape_opened(tape_path);
    size_t first = 0;
    while (l->at[first].kind != BARO_RECORD_SAMPLE)
        first++;
    for (size_t i = 0; i < l->n; i += getenv("BARO_FULL") ? 1 : 5) {
        size_t at = (i * 7919) % l->n;
        const struct item *item = &l->at[at];
        if (item->kind != BARO_RECORD_SAMPLE)
            continue;
        assert_int_equal(baro_tape_seek(t, item->t_ns + at % 1000, &r, NULL), 1);
        expect(item, &r, false);
        if (at + 1 < l->n) {
            assert_one(baro_tape_next(t, &r, NULL), r.kind, l->at[at + 1].kind);
            assert_int_equal(r.t_ns, l->at[at + 1].t_ns);
        }
    }
    assert_one(baro_tape_seek(t, 0, &r, NULL), r.t_ns, l->at[first].t_ns);
    assert_int_equal(baro_tape_seek(t, UINT64_MAX, &r, NULL), 1);
    assert_int_equal(baro_tape_damage(t), 0);
    baro_tape_close(t);
}

TEST(seek)
{
    struct log l = {0};
    write_world(1500, 2, &l);
    seek_all(&l);
    /* Without a footer, as of a recorder that was killed, blocks are found by walking. */
    int fd = open(tape_path, O_RDWR);
    assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_END) - 1), 0);
    close(fd);
    seek_all(&l);
    log_free(&l);
}

/* The schema that was compressed by the build is this library's. */
TEST(schema_packed)
{
    struct buf schema = {0};
    unsigned char raw[1 << 16];
    schema_write(&schema);
    assert_int_equal(ZSTD_getFrameContentSize(schema_packed, schema_packed_len), schema.len);
    assert_int_equal(ZSTD_decompress(raw, sizeof raw, schema_packed, schema_packed_len), schema.len);
    assert_memory_equal(raw, schema.at, schema.len);
    buf_done(&schema);
}

/* What compresses well becomes more than a block may have, also without a sample: the writer goes on to a new one. */
TEST(much_in_few_bytes)
{
    enum { LONG = 120 << 10, MANY = 1300 };
    struct tape_writer *w = new_tape(tape_path, NULL);
    char *text = malloc(LONG);
    struct baro_event e = {.kind = BARO_EVENT_WARNING, .text = text};
    struct baro_record r;
    size_t n = 0;
    memset(text, 'a', LONG - 1);
    text[LONG - 1] = 0;
    for (e.t_ns = 0; e.t_ns < MANY; e.t_ns++) {
        tape_writer_event(w, &e);
        tape_add(w, NULL);
    }
    assert_int_equal(tape_writer_finish(w, NULL), 0);
    assert_true(tape_writer_bytes(w) < (uint64_t)LONG * MANY / 100);
    tape_writer_free(w);
    struct baro_tape *t = tape_opened(tape_path);
    for (; baro_tape_next(t, &r, NULL) == 1; n++)
        assert_int_equal(r.kind, BARO_RECORD_EVENT);
    assert_int_equal(n, MANY);
    assert_int_equal(baro_tape_damage(t), 0);
    baro_tape_close(t);
    free(text);
}

/* The exit of a process repeats its texts only if they differ from those of its last sample. Each of these ran another
 * program, or set other arguments, after that sample. */
TEST(texts_of_an_exit)
{
    static const struct {
        const char *name, *cmdline;
    } texts[] = {{"sh", "sh -c one"}, {"sh", "sh -c two"}, {"sh", "sh -c on"},
                 {"sh", ""},          {"sh", NULL},        {"dash", "sh -c one"}};
    enum { TEXTS = sizeof(texts) / sizeof(*texts) };
    struct baro_process p = {.id = 1, .key = {100, 7}, .name = (char *)"sh", .cmdline = (char *)"sh -c one"};
    struct baro_process *all[] = {&p};
    struct baro_sample sample = {.t_ns = 1000, .n = 1, .processes = all};
    struct baro_record r;
    struct tape_writer *w = new_tape(tape_path, NULL);
    tape_add(w, &sample);
    for (size_t i = 0; i < TEXTS; i++) {
        struct baro_exit e = {
            .t_ns = 2000 + i, .id = 1, .key = p.key, .name = texts[i].name, .cmdline = texts[i].cmdline};
        tape_writer_exit(w, &e);
    }
    tape_ended(w);
    struct baro_tape *t = tape_opened(tape_path);
    assert_int_equal(baro_tape_next(t, &r, NULL), 1);
    for (size_t i = 0; i < TEXTS; i++) {
        assert_one(baro_tape_next(t, &r, NULL), r.kind, BARO_RECORD_EXIT);
        assert_string_equal(baro_row_name(r.u.exit), texts[i].name);
        const char *cmdline = NULL;
        assert_int_equal(baro_row_cmdline(r.u.exit, &cmdline) != BARO_PRESENT, texts[i].cmdline == NULL);
        if (cmdline)
            assert_string_equal(cmdline, texts[i].cmdline);
    }
    baro_tape_close(t);
}
