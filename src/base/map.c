/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 64u

uint64_t map_hash(const void *at, size_t len)
{
    const char *text = at;
    uint64_t h = len * 0x9e3779b97f4a7c15u + 1, word;
    for (; len >= sizeof(word); text += sizeof(word), len -= sizeof(word)) {
        memcpy(&word, text, sizeof(word));
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, text, len);
    h = (h ^ word) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
    return h ? h : 1;
}

static size_t home_of(const struct map *m, uint64_t key)
{
    return (size_t)(key * 0x9e3779b97f4a7c15u >> 32) & (m->size - 1);
}

static struct map_slot *free_slot(const struct map *m, uint64_t key)
{
    size_t i = home_of(m, key);
    while (m->at[i].key)
        i = (i + 1) & (m->size - 1);
    return &m->at[i];
}

static uint64_t *find_from(const struct map *m, uint64_t key, size_t i)
{
    for (; m->at[i].key; i = (i + 1) & (m->size - 1)) {
        if (m->at[i].key == key)
            return &m->at[i].value;
    }
    return NULL;
}

static size_t index_of(const struct map *m, const uint64_t *value)
{
    return (size_t)((const char *)value - (const char *)m->at) / sizeof(*m->at);
}

uint64_t *map_find(const struct map *m, uint64_t key)
{
    return m->n ? find_from(m, key, home_of(m, key)) : NULL;
}

uint64_t *map_next(const struct map *m, uint64_t key, uint64_t *after)
{
    return find_from(m, key, (index_of(m, after) + 1) & (m->size - 1));
}

bool map_reserve(struct map *m, size_t n)
{
    struct map more = {.n = m->n, .size = m->size ? m->size : FIRST_SIZE};
    while (more.size < 2 * n)
        more.size *= 2;
    if (more.size == m->size)
        return true;
    more.at = calloc(more.size, sizeof(*more.at));
    if (!more.at)
        return false;
    for (size_t i = 0; i < m->size; i++) {
        if (m->at[i].key)
            *free_slot(&more, m->at[i].key) = m->at[i];
    }
    free(m->at);
    *m = more;
    return true;
}

uint64_t *map_add(struct map *m, uint64_t key, uint64_t value)
{
    if (!map_reserve(m, m->n + 1))
        return NULL;
    struct map_slot *slot = free_slot(m, key);
    *slot = (struct map_slot){key, value};
    m->n++;
    return &slot->value;
}

bool map_set(struct map *m, uint64_t key, uint64_t value)
{
    uint64_t *known = map_find(m, key);
    if (known)
        *known = value;
    return known || map_add(m, key, value);
}

void map_clear(struct map *m)
{
    if (m->n)
        memset(m->at, 0, m->size * sizeof(*m->at));
    m->n = 0;
}

void map_done(struct map *m)
{
    free(m->at);
    *m = (struct map){0};
}
