/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_scan.h"

#include <string.h>

#include "base/escape.h"

#define NESTED_MOST 16384u /* levels that are parsed */

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

/* Reads the digits after "\u". Half of a surrogate pair, and NUL, which our strings cannot hold, become U+FFFD. */
static bool scan_unicode(struct span *s, uint32_t *ret, bool *exact)
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
    bool is_text = c && (c < 0xd800 || c >= 0xe000);
    *exact &= is_text;
    *ret = is_text ? c : 0xfffd;
    return true;
}

static bool scan_escape(struct span *s, char out[4], size_t *ret_len, bool *exact)
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
    else if (e == 'u' && scan_unicode(s, &c, exact))
        *ret_len = utf8(c, out);
    else
        return false;
    return true;
}

static bool scan_string(struct span *s, char *out, size_t cap, size_t *ret_len, bool *exact)
{
    size_t len = 0;
    json_blanks(s);
    struct span rest = *s;
    *exact = true;
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
        if (c == '\\' && !scan_escape(&rest, bytes, &n, exact))
            return false;
        *exact &= n <= cap - len;
        n = n < cap - len ? n : cap - len;
        memcpy(out + len, bytes, n);
        len += n;
    }
    return false;
}

bool json_string(struct span *s, char *out, size_t cap, size_t *ret_len)
{
    bool exact;
    return scan_string(s, out, cap, ret_len, &exact);
}

bool json_string_exact(struct span *s, char *out, size_t cap, size_t *ret_len)
{
    struct span rest = *s;
    bool exact;
    if (!scan_string(&rest, out, cap, ret_len, &exact) || !exact)
        return false;
    *s = rest;
    return true;
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

/* ---- values ---- */

static bool skip_string(struct span *s)
{
    char none[1];
    size_t len;
    return json_string(s, none, 0, &len);
}

static bool skip_digits(struct span *s)
{
    size_t before = s->len;
    while (s->len && *s->at >= '0' && *s->at <= '9') {
        s->at++;
        s->len--;
    }
    return s->len < before;
}

static bool skip_number(struct span *s)
{
    scan_char(s, '-');
    if (json_literal(s, "Infinity"))
        return true;
    if (!scan_char(s, '0') && !skip_digits(s))
        return false;
    if (scan_char(s, '.') && !skip_digits(s))
        return false;
    if (!scan_char(s, 'e') && !scan_char(s, 'E'))
        return true;
    if (!scan_char(s, '-'))
        scan_char(s, '+');
    return skip_digits(s);
}

static bool skip_scalar(struct span *s)
{
    if (s->len && *s->at == '"')
        return skip_string(s);
    return json_literal(s, "true") || json_literal(s, "false") || json_literal(s, "null") || json_literal(s, "NaN") ||
           skip_number(s);
}

static bool skip_key(struct span *s)
{
    return skip_string(s) && json_next_is(s, ':');
}

/* Checks a value without recursion, so that foreign JSON cannot use up the stack, and advances up to its end or its
 * fault. close: the closing bracket of each level. */
static bool scan_value(struct span *rest, unsigned *ret_levels)
{
    char close[NESTED_MOST];
    unsigned n = 0, most = 0;
    do {
        json_blanks(rest);
        char c = rest->len ? *rest->at : 0;
        if (c == '{' || c == '[') {
            if (n == NESTED_MOST)
                return false;
            close[n++] = c == '{' ? '}' : ']';
            most = n > most ? n : most;
            json_next_is(rest, c);
            json_blanks(rest);
            if (!rest->len)
                return false;
            if (*rest->at != close[n - 1]) {
                if (c == '{' && !skip_key(rest))
                    return false;
                continue;
            }
        } else if (!skip_scalar(rest)) {
            return false;
        }
        while (n && json_next_is(rest, close[n - 1]))
            n--;
        if (n && (!json_next_is(rest, ',') || (close[n - 1] == '}' && !skip_key(rest))))
            return false;
    } while (n);
    *ret_levels = most;
    return true;
}

bool json_value(struct span *s, unsigned *ret_levels)
{
    struct span rest = *s;
    if (!scan_value(&rest, ret_levels))
        return false;
    *s = rest;
    return true;
}

size_t json_fault(struct span text)
{
    struct span rest = text;
    unsigned levels;
    bool is_value = scan_value(&rest, &levels);
    json_blanks(&rest);
    return is_value && !rest.len ? SIZE_MAX : text.len - rest.len;
}

bool json_member(struct span *s, struct span key)
{
    char name[128];
    size_t len;
    unsigned levels;
    if (!json_next_is(s, '{'))
        return false;
    do {
        bool is_it = json_string(s, name, sizeof(name), &len) && len == key.len && memcmp(name, key.at, len) == 0;
        if (!json_next_is(s, ':'))
            return false;
        json_blanks(s);
        if (is_it)
            return true;
        if (!json_value(s, &levels))
            return false;
    } while (json_next_is(s, ','));
    return false;
}

bool json_element(struct span *s, struct span *ret)
{
    unsigned levels;
    if (!json_next_is(s, '[') && !json_next_is(s, ','))
        return false;
    json_blanks(s);
    *ret = *s;
    return json_value(s, &levels);
}

bool json_is_value(struct span text)
{
    struct span rest = text;
    unsigned levels;
    if (!json_value(&rest, &levels) || rest.len || levels > JSON_LEVELS_MOST)
        return false;
    uint32_t point;
    for (size_t n; text.len; text = span_of(text.at + n, text.len - n)) {
        n = utf8_next(text, &point);
        if (!n)
            return false;
    }
    return true;
}

size_t json_compact(struct span value, char *out)
{
    size_t n = 0;
    bool in_string = false;
    for (size_t i = 0; i < value.len; i++) {
        char c = value.at[i];
        if (!in_string && (c == ' ' || c == '\t' || c == '\n' || c == '\r'))
            continue;
        out[n++] = c;
        in_string ^= c == '"';
        if (in_string && c == '\\' && i + 1 < value.len)
            out[n++] = value.at[++i];
    }
    return n;
}
