/* SPDX-License-Identifier: Apache-2.0 */
#include "base/span.h"

bool span_equal(struct span a, const char *b)
{
    size_t n = strlen(b);
    return a.len == n && (n == 0 || memcmp(a.at, b, n) == 0);
}

bool span_starts(struct span s, const char *prefix)
{
    size_t n = strlen(prefix);
    return s.len >= n && (n == 0 || memcmp(s.at, prefix, n) == 0);
}

bool span_ends(struct span s, const char *ending)
{
    size_t n = strlen(ending);
    return s.len >= n && memcmp(s.at + s.len - n, ending, n) == 0;
}

bool span_is_one_of(struct span s, const char *const *list)
{
    while (*list && !span_equal(s, *list))
        list++;
    return *list;
}

static void advance(struct span *s, size_t n)
{
    s->at += n;
    s->len -= n;
}

bool scan_u64(struct span *s, uint64_t *ret)
{
    uint64_t v = 0;
    size_t i = 0;
    for (; i < s->len && s->at[i] >= '0' && s->at[i] <= '9'; i++) {
        if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(s->at[i] - '0'), &v))
            return false;
    }
    if (i == 0)
        return false;
    advance(s, i);
    *ret = v;
    return true;
}

bool scan_i64(struct span *s, int64_t *ret)
{
    struct span rest = *s;
    uint64_t v;
    bool negative = scan_char(&rest, '-');
    if (!scan_u64(&rest, &v) || v > (uint64_t)INT64_MAX + negative)
        return false;
    *ret = negative ? (int64_t)(0 - v) : (int64_t)v;
    *s = rest;
    return true;
}

bool scan_char(struct span *s, char c)
{
    if (!s->len || *s->at != c)
        return false;
    advance(s, 1);
    return true;
}

bool scan_word(struct span *s, struct span *ret)
{
    size_t i = 0;
    while (i < s->len && s->at[i] != ' ' && s->at[i] != '\t' && s->at[i] != '\n')
        i++;
    if (i == 0)
        return false;
    *ret = span_of(s->at, i);
    advance(s, i);
    return true;
}

bool scan_line(struct span *s, struct span *ret)
{
    if (!s->len)
        return false;
    const char *end = memchr(s->at, '\n', s->len);
    size_t n = end ? (size_t)(end - s->at) : s->len;
    *ret = span_of(s->at, n);
    advance(s, end ? n + 1 : n);
    return true;
}

void scan_blanks(struct span *s)
{
    while (s->len && (*s->at == ' ' || *s->at == '\t'))
        advance(s, 1);
}

bool span_has_word(struct span list, const char *word)
{
    struct span w;
    while (list.len) {
        if (!scan_word(&list, &w))
            advance(&list, 1);
        else if (span_equal(w, word))
            return true;
    }
    return false;
}

static bool scan_range(struct span *s, uint64_t *first, uint64_t *last)
{
    if (!scan_u64(s, first))
        return false;
    *last = *first;
    return (!scan_char(s, '-') || scan_u64(s, last)) && *first <= *last && *last < UINT32_MAX;
}

bool scan_ranges(struct span *s, void (*fn)(void *context, uint32_t first, uint32_t last), void *context,
                 uint64_t *ret_count)
{
    struct span rest = *s;
    uint64_t count = 0, first, last;
    if (!rest.len || *rest.at < '0' || *rest.at > '9') {
        *ret_count = 0;
        return true;
    }
    do {
        if (!scan_range(&rest, &first, &last))
            return false;
        count += last - first + 1;
        if (fn)
            fn(context, (uint32_t)first, (uint32_t)last);
    } while (scan_char(&rest, ','));
    *s = rest;
    *ret_count = count;
    return true;
}

bool scan_varint(struct span *s, uint64_t *ret)
{
    uint64_t v = 0;
    for (size_t i = 0; i < s->len && i < 10; i++) {
        uint8_t byte = (uint8_t)s->at[i];
        if (i == 9 && byte > 1)
            return false;
        v |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte & 0x80)
            continue;
        advance(s, i + 1);
        *ret = v;
        return true;
    }
    return false;
}

bool scan_zigzag(struct span *s, int64_t *ret)
{
    uint64_t v;
    if (!scan_varint(s, &v))
        return false;
    *ret = (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
    return true;
}
