/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/fold/entities.h"

#include <stdlib.h>
#include <string.h>

#include "libbaro/sample/sample.h"

struct fold_entity *fold_entity_find(const struct fold_entities *all, uint32_t id)
{
    for (size_t i = 0; i < all->n; i++) {
        if (all->at[i].id == id)
            return &all->at[i];
    }
    return NULL;
}

static void done(struct fold_entity *one)
{
    free(one->name);
    free(one->label);
    free(one->cell);
}

static struct fold_entity *append(struct fold_entities *all, const struct baro_entity *e, size_t metrics)
{
    struct fold_entity *at = realloc(all->at, (all->n + 1) * sizeof(*at));
    if (!at)
        return NULL;
    all->at = at;
    at += all->n;
    *at = (struct fold_entity){.id = e->id,
                               .name = strdup(e->name ? e->name : ""),
                               .label = strdup(e->label ? e->label : ""),
                               .cell = malloc(metrics * sizeof(*at->cell))};
    if (!at->name || !at->label || !at->cell) {
        done(at);
        return NULL;
    }
    for (size_t i = 0; i < metrics; i++)
        at->cell[i] = FOLD_CELL_NONE;
    all->n++;
    return at;
}

bool fold_entities_add(struct fold_entities *all, int kind, const struct baro_entities *of, uint64_t t_ns)
{
    size_t metrics = of->n ? (size_t)baro_metric_count(kind) : 0;
    for (size_t i = 0; i < of->n; i++) {
        const struct baro_entity *e = of->at[i];
        struct fold_entity *one = i < all->n && all->at[i].id == e->id /* mostly */
                                      ? &all->at[i]
                                      : fold_entity_find(all, e->id);
        one = one ? one : append(all, e, metrics);
        if (!one)
            return false;
        one->owner = e->owner.kind == BARO_OWNER_ENTITY ? e->owner.id : 0;
        for (size_t k = 0; k < metrics; k++)
            fold_cell_add(&one->cell[k], t_ns, e->absent[k], e->value[k]);
    }
    return true;
}

void fold_entities_done(struct fold_entities *all)
{
    for (size_t i = 0; i < all->n; i++)
        done(&all->at[i]);
    free(all->at);
    *all = (struct fold_entities){0};
}
