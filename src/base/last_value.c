/* SPDX-License-Identifier: Apache-2.0 */
#include "base/last_value.h"

#include <stdlib.h>

static struct last *find_slot(struct last *at, size_t size, uint32_t id)
{
    size_t i = id * 2654435761u & (size - 1);
    while (at[i].id && at[i].id != id)
        i = (i + 1) & (size - 1);
    return &at[i];
}

static bool grow_table(struct last_table *t, uint64_t old_ns)
{
    if (2 * (t->n + 1) <= t->size)
        return true;
    size_t size = t->size ? t->size : 256, n = 0;
    for (size_t i = 0; i < t->size; i++)
        n += t->at[i].id && t->at[i].t_ns >= old_ns;
    while (4 * (n + 1) > size) /* if most entries are old and are dropped, the table does not grow */
        size *= 2;
    struct last *at = calloc(size, sizeof(*at));
    if (!at)
        return false;
    n = 0;
    for (size_t i = 0; i < t->size; i++) {
        if (t->at[i].id && t->at[i].t_ns >= old_ns) {
            *find_slot(at, size, t->at[i].id) = t->at[i];
            n++;
        }
    }
    free(t->at);
    *t = (struct last_table){at, n, size};
    return true;
}

struct last *last_find(const struct last_table *t, uint32_t id)
{
    struct last *l = t->size ? find_slot(t->at, t->size, id) : NULL;
    return l && l->id ? l : NULL;
}

struct last *last_get(struct last_table *t, uint32_t id, uint64_t old_ns, bool *ret_added)
{
    if (!grow_table(t, old_ns))
        return NULL;
    struct last *l = find_slot(t->at, t->size, id);
    *ret_added = !l->id;
    if (!l->id) {
        *l = (struct last){.id = id};
        t->n++;
    }
    return l;
}

void last_done(struct last_table *t)
{
    free(t->at);
    *t = (struct last_table){0};
}
