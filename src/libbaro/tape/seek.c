/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "libbaro/tape/cursor.h"
#include "libbaro/tape/tail.h"

enum { TAIL_BLOCKS = 4 };

static void go_to(struct baro_tape *t, uint64_t offset)
{
    decode_reset(t);
    t->pos = t->tell_at = offset;
    t->scan_end = t->tell_count = 0;
    labels_move(t, false);
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

/* Counts the samples of block k up to t_ns by the times in their records, without decoding their contents. Returns
 * false if a frame is damaged. */
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
    /* Stop at the end of this block, so that a tape of empty blocks is not read to its end for each of them. */
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

/* The time as the blocks of this file have it, which count from the beginning of their part. */
static uint64_t in_part(const struct baro_tape *t, uint64_t t_ns)
{
    uint64_t shift = series_part(t) ? series_part(t)->shift_ns : 0;
    return t_ns == UINT64_MAX ? t_ns : t_ns > shift ? t_ns - shift : 0;
}

static int seek(struct baro_tape *t, uint64_t t_ns, struct baro_record *ret, struct baro_error *err)
{
    int r;
    uint64_t local = in_part(t, t_ns);
    for (size_t k = t->n_blocks;; k--) {
        if ((k > 0 && t->blocks[k - 1].t_ns <= local && !block_holds(t, k - 1)) ||
            (k == 0 && t->known_from != t->first)) {
            /* The known blocks do not lead to t_ns. */
            r = blocks_find_anew(t);
            if (r < 0)
                return error_set(err, r, "can't read the tape: %s", strerror(-r));
            k = t->n_blocks + 1;
            continue;
        }
        if (k == 0)
            break;
        if (t->blocks[k - 1].t_ns > local)
            continue;
        r = seek_block(t, k - 1, t_ns, ret, err);
        if (r != 0)
            return r;
    }
    go_to(t, t->first);
    return run_to(t, 1, 0, NULL, ret, err);
}

/* Sets whether reading stops at the end of this segment. */
static void stay_in_segment(struct baro_tape *t, bool yes)
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
    r = blocks_find(t, in_part(t, t_ns));
    if (r < 0)
        return error_set(err, r, "can't read the tape: %s", strerror(-r));
    uint64_t damage = t->damage;
    bool complete = t->complete;
    stay_in_segment(t, true);
    r = seek(t, t_ns, ret, err);
    stay_in_segment(t, false);
    t->sample.moved = NULL; /* any process may have changed since the sample that was delivered before */
    t->damage = damage;     /* damage that was met while seeking does not count */
    t->complete = complete;
    return r;
}

/* Finds the n-th last block (0: the last) among the frames from `from` on. Returns 1, 0 if there are not so many, or
 * -errno. */
static int last_blocks(struct baro_tape *t, uint64_t from, unsigned n, uint64_t *ret_at)
{
    uint64_t found[TAIL_BLOCKS] = {0};
    size_t count = 0;
    struct tape_block block;
    int r;
    while ((r = block_find(t, &from, UINT64_MAX, &block)) > 0)
        found[count++ % TAIL_BLOCKS] = block.offset;
    if (count > n)
        *ret_at = found[(count - 1 - n) % TAIL_BLOCKS];
    return r < 0 ? r : count > n;
}

/* Does tape_seek_tail() within this file. */
static int seek_tail(struct baro_tape *t, unsigned n, struct baro_error *err)
{
    enum { FIRST_LOOK = 256 << 10, MORE = 8 };
    uint64_t at = 0;
    int r = blocks_read_index(t);
    bool found = r == 0 && n < t->n_blocks && block_holds(t, t->n_blocks - 1 - n);
    if (found)
        at = t->blocks[t->n_blocks - 1 - n].offset;
    for (uint64_t look = FIRST_LOOK; r == 0 && !found; look *= MORE) {
        bool whole = look >= file_rest(t, t->first);
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
        if ((r = blocks_find_all(t)) < 0)
            return error_set(err, r, "can't read the tape: %s", strerror(-r));
        n -= n < t->n_blocks ? n : (unsigned)t->n_blocks;
        r = segments_enter_before(t, err);
        if (r == 0)
            return 0;
    }
    return r;
}

/* ---- positions ---- */

enum { ID_DIGITS = 8 };
#define OF_THINNED (1ull << 62) /* in the offset: the segment was thinned before the position was told */

/* A position is "ID:SEGMENT:BLOCK:RECORDS": the first digits of the tape's id, the offset of a block, and the number of
 * samples, exits and events since its beginning. Without the id a program would go on in the middle of a recording that
 * has replaced the one it read: recordings of one command have their first block at the same offset. A segment that is
 * thinned has other blocks afterwards. */
void baro_tape_tell(const struct baro_tape *t, char ret[BARO_POSITION_SIZE])
{
    snprintf(ret, BARO_POSITION_SIZE, "%.*s:%u:%llu:%llu", ID_DIGITS, baro_tape_id(t), tape_segment(t),
             (unsigned long long)(t->tell_at | (t->is_thinned ? OF_THINNED : 0)), (unsigned long long)t->tell_count);
}

static bool scan_position(const char *position, uint64_t ret[3])
{
    struct span in = span_str(position);
    if (in.len < ID_DIGITS)
        return false;
    in = span_of(in.at + ID_DIGITS, in.len - ID_DIGITS);
    for (int i = 0; i < 3; i++) {
        if (!scan_char(&in, ':') || !scan_u64(&in, &ret[i]))
            return false;
    }
    return in.len == 0 && ret[0] <= UINT32_MAX;
}

/* Is there a block at the offset, or is it the offset of the first one? */
static bool is_block(struct baro_tape *t, uint64_t at)
{
    struct frame_head head;
    const uint8_t *payload;
    return at == t->first || (at > t->first && file_look(t) == 0 && file_frame(t, at, &head, &payload) == FRAME_GOOD &&
                              head.type == FRAME_BLOCK);
}

int baro_tape_seek_to(struct baro_tape *t, const char *position, struct baro_error *err)
{
    uint64_t at[3];
    struct baro_record record;
    if (!scan_position(position, at))
        return error_set(err, BARO_E_SYNTAX, "'%.40s' is no position of a tape", position);
    if (strncmp(position, baro_tape_id(t), ID_DIGITS) != 0)
        return error_set(err, BARO_E_RANGE, "%.40s is a position in another recording", position);
    int missing = segments_enter_number(t, (uint32_t)at[0], err);
    if (missing < 0)
        return missing;
    at[1] ^= t->is_thinned ? OF_THINNED : 0;
    if (missing == 0 && !is_block(t, at[1]))
        return error_set(err, BARO_E_RANGE, "the tape has no position %.40s", position);
    go_to(t, missing ? t->first : at[1]);
    t->complete = false;
    while (missing == 0 && t->tell_count < at[2]) {
        int r = baro_tape_next(t, &record, err);
        if (r < 0)
            return r;
        if (r == 0 || t->tell_at != at[1])
            return error_set(err, BARO_E_RANGE, "the tape has no position %.40s", position);
    }
    return missing == 0;
}
