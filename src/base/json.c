/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void indent(struct json *j)
{
    if (!j->pretty || j->depth > 2)
        return;
    buf_byte(j->out, '\n');
    for (unsigned i = 0; i < 2 * j->depth; i++)
        buf_byte(j->out, ' ');
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
static bool is_plain(const char *at, size_t len)
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
    if (is_plain(at, len)) { /* the most frequent case */
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

/* Do 15 digits read back as the same number? Up to 15 digits and powers of ten up to 22 are exact as doubles, so one
 * multiplication or division rounds once, as reading the text would. */
static bool digits_suffice(double v)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    char text[40];
    int64_t mantissa = 0;
    int exponent = 0;
    snprintf(text, sizeof(text), "%.14e", fabs(v));
    const char *c = text;
    for (; *c && *c != 'e'; c++) {
        if (*c >= '0' && *c <= '9')
            mantissa = 10 * mantissa + (*c - '0');
    }
    bool negative = *c && c[1] == '-';
    for (c += *c ? 2 : 0; *c >= '0' && *c <= '9'; c++)
        exponent = 10 * exponent + (*c - '0');
    exponent = (negative ? -exponent : exponent) - 14;
    if (exponent < -22 || exponent > 22)
        return false;
    double back = exponent < 0 ? (double)mantissa / tens[-exponent] : (double)mantissa * tens[exponent];
    return back == fabs(v);
}

/* 17 digits always read back as the same number; 15 are more readable if they do, too. The library never sets a locale,
 * but its user may have: a decimal comma is replaced. */
void json_double(struct json *j, double v)
{
    char text[40];
    if (!isfinite(v)) {
        json_null(j);
        return;
    }
    if (v >= 0 && v < 1e15 && v == (double)(uint64_t)v && !signbit(v)) { /* as many are: 0 cores */
        json_u64(j, (uint64_t)v);
        return;
    }
    snprintf(text, sizeof(text), digits_suffice(v) ? "%.15g" : "%.17g", v);
    for (char *c = text; *c; c++) {
        if (*c == ',')
            *c = '.';
    }
    plain(j, text);
}
