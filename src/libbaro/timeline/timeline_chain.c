/* SPDX-License-Identifier: Apache-2.0 */
/* Open phases, by hash. In each bucket the newest comes first, so that it ends first among equal ones. */
#include <stdlib.h>

#include "libbaro/timeline/timeline.h"

uint32_t chains_hash(uint32_t seed, const void *at, size_t len)
{
    uint32_t h = seed ^ 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < len; i++)
        h = (h ^ ((const uint8_t *)at)[i]) * 16777619u;
    return h;
}

static struct timeline_item **bucket_of(const struct timeline_chains *c, uint32_t hash)
{
    return &c->bucket[hash & (c->size - 1)];
}

/* Oldest first, so that the newest ends up in front again. */
static void move_chain(struct timeline_chains *to, int which, struct timeline_item *newest)
{
    struct timeline_item *oldest = NULL;
    while (newest) {
        struct timeline_item *next = newest->next[which];
        newest->next[which] = oldest;
        oldest = newest;
        newest = next;
    }
    while (oldest) {
        struct timeline_item *next = oldest->next[which], **bucket = bucket_of(to, oldest->hash[which]);
        oldest->next[which] = *bucket;
        *bucket = oldest;
        oldest = next;
    }
}

static bool grow_chain(struct timeline_chains *c, int which)
{
    struct timeline_chains larger = {.size = c->size ? 2 * c->size : 16, .n = c->n};
    larger.bucket = calloc(larger.size, sizeof(*larger.bucket));
    if (!larger.bucket)
        return false;
    for (size_t i = 0; i < c->size; i++)
        move_chain(&larger, which, c->bucket[i]);
    free(c->bucket);
    *c = larger;
    return true;
}

bool chains_add(struct timeline_chains *c, int which, struct timeline_item *i)
{
    if (c->n >= c->size && !grow_chain(c, which) && !c->size)
        return false;
    struct timeline_item **bucket = bucket_of(c, i->hash[which]);
    i->next[which] = *bucket;
    *bucket = i;
    c->n++;
    return true;
}

void chains_remove(struct timeline_chains *c, int which, struct timeline_item *i)
{
    if (!c->size)
        return;
    for (struct timeline_item **at = bucket_of(c, i->hash[which]); *at; at = &(*at)->next[which]) {
        if (*at != i)
            continue;
        *at = i->next[which];
        c->n--;
        return;
    }
}

void chains_done(struct timeline_chains *c)
{
    free(c->bucket);
    *c = (struct timeline_chains){0};
}
