/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-push/proto.h"

#include <string.h>

enum { VARINT, FIXED_64, BYTES, FIXED_32 = 5 };

static void put_key(struct buf *b, unsigned field, unsigned type)
{
    buf_varint(b, field << 3 | type);
}

void proto_number(struct buf *b, unsigned field, uint64_t v)
{
    if (!v)
        return;
    put_key(b, field, VARINT);
    buf_varint(b, v);
}

void proto_fixed(struct buf *b, unsigned field, uint64_t v)
{
    put_key(b, field, FIXED_64);
    buf_le32(b, (uint32_t)v);
    buf_le32(b, (uint32_t)(v >> 32));
}

void proto_double(struct buf *b, unsigned field, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    proto_fixed(b, field, bits);
}

void proto_text(struct buf *b, unsigned field, const char *text)
{
    put_key(b, field, BYTES);
    buf_varint(b, strlen(text));
    buf_str(b, text);
}

size_t proto_begin(struct buf *b, unsigned field)
{
    put_key(b, field, BYTES);
    return b->len;
}

/* The length stands before the message, which is moved to make room for it. */
void proto_end(struct buf *b, size_t begun)
{
    struct buf length = {0};
    if (b->failed)
        return;
    size_t len = b->len - begun;
    buf_varint(&length, len);
    if (length.failed || !buf_reserve(b, length.len)) {
        b->failed = true;
    } else {
        memmove(b->at + begun + length.len, b->at + begun, len);
        memcpy(b->at + begun, length.at, length.len);
        b->len += length.len;
    }
    buf_done(&length);
}

int proto_next(struct span *s, struct proto_field *ret)
{
    uint64_t key, len = 0;
    *ret = (struct proto_field){0};
    if (!s->len)
        return 0;
    if (!scan_varint(s, &key) || key >> 3 == 0 || key >> 3 > UINT32_MAX)
        return -1;
    ret->number = (unsigned)(key >> 3);
    switch (key & 7) {
    case VARINT: return scan_varint(s, &ret->value) ? 1 : -1;
    case FIXED_64: len = 8; break;
    case FIXED_32: len = 4; break;
    case BYTES:
        if (!scan_varint(s, &len))
            return -1;
        break;
    default: return -1;
    }
    if (len > s->len)
        return -1;
    ret->bytes = span_of(s->at, (size_t)len);
    *s = span_of(s->at + len, s->len - (size_t)len);
    return 1;
}
