/* SPDX-License-Identifier: Apache-2.0 */
/* The input of a target with several parsers: a character that chooses one, and the text for it. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <stdlib.h>
#include <string.h>

#include "base/span.h"

struct fuzz_input {
    unsigned which;   /* 0 for '0' */
    struct span text; /* in memory of its exact size, so that a sanitizer sees a read beyond it; to be freed */
};

static inline bool fuzz_input(const uint8_t *data, size_t size, unsigned parsers, struct fuzz_input *ret)
{
    char *copy = size ? malloc(size - 1 ? size - 1 : 1) : NULL;
    if (!copy)
        return false;
    memcpy(copy, data + 1, size - 1);
    *ret = (struct fuzz_input){(data[0] - (unsigned)'0') % parsers, span_of(copy, size - 1)};
    return true;
}

static inline void fuzz_done(struct fuzz_input *in)
{
    free((char *)in->text.at);
}

#endif
