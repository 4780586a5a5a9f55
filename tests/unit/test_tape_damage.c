/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged tapes: no wrong value is delivered, and all that is undamaged is. */
#include <errno.h>
#include <sys/stat.h>
#include <zstd.h>

#include "unit.h"
#include "baro/runs.h"
#include "base/crc32c.h"
#include "libbaro/tape/format.h"
#include "libbaro/tape/little.h"
#include "tape_file.h"

enum { SMALL = 100 };

/* Not each byte is tried, but one of so many; with BARO_FULL (make check-full) the smaller number applies. Sanitizers
 * take ten times as long. */
#ifdef __SANITIZE_ADDRESS__
enum { EVERY_FULL = 7, EVERY = 61 };
#else
enum { EVERY_FULL = 1, EVERY = 7 };
#endif

static size_t every(void)
{
    return getenv("BARO_FULL") ? EVERY_FULL : EVERY;
}

/* What write_small() wrote: its samples and its bytes. */
static struct log l;
static unsigned char *whole;
static size_t whole_len;

/* A tape of some blocks with few processes. Samples are a minute apart, so that blocks end soon. */
static void write_small(unsigned ticks)
{
    struct tape_writer *w = new_tape(tape_path, NULL);
    struct world *world = world_new(7);
    log_free(&l);
    l = (struct log){0};
    world->machine_every = 6;
    for (unsigned i = 0; i < ticks; i++) {
        world->sample.t_ns += 60000000000ull;
        world_tick(world);
        while (world->n > 3)
            world_died(world, 0);
        world->sample.n = world->n;
        tape_add(w, &world->sample);
        log_sample(&l, &world->sample, tape_writer_bytes(w));
    }
    tape_ended(w);
    world_free(world);
    free(whole);
    whole = slurp(tape_path, &whole_len);
}

static void put_file(const unsigned char *at, size_t len)
{
    int fd = open(tape_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, at, len), len);
    close(fd);
}

/* Reads all; each sample must be one of the log's, in order. Returns how many, and marks them. */
static size_t read_all(bool *seen)
{
    struct baro_tape *t;
    struct baro_record r;
    size_t n = 0, at = 0;
    if (baro_tape_open(&t, tape_path, NULL) < 0)
        return 0;
    while (baro_tape_next(t, &r, NULL) == 1) {
        if (r.kind != BARO_RECORD_SAMPLE)
            continue;
        while (at < l.n && l.at[at].t_ns != r.t_ns)
            at++;
        assert_true(at < l.n);
        assert_true(same_as(&l.at[at], &r, false));
        if (seen)
            seen[at] = true;
        n++;
    }
    baro_tape_close(t);
    return n;
}

TEST(cut_anywhere)
{
    write_small(SMALL);
    assert_int_equal(read_all(NULL), SMALL);
    for (size_t cut = whole_len; cut-- > 0; cut -= cut % every()) {
        assert_int_equal(truncate(tape_path, (off_t)cut), 0);
        size_t expected = 0;
        while (expected < l.n && l.at[expected].end <= cut)
            expected++;
        assert_int_equal(read_all(NULL), expected);
    }
}

struct extent {
    size_t from, to;
};

/* Positions where blocks begin; the last one ends where the footer begins. */
static size_t find_blocks(struct extent *ret, size_t max, size_t *ret_front)
{
    struct frame_head head;
    size_t n = 0;
    *ret_front = 0;
    for (size_t pos = TAPE_PREAMBLE_SIZE; pos < whole_len; pos += FRAME_HEAD_SIZE + head.len) {
        assert_true(frame_head_parse(whole + pos, &head));
        if ((head.type == FRAME_BLOCK || head.type == FRAME_FOOTER) && n > 0)
            ret[n - 1].to = pos;
        if (head.type == FRAME_BLOCK) {
            if (n == 0)
                *ret_front = pos;
            assert_true(n < max);
            ret[n++].from = pos;
        }
    }
    return n;
}

static bool in_block(const struct extent *blocks, size_t n, size_t pos, uint64_t end)
{
    for (size_t i = 0; i < n; i++)
        if (pos >= blocks[i].from && pos < blocks[i].to)
            return end > blocks[i].from && end <= blocks[i].to;
    return false;
}

TEST(flip_anywhere)
{
    struct extent blocks[64];
    size_t front;
    write_small(SMALL);
    size_t n = find_blocks(blocks, 64, &front);
    assert_true(n >= 3);
    int fd = open(tape_path, O_WRONLY);
    for (size_t pos = 0; pos < whole_len; pos += every()) {
        bool seen[SMALL] = {false};
        unsigned char bad = whole[pos] ^ (unsigned char)(1 + pos * 31 % 255);
        assert_int_equal(pwrite(fd, &bad, 1, (off_t)pos), 1);
        read_all(seen);
        for (size_t i = 0; pos >= front && i < l.n; i++)
            if (!in_block(blocks, n, pos, l.at[i].end))
                assert_true(seen[i]);
        assert_int_equal(pwrite(fd, &whole[pos], 1, (off_t)pos), 1);
    }
    close(fd);
}

