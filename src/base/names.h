/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that occur many times: each is stored once, and has a position. */
#ifndef BASE_NAMES_H
#define BASE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"

#define NAMES_NONE UINT32_MAX

/* All-zero is empty. If an allocation fails, the result is NAMES_NONE. */
struct names {
    struct buf text;  /* all texts, each with its NUL */
    uint32_t *offset; /* where each text is */
    uint32_t n;
    size_t room;
    struct map by_text;
};

/* The position of a text, which is added if it is new. */
uint32_t names_add(struct names *names, const char *text, size_t len);
const char *names_at(const struct names *names, uint32_t i);
void names_done(struct names *names);

#endif
