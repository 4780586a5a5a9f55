/* SPDX-License-Identifier: Apache-2.0 */
#include "record/share_table.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_SIZE 1024u

static struct share_entry **slot_of(struct share_entry **hash, size_t size, int32_t pid)
{
    return &hash[((uint32_t)pid * 2654435769u) & (size - 1)];
}

int share_table_init(struct share_table *t)
{
    *t = (struct share_table){.hash = calloc(FIRST_SIZE, sizeof(*t->hash)), .size = FIRST_SIZE};
    return t->hash ? 0 : -ENOMEM;
}

void share_table_done(struct share_table *t)
{
    for (size_t i = 0; i <= t->size; i++) {
        struct share_entry *e = i < t->size ? t->hash[i] : t->spare;
        for (struct share_entry *next; e; e = next) {
            next = e->next;
            free(e);
        }
    }
    free(t->hash);
    *t = (struct share_table){0};
}

void share_table_make_room(struct share_table *t)
{
    size_t size = t->size * 2;
    struct share_entry **hash = t->n >= t->size ? calloc(size, sizeof(*hash)) : NULL;
    if (!hash)
        return; /* where there is no memory, chains get longer */
    for (size_t i = 0; i < t->size; i++) {
        for (struct share_entry *e = t->hash[i], *next; e; e = next) {
            struct share_entry **slot = slot_of(hash, size, e->pid);
            next = e->next;
            e->next = *slot;
            *slot = e;
        }
    }
    free(t->hash);
    t->hash = hash;
    t->size = size;
}

static struct share_entry *from(struct share_entry *e, int32_t pid)
{
    while (e && e->pid != pid)
        e = e->next;
    return e;
}

struct share_entry *share_table_first(const struct share_table *t, int32_t pid)
{
    return from(*slot_of(t->hash, t->size, pid), pid);
}

struct share_entry *share_table_next(const struct share_entry *e)
{
    return from(e->next, e->pid);
}

struct share_entry *share_table_find(const struct share_table *t, int32_t pid, const struct share_client *c)
{
    struct share_entry *e = share_table_first(t, pid);
    while (e && e->client != c)
        e = share_table_next(e);
    return e;
}

bool share_table_add(struct share_table *t, int32_t pid, uint64_t since_ns, struct share_client *c,
                     struct share_entry **list)
{
    struct share_entry *e = t->spare ? t->spare : malloc(sizeof(*e));
    if (!e)
        return false;
    if (e == t->spare)
        t->spare = e->next;
    struct share_entry **slot = slot_of(t->hash, t->size, pid);
    *e = (struct share_entry){.pid = pid, .since_ns = since_ns, .client = c, .next = *slot, .after = *list};
    *slot = e;
    if (*list)
        (*list)->before = e;
    *list = e;
    t->n++;
    return true;
}

void share_table_remove(struct share_table *t, struct share_entry *e, struct share_entry **list)
{
    struct share_entry **slot = slot_of(t->hash, t->size, e->pid);
    while (*slot != e)
        slot = &(*slot)->next;
    *slot = e->next;
    if (e->before)
        e->before->after = e->after;
    else
        *list = e->after;
    if (e->after)
        e->after->before = e->before;
    e->next = t->spare;
    t->spare = e;
    t->n--;
}
