/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words for words. With the same key a word always becomes the same one, and without the key nobody can tell which word
 * one stood for, or try words until one fits: it is a keyed hash (SipHash-2-4), of which 50 bits are written.
 */
#ifndef PROGRAMS_BARO_TAPE_PSEUDONYM_H
#define PROGRAMS_BARO_TAPE_PSEUDONYM_H

#include "base/buf.h"

struct pseudonyms {
    uint64_t key[2];
    struct buf text; /* the last one */
};

#define PSEUDONYM_LEN 11

uint64_t pseudonym_hash(const uint64_t key[2], const void *at, size_t len);

/* Adds the word that stands for these bytes: a letter and ten letters and digits. */
void pseudonym_add(struct buf *out, const uint64_t key[2], const char *at, size_t len);

/* Replaces each word of a text; what is between them stays: blanks, commas, and slashes of paths. Borrowed until the
 * next call; NULL without memory. */
const char *pseudonym_words(struct pseudonyms *p, const char *text);
/* Replaces a text by one word. */
const char *pseudonym_whole(struct pseudonyms *p, const char *text);

#endif
