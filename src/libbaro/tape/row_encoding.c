/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/tape/row_encoding.h"

#include <string.h>

static uint64_t unit_of(unsigned scale)
{
    uint64_t unit = 1;
    if (scale < SCALE_DECIMAL)
        return unit << scale;
    for (; scale > SCALE_DECIMAL; scale--)
        unit *= 10;
    return unit;
}

/* Divides a difference, in two's complement, by the unit if that leaves no remainder. */
static bool divide(unsigned scale, uint64_t change, uint64_t *ret)
{
    uint64_t size = change >> 63 ? 0 - change : change;
    if (scale < SCALE_DECIMAL) {
        *ret = (uint64_t)((int64_t)change >> scale);
        return (change & ((1ull << scale) - 1)) == 0;
    }
    uint64_t unit = unit_of(scale), quotient = size / unit;
    *ret = change >> 63 ? 0 - quotient : quotient;
    return quotient * unit == size;
}

static void write_head(struct buf *out, unsigned flags, column_mask mask)
{
    uint8_t head[20];
    size_t n = 0;
    unsigned first = flags | (unsigned)(mask & 7) << ROW_FLAGS_BITS;
    mask >>= 3;
    for (head[n++] = (uint8_t)first; mask; mask >>= 7) {
        head[n - 1] |= 0x80;
        head[n++] = (uint8_t)(mask & 0x7f);
    }
    buf_add(out, head, n);
}

static void write_reasons(struct buf *out, unsigned n, const uint8_t *old, const uint8_t *new)
{
    unsigned count = 0;
    for (unsigned i = 0; i < n; i++)
        count += old[i] != new[i];
    buf_varint(out, count);
    for (unsigned i = 0; i < n; i++) {
        if (old[i] == new[i])
            continue;
        buf_byte(out, (uint8_t)i);
        buf_byte(out, new[i]);
    }
}

/* Returns by how much a column is expected to change. */
static uint64_t expected(const struct tape_column *c, const uint64_t *change)
{
    return (c->with ? change[c->with - 1] : 0) - (c->without ? change[c->without - 1] : 0);
}

void row_write(struct buf *out, const struct tape_columns *c, const uint64_t *old_value, const uint8_t *old_absent,
               const uint64_t *value, const uint8_t *absent, unsigned flags)
{
    uint64_t change[COLUMNS_MAX], exact[COLUMNS_MAX], scaled[COLUMNS_MAX];
    unsigned n = 0;
    column_mask mask = 0;
    for (unsigned i = 0; i < c->n; i++) {
        change[i] = (absent[i] ? 0 : value[i]) - (old_absent[i] ? 0 : old_value[i]);
        uint64_t v = change[i] - expected(&c->at[i], change);
        if (v == 0)
            continue;
        mask |= (column_mask)1 << i;
        exact[n] = scaled[n] = v;
        if (c->at[i].scale && !divide(c->at[i].scale, v, &scaled[n]))
            flags |= ROW_EXACT;
        n++;
    }
    if (memcmp(old_absent, absent, c->n) != 0)
        flags |= ROW_REASONS;
    write_head(out, flags, mask);
    if (flags & ROW_REASONS)
        write_reasons(out, c->n, old_absent, absent);
    const uint64_t *from = flags & ROW_EXACT ? exact : scaled;
    for (unsigned i = 0; i < n; i++)
        buf_zigzag(out, (int64_t)from[i]);
}

static bool scan_head(struct span *in, unsigned *ret_flags, column_mask *ret)
{
    const uint8_t *p = (const uint8_t *)in->at, *end = p + in->len;
    if (p == end)
        return false;
    unsigned byte = *p++;
    *ret_flags = byte & ((1 << ROW_FLAGS_BITS) - 1);
    *ret = byte >> ROW_FLAGS_BITS & 7;
    for (unsigned shift = 3; byte & 0x80; shift += 7) {
        if (p == end || shift >= COLUMNS_MAX)
            return false;
        byte = *p++;
        *ret |= (column_mask)(byte & 0x7f) << shift;
    }
    *in = span_of(p, (size_t)(end - p));
    return true;
}

static bool scan_reasons(struct span *in, unsigned n, uint8_t *absent)
{
    uint64_t count;
    if (!scan_varint(in, &count) || count > n)
        return false;
    for (; count > 0; count--) {
        if (in->len < 2)
            return false;
        unsigned column = (unsigned char)in->at[0], reason = (unsigned char)in->at[1];
        if (column >= n)
            return false;
        absent[column] = (uint8_t)(reason < ABSENT_COUNT ? reason : BARO_ABSENT_UNKNOWN);
        in->at += 2;
        in->len -= 2;
    }
    return true;
}

/* Returns the number of the lowest bit that is set. m is not 0. */
static unsigned lowest(column_mask m)
{
    uint64_t low = (uint64_t)m;
    return (unsigned)(low ? __builtin_ctzll(low) : 64 + __builtin_ctzll((uint64_t)(m >> 64)));
}

static bool scan_change(struct span *in, const struct tape_column *c, unsigned flags, uint64_t *ret)
{
    int64_t v;
    if (!scan_zigzag(in, &v))
        return false;
    *ret = c->scale && !(flags & ROW_EXACT) ? (uint64_t)v * unit_of(c->scale) : (uint64_t)v;
    return true;
}

bool row_scan(struct span *in, const struct tape_columns *c, uint64_t *value, uint8_t *absent, unsigned *ret_flags)
{
    uint64_t change[COLUMNS_MAX], v;
    column_mask mask;
    if (!scan_head(in, ret_flags, &mask) || (c->n < COLUMNS_MAX && mask >> c->n) ||
        ((*ret_flags & ROW_REASONS) && !scan_reasons(in, c->n, absent)))
        return false;
    if (c->related)
        memset(change, 0, c->n * sizeof *change);
    for (; mask; mask &= mask - 1) {
        unsigned i = lowest(mask);
        if (!scan_change(in, &c->at[i], *ret_flags, &v))
            return false;
        if (c->related)
            change[i] = v;
        else
            value[i] += v;
    }
    for (unsigned i = 0; c->related && i < c->n; i++)
        value[i] += change[i] += expected(&c->at[i], change);
    return true;
}
