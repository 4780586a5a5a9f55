/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/summary/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "baro/metric.h"
#include "base/array.h"

static bool append_command(struct commands *c, const char *name, uint64_t key)
{
    if (array_reserve(&c->at, c->n + 1, &c->cap, sizeof(*c->at)) < 0)
        return false;
    char *copy = strdup(name);
    if (!copy || !map_add(&c->by_name, key, c->n)) {
        free(copy);
        return false;
    }
    c->at[c->n] = (struct command){.name = copy};
    memset(c->at[c->n].absent, BARO_ABSENT_UNKNOWN, sizeof(c->at->absent));
    c->n++;
    return true;
}

int commands_init(struct commands *c)
{
    *c = (struct commands){0};
    return append_command(c, COMMANDS_OTHER, map_hash(COMMANDS_OTHER, strlen(COMMANDS_OTHER))) ? 0 : -ENOMEM;
}

void commands_done(struct commands *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        free(c->at[i].name);
    free(c->at);
    map_done(&c->by_name);
    *c = (struct commands){0};
}

uint32_t commands_find(struct commands *c, const char *name)
{
    uint64_t key = map_hash(name, strlen(name));
    for (uint64_t *i = map_find(&c->by_name, key); i; i = map_next(&c->by_name, key, i)) {
        if (strcmp(c->at[*i].name, name) == 0)
            return (uint32_t)*i;
    }
    if (c->n >= COMMANDS_MAX || !append_command(c, name, key)) {
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
