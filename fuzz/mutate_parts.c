/* SPDX-License-Identifier: Apache-2.0 */
/* Takes a tape apart and puts it together again. */
#include <string.h>
#include <zstd.h>

#include "base/crc32c.h"
#include "libbaro/tape/little.h"
#include "mutate.h"

enum { RAW_MOST = 8 << 20 };

void buf_replace(struct buf *b, size_t at, size_t cut, const void *with, size_t len)
{
    if (len > cut && !buf_reserve(b, len - cut))
        return;
    memmove(b->at + at + len, b->at + at + cut, b->len - at - cut);
    if (len)
        memcpy(b->at + at, with, len);
    b->len += len - cut;
}

static void buf_copy(struct buf *to, const struct buf *from)
{
    *to = (struct buf){0};
    if (from->len)
        buf_add(to, from->at, from->len);
}

static void piece_done(struct piece *p)
{
    buf_done(&p->payload);
    buf_done(&p->raw);
}

void parts_insert(struct parts *p, size_t to, const struct piece *from)
{
    struct piece copy = *from;
    buf_copy(&copy.payload, &from->payload);
    buf_copy(&copy.raw, &from->raw);
    if (p->n == p->cap) {
        p->cap = 2 * p->cap + 16;
        p->at = realloc(p->at, p->cap * sizeof(*p->at));
        if (!p->at)
            abort();
    }
    memmove(p->at + to + 1, p->at + to, (p->n - to) * sizeof(*p->at));
    p->at[to] = copy;
    p->n++;
}

void parts_remove(struct parts *p, size_t i)
{
    piece_done(&p->at[i]);
    memmove(p->at + i, p->at + i + 1, (p->n - i - 1) * sizeof(*p->at));
    p->n--;
}

void parts_done(struct parts *p)
{
    for (size_t i = 0; i < p->n; i++)
        piece_done(&p->at[i]);
    free(p->at);
    *p = (struct parts){.at = NULL};
}

struct piece *parts_find(struct parts *p, enum frame_type type, struct rng *r)
{
    size_t from = rng_below(r, p->n);
    for (size_t i = 0; i < p->n; i++) {
        struct piece *one = &p->at[(from + i) % p->n];
        if (one->type == type)
            return one;
    }
    return NULL;
}

/* ---- taking apart ---- */
static bool inflate_into(ZSTD_DCtx *z, struct buf *out, const uint8_t *at, size_t len)
{
    ZSTD_inBuffer in = {at, len, 0};
    for (;;) {
        if (out->len > RAW_MOST || !buf_reserve(out, 1 << 16))
            return false;
        ZSTD_outBuffer to = {out->at + out->len, out->cap - out->len, 0};
        size_t code = ZSTD_decompressStream(z, &to, &in);
        out->len += to.pos;
        if (ZSTD_isError(code))
            return false;
        if (in.pos == in.size && to.pos < to.size)
            return true;
    }
}

static void unpack(struct piece *p, ZSTD_DCtx *z)
{
    size_t front = p->type == FRAME_BLOCK ? 8 : 0, len = p->payload.len;
    const uint8_t *at = p->payload.at;
    if (len <= front)
        return;
    if (front) {
        p->t_ns = get_le64(at);
        ZSTD_DCtx_reset(z, ZSTD_reset_session_only);
    }
    p->unpacked = inflate_into(z, &p->raw, at + front, len - front);
}

bool parts_parse(struct parts *p, struct span file)
{
    const uint8_t *at = (const uint8_t *)file.at;
    struct frame_head head;
    ZSTD_DCtx *z = ZSTD_createDCtx();
    *p = (struct parts){.at = NULL};
    for (size_t i = TAPE_PREAMBLE_SIZE; z && i + FRAME_HEAD_SIZE <= file.len && frame_head_parse(at + i, &head);) {
        if (head.len > file.len - i - FRAME_HEAD_SIZE)
            break;
        struct piece one = {.type = head.type, .seq = head.seq, .offset = i};
        parts_insert(p, p->n, &one);
        buf_add(&p->at[p->n - 1].payload, at + i + FRAME_HEAD_SIZE, head.len);
        if (head.type == FRAME_BLOCK || head.type == FRAME_TICK)
            unpack(&p->at[p->n - 1], z);
        i += FRAME_HEAD_SIZE + head.len;
    }
    ZSTD_freeDCtx(z);
    if (p->n)
        memcpy(p->preamble, at, TAPE_PREAMBLE_SIZE);
    return p->n > 2;
}

