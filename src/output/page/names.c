/* SPDX-License-Identifier: Apache-2.0 */
#include "output/page/names.h"

#include <stdlib.h>
#include <string.h>

static uint32_t hash_text(const char *text, size_t len)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    return h;
}

static uint32_t hash_number(uint32_t v)
{
    v = (v ^ v >> 16) * 0x45d9f3bu;
    v = (v ^ v >> 16) * 0x45d9f3bu;
    return v ^ v >> 16;
}

const char *names_at(const struct names *names, uint32_t i)
{
    return i < names->n ? (const char *)names->text.at + names->offset[i] : "";
}

static bool names_grow(struct names *names)
{
    if (names->n == names->room) {
        uint32_t room = names->room ? names->room * 2 : 64;
        uint32_t *offset = realloc(names->offset, room * sizeof *offset);
        if (!offset)
            return false;
        names->offset = offset;
        names->room = room;
    }
    if (names->n * 2 < names->slots)
        return true;
    uint32_t slots = names->slots ? names->slots * 2 : 128;
    uint32_t *slot = calloc(slots, sizeof *slot);
    if (!slot)
        return false;
    for (uint32_t i = 0; i < names->n; i++) {
        const char *text = names_at(names, i);
        uint32_t at = hash_text(text, strlen(text)) & (slots - 1);
        while (slot[at])
            at = (at + 1) & (slots - 1);
        slot[at] = i + 1;
    }
    free(names->slot);
    names->slot = slot;
    names->slots = slots;
    return true;
}

uint32_t names_add(struct names *names, const char *text, size_t len)
{
    if (!names_grow(names))
        return NAMES_NONE;
    uint32_t at = hash_text(text, len) & (names->slots - 1);
    for (; names->slot[at]; at = (at + 1) & (names->slots - 1)) {
        const char *other = names_at(names, names->slot[at] - 1);
        if (strncmp(other, text, len) == 0 && !other[len])
            return names->slot[at] - 1;
    }
    size_t offset = names->text.len;
    if (offset + len + 1 > UINT32_MAX || !buf_reserve(&names->text, len + 1))
        return NAMES_NONE;
    buf_add(&names->text, text, len);
    buf_byte(&names->text, 0);
    names->offset[names->n] = (uint32_t)offset;
    names->slot[at] = ++names->n;
    return names->n - 1;
}

void names_done(struct names *names)
{
    buf_done(&names->text);
    free(names->offset);
    free(names->slot);
    *names = (struct names){0};
}

uint32_t numbers_find(const struct numbers *m, uint32_t key)
{
    if (!m->slots)
        return NAMES_NONE;
    for (uint32_t at = hash_number(key) & (m->slots - 1); m->key[at]; at = (at + 1) & (m->slots - 1)) {
        if (m->key[at] == key)
            return m->value[at];
    }
    return NAMES_NONE;
}

static void numbers_put(struct numbers *m, uint32_t key, uint32_t value)
{
    uint32_t at = hash_number(key) & (m->slots - 1);
    while (m->key[at] && m->key[at] != key)
        at = (at + 1) & (m->slots - 1);
    m->n += !m->key[at];
    m->key[at] = key;
    m->value[at] = value;
}

bool numbers_set(struct numbers *m, uint32_t key, uint32_t value)
{
    if (m->n * 2 >= m->slots) {
        struct numbers wider = {.slots = m->slots ? m->slots * 2 : 128};
        wider.key = calloc(wider.slots, sizeof *wider.key);
        wider.value = malloc(wider.slots * sizeof *wider.value);
        if (!wider.key || !wider.value) {
            numbers_done(&wider);
            return false;
        }
        for (uint32_t i = 0; i < m->slots; i++) {
            if (m->key[i])
                numbers_put(&wider, m->key[i], m->value[i]);
        }
        numbers_done(m);
        *m = wider;
    }
    numbers_put(m, key, value);
    return true;
}

bool numbers_keep(struct numbers *m, const uint32_t *to)
{
    struct numbers kept = {0};
    for (uint32_t i = 0; i < m->slots; i++) {
        if (m->key[i] && to[m->value[i]] != NAMES_NONE && !numbers_set(&kept, m->key[i], to[m->value[i]])) {
            numbers_done(&kept);
            return false;
        }
    }
    numbers_done(m);
    *m = kept;
    return true;
}

void numbers_done(struct numbers *m)
{
    free(m->key);
    free(m->value);
    *m = (struct numbers){0};
}
