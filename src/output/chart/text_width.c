/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates the width of text in pictures, and says which characters can be shown. */
#include <string.h>

#include "baro/text.h"
#include "output/chart/canvas.h"
#include "output/rows/escaped.h"

/* Widths as shares of the font's size, for typical sans-serif fonts. */
static double advance(unsigned char c)
{
    if (c >= '0' && c <= '9')
        return 0.58;
    if (strchr("iljtfrI.,:;'|!()[] ", c) && c)
        return 0.34;
    if (strchr("mwMW@%", c) && c)
        return 0.9;
    if (c >= 'A' && c <= 'Z')
        return 0.68;
    return c >= 0xe2 ? 1.0 : 0.57;
}

static size_t next_length(const char *at, size_t len)
{
    size_t n = 1;
    while (n < len && ((unsigned char)at[n] & 0xc0) == 0x80)
        n++;
    return n;
}

double text_width(const char *at, size_t len, double size)
{
    double width = 0;
    for (size_t i = 0; i < len; i += next_length(at + i, len - i))
        width += advance((unsigned char)at[i]) * size;
    return width;
}

size_t text_fit(const char *at, size_t len, double size, double width)
{
    size_t i = 0;
    while (i < len) {
        width -= advance((unsigned char)at[i]) * size;
        if (width < 0)
            break;
        i += next_length(at + i, len - i);
    }
    return i;
}

void shown_text(const char *at, struct buf *ret)
{
    text_escaped(ret, at, strlen(at));
}

/* Returns the entity of a character with a meaning in XML; NULL: it has none. */
static const char *entity(char c)
{
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return NULL;
    }
}

void chart_xml_escaped(struct buf *ret, const char *at, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        const unsigned char *c = (const unsigned char *)at + i;
        const char *name = entity(at[i]);
        if (name) {
            buf_str(ret, name);
        } else if (c[0] == 0xef && i + 2 < len && c[1] == 0xbf && c[2] >= 0xbe) {
            buf_printf(ret, "\\xef\\xbf\\x%02x", c[2]); /* U+FFFE and U+FFFF: not in XML */
            i += 2;
        } else {
            buf_byte(ret, c[0]);
        }
    }
}

void chart_xml_text(struct buf *ret, const char *at, size_t len)
{
    char written[BARO_TEXT_NEXT_SIZE];
    for (size_t n; len > 0; at += n, len -= n) {
        n = baro_text_next(at, len, written);
        chart_xml_escaped(ret, written, strlen(written));
    }
}
