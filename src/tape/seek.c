/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tape/cursor.h"
#include "tape/little.h"
#include "tape/tail.h"

enum { TAIL_BLOCKS = 4 };

static int add_block(struct baro_tape *t, uint64_t t_ns, uint64_t offset)
{
    if (t->n_blocks == t->cap_blocks) {
        size_t cap = t->cap_blocks ? t->cap_blocks * 2 : 64;
        struct tape_block *grown = realloc(t->blocks, cap * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        t->blocks = grown;
        t->cap_blocks = cap;
    }
    t->blocks[t->n_blocks++] = (struct tape_block){t_ns, offset};
    return 0;
}

static int scan_index(struct baro_tape *t, struct span in)
{
    uint64_t skip, n, change, t_ns = 0, offset = 0;
    int64_t dt;
    for (int i = 0; i < 4; i++)
        if (!scan_varint(&in, &skip))
            return BARO_E_CORRUPT;
    if (!scan_varint(&in, &n) || n > in.len / 2)
        return BARO_E_CORRUPT;
    for (; n > 0; n--) {
        if (!scan_zigzag(&in, &dt) || !scan_varint(&in, &change))
            return BARO_E_CORRUPT;
        t_ns += (uint64_t)dt;
        offset += change;
        int r = add_block(t, t_ns, offset);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Do the entries of the index point to ever later places behind the front? */
static bool index_rises(const struct baro_tape *t)
{
    for (size_t i = 0; i < t->n_blocks; i++) {
        if (t->blocks[i].offset < t->first || (i > 0 && t->blocks[i].offset <= t->blocks[i - 1].offset))
            return false;
    }
    return true;
}

/* Is there a block of that time where the index says? Asked of an entry when it is used: to ask all of them when the
 * tape is opened reads a page of the file for each. */
static bool block_holds(struct baro_tape *t, size_t i)
{
    struct frame_head head;
    const uint8_t *payload;
    return i >= t->n_indexed ||
           (file_peek(t, t->blocks[i].offset, 8, &head, &payload) == FRAME_GOOD && head.type == FRAME_BLOCK &&
            head.len >= 8 && get_le64(payload) == t->blocks[i].t_ns);
}

static void forget_index(struct baro_tape *t)
{
    t->n_blocks = t->n_indexed = 0;
    t->walked = t->first;
}

static int load_index(struct baro_tape *t)
{
    const uint8_t *p;
    size_t len;
    struct frame_head head;
    if (t->size < t->first + FRAME_HEAD_SIZE + TAPE_END_SIZE)
        return 0;
    int r = file_view(t, t->size - TAPE_END_SIZE, TAPE_END_SIZE, &p, &len);
    if (r < 0 || len < TAPE_END_SIZE || memcmp(p + 4, TAPE_END_MARK, TAPE_END_MARK_SIZE) != 0)
        return r;
    uint64_t size = get_le32(p);
    if (size > t->size - t->first)
        return 0;
    uint64_t at = t->size - size;
    r = file_frame(t, at, &head, &p);
    if (r < 0)
        return r;
    if (r != FRAME_GOOD || head.type != FRAME_FOOTER || FRAME_HEAD_SIZE + (uint64_t)head.len != size)
        return 0;
    r = scan_index(t, span_of(p, head.len));
    if (r == -ENOMEM)
        return r;
    if (r < 0 || !index_rises(t)) {
        t->n_blocks = 0;
        return 0;
    }
    t->n_indexed = t->n_blocks;
    t->walked = at;
    return 0;
}

/* Walks the frame heads from where the last walk ended. Where there is no valid head, it searches the next good frame.
 */
static int walk(struct baro_tape *t)
{
    uint64_t before = 0;
    for (;;) {
        struct frame_head head;
        const uint8_t *payload;
        int r = file_peek(t, t->walked, 8, &head, &payload);
        if (r < 0)
            return r;
        uint64_t end = r == FRAME_GOOD ? t->walked + FRAME_HEAD_SIZE + head.len : UINT64_MAX;
        if (end <= t->size) {
            if (head.type == FRAME_BLOCK && head.len >= 8 && (r = add_block(t, get_le64(payload), t->walked)) < 0)
                return r;
            before = t->walked;
            t->walked = end;
            continue;
        }
        /* No head here, or its length points behind the end of the file: the tape is truncated, or not complete yet, or
         * the length of the frame before was wrong. */
        uint64_t at, scan_end = t->scan_end,
                     bad = before && file_frame(t, before, &head, &payload) != FRAME_GOOD ? before : t->walked;
        r = file_find(t, before ? before + 1 : t->walked, &at);
        t->scan_end = scan_end;
        if (r <= 0)
            return r;
        r = repair_frame(t, bad, at);
        if (r < 0)
            return r;
        if (r == 1) {
            t->walked = bad;
            continue;
        }
        t->walked = at;
        while (t->n_blocks > 0 && t->blocks[t->n_blocks - 1].offset >= at)
            t->n_blocks--;
        t->n_indexed = t->n_indexed < t->n_blocks ? t->n_indexed : t->n_blocks;
    }
}

static int find_blocks(struct baro_tape *t)
{
    int r = file_look(t);
    if (r == 0 && !t->index_tried) {
        t->index_tried = true;
        r = load_index(t);
    }
    return r < 0 ? r : walk(t);
}

static void go_to(struct baro_tape *t, uint64_t offset)
{
    decode_reset(t);
    t->pos = offset;
    t->scan_end = 0;
}

/* Reads up to the n-th sample from here. If n is 0, counts the samples up to t_ns into *ret_count instead. */
static int run_to(struct baro_tape *t, uint64_t n, uint64_t t_ns, uint64_t *ret_count, struct baro_record *ret,
                  struct baro_error *err)
{
    uint64_t count = 0;
    for (;;) {
        int r = baro_tape_next(t, ret, err);
        if (r == 1 && ret->kind != BARO_RECORD_SAMPLE)
            continue;
        if (r == 1 && n == 0 && ret->t_ns <= t_ns) {
            *ret_count = ++count;
            continue;
        }
        if (r <= 0 || n == 0 || ++count == n)
            return r;
    }
}

/* Counts the samples of block k up to t_ns by the times in their records, without decoding what they hold. Returns
 * whether that is possible: no frame of it is damaged. */
static bool count_by_times(struct baro_tape *t, size_t k, uint64_t t_ns, uint64_t *ret)
{
    uint64_t end = k + 1 < t->n_blocks ? t->blocks[k + 1].offset : t->walked;
    bool later = false;
    for (uint64_t at = t->blocks[k].offset; at < end && !later;) {
        struct frame_head head;
        const uint8_t *payload;
        if (file_in_time(t) < 0 || file_frame(t, at, &head, &payload) != FRAME_GOOD)
            return false;
        at += FRAME_HEAD_SIZE + (uint64_t)head.len;
        if ((head.type == FRAME_BLOCK || head.type == FRAME_TICK) &&
            (decode_start(t, &head, payload) != 0 || !decode_times(t, t_ns, ret, &later)))
            return false;
    }
    return true;
}

/* The same by decoding them, which steps over damage. */
static int count_by_decoding(struct baro_tape *t, size_t k, uint64_t t_ns, uint64_t *ret, struct baro_error *err)
{
    struct baro_record record;
    *ret = 0;
    go_to(t, t->blocks[k].offset);
    int r = run_to(t, 0, t_ns, ret, &record, err);
    return r < 0 ? r : 0;
}

/* Moves to the last sample of block k up to t_ns. Returns 1, 0 if it has none, or a negative code. */
static int seek_block(struct baro_tape *t, size_t k, uint64_t t_ns, struct baro_record *ret, struct baro_error *err)
{
    uint64_t count = 0;
    int r = 0;
    go_to(t, t->blocks[k].offset);
    bool counted = count_by_times(t, k, t_ns, &count);
    go_to(t, t->blocks[k].offset);
    if (counted && count == 0)
        return 0;
    /* Stops at the end of this block: a tape of empty blocks is not read to its end from each of them. */
    t->stop_at = k + 1 < t->n_blocks ? t->blocks[k + 1].offset : 0;
    if (counted)
        r = run_to(t, count, 0, NULL, ret, err);
    if (r == 0) { /* damaged */
        r = count_by_decoding(t, k, t_ns, &count, err);
        t->stop_at = 0;
        go_to(t, t->blocks[k].offset);
        if (r == 0 && count > 0)
            r = run_to(t, count, 0, NULL, ret, err);
    }
    t->stop_at = 0;
    return r;
}

static int seek(struct baro_tape *t, uint64_t t_ns, struct baro_record *ret, struct baro_error *err)
{
    for (size_t k = t->n_blocks; k > 0; k--) {
        if (t->blocks[k - 1].t_ns > t_ns)
            continue;
        int r;
        if (!block_holds(t, k - 1)) {
            forget_index(t);
            r = walk(t);
            if (r < 0)
                return error_set(err, r, "can't read the tape: %s", strerror(-r));
            k = t->n_blocks + 1;
            continue;
        }
        r = seek_block(t, k - 1, t_ns, ret, err);
        if (r != 0)
            return r;
    }
    go_to(t, t->first);
    return run_to(t, 1, 0, NULL, ret, err);
}

/* What is sought is in this segment. */
static void stay(struct baro_tape *t, bool yes)
{
    if (t->segments)
        t->segments->stay = yes;
}

int baro_tape_seek(struct baro_tape *t, uint64_t t_ns, struct baro_record *ret, struct baro_error *err)
{
    memset(ret, 0, sizeof *ret);
    int r = segments_enter_at(t, t_ns, err);
    if (r < 0)
        return r;
    r = find_blocks(t);
    if (r < 0)
        return error_set(err, r, "can't read the tape: %s", strerror(-r));
    uint64_t damage = t->damage;
    bool complete = t->complete;
    stay(t, true);
    r = seek(t, t_ns, ret, err);
    stay(t, false);
    t->sample.moved = NULL; /* relative to the sample delivered before, any process may have changed */
    t->damage = damage;     /* damage counts when it is read, not while seeking */
    t->complete = complete;
    return r;
}

/* Finds the n-th last block (0: the last) among the frames from `from` on. Returns 1, 0 if there are not so many, or
 * -errno. */
static int last_blocks(struct baro_tape *t, uint64_t from, unsigned n, uint64_t *ret_at)
{
    uint64_t found[TAIL_BLOCKS] = {0};
    size_t count = 0;
    for (uint64_t at = from;;) {
        struct frame_head head;
        const uint8_t *payload;
        int r = file_frame(t, at, &head, &payload);
        if (r == FRAME_GOOD) {
            if (head.type == FRAME_BLOCK)
                found[count++ % TAIL_BLOCKS] = at;
            at += FRAME_HEAD_SIZE + (uint64_t)head.len;
            continue;
        }
        uint64_t scan_end = t->scan_end;
        if (r >= 0)
            r = file_find(t, at + 1, &at);
        t->scan_end = scan_end;
        if (r < 0)
            return r;
        if (r == 0)
            break;
    }
    if (count > n)
        *ret_at = found[(count - 1 - n) % TAIL_BLOCKS];
    return count > n;
}

/* In this file. */
static int seek_tail(struct baro_tape *t, unsigned n, struct baro_error *err)
{
    enum { FIRST_LOOK = 256 << 10, MORE = 8 };
    uint64_t at = 0;
    int r = file_look(t);
    if (r == 0 && !t->index_tried) {
        t->index_tried = true;
        r = load_index(t);
    }
    bool found = r == 0 && n < t->n_blocks && block_holds(t, t->n_blocks - 1 - n);
    if (found)
        at = t->blocks[t->n_blocks - 1 - n].offset;
    for (uint64_t look = FIRST_LOOK; r == 0 && !found; look *= MORE) {
        bool whole = look >= t->size - t->first;
        r = last_blocks(t, whole ? t->first : t->size - look, n, &at);
        found = r == 1;
        r = r < 0 ? r : 0;
        if (whole)
            break;
    }
    if (r < 0)
        return error_set(err, r, "can't read the tape: %s", strerror(-r));
    go_to(t, found ? at : t->first);
    return found;
}

int tape_seek_tail(struct baro_tape *t, unsigned n, struct baro_error *err)
{
    int r = segments_enter_end(t, false, err);
    while (r >= 0) {
        r = seek_tail(t, n, err);
        if (r != 0 || !t->segments)
            return r;
        if ((r = find_blocks(t)) < 0)
            return error_set(err, r, "can't read the tape: %s", strerror(-r));
        n -= n < t->n_blocks ? n : (unsigned)t->n_blocks;
        r = segments_enter_before(t, err);
        if (r == 0)
            return 0;
    }
    return r;
}