TEST(torn_middle)
{
    struct extent blocks[64];
    size_t front, damaged = 0, samples = 0;
    struct baro_record r;
    write_small(SMALL);
    find_blocks(blocks, 64, &front);
    memset(whole + blocks[1].from + 5, 0, blocks[1].to - blocks[1].from - 10);
    put_file(whole, whole_len);
    struct baro_tape *t = tape_opened(tape_path);
    while (baro_tape_next(t, &r, NULL) == 1) {
        damaged += r.kind == BARO_RECORD_DAMAGE;
        samples += r.kind == BARO_RECORD_SAMPLE;
    }
    assert_int_equal(damaged, 1);
    assert_int_equal(baro_tape_damage(t), blocks[1].to - blocks[1].from);
    assert_true(baro_tape_complete(t));
    size_t lost = 0;
    for (size_t i = 0; i < l.n; i++) {
        bool gone = in_block(blocks, 64, blocks[1].from, l.at[i].end);
        lost += gone;
        assert_int_equal(baro_tape_seek(t, l.at[i].t_ns, &r, NULL), 1);
        if (!gone)
            assert_true(same_as(&l.at[i], &r, false));
        else
            assert_true(r.t_ns < l.at[i].t_ns);
    }
    assert_int_equal(samples, l.n - lost);
    /* Damage that seeking finds is not counted again. */
    assert_int_equal(baro_tape_damage(t), blocks[1].to - blocks[1].from);
    baro_tape_close(t);
}

/* The frames of a block are one stream of zstd: without one of them, the rest of the block is not read. */
TEST(frame_is_gone)
{
    struct extent blocks[64];
    struct frame_head head;
    size_t front;
    bool seen[SMALL] = {false};
    write_small(SMALL);
    find_blocks(blocks, 64, &front);
    assert_true(frame_head_parse(whole + blocks[1].from, &head));
    size_t second = blocks[1].from + FRAME_HEAD_SIZE + head.len;
    assert_true(frame_head_parse(whole + second, &head) && head.type != FRAME_BLOCK);
    size_t third = second + FRAME_HEAD_SIZE + head.len;
    assert_true(third < blocks[1].to);
    memmove(whole + second, whole + third, whole_len - third);
    put_file(whole, whole_len - (third - second));
    read_all(seen);
    for (size_t i = 0; i < l.n; i++)
        assert_int_equal(seen[i], !in_block(blocks, 64, blocks[1].from, l.at[i].end) || l.at[i].end <= second);
}

static int open_code(const char *name)
{
    struct baro_tape *t = NULL;
    struct baro_error err = BARO_ERROR_INIT;
    int r = baro_tape_open(&t, name, &err);
    assert_int_equal(err.code, r);
    assert_true(r < 0 && err.text[0] && !strchr(err.text, '\n'));
    return r;
}

/* A frame in the middle of a block is gone, so the samples before it can be read, and those after it can't. Seeking to
 * the time of a sample finds that one where it can be read, else the last one that can. A nanosecond earlier is the
 * time of the one before. */
TEST(seek_in_a_damaged_block)
{
    struct extent blocks[64];
    struct frame_head head;
    size_t front, before = 0, lost = 0;
    bool seen[SMALL] = {false};
    struct baro_record r;
    write_small(SMALL);
    find_blocks(blocks, 64, &front);
    size_t at = blocks[1].from;
    for (int i = 0; i < 3; i++) {
        assert_true(frame_head_parse(whole + at, &head));
        at += FRAME_HEAD_SIZE + head.len;
    }
    assert_true(at < blocks[1].to);
    whole[at + FRAME_HEAD_SIZE] ^= 1;
    put_file(whole, whole_len);
    read_all(seen);
    struct baro_tape *t = tape_opened(tape_path);
    for (size_t i = 0; i < l.n; i++) {
        if (i > 0) {
            assert_int_equal(baro_tape_seek(t, l.at[i].t_ns - 1, &r, NULL), 1);
            assert_true(same_as(&l.at[before], &r, false));
        }
        before = seen[i] ? i : before;
        lost += !seen[i];
        assert_int_equal(baro_tape_seek(t, l.at[i].t_ns, &r, NULL), 1);
        assert_true(same_as(&l.at[before], &r, false));
    }
    assert_true(seen[0] && lost > 0);
    baro_tape_close(t);
}

