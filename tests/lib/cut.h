/* SPDX-License-Identifier: Apache-2.0 */
/* A text and each of its prefixes, for parsers. */
#ifndef LIB_CUT_H
#define LIB_CUT_H

#include <stdlib.h>
#include <string.h>

#include "base/span.h"

#define TEXT(literal) span_of(literal, sizeof(literal) - 1)

/* Copies the first bytes of a text into memory of exactly that size, so that ASan sees a read beyond it; free with
 * cut_free(). */
static inline struct span cut_of(struct span text, size_t len)
{
    char *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, text.at, len);
    return span_of(copy, len);
}

static inline void cut_free(struct span cut)
{
    free((char *)cut.at);
}

/* Calls check with each prefix of text. */
static inline void each_cut(struct span text, void (*check)(struct span cut))
{
    for (size_t len = 0; len <= text.len; len++) {
        struct span cut = cut_of(text, len);
        check(cut);
        cut_free(cut);
    }
}

#endif
