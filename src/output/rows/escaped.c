/* SPDX-License-Identifier: Apache-2.0 */
#include "output/rows/escaped.h"

#include <string.h>

#include "baro/text.h"

void text_escaped(struct buf *b, const char *at, size_t len)
{
    if (buf_reserve(b, 4 * len + 1))
        b->len += baro_text_escape(at, len, (char *)b->at + b->len, 4 * len + 1);
}

static const struct {
    const char *sign, *plain;
} plain_signs[] = {{"≥", ">="}, {"≤", "<="},  {"≈", "~"}, {"·", "-"}, {"×", "x"},
                   {"µ", "u"},  {"…", "..."}, {"✗", "x"}, {"–", "-"}, {"→", "->"}};

/* Returns the plain form of the sign that the text begins with; NULL if it has none. */
static const char *plain_sign(const unsigned char *at, size_t len, size_t *ret_len)
{
    for (size_t i = 0; i < sizeof(plain_signs) / sizeof(*plain_signs); i++) {
        *ret_len = strlen(plain_signs[i].sign);
        if (*ret_len <= len && memcmp(at, plain_signs[i].sign, *ret_len) == 0)
            return plain_signs[i].plain;
    }
    return NULL;
}

void text_ascii(struct buf *b, size_t from)
{
    static const char digits[] = "0123456789abcdef";
    struct buf out = {0};
    for (size_t i = from; i < b->len;) {
        unsigned char c = b->at[i];
        size_t n;
        const char *plain = c < 0x80 ? NULL : plain_sign(b->at + i, b->len - i, &n);
        const char code[4] = {'\\', 'x', digits[c >> 4], digits[c & 15]};
        if (plain)
            buf_str(&out, plain);
        else if (c < 0x80)
            buf_byte(&out, c);
        else
            buf_add(&out, code, 4);
        i += plain ? n : 1;
    }
    b->len = from;
    b->failed = b->failed || out.failed;
    buf_add(b, out.at, out.len);
    buf_done(&out);
}
