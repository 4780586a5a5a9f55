/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/summary/directories.h"

#include <stdlib.h>
#include <string.h>

#include "libbaro/summary/facts.h"

static struct directory_last *find(struct directories_last *d, const struct baro_entity *e, size_t guess)
{
    if (guess < d->n && d->at[guess].id == e->id)
        return &d->at[guess];
    for (size_t i = 0; i < d->n; i++) {
        if (d->at[i].id == e->id)
            return &d->at[i];
    }
    struct directory_last *at = realloc(d->at, (d->n + 1) * sizeof(*at));
    if (!at)
        return NULL;
    d->at = at;
    at[d->n] = (struct directory_last){.id = e->id, .path = strdup(e->name)};
    return at[d->n].path ? &at[d->n++] : NULL;
}

bool directories_last_add(struct directories_last *d, const struct baro_sample *s)
{
    const struct baro_entities *all = &s->entities[KIND_directory];
    for (size_t i = 0; i < all->n; i++) {
        struct directory_last *at = find(d, all->at[i], i);
        if (!at)
            return false;
        at->task = all->at[i]->owner.kind == BARO_OWNER_ENTITY ? all->at[i]->owner.id : 0;
        memcpy(at->value, all->at[i]->value, sizeof(at->value));
        memcpy(at->absent, all->at[i]->absent, sizeof(at->absent));
    }
    return true;
}

void directories_last_done(struct directories_last *d)
{
    for (size_t i = 0; i < d->n; i++)
        free(d->at[i].path);
    free(d->at);
}

/* ---- facts ---- */

static bool is_bound(const struct directory_last *d)
{
    return d->absent[DIRECTORY_unread] == BARO_PRESENT && d->value[DIRECTORY_unread] > 0;
}

void fact_directory(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const struct directory_last *d = &s->directories.at[row];
    value_u64(ret, d->absent[of], d->value[of]);
    value_flag(ret, BARO_VALUE_LOWER_BOUND,
               is_bound(d) && of != DIRECTORY_unread && of != DIRECTORY_walk && of != DIRECTORY_read_at);
    if (of == DIRECTORY_read_at && !ret->absent) /* since the start of the command */
        ret->u64 = ret->u64 > s->life.start_ns ? ret->u64 - s->life.start_ns : 0;
}

void fact_directory_path(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    (void)of;
    ret->text = s->directories.at[row].path;
}

void fact_directory_task(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    uint32_t id = s->directories.at[row].task;
    const char *name = NULL;
    (void)of;
    for (size_t i = 0; id && i < s->tasks.n; i++) {
        if (s->tasks.at[i].id == id)
            name = s->tasks.at[i].name;
    }
    value_text(ret, name ? BARO_PRESENT : BARO_ABSENT_NONE, name);
}
