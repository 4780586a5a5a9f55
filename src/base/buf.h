/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing byte buffer. All-zero is an empty one. If an allocation fails, `failed` is set and later appends do
 * nothing, so callers check once at the end. buf_clear() keeps the memory, so steady use allocates nothing.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct buf {
    unsigned char *at;
    size_t len, cap;
    bool failed;
    bool (*may_grow)(void *grower, size_t cap); /* NULL: it may */
    void *grower;
};

void buf_done(struct buf *b);
void buf_clear(struct buf *b);
bool buf_reserve(struct buf *b, size_t more);
void buf_add(struct buf *b, const void *at, size_t len);
void buf_byte(struct buf *b, uint8_t byte);
void buf_str(struct buf *b, const char *s);
void buf_spaces(struct buf *b, size_t n);
void buf_point(struct buf *b, uint32_t point); /* a Unicode character, as UTF-8 */
__attribute__((format(printf, 2, 3))) void buf_printf(struct buf *b, const char *format, ...);
__attribute__((format(printf, 2, 0))) void buf_vprintf(struct buf *b, const char *format, va_list args);
void buf_u64(struct buf *b, uint64_t v); /* decimal text */
#define BUF_U64_MOST 20
unsigned char *buf_put_u64(unsigned char *at, uint64_t v); /* into memory that has room; returns its end */
/* A finite number with 15 significant digits, or 17 where 15 would be read as another number; as %g writes it. */
void buf_double(struct buf *b, double v);
void buf_varint(struct buf *b, uint64_t v); /* LEB128 */
void buf_zigzag(struct buf *b, int64_t v);  /* zigzag, then LEB128 */
void buf_le32(struct buf *b, uint32_t v);

#endif
