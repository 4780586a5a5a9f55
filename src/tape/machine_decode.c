/* SPDX-License-Identifier: Apache-2.0 */
/* The machine at the cursor's position. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tape/cursor.h"

static struct tape_entity *of(struct baro_entity *e)
{
    return (struct tape_entity *)e;
}

static struct tape_entity *make(const struct schema *s, enum baro_kind kind)
{
    size_t n = (size_t)baro_metric_count(kind);
    struct tape_entity *made = calloc(1, sizeof *made + n * (sizeof *made->e.value + sizeof *made->e.absent));
    if (!made)
        return NULL;
    if (s->n_extra[kind] > 0 && !(made->extra = calloc(1, sizeof *made->extra))) {
        free(made);
        return NULL;
    }
    made->e.kind = kind;
    made->e.value = made->values;
    made->e.absent = (uint8_t *)(made->values + n);
    if (made->extra) {
        made->extra->view = (struct baro_extra){s->n_extra[kind], made->extra->value, made->extra->absent};
        made->e.extra = &made->extra->view;
    }
    return made;
}

static void give(struct entity_list *l, struct baro_entity *e)
{
    free(e->name);
    free(e->label);
    e->name = e->label = NULL;
    of(e)->next_free = l->free;
    l->free = of(e);
}

static struct baro_entity *take(struct baro_tape *t, enum baro_kind kind)
{
    struct entity_list *l = &t->entities[kind - BARO_KIND_HOST];
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 8;
        struct baro_entity **grown = realloc(l->at, cap * sizeof *grown);
        if (!grown)
            return NULL;
        l->at = grown;
        l->cap = cap;
    }
    struct tape_entity *e = l->free;
    if (e)
        l->free = e->next_free;
    else if (!(e = make(&t->schema, kind)))
        return NULL;
    memset(e->e.absent, BARO_ABSENT_UNKNOWN, (size_t)baro_metric_count(kind));
    memset(e->e.value, 0, (size_t)baro_metric_count(kind) * sizeof *e->e.value);
    l->at[l->n++] = &e->e;
    return &e->e;
}

void machine_forget(struct baro_tape *t)
{
    for (size_t i = 0; i < MACHINE_KINDS; i++) {
        struct entity_list *l = &t->entities[i];
        while (l->n > 0)
            give(l, l->at[--l->n]);
    }
    if (t->machine_used)
        memset(t->machine, 0, sizeof *t->machine);
    t->machine_used = false;
}

void machine_done(struct baro_tape *t)
{
    machine_forget(t);
    for (size_t i = 0; i < MACHINE_KINDS; i++) {
        struct entity_list *l = &t->entities[i];
        for (struct tape_entity *e; (e = l->free);) {
            l->free = e->next_free;
            free(e->extra);
            free(e);
        }
        free(l->at);
    }
    free(t->machine);
}

static bool scan_gone(struct baro_tape *t, struct entity_list *l, uint16_t *size)
{
    size_t kept = 0, next = 0;
    uint64_t gap;
    bool ok;
    while ((ok = number_scan(&t->bits, size, &gap)) && gap != GONE_END) {
        if (gap - GONE_GAP >= l->n - next)
            return false;
        for (size_t gone = next + (size_t)(gap - GONE_GAP); next < gone;) {
            struct baro_entity *stays = l->at[next];
            l->at[next++] = l->at[kept];
            l->at[kept++] = stays;
        }
        next++;
    }
    /* Those that are gone were swapped to between kept and next. */
    for (; next < l->n; next++) {
        struct baro_entity *stays = l->at[next];
        l->at[next] = l->at[kept];
        l->at[kept++] = stays;
    }
    while (l->n > kept)
        give(l, l->at[--l->n]);
    return ok;
}

static bool set_text(char **at, struct span text)
{
    char *copy = malloc(text.len + 1);
    if (!copy)
        return false;
    memcpy(copy, text.at, text.len);
    copy[text.len] = 0;
    free(*at);
    *at = copy;
    return true;
}

static int scan_info(struct baro_tape *t, struct span *in, struct baro_entity *e)
{
    struct entity_info info;
    if (!entity_info_scan(in, &t->machine->kind[e->kind - BARO_KIND_HOST].id, &info))
        return BARO_E_CORRUPT;
    e->id = info.id;
    e->info_version = info.info_version;
    return set_text(&e->name, info.name) && set_text(&e->label, info.label) ? 0 : -ENOMEM;
}