TEST(not_a_tape)
{
    unlink(tape_path);
    assert_int_equal(open_code(tape_path), -ENOENT);
    put_file((const unsigned char *)"", 0);
    assert_int_equal(open_code(tape_path), BARO_E_EMPTY);
    put_file((const unsigned char *)"time,cpu\n", 9);
    assert_int_equal(open_code(tape_path), BARO_E_NOT_TAPE);
    put_file((const unsigned char *)"\x89PNG", 4);
    assert_int_equal(open_code(tape_path), BARO_E_NOT_TAPE);
    assert_int_equal(open_code("/tmp"), -EISDIR);
    assert_int_equal(open_code("/dev/null"), -EINVAL);
    unlink(tape_path);
    assert_int_equal(mkfifo(tape_path, 0600), 0);
    assert_int_equal(open_code(tape_path), -EINVAL);
    unlink(tape_path);
}

TEST(newer)
{
    write_small(5);
    uint8_t preamble[TAPE_PREAMBLE_SIZE];
    /* A later format that this reader can still read, with a frame that it does not know ... */
    struct frame_seed seed = frame_seed(whole + 12);
    struct frame_head head;
    assert_true(frame_head_parse(whole + TAPE_PREAMBLE_SIZE, &head));
    size_t at = TAPE_PREAMBLE_SIZE + FRAME_HEAD_SIZE + head.len;
    unsigned char unknown[FRAME_HEAD_SIZE + 3] = {0};
    frame_seal(unknown, (enum frame_type)77, 9, 3, seed);
    unsigned char *newer = malloc(whole_len + sizeof unknown);
    memcpy(newer, whole, at);
    memcpy(newer + at, unknown, sizeof unknown);
    memcpy(newer + at + sizeof unknown, whole + at, whole_len - at);
    put_file(newer, whole_len + sizeof unknown);
    assert_int_equal(read_all(NULL), 5);
    free(newer);
    /* ... and one that it can't read. */
    tape_preamble(preamble, whole + 12);
    assert_memory_equal(preamble, whole, sizeof preamble);
    put_le16(whole + 10, TAPE_FORMAT + 1);
    put_file(whole, whole_len);
    assert_int_equal(open_code(tape_path), BARO_E_CORRUPT);
    put_le32(whole + 20, crc32c(0, whole, 20));
    put_file(whole, whole_len);
    assert_int_equal(open_code(tape_path), BARO_E_VERSION);
}

/* Tapes of the time before version 1 was final: one line says what they are. */
TEST(older)
{
    struct baro_tape *t = NULL;
    struct baro_error err = BARO_ERROR_INIT;
    uint8_t preamble[TAPE_PREAMBLE_SIZE + 40] = {0};
    tape_preamble(preamble, (const uint8_t *)"12345678");
    memcpy(preamble, "\211BARO\r\n\032", TAPE_MAGIC_SIZE);
    put_le32(preamble + 20, crc32c(0, preamble, 20));
    put_file(preamble, sizeof preamble);
    assert_int_equal(baro_tape_open(&t, tape_path, &err), BARO_E_VERSION);
    assert_non_null(strstr(err.text, "development version before 0.1"));
    assert_null(strchr(err.text, '\n'));
}

/* Appends frames of a block to the front of a tape, each with one record of zeros, of a kind that this library does not
 * know, and returns what is read. */
static int read_zeros(size_t front, unsigned frames, size_t zeros, int window_log)
{
    enum { HEAD = 6 };
    unsigned char *raw = calloc(1, zeros);
    for (unsigned i = 0; i < 5; i++) /* its length, in five bytes */
        raw[1 + i] = (unsigned char)((zeros - HEAD) >> 7 * i & 0x7f) | (i < 4 ? 0x80 : 0);
    size_t bound = ZSTD_compressBound(zeros), at = front;
    unsigned char *tape = calloc(frames, front + FRAME_HEAD_SIZE + 8 + bound);
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    memcpy(tape, whole, front);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, 1);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_contentSizeFlag, 0); /* else the window of a short one is as long as that */
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, window_log);
    for (unsigned i = 0; i < frames; i++) {
        size_t skip = i ? 0 : 8;
        ZSTD_inBuffer in = {raw, zeros, 0};
        ZSTD_outBuffer out = {tape + at + FRAME_HEAD_SIZE + skip, bound, 0};
        while (ZSTD_compressStream2(zstd, &out, &in, i + 1 < frames ? ZSTD_e_flush : ZSTD_e_end))
            assert_true(out.pos < out.size);
        frame_seal(tape + at, i ? FRAME_TICK : FRAME_BLOCK, (uint8_t)i, (uint32_t)(out.pos + skip),
                   frame_seed(whole + 12));
        at += FRAME_HEAD_SIZE + skip + out.pos;
    }
    put_file(tape, at);
    struct baro_record r;
    struct baro_tape *t = tape_opened(tape_path);
    int code = baro_tape_next(t, &r, NULL), kind = code == 1 ? (int)r.kind : code;
    assert_true(code <= 0 || baro_tape_next(t, &r, NULL) == 0);
    baro_tape_close(t);
    ZSTD_freeCCtx(zstd);
    free(tape);
    free(raw);
    return kind;
}

