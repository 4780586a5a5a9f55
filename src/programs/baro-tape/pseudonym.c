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

void pseudonyms_done(struct pseudonyms *p)
{
    map_done(&p->words);
    map_done(&p->count);
    buf_done(&p->text);
}

/* The key of a map: never 0. */
static uint64_t in_role(const char *role, uint64_t value)
{
    const uint64_t both[2] = {map_hash(role, strlen(role)), value};
    return map_hash(both, sizeof(both));
}

/* Returns the number of a word among those of its role, from 1 on. */
static uint64_t number_of(struct pseudonyms *p, const char *role, uint64_t hash)
{
    uint64_t key = in_role(role, hash), *known = map_find(&p->words, key), *count = NULL;
    if (known)
        return *known;
    uint64_t role_key = map_hash(role, strlen(role));
    count = map_find(&p->count, role_key);
    uint64_t number = count ? *count + 1 : 1;
    if (!map_set(&p->count, role_key, number) || !map_set(&p->words, key, number))
        p->text.failed = true;
    return number;
}

#define SHORT_LEN 6
#define SHORT_MASK ((1u << 5 * SHORT_LEN) - 1)

/* How many characters of the hash tell the word from those before it? */
static int length_of(struct pseudonyms *p, const char *role, uint64_t hash)
{
    uint64_t key = in_role(role, hash & SHORT_MASK), *known = map_find(&p->words, key);
    if (!known && !map_set(&p->words, key, hash))
        p->text.failed = true;
    return !known || *known == hash ? SHORT_LEN : 2 * SHORT_LEN;
}

void pseudonym_add(struct pseudonyms *p, const char *role, const char *at, size_t len)
{
    static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
    uint64_t hash = pseudonym_hash(p->key, at, len);
    buf_str(&p->text, role);
    buf_byte(&p->text, '-');
    if (!p->is_given) {
        buf_u64(&p->text, number_of(p, role, hash));
        return;
    }
    for (int i = length_of(p, role, hash); i > 0; i--, hash >>= 5)
        buf_byte(&p->text, (uint8_t)digits[hash & 31]);
}

static const char *finished(struct pseudonyms *p)
{
    buf_byte(&p->text, 0);
    return p->text.failed ? NULL : (const char *)p->text.at;
}

const char *pseudonym_whole(struct pseudonyms *p, const char *role, const char *text)
{
    buf_clear(&p->text);
    pseudonym_add(p, role, text, strlen(text));
    return finished(p);
}

/* Adds what stands between two blanks. last: the role of the last part; NULL: as the others. */
static void add_word(struct pseudonyms *p, const char *role, const char *path, const char *last, const char *at,
                     size_t len)
{
    const char *end = at + len;
    if (memchr(at, '/', len))
        role = path;
    while (at < end) {
        size_t between = strspn(at, "/,"), rest = (size_t)(end - at);
        between = between < rest ? between : rest;
        buf_add(&p->text, at, between);
        at += between;
        size_t part = strcspn(at, "/,");
        part = part < (size_t)(end - at) ? part : (size_t)(end - at);
        if (part)
            pseudonym_add(p, last && at + part == end ? last : role, at, part);
        at += part;
    }
}

static size_t add_blanks(struct pseudonyms *p, const char *text)
{
    size_t n = strspn(text, " ");
    buf_add(&p->text, text, n);
    return n;
}

const char *pseudonym_words(struct pseudonyms *p, const char *role, const char *path, const char *text)
{
    buf_clear(&p->text);
    while (*(text += add_blanks(p, text))) {
        size_t len = strcspn(text, " ");
        add_word(p, role, path, NULL, text, len);
        text += len;
    }
    return finished(p);
}

const char *pseudonym_cmdline(struct pseudonyms *p, const char *text, bool has_command)
{
    buf_clear(&p->text);
    while (*(text += add_blanks(p, text))) {
        size_t len = strcspn(text, " ");
        if (has_command)
            add_word(p, "cmd", "path", "cmd", text, len);
        else
            add_word(p, *text == '-' ? "opt" : "arg", "path", NULL, text, len);
        has_command = false;
        text += len;
    }
    return finished(p);
}

uint32_t pseudonym_uid(struct pseudonyms *p, uint32_t uid)
{
    enum { FIRST = 100000, MOST = 1000000000 };
    if (uid == 0)
        return 0;
    uint64_t hash = pseudonym_hash(p->key, &uid, sizeof(uid));
    return FIRST + (uint32_t)(p->is_given ? hash % MOST : number_of(p, "user", hash));
}
