/* SPDX-License-Identifier: Apache-2.0 */
#include "base/escape.h"

/* Unicode control characters (C0, DEL, C1, line and paragraph separators), and the marks, overrides and isolates that
 * reorder text on a terminal, so that it looks like other text. */
bool escape_needed(uint32_t point)
{
    if (point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x2028 || point == 0x2029)
        return true;
    return point == 0x061c || point == 0x200e || point == 0x200f || (point >= 0x202a && point <= 0x202e) ||
           (point >= 0x2066 && point <= 0x2069);
}

size_t utf8_next(struct span s, uint32_t *ret_point)
{
    const unsigned char *at = (const unsigned char *)s.at;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char c = at[0];
    *ret_point = c;
    if (c < 0x80)
        return 1;
    size_t n = c >= 0xc2 && c <= 0xdf ? 2 : c >= 0xe0 && c <= 0xef ? 3 : c >= 0xf0 && c <= 0xf4 ? 4 : 0;
    if (!n || n > s.len)
        return 0;
    uint32_t point = c & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (at[i] & 0x3f);
    }
    if (point < least[n] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
        return 0;
    *ret_point = point;
    return n;
}

static struct span take_bytes(struct span *s, size_t n)
{
    struct span taken = span_of(s->at, n);
    s->at += n;
    s->len -= n;
    return taken;
}

struct span escape_next(struct span *s, char room[4])
{
    static const char hex[] = "0123456789abcdef";
    const unsigned char *at = (const unsigned char *)s->at;
    uint32_t point;
    size_t n = utf8_next(*s, &point);
    if (n && point != '\\' && !escape_needed(point))
        return take_bytes(s, n);
    take_bytes(s, 1);
    room[0] = '\\';
    if (*at == '\\') {
        room[1] = '\\';
        return span_of(room, 2);
    }
    room[1] = 'x';
    room[2] = hex[*at >> 4];
    room[3] = hex[*at & 15];
    return span_of(room, 4);
}

void buf_escaped(struct buf *b, const char *at, size_t len)
{
    struct span s = span_of(at, len);
    char room[4];
    while (s.len) {
        struct span written = escape_next(&s, room);
        buf_add(b, written.at, written.len);
    }
}

/* Characters that take two columns of a terminal (East Asian Width W and F of Unicode, in blocks), and those that take
 * none because they combine with the one before. */
static const struct {
    uint32_t first, last;
    unsigned columns;
} widths[] = {{0x300, 0x36f, 0},     {0x1100, 0x115f, 2},   {0x20d0, 0x20ff, 0},   {0x2e80, 0x303e, 2},
              {0x3041, 0xa4cf, 2},   {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},   {0xfe00, 0xfe0f, 0},
              {0xfe20, 0xfe2f, 0},   {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},
              {0x1f300, 0x1f64f, 2}, {0x1f680, 0x1f6ff, 2}, {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2}};

static unsigned columns_of(uint32_t point)
{
    for (size_t i = 0; point >= widths[0].first && i < sizeof(widths) / sizeof(*widths); i++) {
        if (point >= widths[i].first && point <= widths[i].last)
            return widths[i].columns;
    }
    return 1;
}

size_t utf8_columns(const char *at, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len;) {
        uint32_t point = 0;
        size_t step = (unsigned char)at[i] < 0x80 ? 0 : utf8_next(span_of(at + i, len - i), &point);
        n += step ? columns_of(point) : 1;
        i += step ? step : 1;
    }
    return n;
}
