/* SPDX-License-Identifier: Apache-2.0 */
#include "base/escape.h"
#include "base/json.h"
#include "base/json_scan.h"

#include <math.h>
#include <string.h>

static void indent(struct json *j)
{
    if (!j->pretty || j->depth > 2)
        return;
    buf_byte(j->out, '\n');
    buf_spaces(j->out, (size_t)2 * j->depth);
}

/* Writes the comma and indentation before a value or a name. */
static void separate(struct json *j)
{
    if (j->named) {
        j->named = false;
        return;
    }
    if (!j->depth)
        return;
    bool *some = &j->some[j->depth < JSON_DEPTH ? j->depth : JSON_DEPTH - 1];
    if (*some)
        buf_str(j->out, j->pretty && j->depth > 2 ? ", " : ",");
    *some = true;
    indent(j);
}

void json_begin(struct json *j, char bracket)
{
    separate(j);
    buf_byte(j->out, (uint8_t)bracket);
    j->depth++;
    j->some[j->depth < JSON_DEPTH ? j->depth : JSON_DEPTH - 1] = false;
}

void json_end(struct json *j, char bracket)
{
    bool some = j->some[j->depth < JSON_DEPTH ? j->depth : JSON_DEPTH - 1];
    bool broken = j->pretty && j->depth <= 2 && some;
    j->depth--;
    if (broken)
        indent(j);
    buf_byte(j->out, (uint8_t)bracket);
    if (!j->depth)
        buf_byte(j->out, '\n');
}

static void quote(struct buf *b, const unsigned char *at, size_t len)
{
    buf_byte(b, '"');
    for (size_t i = 0; i < len; i++) {
        if (at[i] == '"' || at[i] == '\\')
            buf_byte(b, '\\');
        buf_byte(b, at[i]);
    }
    buf_byte(b, '"');
}

/* buf_escaped() leaves only printable UTF-8, so JSON requires nothing but quotes and backslashes to be escaped. */
static bool needs_no_escape(const char *at, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (at[i] < ' ' || at[i] > '~' || at[i] == '"' || at[i] == '\\')
            return false;
    }
    return true;
}

void json_text_n(struct json *j, const char *at, size_t len)
{
    struct buf escaped = {0};
    separate(j);
    if (needs_no_escape(at, len)) { /* the most frequent case */
        buf_byte(j->out, '"');
        buf_add(j->out, at, len);
        buf_byte(j->out, '"');
        return;
    }
    buf_escaped(&escaped, at, len);
    if (escaped.failed)
        j->out->failed = true;
    else
        quote(j->out, escaped.at, escaped.len);
    buf_done(&escaped);
}

void json_exact_n(struct json *j, const char *text, size_t len)
{
    separate(j);
    buf_byte(j->out, '"');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < ' ')
            buf_printf(j->out, "\\u%04x", c);
        else
            buf_printf(j->out, c == '"' || c == '\\' ? "\\%c" : "%c", c);
    }
    buf_byte(j->out, '"');
}

void json_text(struct json *j, const char *text)
{
    if (text)
        json_text_n(j, text, strlen(text));
    else
        json_null(j);
}

void json_key(struct json *j, const char *name)
{
    json_text(j, name);
    buf_str(j->out, j->pretty ? ": " : ":");
    j->named = true;
}

static void plain(struct json *j, const char *text)
{
    separate(j);
    buf_str(j->out, text);
}

void json_raw(struct json *j, const char *at, size_t len)
{
    separate(j);
    buf_add(j->out, at, len);
}

void json_null(struct json *j)
{
    plain(j, "null");
}

void json_bool(struct json *j, bool v)
{
    plain(j, v ? "true" : "false");
}

void json_u64(struct json *j, uint64_t v)
{
    separate(j);
    buf_u64(j->out, v);
}

void json_i64(struct json *j, int64_t v)
{
    separate(j);
    if (v < 0)
        buf_byte(j->out, '-');
    buf_u64(j->out, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void json_double(struct json *j, double v)
{
    if (!isfinite(v)) {
        json_null(j);
        return;
    }
    if (v >= 0 && v < 1e15 && v == (double)(uint64_t)v && !signbit(v)) { /* many values are whole: 0 cores */
        json_u64(j, (uint64_t)v);
        return;
    }
    separate(j);
    buf_double(j->out, v);
}

void json_u64_or_null(struct json *j, bool known, uint64_t v)
{
    known ? json_u64(j, v) : json_null(j);
}

void json_i64_or_null(struct json *j, bool known, int64_t v)
{
    known ? json_i64(j, v) : json_null(j);
}

void json_double_or_null(struct json *j, bool known, double v)
{
    known ? json_double(j, v) : json_null(j);
}

/* ---- JSON that other programs wrote ---- */

/* A character within a string. */
static void put_character(struct buf *b, struct span *s)
{
    uint32_t point;
    size_t n = utf8_next(*s, &point);
    point = n ? point : 0xfffd;
    n = n ? n : 1;
    if (escape_needed(point) && point < 0x10000)
        buf_printf(b, "\\u%04x", point);
    else if (escape_needed(point))
        buf_printf(b, "\\u%04x\\u%04x", 0xd800 + ((point - 0x10000) >> 10), 0xdc00 + ((point - 0x10000) & 0x3ff));
    else
        buf_add(b, s->at, n);
    *s = span_of(s->at + n, s->len - n);
}

/* s begins after the opening quote. */
static void put_string(struct buf *b, struct span *s)
{
    buf_byte(b, '"');
    while (s->len && *s->at != '"') {
        if (*s->at == '\\' && s->len > 1) {
            buf_add(b, s->at, 2);
            *s = span_of(s->at + 2, s->len - 2);
        } else {
            put_character(b, s);
        }
    }
    scan_char(s, '"');
    buf_byte(b, '"');
}

void json_embed(struct json *j, const char *text)
{
    struct buf *b = j->out;
    struct span s = span_str(text);
    separate(j);
    while (s.len) {
        if (json_literal(&s, "NaN") || json_literal(&s, "Infinity") || json_literal(&s, "-Infinity")) {
            buf_str(b, "null");
            continue;
        }
        char c = *s.at++;
        s.len--;
        if (c == '"')
            put_string(b, &s);
        else if (c > ' ' && c <= '~')
            buf_byte(b, (uint8_t)c);
    }
}

void json_key_pair(struct json *j, const char *pair)
{
    size_t len = strcspn(pair, "=");
    struct buf key = {0};
    buf_add(&key, pair, len);
    buf_byte(&key, 0);
    if (key.failed)
        j->out->failed = true;
    else
        json_key_text(j, (const char *)key.at, pair[len] ? pair + len + 1 : "");
    buf_done(&key);
}
