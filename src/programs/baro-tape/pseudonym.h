/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces words by pseudonyms that say what a word is: "cmd-1", "path-3", and with a key that was given "cmd-x7k2fa".
 * Numbers count the words of each role in the order in which they come. With a key that was given a pseudonym depends
 * on the word alone, so that it is the same on other tapes: six letters and digits of a keyed hash (SipHash-2-4).
 * Without the key, nobody can find the word, not even by trying many words. On one tape two words of a role never have
 * the same pseudonym: where six characters are the same, the second word gets twelve.
 */
#ifndef PROGRAMS_BARO_TAPE_PSEUDONYM_H
#define PROGRAMS_BARO_TAPE_PSEUDONYM_H

#include "base/buf.h"
#include "base/map.h"

struct pseudonyms {
    uint64_t key[2];
    bool is_given;    /* the key: other tapes have the same pseudonyms */
    struct map words; /* role and word: its number; with a key role and characters: the hash of the word */
    struct map count; /* role: how many words */
    struct buf text;  /* the text that was returned last */
};

void pseudonyms_done(struct pseudonyms *p);

uint64_t pseudonym_hash(const uint64_t key[2], const void *at, size_t len);

/* Adds the pseudonym of these bytes in that role to p->text. */
void pseudonym_add(struct pseudonyms *p, const char *role, const char *at, size_t len);

/* The results of these are borrowed until the next call; NULL if out of memory. */

/* Replaces a text by one word. */
const char *pseudonym_whole(struct pseudonyms *p, const char *role, const char *text);
/* Replaces each word of a text. Blanks, commas and slashes between words stay. path: the role of words with slashes. */
const char *pseudonym_words(struct pseudonyms *p, const char *role, const char *path, const char *text);
/* Replaces the words of a command line. has_command: the last part of its first word is a command. */
const char *pseudonym_cmdline(struct pseudonyms *p, const char *text, bool has_command);
/* Another number for a user id other than 0. */
uint32_t pseudonym_uid(struct pseudonyms *p, uint32_t uid);

#endif
