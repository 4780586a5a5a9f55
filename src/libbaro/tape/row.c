/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/tape/row.h"

#include <string.h>

static bool both_present(struct row_values old, struct row_values new, unsigned c)
{
    return !old.absent[c] && !new.absent[c];
}

static uint64_t predict_sum(const struct tape_column *col, struct row_values old, struct row_values new,
                            uint64_t before)
{
    for (unsigned i = 0; i < col->n_terms; i++) {
        unsigned t = col->term[i];
        if (!both_present(old, new, t))
            continue;
        uint64_t grown = new.value[t] - old.value[t];
        before += col->minus[i] ? 0 - grown : grown;
    }
    return before;
}

/* The kernel splits a precise CPU time by the ratio of sampled ticks, which stays the same between two ticks. */
static uint64_t predict_share(struct row_values old, struct row_values new, unsigned t, uint64_t before)
{
    if (!both_present(old, new, t) || old.value[t] == 0 || old.value[t] == new.value[t])
        return before;
    return (uint64_t)((unsigned __int128)new.value[t] * before / old.value[t]);
}

static uint64_t predict_peak(const struct tape_column *col, struct row_values new, uint64_t before)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < col->n_terms; i++) {
        if (new.absent[col->term[i]])
            return before;
        sum += new.value[col->term[i]];
    }
    return sum > before ? sum : before;
}

static uint64_t predict(const struct tape_columns *c, unsigned i, struct row_values old, struct row_values new)
{
    const struct tape_column *col = &c->at[i];
    if (old.absent[i])
        return 0;
    uint64_t before = old.value[i];
    switch (col->predictor) {
    case PREDICT_SUM: return predict_sum(col, old, new, before);
    case PREDICT_SHARE: return predict_share(old, new, col->term[0], before);
    case PREDICT_PEAK: return predict_peak(col, new, before);
    default: return before;
    }
}

bool row_same(struct row_values a, struct row_values b, size_t n)
{
    return memcmp(a.value, b.value, n * sizeof(*a.value)) == 0 && memcmp(a.absent, b.absent, n) == 0;
}

void row_compare(const struct tape_columns *c, struct row_values old, struct row_values new, struct tape_row *ret)
{
    ret->mask = 0;
    ret->flags = memcmp(old.absent, new.absent, c->n) != 0 ? ROW_ABSENT : 0;
    for (unsigned i = 0; i < c->n; i++) {
        if (new.absent[i])
            continue;
        uint64_t residual = new.value[i] - predict(c, i, old, new);
        if (residual == 0)
            continue;
        ret->mask |= (column_mask)1 << i;
        ret->residual[i] = residual;
    }
}

/* Puts a shape in front of the list; `from` is where it stood. Writer and reader do the same. */
static void shape_front(struct shapes *s, unsigned from, column_mask mask, unsigned flags)
{
    memmove(&s->mask[1], &s->mask[0], from * sizeof *s->mask);
    memmove(&s->flags[1], &s->flags[0], from);
    s->mask[0] = mask;
    s->flags[0] = (uint8_t)flags;
}

static void shape_add(struct shapes *s, column_mask mask, unsigned flags)
{
    if (s->n < SHAPES_MAX)
        s->n++;
    shape_front(s, s->n - 1, mask, flags);
}

static int shape_find(const struct shapes *s, column_mask mask, unsigned flags)
{
    for (unsigned i = 0; i < s->n; i++)
        if (s->mask[i] == mask && s->flags[i] == flags)
            return (int)i;
    return -1;
}

static unsigned size_set(column_mask mask)
{
    unsigned n = mask_count(mask);
    return n <= 3 ? 0 : n <= 6 ? 1 : n <= 9 ? 2 : 3;
}

/* What is expected of a column's next residual: 1 to 64 bits. */
static unsigned size_expected(const uint16_t *size)
{
    return *size ? (*size + 8u) / 16 : 12;
}

