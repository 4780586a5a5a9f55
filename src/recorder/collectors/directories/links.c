/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/directories/links.h"

#include <stdlib.h>

#define SIZE_FIRST 1024u

static struct link *find_link(const struct links *l, uint64_t device, uint64_t inode)
{
    size_t i = (size_t)((inode ^ device << 40) * 0x9e3779b97f4a7c15ull >> 32);
    for (i &= l->size - 1; l->at[i].inode; i = (i + 1) & (l->size - 1)) {
        if (l->at[i].inode == inode && l->at[i].device == device)
            break;
    }
    return &l->at[i];
}

static bool grow_links(struct links *l)
{
    struct links more = {.size = l->size ? 2 * l->size : SIZE_FIRST};
    more.at = calloc(more.size, sizeof(*more.at));
    if (!more.at)
        return false;
    for (size_t i = 0; i < l->size; i++) {
        if (l->at[i].inode)
            *find_link(&more, l->at[i].device, l->at[i].inode) = l->at[i];
    }
    free(l->at);
    l->at = more.at;
    l->size = more.size;
    return true;
}

enum links_answer links_add(struct links *l, uint64_t device, uint64_t inode)
{
    struct link *at = l->size ? find_link(l, device, inode) : NULL;
    if (at && at->inode)
        return LINKS_KNOWN;
    if (l->n == LINKS_MOST || !inode)
        return LINKS_FULL;
    if (2 * (l->n + 1) > l->size) {
        if (!grow_links(l))
            return LINKS_FULL;
        at = find_link(l, device, inode);
    }
    *at = (struct link){device, inode};
    l->n++;
    return LINKS_NEW;
}

void links_done(struct links *l)
{
    free(l->at);
    *l = (struct links){0};
}
