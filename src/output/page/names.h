/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that occur many times, kept once; and numbers by number. Both grow, and give out positions. */
#ifndef OUTPUT_PAGE_NAMES_H
#define OUTPUT_PAGE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define NAMES_NONE UINT32_MAX

/* All-zero is empty. If an allocation fails, what was asked for is NAMES_NONE. */
struct names {
    struct buf text;  /* all texts, each with its NUL */
    uint32_t *offset; /* where each text is */
    uint32_t n, room;
    uint32_t *slot, slots; /* position + 1 by hash; slots is a power of two */
};

/* The position of a text, which is added if it is new. */
uint32_t names_add(struct names *names, const char *text, size_t len);
const char *names_at(const struct names *names, uint32_t i);
void names_done(struct names *names);

/* Numbers from 1 on, each with a value. All-zero is empty. */
struct numbers {
    uint32_t *key, *value;
    uint32_t n, slots;
};

uint32_t numbers_find(const struct numbers *m, uint32_t key); /* NAMES_NONE if it is not there */
bool numbers_set(struct numbers *m, uint32_t key, uint32_t value);
/* Each value becomes to[value]; those that become NAMES_NONE are removed. False: nothing is done, without memory. */
bool numbers_keep(struct numbers *m, const uint32_t *to);
void numbers_done(struct numbers *m);

#endif
