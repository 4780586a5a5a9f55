/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/sockets/holders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_FIRST 256u

void holders_done(struct holders *h)
{
    free(h->inode);
    free(h->at);
}

void holders_clear(struct holders *h)
{
    h->n_inodes = h->n = 0;
    if (h->cap_inodes)
        memset(h->inode, 0, h->cap_inodes * sizeof(*h->inode));
}

static struct held *inode_at(const struct holders *h, uint32_t inode)
{
    size_t i = (size_t)(inode * 0x9e3779b97f4a7c15ull >> 32) & (h->cap_inodes - 1);
    while (h->inode[i].inode && h->inode[i].inode != inode)
        i = (i + 1) & (h->cap_inodes - 1);
    return &h->inode[i];
}

static int grow_inodes(struct holders *h)
{
    struct holders more = {.cap_inodes = h->cap_inodes ? 2 * h->cap_inodes : SIZE_FIRST};
    more.inode = calloc(more.cap_inodes, sizeof(*more.inode));
    if (!more.inode)
        return -ENOMEM;
    for (size_t i = 0; i < h->cap_inodes; i++) {
        if (h->inode[i].inode)
            *inode_at(&more, h->inode[i].inode) = h->inode[i];
    }
    free(h->inode);
    h->inode = more.inode;
    h->cap_inodes = more.cap_inodes;
    return 0;
}

static int grow(struct holders *h)
{
    size_t cap = h->cap ? 2 * h->cap : SIZE_FIRST;
    struct holder *at = realloc(h->at, cap * sizeof(*at));
    if (!at)
        return -ENOMEM;
    h->at = at;
    h->cap = cap;
    return 0;
}

int holders_add(struct holders *h, uint32_t owner, uint32_t inode)
{
    if ((2 * (h->n_inodes + 1) > h->cap_inodes && grow_inodes(h) < 0) || (h->n == h->cap && grow(h) < 0))
        return -ENOMEM;
    struct held *held = inode_at(h, inode);
    if (!held->inode) {
        *held = (struct held){.inode = inode, .first = owner};
        h->n_inodes++;
    } else if (h->at[held->last - 1].owner == owner) {
        return 0; /* by another descriptor */
    }
    h->at[h->n++] = (struct holder){owner, held->last};
    held->last = (uint32_t)h->n;
    return 0;
}

const struct held *holders_find(const struct holders *h, uint32_t inode)
{
    const struct held *held = inode && h->cap_inodes ? inode_at(h, inode) : NULL;
    return held && held->inode ? held : NULL;
}

bool holders_are_several(const struct holders *h, const struct held *held)
{
    return h->at[held->last - 1].next != 0;
}
