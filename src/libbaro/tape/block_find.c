/* SPDX-License-Identifier: Apache-2.0 */
/* Where the blocks of a tape's file are: from its index, by walking over its frames, or by bisection. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "libbaro/tape/cursor.h"
#include "libbaro/tape/little.h"

enum { WALK_BYTES = 1 << 20 };

static int add_block(struct baro_tape *t, uint64_t t_ns, uint64_t offset)
{
    if (array_reserve(&t->blocks, t->n_blocks + 1, &t->cap_blocks, sizeof(*t->blocks)) < 0)
        return -ENOMEM;
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

/* Do the offsets and times of the index rise? */
static bool index_rises(const struct baro_tape *t)
{
    for (size_t i = 0; i < t->n_blocks; i++) {
        if (t->blocks[i].offset < t->first || (i > 0 && t->blocks[i].offset <= t->blocks[i - 1].offset))
            return false;
    }
    return true;
}

bool block_holds(struct baro_tape *t, size_t i)
{
    struct frame_head head;
    const uint8_t *payload;
    return i >= t->n_indexed || (file_peek(t, t->blocks[i].offset, 8, &head, &payload) == FRAME_GOOD &&
                                 head.type == FRAME_BLOCK && head.len >= 8 && get_le64(payload) == t->blocks[i].t_ns);
}

/* Forgets all blocks. The next walk begins at this offset. */
static void forget(struct baro_tape *t, uint64_t from)
{
    t->n_blocks = t->n_indexed = 0;
    t->known_from = t->walked = from;
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
    if (size > file_rest(t, t->first)) /* the file may have become shorter */
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

/* Reads the heads of frames from where the last walk ended, up to the first block after t_ns. If there is no valid
 * head, it searches for the next good frame. */
static int walk(struct baro_tape *t, uint64_t t_ns)
{
    uint64_t before = 0;
    while (t->n_blocks == 0 || t->blocks[t->n_blocks - 1].t_ns <= t_ns) {
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
        /* There is no head here, or its length exceeds the file: the tape is truncated, or not complete yet, or the
         * length of the frame before was wrong. */
        uint64_t at, scan_end = t->scan_end;
        r = file_find(t, before ? before + 1 : t->walked, &at);
        t->scan_end = scan_end;
        if (r <= 0)
            return r;
        t->walked = at;
        while (t->n_blocks > 0 && t->blocks[t->n_blocks - 1].offset >= at)
            t->n_blocks--;
        t->n_indexed = t->n_indexed < t->n_blocks ? t->n_indexed : t->n_blocks;
    }
    return 0;
}

int block_find(struct baro_tape *t, uint64_t *at, uint64_t end, struct tape_block *ret)
{
    while (*at < end) {
        struct frame_head head;
        const uint8_t *payload;
        int r = file_frame(t, *at, &head, &payload);
        if (r == FRAME_GOOD) {
            bool is_block = head.type == FRAME_BLOCK && head.len >= 8;
            if (is_block)
                *ret = (struct tape_block){get_le64(payload), *at};
            *at += FRAME_HEAD_SIZE + (uint64_t)head.len;
            if (is_block)
                return 1;
            continue;
        }
        uint64_t scan_end = t->scan_end;
        if (r >= 0)
            r = file_find(t, *at + 1, at);
        t->scan_end = scan_end;
        if (r <= 0)
            return r;
    }
    return 0;
}

/* Finds a block at or before t_ns by bisection, so that the walk can begin there. A tape that is being written has no
 * index, and walking over all frames takes 50 ms and more for a day of 1,000 processes. */
static int skip_to(struct baro_tape *t, uint64_t t_ns)
{
    struct tape_block middle;
    uint64_t from = t->first, end = t->size;
    while (end > from && end - from > WALK_BYTES) {
        uint64_t half = from + (end - from) / 2, at = half;
        int r = block_find(t, &at, end, &middle);
        if (r < 0)
            return r;
        if (r == 1 && middle.t_ns <= t_ns)
            from = middle.offset;
        else
            end = half;
    }
    forget(t, from);
    return 0;
}

/* Can the walk continue from where it ended, to find the block of t_ns? */
static bool walk_reaches(const struct baro_tape *t, uint64_t t_ns)
{
    bool begins = t->known_from == t->first || (t->n_blocks > 0 && t->blocks[0].t_ns <= t_ns);
    bool ends = t->n_blocks > 0 && t->blocks[t->n_blocks - 1].t_ns > t_ns;
    return begins && (ends || file_rest(t, t->walked) <= WALK_BYTES);
}

int blocks_read_index(struct baro_tape *t)
{
    int r = file_look(t);
    if (r == 0 && !t->index_tried) {
        t->index_tried = true;
        r = load_index(t);
    }
    return r;
}

int blocks_find(struct baro_tape *t, uint64_t t_ns)
{
    int r = blocks_read_index(t);
    if (r == 0 && !walk_reaches(t, t_ns))
        r = skip_to(t, t_ns);
    return r < 0 ? r : walk(t, t_ns);
}

int blocks_find_all(struct baro_tape *t)
{
    int r = blocks_read_index(t);
    if (r == 0 && t->known_from != t->first)
        forget(t, t->first);
    return r < 0 ? r : walk(t, UINT64_MAX);
}

int blocks_find_anew(struct baro_tape *t)
{
    forget(t, t->first);
    return walk(t, UINT64_MAX);
}
