/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/sockets/holders.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

void holders_done(struct holders *h)
{
    map_done(&h->by_inode);
    free(h->held);
    free(h->at);
}

void holders_clear(struct holders *h)
{
    map_clear(&h->by_inode);
    h->n_held = h->n = 0;
}

static struct held *held_of(struct holders *h, uint32_t owner, uint32_t inode)
{
    uint64_t *known = map_find(&h->by_inode, inode);
    if (known)
        return &h->held[*known];
    if (array_reserve(&h->held, h->n_held + 1, &h->cap_held, sizeof(*h->held)) < 0)
        return NULL;
    if (!map_add(&h->by_inode, inode, h->n_held))
        return NULL;
    h->held[h->n_held] = (struct held){.first = owner};
    return &h->held[h->n_held++];
}

int holders_add(struct holders *h, uint32_t owner, uint32_t inode)
{
    if (array_reserve(&h->at, h->n + 1, &h->cap, sizeof(*h->at)) < 0)
        return -ENOMEM;
    struct held *held = held_of(h, owner, inode);
    if (!held)
        return -ENOMEM;
    if (held->last && h->at[held->last - 1].owner == owner)
        return 0; /* by another descriptor */
    h->at[h->n++] = (struct holder){owner, held->last};
    held->last = (uint32_t)h->n;
    return 0;
}

const struct held *holders_find(const struct holders *h, uint32_t inode)
{
    const uint64_t *known = inode ? map_find(&h->by_inode, inode) : NULL;
    return known ? &h->held[*known] : NULL;
}

bool holders_are_several(const struct holders *h, const struct held *held)
{
    return h->at[held->last - 1].next != 0;
}
