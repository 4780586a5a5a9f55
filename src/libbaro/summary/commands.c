/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/summary/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "baro/metric.h"

static uint32_t hash_of(const char *name)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (; *name; name++)
        h = (h ^ (uint8_t)*name) * 16777619u;
    return h;
}

static void place(struct commands *c, uint32_t index)
{
    uint32_t i = c->at[index].hash & (c->slots - 1);
    while (c->slot[i])
        i = (i + 1) & (c->slots - 1);
    c->slot[i] = index + 1;
}

static bool grow(struct commands *c)
{
    uint32_t cap = c->cap ? 2 * c->cap : 16;
    struct command *at = realloc(c->at, cap * sizeof(*at));
    if (!at)
        return false;
    c->at = at;
    uint32_t *slot = calloc(2 * cap, sizeof(*slot));
    if (!slot)
        return false;
    free(c->slot);
    c->slot = slot;
    c->slots = 2 * cap;
    c->cap = cap;
    for (uint32_t i = 0; i < c->n; i++)
        place(c, i);
    return true;
}

static bool append(struct commands *c, const char *name, uint32_t hash)
{
    if (c->n == c->cap && !grow(c))
        return false;
    char *copy = strdup(name);
    if (!copy)
        return false;
    c->at[c->n] = (struct command){.name = copy, .hash = hash};
    memset(c->at[c->n].absent, BARO_ABSENT_UNKNOWN, sizeof(c->at[c->n].absent));
    place(c, c->n++);
    return true;
}

int commands_init(struct commands *c)
{
    *c = (struct commands){0};
    return append(c, COMMANDS_OTHER, hash_of(COMMANDS_OTHER)) ? 0 : -ENOMEM;
}

void commands_done(struct commands *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        free(c->at[i].name);
    free(c->at);
    free(c->slot);
    *c = (struct commands){0};
}

uint32_t commands_find(struct commands *c, const char *name)
{
    uint32_t hash = hash_of(name);
    for (uint32_t i = hash & (c->slots - 1); c->slot[i]; i = (i + 1) & (c->slots - 1)) {
        const struct command *have = &c->at[c->slot[i] - 1];
        if (have->hash == hash && strcmp(have->name, name) == 0)
            return c->slot[i] - 1;
    }
    if (c->n >= COMMANDS_MAX || !append(c, name, hash)) {
        c->overflowed = true;
        return 0;
    }
    return c->n - 1;
}

void command_add(struct command *c, const uint64_t value[COMMAND_MAX], const uint8_t absent[COMMAND_MAX])
{
    c->processes++;
    for (int i = 0; i < COMMAND_MAX; i++) {
        if (absent[i] != BARO_PRESENT) {
            c->absent[i] = absent[i];
            continue;
        }
        c->covered[i]++;
        if (i != COMMAND_RSS_PEAK)
            c->value[i] += value[i];
        else if (value[i] > c->value[i])
            c->value[i] = value[i];
    }
}
