/* SPDX-License-Identifier: Apache-2.0 */
#include "reading/json_text.h"

#include <string.h>

void json_blanks(struct span *s)
{
    while (s->len && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r')) {
        s->at++;
        s->len--;
    }
}

bool json_next_is(struct span *s, char c)
{
    json_blanks(s);
    return scan_char(s, c);
}

/* ---- strings ---- */

static bool scan_hex4(struct span *s, uint32_t *ret)
{
    uint32_t v = 0;
    if (s->len < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        char c = s->at[i];
        uint32_t digit = c >= '0' && c <= '9'                 ? (uint32_t)(c - '0')
                         : (c | 32) >= 'a' && (c | 32) <= 'f' ? (uint32_t)((c | 32) - 'a' + 10)
                                                              : 16;
        if (digit == 16)
            return false;
        v = v << 4 | digit;
    }
    s->at += 4;
    s->len -= 4;
    *ret = v;
    return true;
}

static size_t utf8(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* After "\u". Half a pair of surrogates, and NUL, which no string of ours can hold, become U+FFFD. */
static bool scan_unicode(struct span *s, uint32_t *ret)
{
    uint32_t c, low;
    if (!scan_hex4(s, &c))
        return false;
    struct span rest = *s;
    if (c >= 0xd800 && c < 0xdc00 && scan_char(&rest, '\\') && scan_char(&rest, 'u') && scan_hex4(&rest, &low) &&
        low >= 0xdc00 && low < 0xe000) {
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        *s = rest;
    }
    *ret = !c || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c;
    return true;
}

static bool scan_escape(struct span *s, char out[4], size_t *ret_len)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    uint32_t c;
    if (!s->len)
        return false;
    char e = *s->at++;
    s->len--;
    const char *known = e ? strchr(from, e) : NULL;
    *ret_len = 1;
    if (known)
        out[0] = to[known - from];
    else if (e == 'u' && scan_unicode(s, &c))
        *ret_len = utf8(c, out);
    else
        return false;
    return true;
}

bool json_string(struct span *s, char *out, size_t cap, size_t *ret_len)
{
    size_t len = 0;
    json_blanks(s);
    struct span rest = *s;
    if (!scan_char(&rest, '"'))
        return false;
    while (rest.len) {
        char c = *rest.at++, bytes[4];
        size_t n = 1;
        rest.len--;
        if (c == '"') {
            *ret_len = len;
            *s = rest;
            return true;
        }
        if ((unsigned char)c < ' ')
            return false;
        bytes[0] = c;
        if (c == '\\' && !scan_escape(&rest, bytes, &n))
            return false;
        n = n < cap - len ? n : cap - len;
        memcpy(out + len, bytes, n);
        len += n;
    }
    return false;
}

bool json_literal(struct span *s, const char *word)
{
    size_t n = strlen(word);
    if (s->len < n || memcmp(s->at, word, n) != 0)
        return false;
    s->at += n;
    s->len -= n;
    return true;
}
