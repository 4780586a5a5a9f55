/* SPDX-License-Identifier: Apache-2.0 */
#include "base/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

const char *names_at(const struct names *names, uint32_t i)
{
    return i < names->n ? (const char *)names->text.at + names->offset[i] : "";
}

uint32_t names_add(struct names *names, const char *text, size_t len)
{
    uint64_t key = map_hash(text, len);
    for (uint64_t *i = map_find(&names->by_text, key); i; i = map_next(&names->by_text, key, i)) {
        const char *other = names_at(names, (uint32_t)*i);
        if (strncmp(other, text, len) == 0 && !other[len])
            return (uint32_t)*i;
    }
    size_t at = names->text.len;
    if (array_reserve(&names->offset, names->n + 1, &names->room, sizeof(*names->offset)) < 0 ||
        at + len + 1 > UINT32_MAX || !buf_reserve(&names->text, len + 1) || !map_add(&names->by_text, key, names->n))
        return NAMES_NONE;
    buf_add(&names->text, text, len);
    buf_byte(&names->text, 0);
    names->offset[names->n] = (uint32_t)at;
    return names->n++;
}

void names_done(struct names *names)
{
    buf_done(&names->text);
    free(names->offset);
    map_done(&names->by_text);
    *names = (struct names){0};
}