/* The row of the i-th entity, in the tape's columns, as the writer had it before this record. */
static void old_row(const struct baro_tape *t, enum baro_kind kind, size_t i, bool fresh, uint64_t *value,
                    uint8_t *absent)
{
    const struct entity_list *l = &t->entities[kind - BARO_KIND_HOST];
    const struct columns *c = &t->schema.columns[kind];
    uint64_t before_value[COLUMNS_MAX];
    uint8_t before_absent[COLUMNS_MAX];
    size_t from = fresh ? i - 1 : i;
    if (!fresh || i > 0)
        gather(&t->schema, kind, l->at[from]->value, l->at[from]->absent, of(l->at[from])->extra, before_value,
               before_absent);
    machine_old_row(c, before_value, before_absent, fresh && i > 0 ? 1 : 0, fresh, t->sample.host_ns, value, absent);
}

static int scan_row(struct baro_tape *t, struct span *in, enum baro_kind kind, size_t i)
{
    struct entity_list *l = &t->entities[kind - BARO_KIND_HOST];
    const struct columns *c = &t->schema.columns[kind];
    bool fresh = i == l->n, is_run;
    struct shapes *shapes =
        fresh ? &t->machine->kind[kind - BARO_KIND_HOST].fresh : &t->machine->kind[kind - BARO_KIND_HOST].known;
    uint64_t value[COLUMNS_MAX];
    uint8_t absent[COLUMNS_MAX];
    struct row row;
    old_row(t, kind, i, fresh, value, absent);
    if (!row_scan_shape(in, &t->bits, c, shapes, &row, &is_run) || is_run || (fresh && !(row.flags & ROW_INFO)) ||
        !row_scan_values(in, &t->bits, c, shapes, &row, value, absent))
        return BARO_E_CORRUPT;
    struct baro_entity *e = fresh ? take(t, kind) : l->at[i];
    if (!e)
        return -ENOMEM;
    scatter(&t->schema, kind, value, absent, e->value, e->absent, of(e)->extra);
    return row.flags & ROW_INFO ? scan_info(t, in, e) : 0;
}

static int scan_kind(struct baro_tape *t, struct span *in, enum baro_kind kind)
{
    struct entity_list *l = &t->entities[kind - BARO_KIND_HOST];
    uint16_t *gone_size = &t->machine->kind[kind - BARO_KIND_HOST].gone_size;
    uint16_t *gap_size = &t->machine->kind[kind - BARO_KIND_HOST].gap_size;
    if (!scan_gone(t, l, gone_size))
        return BARO_E_CORRUPT;
    for (size_t next = 0;;) {
        uint64_t gap;
        if (!number_scan(&t->bits, gap_size, &gap))
            return BARO_E_CORRUPT;
        if (gap == ROWS_END)
            return 0;
        if (gap - ROWS_GAP > l->n - next || next + (size_t)(gap - ROWS_GAP) >= ENTITIES_MAX)
            return BARO_E_CORRUPT;
        next += (size_t)(gap - ROWS_GAP);
        int r = scan_row(t, in, kind, next++);
        if (r < 0)
            return r;
    }
}

/* The sample's view of it. */
static void show(struct baro_tape *t)
{
    struct baro_sample *s = &t->sample;
    static struct baro_entity *const none[1];
    for (unsigned kind = BARO_KIND_CPU; kind < BARO_KIND_MAX; kind++) {
        const struct entity_list *l = &t->entities[kind - BARO_KIND_HOST];
        s->entities[kind] = (struct baro_entities){l->n, l->n ? l->at : none};
    }
    if (t->entities[0].n == 0)
        return;
    const struct baro_entity *host = t->entities[0].at[0];
    memcpy(s->host, host->value, sizeof s->host);
    memcpy(s->host_absent, host->absent, sizeof s->host_absent);
    s->host_extra = host->extra;
}

/* Kinds come in the order of their numbers; behind one that this library does not know there is none that it does. */
int state_machine(struct baro_tape *t, struct span body)
{
    int64_t after;
    uint64_t changed;
    if (!t->machine && !(t->machine = calloc(1, sizeof *t->machine)))
        return -ENOMEM;
    t->machine_used = true;
    if (!scan_zigzag(&body, &after) || !scan_varint(&body, &changed))
        return BARO_E_CORRUPT;
    t->sample.has_host = true;
    t->sample.host_ns = t->sample.t_ns + (uint64_t)after;
    for (unsigned number = 0; number < SCHEMA_KINDS; number++) {
        if (!(changed >> number & 1))
            continue;
        if (t->schema.kind_of[number] < BARO_KIND_HOST)
            break;
        int r = scan_kind(t, &body, (enum baro_kind)t->schema.kind_of[number]);
        if (r < 0)
            return r;
    }
    show(t);
    return 0;
}