static void size_learn(uint16_t *size, unsigned n)
{
    *size = (uint16_t)(*size ? *size - *size / 8 + 2 * n : 16 * n);
}

/* How far the number of bits is from the expected one (0, -1, 1, -2, ...) in unary, then all bits below the highest. */
void number_write(struct bits *bits, uint16_t *size, uint64_t v)
{
    unsigned n = 64 - (unsigned)__builtin_clzll(v);
    int off = (int)n - (int)size_expected(size);
    unsigned zeros = off > 0 ? 2 * (unsigned)off : (unsigned)(-2 * off) - (off < 0);
    for (; zeros >= 32; zeros -= 32)
        bits_put(bits, 0, 32);
    bits_put(bits, 1ull << zeros, zeros + 1);
    bits_put(bits, v & ~(1ull << (n - 1)), n - 1);
    size_learn(size, n);
}

static uint64_t unit_of(unsigned scale)
{
    static const uint64_t ten[] = {
        1,
        10,
        100,
        1000,
        10000,
        100000,
        1000000,
        10000000,
        100000000,
        1000000000,
        10000000000,
        100000000000,
        1000000000000,
        10000000000000,
        100000000000000,
        1000000000000000,
        10000000000000000,
        100000000000000000,
        1000000000000000000,
        10000000000000000000u,
    };
    return scale < SCALE_DECIMAL ? 1ull << scale : ten[scale - SCALE_DECIMAL];
}

/* Residuals are of both signs, as two's complement; multiplying brings them back whatever the sign. */
static bool divide(unsigned scale, uint64_t *residual)
{
    if (scale < SCALE_DECIMAL) {
        if ((*residual & ((1ull << scale) - 1)) != 0)
            return false;
        *residual = (uint64_t)((int64_t)*residual >> scale);
        return true;
    }
    uint64_t unit = unit_of(scale), size = *residual >> 63 ? 0 - *residual : *residual;
    if (size % unit != 0)
        return false;
    *residual = *residual >> 63 ? 0 - size / unit : size / unit;
    return true;
}

