/* SPDX-License-Identifier: Apache-2.0 */
/* Repairs damaged bytes, from parity or from the copy of the front. The file is not changed: the bytes that are read
 * from it are patched. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "libbaro/tape/cursor.h"
#include "libbaro/tape/little.h"
#include "libbaro/tape/parity.h"

enum { PATCHES_MOST = 1024 };

/* Limits the work: a tape made on purpose to be repaired again and again may cost only a few times its size. */
static bool may_work(struct baro_tape *t, uint64_t bytes)
{
    t->repair_work += bytes;
    return t->repair_work <= 4 * t->present + FRAME_PAYLOAD_MAX;
}

static int add_patch(struct baro_tape *t, uint64_t at, const uint8_t *bytes, size_t len)
{
    if (t->n_patches == PATCHES_MOST)
        return 0;
    struct tape_patch *grown = realloc(t->patches, (t->n_patches + 1) * sizeof *grown);
    if (!grown)
        return -ENOMEM;
    t->patches = grown;
    uint8_t *copy = malloc(len);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, bytes, len);
    t->patches[t->n_patches++] = (struct tape_patch){at, len, copy};
    t->window.len = 0;
    return 1;
}

void repair_apply(const struct baro_tape *t, uint64_t at, uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < t->n_patches; i++) {
        const struct tape_patch *p = &t->patches[i];
        uint64_t from = p->at > at ? p->at : at, end = p->at + p->len < at + len ? p->at + p->len : at + len;
        if (from < end)
            memcpy(bytes + (from - at), p->bytes + (from - p->at), (size_t)(end - from));
    }
}

void repair_done(struct baro_tape *t)
{
    for (size_t i = 0; i < t->n_patches; i++)
        free(t->patches[i].bytes);
    free(t->patches);
    t->patches = NULL; /* a cursor over segments goes on with another file */
    t->n_patches = 0;
}

/* ---- by parity ---- */

struct damage {
    uint64_t frame, next; /* where a frame should be, and the next good one */
    uint64_t from;        /* offset of the covered bytes */
    uint8_t *data;
    size_t len, columns;
    uint8_t *wrong;      /* the XOR of the errors in each column; all belong to one run of damaged bytes */
    size_t first, width; /* the run's first column and its length */
};

/* Finds the run of damaged bytes: it begins after the longest cyclic sequence of columns without errors. */
static bool find_run(struct damage *d)
{
    size_t best = 0, zeros = 0, n = d->columns;
    bool any = false;
    for (size_t i = 0; i < 2 * n; i++) {
        any |= d->wrong[i % n] != 0;
        zeros = d->wrong[i % n] ? 0 : zeros + 1;
        if (zeros > best && zeros < n) {
            best = zeros;
            d->first = (i + 1) % n;
        }
    }
    d->width = n - best;
    return any;
}

static bool frame_is_whole(const struct baro_tape *t, const struct damage *d)
{
    struct frame_head head;
    const uint8_t *p = d->data + (d->frame - d->from);
    size_t left = d->len - (size_t)(d->frame - d->from);
    return left >= FRAME_HEAD_SIZE && frame_head_parse(p, &head) && head.len <= left - FRAME_HEAD_SIZE &&
           frame_good(p, &head, t->seed);
}

static void flip(struct damage *d, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        d->data[i] ^= d->wrong[i % d->columns];
}

/* Tries the possible places of the run; the frame's CRC shows which one is right. */
static int try_places(struct baro_tape *t, struct damage *d, size_t first, size_t step)
{
    for (size_t begin = first; begin < d->len; begin += step) {
        size_t end = begin + d->columns < d->len ? begin + d->columns : d->len;
        if (d->from + end <= d->frame || d->from + begin >= d->next)
            continue;
        if (!may_work(t, d->next - d->frame))
            return 0;
        flip(d, begin, end);
        if (frame_is_whole(t, d))
            return add_patch(t, d->from + begin, d->data + begin, end - begin);
        flip(d, begin, end);
    }
    return 0;
}

/* If most columns have errors, more columns within the run may be right by chance than there are right ones outside of
 * it. Then the run may begin anywhere. */
static int try_all(struct baro_tape *t, struct damage *d)
{
    int r = find_run(d) ? try_places(t, d, d->first, d->columns) : 0;
    return r == 0 && d->width > d->columns / 2 ? try_places(t, d, 0, 1) : r;
}

