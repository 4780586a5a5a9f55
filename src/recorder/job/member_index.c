/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/job/member_index.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "recorder/job/tree.h"

#define FIRST_SIZE 1024u

static struct member **slot_of(struct member **hash, size_t size, int32_t pid)
{
    return &hash[((uint32_t)pid * 2654435769u) & (size - 1)];
}

int member_index_init(struct member_index *d)
{
    *d = (struct member_index){.hash = calloc(FIRST_SIZE, sizeof(*d->hash)), .size = FIRST_SIZE};
    return d->hash ? 0 : -ENOMEM;
}

void member_index_done(struct member_index *d)
{
    free(d->hash);
    free(d->found);
    *d = (struct member_index){0};
}

static void grow(struct member_index *d)
{
    size_t size = d->size * 2;
    struct member **hash = calloc(size, sizeof(*hash));
    if (!hash)
        return; /* chains get longer */
    for (size_t i = 0; i < d->size; i++) {
        for (struct member *m = d->hash[i], *next; m; m = next) {
            next = m->links.index_next;
            struct member **slot = slot_of(hash, size, m->row.key.pid);
            m->links.index_next = *slot;
            *slot = m;
        }
    }
    free(d->hash);
    d->hash = hash;
    d->size = size;
}

void member_index_add(struct member_index *d, struct member *m)
{
    if (++d->n > d->size)
        grow(d);
    struct member **slot = slot_of(d->hash, d->size, m->row.key.pid);
    m->links.index_next = *slot;
    *slot = m;
}

void member_index_remove(struct member_index *d, struct member *m)
{
    struct member **slot = slot_of(d->hash, d->size, m->row.key.pid);
    while (*slot && *slot != m)
        slot = &(*slot)->links.index_next;
    if (!*slot)
        return;
    *slot = m->links.index_next;
    d->n--;
}

static size_t add_owner(struct member_index *d, size_t n, void *owner)
{
    for (size_t i = 0; i < n; i++) {
        if (d->found[i] == owner)
            return n;
    }
    if (array_reserve(&d->found, n + 1, &d->cap_found, sizeof(*d->found)) < 0)
        return n;
    d->found[n] = owner;
    return n + 1;
}

static size_t add_owners(struct member_index *d, size_t n, int32_t pid)
{
    for (const struct member *m = *slot_of(d->hash, d->size, pid); m; m = m->links.index_next) {
        if (m->row.key.pid == pid)
            n = add_owner(d, n, m->links.tree->owner);
    }
    return n;
}

size_t member_index_find(struct member_index *d, int32_t pid, int32_t also, void *const **ret)
{
    size_t n = add_owners(d, 0, pid);
    if (also)
        n = add_owners(d, n, also);
    *ret = d->found;
    return n;
}
