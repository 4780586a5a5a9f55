/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers and lines of kernel text, inline because a tick parses thousands of them. A number or a line is accepted only
 * if the byte that ends it is there: "1234" may be the first part of a truncated "123456".
 */
#ifndef KERNEL_PROC_TEXT_H
#define KERNEL_PROC_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/span.h"

/* Reads digits at p. Returns the byte after them, or NULL if there are none or they exceed 2^64-1. */
static inline const char *text_digits(const char *p, const char *end, uint64_t *ret)
{
    const char *start = p;
    uint64_t v = 0;
    for (; p < end; p++) {
        unsigned digit = (unsigned char)*p - (unsigned)'0';
        if (digit > 9)
            break;
        if (p - start >= 19 && (v > UINT64_MAX / 10 || v * 10 > UINT64_MAX - digit))
            return NULL;
        v = v * 10 + digit;
    }
    if (p == start)
        return NULL;
    *ret = v;
    return p;
}

static inline const char *text_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

/* The next line that ends with '\n'; false at the end, and at a truncated last line. */
static inline bool text_line(const char **p, const char *end, struct span *ret)
{
    const char *newline = *p < end ? memchr(*p, '\n', (size_t)(end - *p)) : NULL;
    if (!newline)
        return false;
    *ret = span_of(*p, (size_t)(newline - *p));
    *p = newline + 1;
    return true;
}

/* True if the line begins with the key, which is a literal with its colon. */
#define TEXT_KEY(line, key) ((line).len >= sizeof(key) - 1 && memcmp((line).at, key, sizeof(key) - 1) == 0)

/* The first number after a key of key_len bytes; more words may follow it (Uid has four). */
static inline bool text_count(struct span line, size_t key_len, uint64_t *ret)
{
    const char *end = line.at + line.len;
    const char *p = text_digits(text_blanks(line.at + key_len, end), end, ret);
    return p && (p == end || *p == ' ' || *p == '\t');
}

/* Parses "   1234 kB" after the key, into bytes. */
static inline bool text_kb(struct span line, size_t key_len, uint64_t *ret)
{
    const char *end = line.at + line.len;
    uint64_t kb;
    const char *p = text_digits(text_blanks(line.at + key_len, end), end, &kb);
    if (!p || end - p != 3 || memcmp(p, " kB", 3) != 0 || kb > UINT64_MAX / 1024)
        return false;
    *ret = kb * 1024;
    return true;
}

#endif
