/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libbaro/tape/header_fields.h"
#include "libbaro/tape/little.h"
#include "libbaro/tape/schema.h"
#include "libbaro/writer/writer_state.h"

/* Adds bytes to the zstd stream as raw blocks (RFC 8878, 3.1.1.2), which any decoder continues with. A block has a head
 * of three bytes, little-endian: bit 0 is "last", bits 1 and 2 the type, 0 for raw, the others its size. The size is at
 * most the window's. Example: 28 bytes have the head e0 00 00. */
static int pack_raw(struct tape_writer *w, const uint8_t *at, size_t len)
{
    enum { RAW_MOST = 1024 };
    for (size_t n; len > 0; at += n, len -= n) {
        n = len < RAW_MOST ? len : RAW_MOST;
        const uint8_t head[3] = {(uint8_t)(n << 3), (uint8_t)(n >> 5), 0};
        buf_add(&w->frame, head, sizeof head);
        buf_add(&w->frame, at, n);
    }
    return w->frame.failed ? -ENOMEM : w->frame.len - FRAME_HEAD_SIZE > FRAME_PAYLOAD_MAX ? -EFBIG : 0;
}

static int pack(struct tape_writer *w, const void *at, size_t len, ZSTD_EndDirective how)
{
    ZSTD_inBuffer in = {at, len, 0};
    if (!w->zstd)
        return pack_raw(w, at, len);
    for (;;) {
        if (!buf_reserve(&w->frame, 512 + (len - in.pos) / 4))
            return -ENOMEM;
        ZSTD_outBuffer out = {w->frame.at, w->frame.cap, w->frame.len};
        size_t left = ZSTD_compressStream2(w->zstd, &out, &in, how);
        if (ZSTD_isError(left))
            return -ENOMEM;
        w->frame.len = out.pos;
        if (how == ZSTD_e_continue ? in.pos == in.size : left == 0)
            return w->frame.len - FRAME_HEAD_SIZE > FRAME_PAYLOAD_MAX ? -EFBIG : 0;
    }
}

int encode_record(struct tape_writer *w, enum record_tag tag)
{
    uint8_t head[1 + 10] = {(uint8_t)tag};
    size_t n = 1;
    uint64_t len = w->record.len;
    for (; len >= 0x80; len >>= 7)
        head[n++] = (uint8_t)(len | 0x80);
    head[n++] = (uint8_t)len;
    if (w->record.failed)
        return -ENOMEM;
    int r = pack(w, head, n, ZSTD_e_continue);
    if (r == 0)
        r = pack(w, w->record.at, w->record.len, ZSTD_e_continue);
    w->raw += n + w->record.len;
    buf_clear(&w->record);
    return r;
}

