/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of entities of one kind: CPUs, disks, control groups ... that come and go while a recording lasts. */
#ifndef RECORDER_SAMPLING_ENTITY_H
#define RECORDER_SAMPLING_ENTITY_H

#include "libbaro/sample/sample.h"

struct entity_table {
    int kind;                /* enum kind */
    struct baro_entity **at; /* in the order in which they were found */
    size_t n, cap;
};

/* Adds an entity whose values are all absent (not read yet). Redacts secrets in both texts (a mount's
 * https://user:password@host). Ids are unique over all kinds: *ids is the last one that was used. Returns NULL if
 * memory ran out. */
struct baro_entity *entity_add(struct entity_table *t, uint32_t *ids, const char *name, const char *label);
/* Removes and frees an entity. NULL is allowed. */
void entity_remove(struct entity_table *t, struct baro_entity *e);
void entity_table_done(struct entity_table *t);
/* Returns a view of the table for a sample; valid until the table changes. */
struct baro_entities entity_view(const struct entity_table *t);

static inline void entity_put(struct baro_entity *e, int metric, uint64_t value)
{
    e->value[metric] = value;
    e->absent[metric] = BARO_PRESENT;
}

static inline void entity_lack(struct baro_entity *e, int metric, enum baro_absent why)
{
    e->value[metric] = 0;
    e->absent[metric] = (uint8_t)why;
}

static inline struct baro_attribute text_attribute(const char *name, const char *text)
{
    return (struct baro_attribute){.name = name, .type = BARO_ATTRIBUTE_TEXT, .text = text};
}

#endif