static int by_parity(struct baro_tape *t, uint64_t frame, uint64_t next, const struct parity_view *v)
{
    const uint8_t *p;
    size_t len;
    struct damage d = {.frame = frame, .next = next, .from = v->from, .len = (size_t)v->len, .columns = v->columns};
    d.wrong = malloc(v->columns);
    d.data = malloc(d.len);
    int r = d.wrong && d.data ? 0 : -ENOMEM;
    if (r == 0) {
        memcpy(d.wrong, v->at, v->columns);
        r = may_work(t, d.len) ? file_view(t, d.from, d.len, &p, &len) : 1;
    }
    if (r == 0 && len >= d.len) {
        memcpy(d.data, p, d.len);
        for (size_t i = 0; i < d.len; i++)
            d.wrong[i % d.columns] ^= d.data[i];
        r = try_all(t, &d);
    } else if (r >= 0) {
        r = 0;
    }
    free(d.wrong);
    free(d.data);
    return r;
}

int repair_frame(struct baro_tape *t, uint64_t frame, uint64_t next)
{
    for (uint64_t at = next; at < frame + PARITY_COVERS_MOST;) {
        struct frame_head head;
        struct parity_view v;
        const uint8_t *payload;
        int r = file_frame(t, at, &head, &payload);
        if (r != FRAME_GOOD)
            return r < 0 ? r : 0;
        if (!may_work(t, head.len))
            return 0;
        if (head.type == FRAME_PARITY && parity_scan(span_of(payload, head.len), &v) && v.from <= frame &&
            frame < v.from + v.len)
            return by_parity(t, frame, next, &v);
        at += FRAME_HEAD_SIZE + (uint64_t)head.len;
    }
    return 0;
}

/* ---- by the copy of the front ---- */

/* Is this a copy of the front? It is checked with its own nonce, as the nonce in the file's preamble may be damaged.
 * Its bytes are inverted. */
static bool is_copy(const uint8_t *p, size_t len, struct frame_head *ret)
{
    uint8_t front[TAPE_PREAMBLE_SIZE];
    if (len < FRAME_HEAD_SIZE + TAPE_PREAMBLE_SIZE || !frame_head_parse(p, ret) || ret->type != FRAME_COPY ||
        ret->len < TAPE_PREAMBLE_SIZE || ret->len > len - FRAME_HEAD_SIZE)
        return false;
    for (size_t i = 0; i < sizeof front; i++)
        front[i] = (uint8_t)~p[FRAME_HEAD_SIZE + i];
    return memcmp(front, TAPE_MAGIC, TAPE_MAGIC_SIZE) == 0 && get_le32(front + 20) == crc32c(0, front, 20) &&
           frame_good(p, ret, frame_seed(front + 12));
}

static int take_copy(struct baro_tape *t, const uint8_t *payload, size_t len)
{
    uint8_t *front = malloc(len);
    if (!front)
        return -ENOMEM;
    for (size_t i = 0; i < len; i++)
        front[i] = (uint8_t)~payload[i];
    int r = add_patch(t, 0, front, len);
    free(front);
    return r;
}

static int find_copy(struct baro_tape *t, uint64_t from, uint64_t most)
{
    const uint8_t *p;
    size_t len;
    int r = file_view(t, from, (size_t)most, &p, &len);
    if (r < 0)
        return r;
    for (size_t i = len < most ? len : (size_t)most; i-- > 0;) {
        struct frame_head head;
        if (p[i] == (uint8_t)FRAME_SYNC[0] && is_copy(p + i, len - i, &head))
            return from + i >= head.len ? take_copy(t, p + i + FRAME_HEAD_SIZE, head.len) : 0;
    }
    return 0;
}

int repair_front(struct baro_tape *t)
{
    enum { AT_END = 256 << 10, AT_BEGINNING = 1 << 20 };
    int r = t->front_repaired ? 0 : file_look(t);
    if (r < 0 || t->front_repaired)
        return r;
    t->front_repaired = true;
    uint64_t end = t->size < AT_END ? t->size : AT_END;
    r = find_copy(t, t->size - end, end);
    return r != 0 || t->size <= AT_END ? r : find_copy(t, 0, t->size < AT_BEGINNING ? t->size : AT_BEGINNING);
}