bool schema_unpack(const struct buf *payload, struct buf *ret)
{
    ZSTD_DCtx *z = ZSTD_createDCtx();
    bool good = z && inflate_into(z, ret, payload->at, payload->len);
    ZSTD_freeDCtx(z);
    return good;
}

void schema_pack(struct buf *payload, const struct buf *plain)
{
    buf_clear(payload);
    if (!buf_reserve(payload, ZSTD_compressBound(plain->len)))
        return;
    size_t len = ZSTD_compress(payload->at, payload->cap, plain->at, plain->len, 1);
    payload->len = ZSTD_isError(len) ? 0 : len;
}

/* ---- putting together ---- */
static void pack(struct piece *p, ZSTD_CCtx *z)
{
    uint8_t t[8];
    buf_clear(&p->payload);
    put_le64(t, p->t_ns);
    if (p->type == FRAME_BLOCK) {
        ZSTD_CCtx_reset(z, ZSTD_reset_session_only);
        buf_add(&p->payload, t, sizeof(t));
    }
    if (!buf_reserve(&p->payload, ZSTD_compressBound(p->raw.len) + 64))
        return;
    ZSTD_inBuffer in = {p->raw.at, p->raw.len, 0};
    ZSTD_outBuffer out = {p->payload.at, p->payload.cap, p->payload.len};
    ZSTD_compressStream2(z, &out, &in, ZSTD_e_flush);
    p->payload.len = out.pos;
}

static uint64_t new_offset(const struct parts *p, const size_t *offsets, uint64_t old)
{
    for (size_t i = 0; i < p->n; i++) {
        if (p->at[i].offset == old)
            return offsets[i];
    }
    return old;
}

/* The index with the current positions of the blocks. Not changed if it can't be read. */
static void redo_index(const struct parts *p, struct piece *footer, const size_t *offsets)
{
    struct span in = span_of(footer->payload.at, footer->payload.len);
    struct buf out = {0};
    uint64_t v, n = 0, old = 0, was = 0;
    bool good = true;
    for (int i = 0; i < 5 && (good = scan_varint(&in, &v)); i++) {
        buf_varint(&out, v);
        n = v;
    }
    for (uint64_t i = 0; good && i < n; i++) {
        int64_t dt;
        good = scan_zigzag(&in, &dt) && scan_varint(&in, &v);
        if (!good)
            break;
        old += v;
        uint64_t now = new_offset(p, offsets, old);
        buf_zigzag(&out, dt);
        buf_varint(&out, now - was);
        was = now;
    }
    if (good && in.len == TAPE_END_SIZE) {
        buf_le32(&out, (uint32_t)(out.len + TAPE_END_SIZE + FRAME_HEAD_SIZE));
        buf_str(&out, TAPE_END_MARK);
        buf_replace(&footer->payload, 0, footer->payload.len, out.at, out.len);
    }
    buf_done(&out);
}

static void add(const struct piece *one, struct buf *out, struct frame_seed seed)
{
    const uint8_t room[FRAME_HEAD_SIZE] = {0};
    size_t at = out->len, len = one->payload.len;
    buf_add(out, room, sizeof(room));
    if (len)
        buf_add(out, one->payload.at, len);
    if (!out->failed)
        frame_seal(out->at + at, one->type, one->seq, (uint32_t)(one->len_cut < len ? len - one->len_cut : len), seed);
}

void parts_write(struct parts *p, struct buf *out)
{
    ZSTD_CCtx *z = ZSTD_createCCtx();
    size_t *offsets = calloc(p->n + 1, sizeof(*offsets));
    if (!z || !offsets)
        abort();
    ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, TAPE_WINDOW_LOG);
    ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, 1);
    buf_add(out, p->preamble, TAPE_PREAMBLE_SIZE);
    struct frame_seed seed = frame_seed(p->preamble + 12);
    for (size_t i = 0; i < p->n; i++) {
        struct piece *one = &p->at[i];
        offsets[i] = out->len;
        if (one->unpacked)
            pack(one, z);
        if (one->type == FRAME_FOOTER && !p->keep_index)
            redo_index(p, one, offsets);
        add(one, out, seed);
    }
    free(offsets);
    ZSTD_freeCCtx(z);
}