/* What decompresses to much more than its size. Each limit is exceeded alone, and the one below it is not: of the
 * window, of a frame, of a block. */
TEST(bomb)
{
    enum { MIB = 1 << 20, LOG = TAPE_WINDOW_LOG };
    size_t front;
    write_small(5);
    struct extent blocks[8];
    find_blocks(blocks, 8, &front);
    assert_int_equal(read_zeros(front, 1, MIB, LOG), 0);
    assert_int_equal(read_zeros(front, 1, MIB, LOG + 1), BARO_RECORD_DAMAGE);
    assert_int_equal(read_zeros(front, 1, FRAME_RAW_MAX, LOG), 0);
    assert_int_equal(read_zeros(front, 1, FRAME_RAW_MAX + 1, LOG), BARO_RECORD_DAMAGE);
    assert_int_equal(read_zeros(front, 2, FRAME_RAW_MAX, LOG), 0);
    assert_int_equal(read_zeros(front, 3, BLOCK_RAW_MAX / 3 + 1, LOG), BARO_RECORD_DAMAGE);
}

/* A reader that follows sees the file grow by any number of bytes; it must wait for the rest of each frame, and miss
 * none. */
TEST(follow)
{
    size_t n = 0;
    struct baro_tape *t = NULL;
    struct baro_record r;
    struct baro_error err = BARO_ERROR_INIT;
    write_small(SMALL);
    put_file(whole, 0);
    int fd = open(tape_path, O_WRONLY | O_APPEND);
    for (size_t at = 0, step = 1; at < whole_len; at += step, step = 1 + at * 7919 % 97) {
        step = step < whole_len - at ? step : whole_len - at;
        assert_int_equal(write(fd, whole + at, step), step);
        if (!t && baro_tape_open(&t, tape_path, &err) < 0) {
            assert_int_equal(err.code, BARO_E_EMPTY);
            continue;
        }
        int got;
        while ((got = baro_tape_next(t, &r, &err)) == 1) {
            assert_int_equal(r.kind, BARO_RECORD_SAMPLE);
            assert_true(same_as(&l.at[n++], &r, true));
        }
        assert_int_equal(got, 0);
        assert_true(n == l.n || l.at[n].end > at + step);
    }
    assert_int_equal(n, l.n);
    assert_true(baro_tape_complete(t));
    assert_int_equal(baro_tape_damage(t), 0);
    baro_tape_close(t);
    close(fd);
}

/* Another process cuts the file that a cursor has open, also within the header, and writes it again. All calls return;
 * what they read of the rest is not checked. */
TEST(cut_while_open)
{
    struct baro_tape_end end = {.size = sizeof(end)};
    struct baro_record r;
    struct baro_sample *s;
    uint64_t first, last;
    write_small(SMALL);
    const size_t sizes[] = {0, 1, 10, 500, 1374, whole_len / 3, whole_len - TAPE_END_SIZE, whole_len - 1};
    alarm(120); /* a call that never returns */
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct baro_tape *t = NULL;
        put_file(whole, whole_len);
        t = tape_opened(tape_path);
        assert_int_equal(baro_tape_seek(t, l.at[l.n / 2].t_ns, &r, NULL), 1);
        assert_int_equal(truncate(tape_path, (off_t)sizes[i]), 0);
        (void)baro_tape_read_end(t, &end, NULL);
        (void)baro_tape_range(t, &first, &last, NULL);
        (void)baro_tape_seek(t, l.at[l.n - 1].t_ns, &r, NULL);
        (void)baro_tape_previous(t, &r, NULL);
        if (baro_tape_at(t, l.at[0].t_ns, BARO_AT_BEFORE, &s, NULL) == 1)
            baro_sample_free(s);
        int fd = open(tape_path, O_WRONLY);
        assert_int_equal(pwrite(fd, whole, whole_len, 0), whole_len);
        close(fd);
        end = (struct baro_tape_end){.size = sizeof(end)};
        assert_int_equal(baro_tape_read_end(t, &end, NULL), 0);
        baro_tape_close(t);
    }
    alarm(0);
}
