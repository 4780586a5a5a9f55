/* SPDX-License-Identifier: Apache-2.0 */
/* Changes at each level of a tape: frames, header, schema, records, index. */
#include <string.h>

#include "libbaro/tape/little.h"
#include "mutate.h"

/* ---- frames ---- */
static void level_order(struct parts *p, struct parts *other, struct rng *r)
{
    size_t i = rng_below(r, p->n), k = rng_below(r, p->n);
    struct piece *strange = &other->at[rng_below(r, other->n)];
    switch (rng_below(r, 5)) {
    case 0:
        for (size_t n = rng_one_in(r, 8) ? 1 + rng_below(r, 500) : 1; n > 0; n--)
            parts_insert(p, i,
                         &(struct piece){.type = p->at[i].type,
                                         .seq = p->at[i].seq,
                                         .unpacked = p->at[i].unpacked,
                                         .t_ns = p->at[i].t_ns,
                                         .payload = p->at[i].payload,
                                         .raw = p->at[i].raw});
        break;
    case 1:
        parts_insert(p, i, strange);
        p->at[i].offset = 0;
        break;
    case 2:
        if (p->n > 3)
            parts_remove(p, i);
        break;
    default: {
        struct piece a = p->at[i];
        p->at[i] = p->at[k];
        p->at[k] = a;
    }
    }
}

/* Frames are at the wrong position or have the wrong number, but each block counts from 0. */
static void renumber(struct parts *p)
{
    uint8_t seq = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (p->at[i].type == FRAME_BLOCK)
            seq = 0;
        if (p->at[i].type == FRAME_BLOCK || p->at[i].type == FRAME_TICK)
            p->at[i].seq = seq++;
    }
}

static void level_head(struct parts *p, struct parts *other, struct rng *r)
{
    struct piece *one = &p->at[rng_below(r, p->n)];
    (void)other;
    switch (rng_below(r, 3)) {
    case 0: one->type = (uint8_t)rng_below(r, rng_one_in(r, 4) ? 256 : 9); break;
    case 1: one->seq = (uint8_t)rng_number(r); break;
    default: one->len_cut = (uint32_t)(1 + rng_below(r, rng_one_in(r, 2) ? 8 : one->payload.len + 1));
    }
}

static void level_payload(struct parts *p, struct parts *other, struct rng *r)
{
    struct piece *one = &p->at[rng_below(r, p->n)];
    (void)other;
    one->unpacked = false;
    mutate_bytes(&one->payload, 0, one->payload.len, r);
}

/* ---- header ---- */
static void add_field(struct buf *out, uint64_t number, struct span value, struct rng *r)
{
    struct buf v = {0};
    uint8_t n[8];
    switch (rng_below(r, 4)) {
    case 0: /* another number */
        put_le64(n, rng_number(r));
        buf_add(&v, n, rng_one_in(r, 4) ? rng_below(r, 9) : sizeof(n));
        while (v.len && v.at[v.len - 1] == 0)
            v.len--;
        break;
    case 1: /* another text: the length precedes it, as mutate_text() expects */
        buf_byte(&v, (uint8_t)value.len);
        buf_add(&v, value.at, value.len);
        mutate_text(&v, 0, v.len, r);
        break;
    default: buf_add(&v, value.at, value.len); mutate_bytes(&v, 0, v.len, r);
    }
    if (rng_one_in(r, 10))
        number = rng_below(r, 45);
    buf_varint(out, number);
    buf_varint(out, rng_one_in(r, 12) ? rng_number(r) : v.len);
    if (v.len)
        buf_add(out, v.at, v.len);
    buf_done(&v);
}

/* Limits have the same fields after their time. */
static void change_fields(struct buf *payload, size_t from, struct rng *r)
{
    struct span in = span_of(payload->at + from, payload->len - from);
    struct buf out = {0};
    uint64_t number, len;
    if (from)
        buf_add(&out, payload->at, from);
    size_t likely = 1 + rng_below(r, 20);
    while (scan_varint(&in, &number) && scan_varint(&in, &len) && len <= in.len) {
        struct span value = span_of(in.at, (size_t)len);
        in.at += len;
        in.len -= (size_t)len;
        bool changed = rng_one_in(r, likely);
        if (changed)
            add_field(&out, number, value, r);
        if (changed && !rng_one_in(r, 8))
            continue;
        buf_varint(&out, number);
        buf_varint(&out, len);
        buf_add(&out, value.at, value.len);
    }
    buf_replace(payload, 0, payload->len, out.at, out.len);
    buf_done(&out);
}

static void level_header(struct parts *p, struct parts *other, struct rng *r)
{
    struct piece *one = parts_find(p, FRAME_HEADER, r);
    (void)other;
    if (one)
        change_fields(&one->payload, 0, r);
}

