/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces words by pseudonyms. With the same key, a word always gets the same pseudonym. Without the key, nobody can
 * find the word, not even by trying many words: it is a keyed hash (SipHash-2-4), of which 50 bits are written.
 */
#ifndef PROGRAMS_BARO_TAPE_PSEUDONYM_H
#define PROGRAMS_BARO_TAPE_PSEUDONYM_H

#include "base/buf.h"

struct pseudonyms {
    uint64_t key[2];
    struct buf text; /* the text that was returned last */
};

#define PSEUDONYM_LEN 11

uint64_t pseudonym_hash(const uint64_t key[2], const void *at, size_t len);

/* Adds the pseudonym of these bytes: a letter, and ten letters and digits. */
void pseudonym_add(struct buf *out, const uint64_t key[2], const char *at, size_t len);

/* Replaces each word of a text. Blanks, commas and slashes between words stay. The result is borrowed until the next
 * call; NULL if out of memory. */
const char *pseudonym_words(struct pseudonyms *p, const char *text);
/* Replaces a text by one word. */
const char *pseudonym_whole(struct pseudonyms *p, const char *text);

#endif
