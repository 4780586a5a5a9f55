/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of events and entities on the tape. Each has its length, so that a reader can skip unknown types. */
#include <string.h>

#include "base/json_scan.h"
#include "libbaro/tape/block.h"
#include "libbaro/tape/little.h"

static size_t varint_size(uint64_t v)
{
    size_t n = 1;
    for (; v >= 0x80; v >>= 7)
        n++;
    return n;
}

static size_t text_size(const char *text)
{
    size_t len = strlen(text);
    return varint_size(len) + len;
}

static uint64_t zigzag(int64_t v)
{
    return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static const char *text_of(const struct baro_attribute *a)
{
    return a->text ? a->text : "";
}

static bool is_json(struct span text)
{
    return text.len <= ATTRIBUTE_JSON_MAX && json_is_value(text);
}

/* Returns the size of an attribute on the tape; 0: it exceeds the limits. */
static size_t size_of(const struct baro_attribute *a)
{
    if (!a->name || !*a->name || strlen(a->name) > ATTRIBUTE_NAME_MAX)
        return 0;
    size_t head = text_size(a->name) + 1;
    switch (a->type) {
    case BARO_ATTRIBUTE_UNSIGNED: return head + varint_size(a->u64);
    case BARO_ATTRIBUTE_SIGNED: return head + varint_size(zigzag(a->i64));
    case BARO_ATTRIBUTE_TEXT: return strlen(text_of(a)) > ATTRIBUTE_TEXT_MAX ? 0 : head + text_size(text_of(a));
    case BARO_ATTRIBUTE_JSON: return !is_json(span_str(text_of(a))) ? 0 : head + text_size(text_of(a));
    case BARO_ATTRIBUTE_REAL: return head + sizeof(uint64_t);
    case BARO_ATTRIBUTE_BOOLEAN: return head + 1;
    }
    return 0;
}

static void write_text(struct buf *out, const char *text)
{
    buf_varint(out, strlen(text));
    buf_str(out, text);
}

static void write_one(struct buf *out, const struct baro_attribute *a)
{
    uint8_t real[8];
    uint64_t real_bits;
    write_text(out, a->name);
    buf_byte(out, (uint8_t)a->type);
    switch (a->type) {
    case BARO_ATTRIBUTE_UNSIGNED: buf_varint(out, a->u64); break;
    case BARO_ATTRIBUTE_SIGNED: buf_zigzag(out, a->i64); break;
    case BARO_ATTRIBUTE_TEXT:
    case BARO_ATTRIBUTE_JSON: write_text(out, text_of(a)); break;
    case BARO_ATTRIBUTE_REAL:
        memcpy(&real_bits, &a->real, sizeof real_bits);
        put_le64(real, real_bits);
        buf_add(out, real, sizeof real);
        break;
    case BARO_ATTRIBUTE_BOOLEAN: buf_varint(out, a->u64 != 0); break;
    }
}

void attributes_write(struct buf *out, const struct baro_attribute *at, size_t n)
{
    n = n < ATTRIBUTES_MAX ? n : ATTRIBUTES_MAX;
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += size_of(&at[i]) > 0;
    buf_varint(out, count);
    for (size_t i = 0; i < n; i++) {
        size_t size = size_of(&at[i]);
        if (size == 0)
            continue;
        buf_varint(out, size);
        write_one(out, &at[i]);
    }
}

bool attributes_scan(struct span *in, struct span *ret)
{
    struct span from = *in;
    uint64_t n, len;
    if (!scan_varint(in, &n) || n > ATTRIBUTES_MAX)
        return false;
    for (; n > 0; n--) {
        if (!scan_varint(in, &len) || len > in->len)
            return false;
        *in = span_of(in->at + len, in->len - (size_t)len);
    }
    *ret = span_of(from.at, from.len - in->len);
    return true;
}

/* Reads an attribute. Returns false if its type is unknown or it exceeds the limits. */
static bool scan_one(struct span in, struct span *ret_name, struct baro_attribute *ret, struct span *ret_text)
{
    if (!scan_text(&in, ret_name) || ret_name->len == 0 || ret_name->len > ATTRIBUTE_NAME_MAX || in.len == 0)
        return false;
    unsigned type = (unsigned char)*in.at;
    uint64_t real_bits;
    in = span_of(in.at + 1, in.len - 1);
    *ret = (struct baro_attribute){.type = (enum baro_attribute_type)type};
    *ret_text = span_of("", 0);
    switch (type) {
    case BARO_ATTRIBUTE_UNSIGNED: return scan_varint(&in, &ret->u64);
    case BARO_ATTRIBUTE_SIGNED: return scan_zigzag(&in, &ret->i64);
    case BARO_ATTRIBUTE_TEXT: return scan_text(&in, ret_text) && ret_text->len <= ATTRIBUTE_TEXT_MAX;
    case BARO_ATTRIBUTE_JSON: return scan_text(&in, ret_text) && is_json(*ret_text);
    case BARO_ATTRIBUTE_REAL:
        if (in.len < sizeof real_bits)
            return false;
        real_bits = get_le64((const uint8_t *)in.at);
        memcpy(&ret->real, &real_bits, sizeof ret->real);
        return true;
    case BARO_ATTRIBUTE_BOOLEAN: return scan_varint(&in, &ret->u64) && ret->u64 <= 1;
    default: return false;
    }
}

static char *put(char **texts, struct span text)
{
    char *to = *texts;
    memcpy(to, text.at, text.len);
    to[text.len] = 0;
    *texts += text.len + 1;
    return to;
}

/* Reads a list of attributes. to and texts: NULL: only counts. */
static size_t walk(struct span in, struct baro_attribute *to, char *texts, size_t *ret_bytes)
{
    size_t known = 0;
    uint64_t n = 0, len;
    *ret_bytes = 0;
    scan_varint(&in, &n);
    for (; n > 0 && scan_varint(&in, &len) && len <= in.len; n--) {
        struct span name, text, body = span_of(in.at, (size_t)len);
        struct baro_attribute a;
        in = span_of(in.at + len, in.len - (size_t)len);
        if (!scan_one(body, &name, &a, &text))
            continue;
        bool has_text = a.type == BARO_ATTRIBUTE_TEXT || a.type == BARO_ATTRIBUTE_JSON;
        *ret_bytes += name.len + 1 + (has_text ? text.len + 1 : 0);
        if (to) {
            a.name = put(&texts, name);
            a.text = has_text ? put(&texts, text) : NULL;
            to[known] = a;
        }
        known++;
    }
    return known;
}

size_t attributes_count(struct span in, size_t *ret_bytes)
{
    return walk(in, NULL, NULL, ret_bytes);
}

void attributes_fill(struct span in, struct baro_attribute *to, char *texts)
{
    size_t bytes;
    walk(in, to, texts, &bytes);
}
