/* SPDX-License-Identifier: Apache-2.0 */
#include "output/rows/wrap.h"

#include <string.h>

#include "base/escape.h"

/* The bytes up to the next blank at which a line may end: not the one between a number and its unit, as in "24.6 MB".
 */
static size_t word_at(const char *at, size_t len)
{
    bool number = true;
    size_t n = 0, unit = 0;
    for (; n < len && at[n] != ' '; n++)
        number = number && ((at[n] >= '0' && at[n] <= '9') || at[n] == '.' || at[n] == ',');
    while (n + 1 + unit < len && at[n + 1 + unit] != ' ')
        unit++;
    return n && number && unit && unit <= 4 ? n + 1 + unit : n;
}

unsigned wrap_words(struct buf *b, const char *at, size_t len, unsigned column, unsigned indent, unsigned width)
{
    bool begun = column > indent;
    for (size_t i = 0; i < len;) {
        size_t n = word_at(at + i, len - i);
        unsigned word = (unsigned)utf8_columns(at + i, n);
        if (begun && i && column + 1 + word > width) {
            buf_byte(b, '\n');
            buf_spaces(b, indent);
            column = indent;
        } else if (i) {
            buf_byte(b, ' ');
            column++;
        }
        buf_add(b, at + i, n);
        column += word;
        begun = true;
        i += n + (i + n < len);
    }
    return column;
}

void wrap_lines(struct buf *b, size_t from, unsigned width)
{
    struct buf out = {0};
    if (b->failed)
        return;
    for (size_t i = from; i < b->len;) {
        const char *line = (const char *)b->at + i, *end = memchr(line, '\n', b->len - i);
        size_t n = end ? (size_t)(end - line) : b->len - i;
        unsigned indent = 2;
        for (size_t k = 0; k < n && k < width / 4 && line[k] == ' '; k++)
            indent++;
        wrap_words(&out, line, n, 0, indent, width);
        if (end)
            buf_byte(&out, '\n');
        i += n + (end != NULL);
    }
    b->len = from;
    buf_add(b, out.at, out.len);
    b->failed = b->failed || out.failed;
    buf_done(&out);
}