static const struct baseline *base_find(const struct tape_writer *w, uint32_t id)
{
    size_t low = 0, high = w->n_base;
    if (!w->block_keyed || !w->base_sorted)
        return NULL;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (w->base[middle].id == id)
            return &w->base[middle];
        if (w->base[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static int encode_pending(struct tape_writer *w)
{
    struct pending_item item;
    int r = 0;
    for (size_t at = 0; r == 0 && pending_next(&w->pending, &at, &item);) {
        if (!item.is_exit) {
            event_write(&w->record, w->block, &item.event, item.attributes);
            r = encode_record(w, RECORD_EVENT);
            continue;
        }
        const struct baseline *b = base_find(w, item.exit.id);
        bool known = b && b->texts && b->texts == texts_hash(item.exit.name, item.exit.cmdline);
        exit_write(&w->record, w->block, w->columns[BARO_KIND_EXIT], &item.exit, known);
        r = encode_record(w, RECORD_EXIT);
    }
    return r;
}

/* Writes the event of a gap before anything else. Each attempt to write contains it, because any of them may fail. */
static int encode_gap(struct tape_writer *w, uint64_t t_ns)
{
    char text[160];
    if (w->lost_samples == 0 && w->lost_exits == 0 && w->lost_events == 0)
        return 0;
    const char *why = w->lost_code ? strerror(-w->lost_code) : "too much at once";
    snprintf(text, sizeof text, "%s: %llu samples, %llu exits, %llu events lost", why,
             (unsigned long long)w->lost_samples, (unsigned long long)w->lost_exits,
             (unsigned long long)w->lost_events);
    struct baro_event gap = {.t_ns = t_ns, .kind = BARO_EVENT_GAP, .number = t_ns - w->good_t_ns, .text = text};
    event_write(&w->record, w->block, &gap, span_of("", 0));
    return encode_record(w, RECORD_EVENT);
}

/* Each block begins with the current limits. New limits are in the next frame after they were found. */
static int encode_limits(struct tape_writer *w, bool opens)
{
    w->limits_due = w->limits_due || (w->has_limits && opens);
    if (!w->limits_due)
        return 0;
    buf_zigzag(&w->record, (int64_t)(w->limits_t_ns - w->block->t_ns));
    limits_write(&w->record, &w->limits);
    return encode_record(w, RECORD_LIMITS);
}

/* Each block begins with how far the wall clock is ahead, so that a reader which begins there knows it. */
static int encode_clock(struct tape_writer *w)
{
    buf_zigzag(&w->record, w->ahead_ns);
    return encode_record(w, RECORD_CLOCK);
}

static void write_state(struct tape_writer *w, enum baro_kind kind, uint64_t *old_value, uint8_t *old_absent,
                        const uint64_t *value, const uint8_t *absent)
{
    const struct tape_columns *c = w->columns[kind];
    row_write(&w->record, c, old_value, old_absent, value, absent, 0);
    memcpy(old_value, value, c->n * sizeof *value);
    memcpy(old_absent, absent, c->n);
}

/* Compares the processes on the tape with those that live now, in order, and writes which are gone. Returns how many
 * stay. */
static size_t drop_gone(struct tape_writer *w, const struct baro_sample *s, bool fresh)
{
    size_t kept = 0, next = 0;
    if (!fresh && s->moved && s->removals == w->removals && w->n_base <= s->n) {
        buf_varint(&w->record, 0);
        return w->n_base;
    }
    for (size_t i = 0; i < w->n_base; i++) {
        if (kept < s->n && w->base[i].id == s->processes[kept]->id) {
            if (kept != i)
                w->base[kept] = w->base[i];
            kept++;
            continue;
        }
        if (!fresh)
            buf_varint(&w->record, i - next + 1);
        next = i + 1;
    }
    w->n_base = kept;
    buf_varint(&w->record, 0);
    return kept;
}

static int encode_sample(struct tape_writer *w, const struct baro_sample *s)
{
    struct block *b = w->block;
    bool fresh = !w->block_keyed;
    uint64_t step = s->t_ns - b->t_ns;
    if (fresh) {
        memset(w->job, 0, sizeof w->job);
        memset(w->job_absent, 0, sizeof w->job_absent);
        memset(w->self, 0, sizeof w->self);
        memset(w->self_absent, 0, sizeof w->self_absent);
        w->base_sorted = true;
    }
    buf_zigzag(&w->record, (int64_t)(step - b->step_ns));
    buf_byte(&w->record, s->lossy);
    b->t_ns = s->t_ns;
    b->step_ns = step;
    write_state(w, BARO_KIND_JOB, w->job, w->job_absent, s->job, s->job_absent);
    write_state(w, BARO_KIND_RECORDER, w->self, w->self_absent, s->self, s->self_absent);
    size_t kept = drop_gone(w, s, fresh);
    w->removals = s->removals;
    int r = encode_record(w, RECORD_SAMPLE);
    if (r == 0)
        r = encode_rows(w, s, kept, fresh);
    if (r == 0)
        r = encode_machine(w, s);
    if (r == 0)
        r = encode_entities(w, s);
    w->block_keyed = true;
    return r;
}

static bool block_is_full(const struct tape_writer *w, uint64_t t_ns)
{
    enum { FULL = 64 << 10, KEYS = 6 };
    const uint64_t minute = 60000000000ull, oldest = w->dense ? 15 * minute : minute;
    return (w->delta_bytes >= FULL * (w->dense ? 2 : 1) || t_ns - w->block_t_ns >= oldest) &&
           w->delta_bytes >= KEYS * w->key_bytes;
}

static bool open_block(struct tape_writer *w, uint64_t t_ns)
{
    if (!writer_make_zstd(w))
        return false;
    ZSTD_CCtx_reset(w->zstd, ZSTD_reset_session_only);
    memset(w->block, 0, sizeof *w->block);
    entities_new_block(w->entities);
    w->block_keyed = false;
    w->seq = 0;
    w->block_t_ns = t_ns;
    w->key_bytes = w->delta_bytes = 0;
    w->raw = 0;
    return true;
}

int encode_frame(struct tape_writer *w, const struct baro_sample *s, uint64_t t_ns)
{
    uint8_t head[FRAME_HEAD_SIZE] = {0}, t[8];
    bool most = w->raw >= BLOCK_RAW_MAX - FRAME_RAW_MAX; /* a reader accepts just one more frame */
    bool opens = !w->block_open || most || (s && block_is_full(w, t_ns));
    buf_clear(&w->frame);
    buf_clear(&w->record);
    buf_add(&w->frame, head, sizeof head);
    if (opens) {
        if (!open_block(w, t_ns))
            return -ENOMEM;
        put_le64(t, t_ns);
        buf_add(&w->frame, t, sizeof t);
    }
    w->raw_frame = w->raw;
    bool keys = s && !w->block_keyed;
    int r = w->frame.failed ? -ENOMEM : opens ? encode_clock(w) : 0;
    if (r == 0)
        r = encode_gap(w, t_ns);
    if (r == 0)
        r = encode_limits(w, opens);
    if (r == 0)
        r = encode_pending(w);
    if (r == 0 && s)
        r = encode_sample(w, s);
    if (r == 0)
        r = pack(w, NULL, 0, ZSTD_e_flush);
    if (r < 0)
        return r;
    if (w->raw - w->raw_frame > FRAME_RAW_MAX)
        return -EFBIG;
    *(keys ? &w->key_bytes : &w->delta_bytes) += w->frame.len;
    frame_seal(w->frame.at, opens ? FRAME_BLOCK : FRAME_TICK, w->seq, (uint32_t)(w->frame.len - FRAME_HEAD_SIZE),
               w->seed);
    return 0;
}

static void seal_plain(struct buf *b, size_t at, enum frame_type type, struct frame_seed seed)
{
    if (!b->failed)
        frame_seal(b->at + at, type, 0, (uint32_t)(b->len - at - FRAME_HEAD_SIZE), seed);
}

int encode_preface(struct buf *b, const struct baro_header *h, const uint8_t nonce[8])
{
    uint8_t preamble[TAPE_PREAMBLE_SIZE], head[FRAME_HEAD_SIZE] = {0};
    struct frame_seed seed = frame_seed(nonce);
    tape_preamble(preamble, nonce);
    buf_add(b, preamble, sizeof preamble);
    buf_add(b, head, sizeof head);
    head_write(b, h);
    seal_plain(b, TAPE_PREAMBLE_SIZE, FRAME_HEADER, seed);
    if (b->len - TAPE_PREAMBLE_SIZE - FRAME_HEAD_SIZE > FRAME_PAYLOAD_MAX)
        return -E2BIG;

    size_t at = b->len;
    buf_add(b, head, sizeof head);
    buf_add(b, schema_packed, schema_packed_len);
    seal_plain(b, at, FRAME_SCHEMA, seed);
    return b->failed ? -ENOMEM : 0;
}

int encode_footer(struct tape_writer *w)
{
    uint8_t head[FRAME_HEAD_SIZE] = {0}, len[4];
    struct buf *b = &w->frame;
    uint64_t t = 0, offset = 0;
    buf_clear(b);
    buf_add(b, head, sizeof head);
    buf_varint(b, w->n_samples);
    buf_varint(b, w->n_exits);
    buf_varint(b, w->n_events);
    buf_varint(b, w->good_t_ns);
    buf_varint(b, w->n_index);
    for (size_t i = 0; i < w->n_index; i++) {
        buf_zigzag(b, (int64_t)(w->index[i].t_ns - t));
        buf_varint(b, w->index[i].offset - offset);
        t = w->index[i].t_ns;
        offset = w->index[i].offset;
    }
    put_le32(len, (uint32_t)(b->len + TAPE_END_SIZE));
    buf_add(b, len, sizeof len);
    buf_add(b, TAPE_END_MARK, TAPE_END_MARK_SIZE);
    seal_plain(b, 0, FRAME_FOOTER, w->seed);
    return b->failed ? -ENOMEM : 0;
}