/* ---- schema ---- */
struct place {
    size_t len_at, from, to; /* the position of its length, and its bytes */
};

/* Finds a column, where its kind begins, and the position of the number of that kind's columns. */
static bool find_column(const struct buf *s, struct rng *r, struct place *ret_column, size_t *ret_kind,
                        size_t *ret_count)
{
    struct span in = span_of(s->at, s->len);
    uint64_t kinds, len, columns;
    size_t n = 0;
    if (!scan_varint(&in, &kinds))
        return false;
    for (uint64_t k = 0; k < kinds; k++) {
        size_t kind = s->len - in.len;
        if (!scan_varint(&in, &len) || len > in.len)
            return n > 0;
        in.at += len;
        in.len -= (size_t)len;
        size_t count = s->len - in.len;
        if (!scan_varint(&in, &columns))
            return n > 0;
        for (uint64_t c = 0; c < columns; c++) {
            struct place here = {.len_at = s->len - in.len};
            if (!scan_varint(&in, &len) || len > in.len)
                return n > 0;
            here.from = s->len - in.len;
            here.to = here.from + (size_t)len;
            in.at += len;
            in.len -= (size_t)len;
            if (rng_one_in(r, ++n)) {
                *ret_column = here;
                *ret_kind = kind;
                *ret_count = count;
            }
        }
    }
    return n > 0;
}

static void change_column(struct buf *s, struct place c, struct rng *r)
{
    struct buf column = {0};
    buf_add(&column, s->at + c.from, c.to - c.from);
    size_t tail = column.len < 5 ? column.len : 5; /* what follows the texts */
    size_t at = column.len - 1 - rng_below(r, tail);
    uint8_t value = (uint8_t)rng_below(r, rng_one_in(r, 2) ? 5 : 256);
    if (rng_one_in(r, 3))
        mutate_text(&column, 0, column.len, r);
    else if (column.len && rng_one_in(r, 2))
        column.at[at] = value;
    else
        mutate_bytes(&column, column.len - tail, column.len, r);
    struct buf len = {0};
    buf_varint(&len, rng_one_in(r, 12) ? rng_number(r) : column.len);
    buf_replace(s, c.from, c.to - c.from, column.at, column.len);
    buf_replace(s, c.len_at, c.from - c.len_at, len.at, len.len);
    buf_done(&column);
    buf_done(&len);
}

static void change_schema(struct buf *s, struct rng *r)
{
    struct place c = {0};
    size_t kind = 0, count = 0;
    if (!find_column(s, r, &c, &kind, &count)) {
        mutate_bytes(s, 0, s->len, r);
        return;
    }
    struct buf copy = {0};
    buf_add(&copy, s->at + c.len_at, c.to - c.len_at);
    bool counted = !rng_one_in(r, 3);
    switch (rng_below(r, 8)) {
    case 0:
        buf_replace(s, c.len_at, c.to - c.len_at, NULL, 0);
        s->at[count] = (uint8_t)(s->at[count] - counted);
        break;
    case 1:
        buf_replace(s, c.len_at, 0, copy.at, copy.len);
        s->at[count] = (uint8_t)(s->at[count] + counted);
        break;
    case 2:
        count = rng_one_in(r, 3) ? 0 : count;
        s->at[count] = (uint8_t)rng_number(r);
        break;
    case 3: mutate_text(s, kind, count, r); break;
    case 4: mutate_bytes(s, 0, s->len, r); break;
    default: change_column(s, c, r);
    }
    buf_done(&copy);
}

static void level_schema(struct parts *p, struct parts *other, struct rng *r)
{
    struct piece *one = parts_find(p, FRAME_SCHEMA, r);
    struct buf plain = {0};
    (void)other;
    if (one && schema_unpack(&one->payload, &plain) && plain.len) {
        for (size_t n = rng_one_in(r, 4) ? 1 + rng_below(r, 10) : 1; n > 0; n--)
            change_schema(&plain, r);
        schema_pack(&one->payload, &plain);
    }
    buf_done(&plain);
}

/* ---- records ---- */
static struct piece *find_unpacked(struct parts *p, struct rng *r)
{
    size_t from = rng_below(r, p->n);
    for (size_t i = 0; i < p->n; i++) {
        struct piece *one = &p->at[(from + i) % p->n];
        if (one->unpacked)
            return one;
    }
    return NULL;
}

static bool find_record(const struct buf *raw, struct rng *r, struct place *ret)
{
    struct span in = span_of(raw->at, raw->len);
    size_t n = 0;
    uint64_t len;
    while (in.len > 0) {
        struct place here = {.len_at = raw->len - in.len + 1};
        in.at++;
        in.len--;
        if (!scan_varint(&in, &len) || len > in.len)
            break;
        here.from = raw->len - in.len;
        here.to = here.from + (size_t)len;
        in.at += len;
        in.len -= (size_t)len;
        if (rng_one_in(r, ++n))
            *ret = here;
    }
    return n > 0;
}

