/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The low-order bits of numbers, packed without gaps, least significant first. They are nearly random, and a compressor
 * can't make them smaller: so they are written beside the compressed stream.
 */
#ifndef LIBBARO_TAPE_BITS_H
#define LIBBARO_TAPE_BITS_H

#include "base/buf.h"
#include "libbaro/tape/little.h"

struct bits {
    struct buf at;
    uint64_t held; /* fewer than 8 bits, which are not a whole byte yet */
    unsigned n;
};

static inline void bits_clear(struct bits *b)
{
    buf_clear(&b->at);
    b->held = 0;
    b->n = 0;
}

/* n < 64; v has no more than n bits. */
static inline void bits_put(struct bits *b, uint64_t v, unsigned n)
{
    if (n > 32) {
        bits_put(b, v & UINT32_MAX, 32);
        v >>= 32;
        n -= 32;
    }
    b->held |= v << b->n;
    b->n += n;
    for (; b->n >= 8; b->n -= 8, b->held >>= 8)
        buf_byte(&b->at, (uint8_t)b->held);
}

static inline void bits_end(struct bits *b)
{
    if (b->n > 0)
        buf_byte(&b->at, (uint8_t)b->held);
    b->held = 0;
    b->n = 0;
}

struct bits_in {
    const uint8_t *at;
    uint64_t next, end; /* counted in bits; the end is that of a byte */
};

/* The next 57 to 64 bits with zeros behind them, where eight bytes are left. */
static inline bool bits_word(const struct bits_in *b, uint64_t *ret)
{
    if (b->end - b->next < 64 + 7)
        return false;
    *ret = get_le64(b->at + b->next / 8) >> b->next % 8;
    return true;
}

/* Reads zeros up to the next one; false if that does not come within max zeros. */
static inline bool bits_zeros(struct bits_in *b, unsigned max, unsigned *ret)
{
    uint64_t next = b->next, word;
    if (bits_word(b, &word) && word) { /* nearly always */
        *ret = (unsigned)__builtin_ctzll(word);
        b->next = next + *ret + 1;
        return *ret <= max;
    }
    for (; next < b->end; next += 8 - next % 8) {
        unsigned byte = (unsigned)b->at[next / 8] >> next % 8;
        if (byte == 0)
            continue;
        next += (unsigned)__builtin_ctz(byte);
        *ret = (unsigned)(next - b->next);
        if (next - b->next > max)
            return false;
        b->next = next + 1;
        return true;
    }
    return false;
}

static inline bool bits_get(struct bits_in *b, unsigned n, uint64_t *ret)
{
    uint64_t v = 0;
    if (n <= 57 && bits_word(b, &v)) {
        *ret = v & ((1ull << n) - 1);
        b->next += n;
        return true;
    }
    v = 0;
    if (n > b->end - b->next)
        return false;
    for (unsigned got = 0; got < n;) {
        unsigned from = b->next % 8, take = 8 - from < n - got ? 8 - from : n - got;
        uint64_t part = (uint64_t)(b->at[b->next / 8] >> from) & ((1u << take) - 1);
        v |= part << got;
        got += take;
        b->next += take;
    }
    *ret = v;
    return true;
}

#endif
