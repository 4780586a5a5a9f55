/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-top/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int map_reset(struct map *m, size_t n)
{
    size_t cap = 64;
    while (cap < 2 * n)
        cap *= 2;
    if (cap > m->cap) {
        void *at = malloc(cap * sizeof(*m->at));
        if (!at)
            return -ENOMEM;
        free(m->at);
        m->at = at;
        m->cap = cap;
    }
    m->mask = cap - 1;
    memset(m->at, 0, cap * sizeof(*m->at));
    return 0;
}

static size_t slot_of(const struct map *m, uint32_t key)
{
    size_t i = (key * 2654435769u >> 7) & m->mask;
    while (m->at[i].key && m->at[i].key != key)
        i = (i + 1) & m->mask;
    return i;
}

void map_put(struct map *m, uint32_t key, size_t value)
{
    size_t i = slot_of(m, key);
    m->at[i].key = key;
    m->at[i].value = (uint32_t)value;
}

size_t map_get(const struct map *m, uint32_t key)
{
    if (!m->at || !key)
        return MAP_NONE;
    size_t i = slot_of(m, key);
    return m->at[i].key ? m->at[i].value : MAP_NONE;
}

void map_done(struct map *m)
{
    free(m->at);
    *m = (struct map){0};
}
