/* SPDX-License-Identifier: Apache-2.0 */
/* Entities of one kind over a recording: a cell for each metric of each. */
#ifndef LIBBARO_FOLD_ENTITIES_H
#define LIBBARO_FOLD_ENTITIES_H

#include <stddef.h>

#include "libbaro/fold/cell.h"

struct baro_entities;

struct fold_entity {
    uint32_t id;
    uint32_t owner; /* id of the entity that it belongs to; 0: none */
    uint8_t lacks;  /* why something about it is not known, as the owner of the table has noted; 0: nothing */
    char *name, *label;
    struct fold_cell *cell; /* one for each metric of the kind */
};

struct fold_entities {
    struct fold_entity *at; /* in the order in which they were found */
    size_t n;
};

/* Adds the entities of a sample. Returns false if out of memory. Allocates nothing for those that are known. */
bool fold_entities_add(struct fold_entities *all, int kind, const struct baro_entities *of, uint64_t t_ns);
/* Returns NULL if there is none. */
struct fold_entity *fold_entity_find(const struct fold_entities *all, uint32_t id);
void fold_entities_done(struct fold_entities *all);

#endif
