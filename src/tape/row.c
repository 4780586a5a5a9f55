/* SPDX-License-Identifier: Apache-2.0 */
#include "tape/row.h"

#include <string.h>


static bool both_present(struct row_values old, struct row_values new, unsigned c)
{
    return !old.absent[c] && !new.absent[c];
}

static uint64_t predict_sum(const struct column *col, struct row_values old, struct row_values new, uint64_t before)
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

static uint64_t predict(const struct columns *c, unsigned i, struct row_values old, struct row_values new)
{
    const struct column *col = &c->at[i];
    if (old.absent[i])
        return 0;
    uint64_t before = old.value[i];
    switch (col->predictor) {
    case PREDICT_SUM:
        return predict_sum(col, old, new, before);
    case PREDICT_SHARE:
        return predict_share(old, new, col->term[0], before);
    case PREDICT_PEAK:
        return !new.absent[col->term[0]] && new.value[col->term[0]] > before ? new.value[col->term[0]] : before;
    default:
        return before;
    }
}

void row_compare(const struct columns *c, struct row_values old, struct row_values new, struct row *ret)
{
    ret->mask = 0;
    ret->flags = memcmp(old.absent, new.absent, c->n) != 0 ? ROW_ABSENT : 0;
    for (unsigned i = 0; i < c->n; i++) {
        if (new.absent[i])
            continue;
        uint64_t residual = new.value[i] - predict(c, i, old, new);
        if (residual == 0)
            continue;
        ret->mask |= 1ull << i;
        ret->residual[i] = residual;
    }
}

static unsigned shape_hash(uint64_t mask, unsigned flags)
{
    return (unsigned)(((mask ^ (uint64_t)flags << 61) * 0x9e3779b97f4a7c15ull) >> 58);
}

static bool shape_is(const struct shapes *s, unsigned at, uint64_t mask, unsigned flags)
{
    return at < s->n && s->mask[at] == mask && s->flags[at] == flags;
}

static int shape_find(const struct shapes *s, uint64_t mask, unsigned flags)
{
    unsigned hint = s->hint[shape_hash(mask, flags)];
    if (shape_is(s, hint, mask, flags))
        return (int)hint;
    for (unsigned i = 0; i < s->n; i++)
        if (shape_is(s, i, mask, flags))
            return (int)i;
    return -1;
}

/* The oldest one goes when all numbers are taken; writer and reader do the same. */
static void shape_add(struct shapes *s, uint64_t mask, unsigned flags)
{
    s->mask[s->next] = mask;
    s->flags[s->next] = (uint8_t)flags;
    s->hint[shape_hash(mask, flags)] = s->next;
    if (s->next == s->n)
        s->n++;
    s->next = (uint8_t)((s->next + 1) % SHAPES_MAX);
}

static void write_residual(struct buf *out, uint64_t residual, unsigned shift)
{
    int64_t whole = (int64_t)residual;
    if (shift == 0) {
        buf_zigzag(out, whole);
        return;
    }
    int64_t q = whole >> shift;
    uint64_t low = residual & ((1ull << shift) - 1);
    uint64_t zigzag = ((uint64_t)q << 1) ^ (uint64_t)(q >> 63);
    buf_varint(out, zigzag << 1 | (low != 0));
    if (low)
        buf_varint(out, low);
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

void row_write(struct buf *out, const struct columns *c, struct shapes *s, const struct row *row,
               struct row_values old, struct row_values new)
{
    int known = shape_find(s, row->mask, row->flags);
    if (known >= 0) {
        buf_varint(out, (uint64_t)known + SHAPE_FIRST);
    } else {
        buf_varint(out, SHAPE_NEW);
        buf_byte(out, (uint8_t)row->flags);
        buf_varint(out, row->mask);
        shape_add(s, row->mask, row->flags);
    }
    if (row->flags & ROW_ABSENT)
        write_reasons(out, c->n, old.absent, new.absent);
    for (uint64_t rest = row->mask; rest; rest &= rest - 1) {
        unsigned i = (unsigned)__builtin_ctzll(rest);
        write_residual(out, row->residual[i], c->at[i].shift);
    }
}

bool row_scan_shape(struct span *in, struct shapes *s, struct row *ret, uint64_t *ret_run)
{
    uint64_t code, flags;
    *ret_run = 0;
    if (!scan_varint(in, &code))
        return false;
    if (code == SHAPE_RUN)
        return scan_varint(in, ret_run) && *ret_run > 0;
    if (code == SHAPE_NEW) {
        if (!scan_varint(in, &flags) || flags > ROW_FLAGS || !scan_varint(in, &ret->mask))
            return false;
        ret->flags = (unsigned)flags;
        shape_add(s, ret->mask, ret->flags);
        return true;
    }
    code -= SHAPE_FIRST;
    if (code >= s->n)
        return false;
    ret->mask = s->mask[code];
    ret->flags = s->flags[code];
    return true;
}

static bool scan_residual(struct span *in, unsigned shift, uint64_t *ret)
{
    uint64_t v, low = 0;
    if (!scan_varint(in, &v))
        return false;
    if (shift > 0) {
        if ((v & 1) && (!scan_varint(in, &low) || low >= 1ull << shift))
            return false;
        v >>= 1;
    }
    *ret = ((v >> 1 ^ (0 - (v & 1))) << shift) | low;
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
        absent[column] = (uint8_t)reason;
        in->at += 2;
        in->len -= 2;
    }
    return true;
}

bool row_scan_values(struct span *in, const struct columns *c, const struct row *row, uint64_t *value, uint8_t *absent)
{
    uint64_t old_value[COLUMNS_MAX];
    uint8_t old_absent[COLUMNS_MAX];
    struct row_values old = {old_value, old_absent}, new = {value, absent};
    if (c->n < COLUMNS_MAX && row->mask >> c->n)
        return false;
    memcpy(old_value, value, sizeof *value * c->n);
    memcpy(old_absent, absent, c->n);
    if ((row->flags & ROW_ABSENT) && !scan_reasons(in, c->n, absent))
        return false;
    for (unsigned i = 0; i < c->n; i++) {
        uint64_t residual = 0;
        if ((row->mask >> i & 1) && (absent[i] || !scan_residual(in, c->at[i].shift, &residual)))
            return false;
        value[i] = absent[i] ? 0 : predict(c, i, old, new) + residual;
    }
    return true;
}
