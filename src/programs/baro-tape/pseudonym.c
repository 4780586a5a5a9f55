/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-tape/pseudonym.h"

#include <string.h>

static uint64_t rotated(uint64_t v, unsigned by)
{
    return v << by | v >> (64 - by);
}

static void round_of(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotated(v[1], 13) ^ v[0];
    v[0] = rotated(v[0], 32);
    v[2] += v[3];
    v[3] = rotated(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotated(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotated(v[1], 17) ^ v[2];
    v[2] = rotated(v[2], 32);
}

static uint64_t word_of(const unsigned char *at, size_t n)
{
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++)
        word |= (uint64_t)at[i] << 8 * i;
    return word;
}

static void take_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    round_of(v);
    round_of(v);
    v[0] ^= word;
}

uint64_t pseudonym_hash(const uint64_t key[2], const void *at, size_t len)
{
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575ull, key[1] ^ 0x646f72616e646f6dull, key[0] ^ 0x6c7967656e657261ull,
                     key[1] ^ 0x7465646279746573ull};
    const unsigned char *from = at;
    size_t i;
    for (i = 0; i + 8 <= len; i += 8)
        take_word(v, word_of(from + i, 8));
    take_word(v, word_of(from + i, len - i) | (uint64_t)len << 56);
    v[2] ^= 0xff;
    for (i = 0; i < 4; i++)
        round_of(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void pseudonym_add(struct buf *out, const uint64_t key[2], const char *at, size_t len)
{
    static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
    uint64_t hash = pseudonym_hash(key, at, len);
    buf_byte(out, 'x');
    for (int i = 1; i < PSEUDONYM_LEN; i++, hash >>= 5)
        buf_byte(out, (uint8_t)digits[hash & 31]);
}

static const char *finished(struct pseudonyms *p)
{
    buf_byte(&p->text, 0);
    return p->text.failed ? NULL : (const char *)p->text.at;
}

const char *pseudonym_words(struct pseudonyms *p, const char *text)
{
    static const char between_words[] = " /,";
    buf_clear(&p->text);
    while (*text) {
        size_t between = strspn(text, between_words), len = strcspn(text + between, between_words);
        buf_add(&p->text, text, between);
        text += between;
        if (len)
            pseudonym_add(&p->text, p->key, text, len);
        text += len;
    }
    return finished(p);
}

const char *pseudonym_whole(struct pseudonyms *p, const char *text)
{
    buf_clear(&p->text);
    pseudonym_add(&p->text, p->key, text, strlen(text));
    return finished(p);
}