static void change_body(struct buf *raw, struct place at, struct rng *r)
{
    struct buf body = {0}, len = {0};
    buf_add(&body, raw->at + at.from, at.to - at.from);
    if (raw->at[at.len_at - 1] == RECORD_LIMITS && body.len > 10)
        change_fields(&body, 1 + rng_below(r, 9), r);
    else if (rng_one_in(r, 5))
        mutate_text(&body, 0, body.len, r);
    else
        for (size_t n = rng_one_in(r, 3) ? 1 + rng_below(r, 6) : 1; n > 0; n--)
            mutate_bytes(&body, 0, body.len, r);
    buf_varint(&len, rng_one_in(r, 15) ? rng_number(r) : body.len);
    buf_replace(raw, at.from, at.to - at.from, body.at, body.len);
    buf_replace(raw, at.len_at, at.from - at.len_at, len.at, len.len);
    buf_done(&body);
    buf_done(&len);
}

/* A record with any tag; sometimes one that compresses very well. */
static void add_zeros(struct buf *raw, size_t at, struct rng *r)
{
    struct buf with = {0};
    size_t n = rng_one_in(r, 40) ? 3 << 20 : rng_below(r, 3000);
    buf_byte(&with, (uint8_t)rng_below(r, 256));
    buf_varint(&with, n);
    if (buf_reserve(&with, n)) {
        memset(with.at + with.len, 0, n);
        with.len += n;
    }
    buf_replace(raw, at, 0, with.at, with.len);
    buf_done(&with);
}

static void level_records(struct parts *p, struct parts *other, struct rng *r)
{
    struct piece *one = find_unpacked(p, r), *strange = find_unpacked(rng_one_in(r, 2) ? p : other, r);
    struct place at = {0}, there = {0};
    if (!one || !strange || !find_record(&one->raw, r, &at))
        return;
    size_t record = at.len_at - 1;
    struct buf copy = {0};
    switch (rng_below(r, 9)) {
    case 0: one->raw.at[record] = (uint8_t)rng_below(r, rng_one_in(r, 4) ? 256 : 9); break;
    case 1: buf_replace(&one->raw, record, at.to - record, NULL, 0); break;
    case 2:
        if (find_record(&strange->raw, r, &there)) {
            buf_add(&copy, strange->raw.at + there.len_at - 1, there.to - there.len_at + 1);
            buf_replace(&one->raw, record, 0, copy.at, copy.len);
        }
        break;
    case 3: add_zeros(&one->raw, record, r); break;
    case 4: one->raw.len = rng_below(r, one->raw.len); break;
    default: change_body(&one->raw, at, r);
    }
    buf_done(&copy);
}

/* ---- the rest ---- */
static void level_time(struct parts *p, struct parts *other, struct rng *r)
{
    struct piece *one = parts_find(p, FRAME_BLOCK, r);
    uint64_t number = rng_number(r), step = rng_number(r);
    (void)other;
    if (one)
        one->t_ns = rng_one_in(r, 3) ? number : rng_one_in(r, 2) ? one->t_ns + step : one->t_ns - step;
}

static void level_rest(struct parts *p, struct parts *other, struct rng *r)
{
    struct piece *one = parts_find(p, FRAME_FOOTER, r);
    (void)other;
    if (!one)
        return;
    mutate_bytes(&one->payload, 0, one->payload.len, r);
    p->keep_index |= rng_one_in(r, 2);
}

void mutate_parts(struct parts *p, struct parts *other, struct rng *r)
{
    static void (*const levels[])(struct parts *, struct parts *, struct rng *) = {
        level_order,   level_head,    level_payload, level_header,  level_schema, level_schema, level_records,
        level_records, level_records, level_records, level_records, level_time,   level_rest};
    do {
        levels[rng_below(r, sizeof(levels) / sizeof(*levels))](p, other, r);
    } while (p->n > 2 && rng_one_in(r, 3));
    if (rng_one_in(r, 2))
        renumber(p);
    p->keep_index |= rng_one_in(r, 6);
}

void mutate(struct span seed, struct span other, struct rng *r, struct buf *ret)
{
    struct parts p, q;
    bool inside = !rng_one_in(r, 6);
    buf_clear(ret);
    if (inside && parts_parse(&p, seed) && parts_parse(&q, other)) {
        mutate_parts(&p, &q, r);
        parts_write(&p, ret);
        parts_done(&q);
    } else {
        buf_add(ret, seed.at, seed.len);
    }
    if (inside)
        parts_done(&p);
    if (!inside || rng_one_in(r, 6))
        mutate_file(ret, r);
}
