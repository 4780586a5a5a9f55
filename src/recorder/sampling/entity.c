/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/sampling/entity.h"

#include "base/array.h"
#include "recorder/redact/redact.h"

#include <stdlib.h>
#include <string.h>

/* Makes an entity with its values and texts in one allocation. */
static struct baro_entity *make(int metrics, const char *name, const char *label)
{
    size_t n = (size_t)metrics, name_len = strlen(name) + 1, label_len = strlen(label) + 1;
    struct baro_entity *e = calloc(1, sizeof(*e) + n * (sizeof(*e->value) + sizeof(*e->absent)) + name_len + label_len);
    if (!e)
        return NULL;
    e->value = (uint64_t *)(e + 1);
    e->absent = (uint8_t *)(e->value + n);
    e->name = (char *)(e->absent + n);
    e->label = e->name + name_len;
    memset(e->absent, BARO_ABSENT_NOT_YET, n);
    memcpy(e->name, name, name_len);
    memcpy(e->label, label, label_len);
    return e;
}

struct baro_entity *entity_add(struct entity_table *t, uint32_t *ids, const char *name, const char *label)
{
    if (array_reserve(&t->at, t->n + 1, &t->cap, sizeof(*t->at)) < 0)
        return NULL;
    struct buf names = {0};
    redact_name(span_str(name), &names);
    buf_byte(&names, 0);
    size_t label_at = names.len;
    redact_name(span_str(label), &names);
    buf_byte(&names, 0);
    struct baro_entity *e =
        names.failed ? NULL : make(baro_metric_count(t->kind), (char *)names.at, (char *)names.at + label_at);
    buf_done(&names);
    if (!e)
        return NULL;
    e->id = ++*ids;
    e->kind = t->kind;
    t->at[t->n++] = e;
    return e;
}

void entity_remove(struct entity_table *t, struct baro_entity *e)
{
    for (size_t i = 0; e && i < t->n; i++) {
        if (t->at[i] != e)
            continue;
        memmove(&t->at[i], &t->at[i + 1], (t->n - i - 1) * sizeof(struct baro_entity *));
        t->n--;
        free(e);
        return;
    }
}

void entity_table_done(struct entity_table *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->at[i]);
    free(t->at);
    t->at = NULL;
    t->n = t->cap = 0;
}

struct baro_entities entity_view(const struct entity_table *t)
{
    return (struct baro_entities){.n = t->n, .at = t->at};
}