static void write_residual(struct bits *bits, const struct tape_column *c, uint16_t *size, uint64_t residual)
{
    if (c->scale > 0)
        bits_put(bits, !divide(c->scale, &residual), 1);
    if (c->falls)
        residual = residual << 1 ^ (0 - (residual >> 63));
    number_write(bits, size, residual);
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

void row_write(struct buf *out, struct bits *bits, const struct tape_columns *c, struct shapes *s,
               const struct tape_row *row, struct row_values old, struct row_values new)
{
    int known = shape_find(s, row->mask, row->flags);
    if (known >= 0) {
        number_write(bits, &s->number_size, (uint64_t)known + SHAPE_FIRST);
        shape_front(s, (unsigned)known, row->mask, row->flags);
    } else {
        number_write(bits, &s->number_size, SHAPE_NEW);
        buf_byte(out, (uint8_t)row->flags);
        buf_varint(out, (uint64_t)row->mask);
        if (c->n > 64)
            buf_varint(out, (uint64_t)(row->mask >> 64));
        shape_add(s, row->mask, row->flags);
    }
    if (row->flags & ROW_ABSENT)
        write_reasons(out, c->n, old.absent, new.absent);
    uint16_t *sizes = s->size[size_set(row->mask)];
    for (column_mask rest = row->mask; rest; rest &= rest - 1) {
        unsigned i = mask_lowest(rest);
        write_residual(bits, &c->at[i], &sizes[i], row->residual[i]);
    }
}

static bool scan_size(struct bits_in *bits, uint16_t *size, unsigned *ret)
{
    unsigned zeros;
    if (!bits_zeros(bits, 128, &zeros))
        return false;
    int off = zeros % 2 ? -(int)(zeros / 2 + 1) : (int)(zeros / 2);
    int n = (int)size_expected(size) + off;
    if (n < 1 || n > 64)
        return false;
    size_learn(size, (unsigned)n);
    *ret = (unsigned)n;
    return true;
}

bool number_scan(struct bits_in *bits, uint16_t *size, uint64_t *ret)
{
    unsigned n;
    if (!scan_size(bits, size, &n) || !bits_get(bits, n - 1, ret))
        return false;
    *ret |= 1ull << (n - 1);
    return true;
}

bool row_scan_shape(struct span *in, struct bits_in *bits, const struct tape_columns *c, struct shapes *s,
                    struct tape_row *ret, bool *ret_run)
{
    uint64_t number, flags, low, high = 0;
    if (!number_scan(bits, &s->number_size, &number))
        return false;
    *ret_run = number == SHAPE_RUN;
    if (*ret_run)
        return true;
    if (number == SHAPE_NEW) {
        if (!scan_varint(in, &flags) || flags > ROW_FLAGS || !scan_varint(in, &low) ||
            (c->n > 64 && !scan_varint(in, &high)))
            return false;
        ret->mask = (column_mask)high << 64 | low;
        ret->flags = (unsigned)flags;
        shape_add(s, ret->mask, ret->flags);
        return true;
    }
    number -= SHAPE_FIRST;
    if (number >= s->n)
        return false;
    ret->mask = s->mask[number];
    ret->flags = s->flags[number];
    shape_front(s, (unsigned)number, ret->mask, ret->flags);
    return true;
}

static bool scan_residual(struct bits_in *bits, const struct tape_column *c, uint16_t *size, uint64_t *ret)
{
    uint64_t unscaled = 1, v;
    if (c->scale > 0 && !bits_get(bits, 1, &unscaled))
        return false;
    if (!number_scan(bits, size, &v))
        return false;
    if (c->falls)
        v = v >> 1 ^ (0 - (v & 1));
    *ret = unscaled ? v : v * unit_of(c->scale);
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

/* Reads the residuals of a row's columns, in their order. */
static bool scan_residuals(struct bits_in *bits, const struct tape_columns *c, struct shapes *s,
                           const struct tape_row *row, const uint8_t *absent, uint64_t *ret)
{
    uint16_t *sizes = s->size[size_set(row->mask)];
    for (column_mask rest = row->mask; rest; rest &= rest - 1) {
        unsigned i = mask_lowest(rest);
        if (absent[i] || !scan_residual(bits, &c->at[i], &sizes[i], &ret[i]))
            return false;
    }
    return true;
}

static void predict_others(const struct tape_columns *c, const struct tape_row *row, const uint64_t *residual,
                           struct row_values old, struct row_values new, uint64_t *value)
{
    for (unsigned i = 0; i < c->n; i++) {
        if (c->at[i].predictor == PREDICT_SAME)
            continue;
        uint64_t missed = row->mask >> i & 1 ? residual[i] : 0;
        value[i] = new.absent[i] ? 0 : predict(c, i, old, new) + missed;
    }
}

bool row_scan_values(struct span *in, struct bits_in *bits, const struct tape_columns *c, struct shapes *s,
                     const struct tape_row *row, uint64_t *value, uint8_t *absent)
{
    uint64_t old_value[COLUMNS_MAX], residual[COLUMNS_MAX];
    uint8_t old_absent[COLUMNS_MAX];
    struct row_values old = {old_value, old_absent}, new = {value, absent};
    if (c->n < COLUMNS_MAX && row->mask >> c->n)
        return false;
    memcpy(old_value, value, sizeof *value * c->n);
    memcpy(old_absent, absent, c->n);
    if ((row->flags & ROW_ABSENT) && !scan_reasons(in, c->n, absent))
        return false;
    if (!scan_residuals(bits, c, s, row, absent, residual))
        return false;
    if (row->flags & ROW_ABSENT) {
        for (unsigned i = 0; i < c->n; i++)
            if (old_absent[i] || absent[i])
                value[i] = 0;
    }
    for (column_mask rest = row->mask; rest; rest &= rest - 1)
        value[mask_lowest(rest)] += residual[mask_lowest(rest)];
    predict_others(c, row, residual, old, new, value);
    return true;
}
