/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_done(struct buf *b)
{
    free(b->at);
    *b = (struct buf){0};
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->failed = false;
}

bool buf_reserve(struct buf *b, size_t more)
{
    size_t need, cap = b->cap ? b->cap : 64;
    if (b->failed || __builtin_add_overflow(b->len, more, &need)) {
        b->failed = true;
        return false;
    }
    if (need <= b->cap)
        return true;
    while (cap < need) {
        if (__builtin_mul_overflow(cap, 2u, &cap))
            cap = need;
    }
    unsigned char *at = !b->may_grow || b->may_grow(b->grower, cap) ? realloc(b->at, cap) : NULL;
    if (!at) {
        b->failed = true;
        return false;
    }
    b->at = at;
    b->cap = cap;
    return true;
}

void buf_add(struct buf *b, const void *at, size_t len)
{
    if (!len || !buf_reserve(b, len))
        return;
    memcpy(b->at + b->len, at, len);
    b->len += len;
}

void buf_byte(struct buf *b, uint8_t byte)
{
    if (buf_reserve(b, 1))
        b->at[b->len++] = byte;
}

void buf_str(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_spaces(struct buf *b, size_t n)
{
    while (n-- > 0)
        buf_byte(b, ' ');
}

void buf_vprintf(struct buf *b, const char *format, va_list args)
{
    char few[64];
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(few, sizeof(few), format, args);
    if (n < 0)
        b->failed = true;
    else if ((size_t)n < sizeof(few))
        buf_add(b, few, (size_t)n);
    else if (buf_reserve(b, (size_t)n + 1)) {
        vsnprintf((char *)b->at + b->len, (size_t)n + 1, format, again);
        b->len += (size_t)n;
    }
    va_end(again);
}

void buf_point(struct buf *b, uint32_t point)
{
    if (point < 0x80) {
        buf_byte(b, (uint8_t)point);
        return;
    }
    int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    buf_byte(b, (uint8_t)(0xff00u >> (more + 1) | point >> (6 * more)));
    while (more-- > 0)
        buf_byte(b, (uint8_t)(0x80 | (point >> (6 * more) & 0x3f)));
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buf_vprintf(b, format, args);
    va_end(args);
}

void buf_u64(struct buf *b, uint64_t v)
{
    if (buf_reserve(b, BUF_U64_MOST))
        b->len = (size_t)(buf_put_u64(b->at + b->len, v) - b->at);
}

/* Returns the number of decimal digits. 1233 / 4096 is a little more than log10(2), so the guess from the number of
 * bits is right or one too small. */
static unsigned digits_of(uint64_t v)
{
    /* clang-format off */
    static const uint64_t powers[] = {
        0,           10,           100,           1000,           10000,           100000,           1000000,
        10000000,    100000000,    1000000000,    10000000000,    100000000000,    1000000000000,    10000000000000,
        100000000000000, 1000000000000000, 10000000000000000, 100000000000000000, 1000000000000000000,
        10000000000000000000u};
    /* clang-format on */
    unsigned guess = (64 - (unsigned)__builtin_clzll(v | 1)) * 1233 >> 12;
    return guess + (v >= powers[guess]);
}

/* Writes from the last digit to the first, two digits per division. */
unsigned char *buf_put_u64(unsigned char *at, uint64_t v)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                                "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                                "8081828384858687888990919293949596979899";
    unsigned char *end = at + digits_of(v), *to = end;
    for (; v >= 100; v /= 100)
        memcpy(to -= 2, pairs + 2 * (v % 100), 2);
    if (v >= 10)
        memcpy(at, pairs + 2 * v, 2);
    else
        *at = (unsigned char)('0' + v);
    return end;
}

void buf_varint(struct buf *b, uint64_t v)
{
    if (!buf_reserve(b, 10))
        return;
    while (v >= 0x80) {
        b->at[b->len++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    b->at[b->len++] = (uint8_t)v;
}

void buf_zigzag(struct buf *b, int64_t v)
{
    buf_varint(b, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

static void little(struct buf *b, uint64_t v, size_t bytes)
{
    if (!buf_reserve(b, bytes))
        return;
    for (size_t i = 0; i < bytes; i++)
        b->at[b->len++] = (uint8_t)(v >> (8 * i));
}

void buf_le32(struct buf *b, uint32_t v)
{
    little(b, v, 4);
}
