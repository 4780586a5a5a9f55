/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's record: its values and its CPUs, disks and so on, where they were looked at anew. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tape/state.h"

struct entity_base {
    uint32_t id, info_version;
};

/* What the tape holds of one kind, in the order of the last record; row i stands at i times the kind's columns. */
struct machine_list {
    struct entity_base *at;
    uint64_t *value;
    uint8_t *absent;
    size_t n, cap;
};

struct machine {
    struct machine_block block;
    bool written; /* in this block */
    uint64_t t_ns;
    struct machine_list list[MACHINE_KINDS];
};

struct kind_walk {
    struct tape_writer *w;
    enum baro_kind kind;
    const struct columns *c;
    struct machine_list *list;
    struct shapes *known, *fresh;
    uint32_t *last_id;
    uint16_t *gone_size, *gap_size;
    size_t next; /* position that a gap counts from */
};

void machine_free(struct machine *m)
{
    for (size_t i = 0; m && i < MACHINE_KINDS; i++) {
        free(m->list[i].at);
        free(m->list[i].value);
        free(m->list[i].absent);
    }
    free(m);
}

void machine_new_block(struct machine *m)
{
    if (!m || !m->written)
        return;
    memset(&m->block, 0, sizeof m->block);
    m->written = false;
    for (size_t i = 0; i < MACHINE_KINDS; i++)
        m->list[i].n = 0;
}

static bool reserve(struct machine_list *l, size_t n, unsigned columns)
{
    if (n <= l->cap)
        return true;
    size_t cap = n + n / 8 + 1;
    struct entity_base *at = realloc(l->at, cap * sizeof *at);
    uint64_t *value = at ? realloc(l->value, cap * columns * sizeof *value) : NULL;
    uint8_t *absent = value ? realloc(l->absent, cap * columns) : NULL;
    l->at = at ? at : l->at;
    l->value = value ? value : l->value;
    l->absent = absent ? absent : l->absent;
    if (absent)
        l->cap = cap;
    return absent != NULL;
}

static bool same(const struct kind_walk *k, size_t i, const struct baro_entity *e)
{
    size_t at = i * k->c->n;
    return k->list->at[i].info_version == e->info_version &&
           row_same((struct row_values){&k->list->value[at], &k->list->absent[at]},
                    (struct row_values){e->value, e->absent}, k->c->n);
}

static bool unchanged(const struct kind_walk *k, const struct baro_entities *e)
{
    if (k->list->n != e->n)
        return false;
    for (size_t i = 0; i < e->n; i++)
        if (k->list->at[i].id != e->at[i]->id || !same(k, i, e->at[i]))
            return false;
    return true;
}

/* Matches what the tape has with what there is now, in order; writes who is gone. Returns how many stay. */
static size_t drop_gone(struct kind_walk *k, const struct baro_entities *e)
{
    struct machine_list *l = k->list;
    size_t kept = 0, next = 0, columns = k->c->n;
    for (size_t i = 0; i < l->n; i++) {
        if (kept < e->n && l->at[i].id == e->at[kept]->id) {
            if (kept != i) {
                l->at[kept] = l->at[i];
                memcpy(&l->value[kept * columns], &l->value[i * columns], columns * sizeof *l->value);
                memcpy(&l->absent[kept * columns], &l->absent[i * columns], columns);
            }
            kept++;
            continue;
        }
        number_write(&k->w->bits, k->gone_size, i - next + GONE_GAP);
        next = i + 1;
    }
    number_write(&k->w->bits, k->gone_size, GONE_END);
    return kept;
}

static void write_row(struct kind_walk *k, size_t i, const struct baro_entity *e, bool fresh)
{
    struct machine_list *l = k->list;
    struct tape_writer *w = k->w;
    uint64_t value[COLUMNS_MAX];
    uint8_t absent[COLUMNS_MAX];
    struct row_values old = {value, absent}, new = {e->value, e->absent};
    struct row row;
    machine_old_row(k->c, l->value, l->absent, i, fresh, w->machine->t_ns, value, absent);
    row_compare(k->c, old, new, &row);
    if (fresh || l->at[i].info_version != e->info_version)
        row.flags |= ROW_INFO;
    number_write(&w->bits, k->gap_size, i - k->next + ROWS_GAP);
    k->next = i + 1;
    row_write(&w->record, &w->bits, k->c, fresh ? k->fresh : k->known, &row, old, new);
    if (row.flags & ROW_INFO)
        entity_info_write(&w->record, k->last_id, e);
    l->at[i] = (struct entity_base){e->id, e->info_version};
    memcpy(&l->value[i * k->c->n], e->value, k->c->n * sizeof *e->value);
    memcpy(&l->absent[i * k->c->n], e->absent, k->c->n);
}

static bool encode_kind(struct kind_walk *k, const struct baro_entities *e)
{
    size_t kept = drop_gone(k, e);
    if (!reserve(k->list, e->n, k->c->n))
        return false;
    for (size_t i = 0; i < e->n; i++)
        if (i >= kept || !same(k, i, e->at[i]))
            write_row(k, i, e->at[i], i >= kept);
    k->list->n = e->n;
    number_write(&k->w->bits, k->gap_size, ROWS_END);
    return true;
}

static struct kind_walk walk_of(struct tape_writer *w, unsigned i)
{
    struct machine *m = w->machine;
    return (struct kind_walk){
        .w = w,
        .kind = (enum baro_kind)(BARO_KIND_HOST + i),
        .c = &w->columns[BARO_KIND_HOST + i],
        .list = &m->list[i],
        .known = &m->block.kind[i].known,
        .fresh = &m->block.kind[i].fresh,
        .last_id = &m->block.kind[i].id,
        .gone_size = &m->block.kind[i].gone_size,
        .gap_size = &m->block.kind[i].gap_size,
    };
}

static bool encode_kinds(struct tape_writer *w, const struct baro_sample *s)
{
    struct baro_entity host = {
        .kind = BARO_KIND_HOST, .value = (uint64_t *)s->host, .absent = (uint8_t *)s->host_absent};
    struct baro_entity *hosts = &host;
    struct baro_entities e[MACHINE_KINDS] = {{1, &hosts}};
    struct kind_walk k;
    uint64_t changed = 0;
    for (unsigned i = 0; i < MACHINE_KINDS; i++) {
        k = walk_of(w, i);
        if (i > 0)
            e[i] = s->entities[k.kind];
        if (e[i].n > ENTITIES_MAX)
            e[i].n = ENTITIES_MAX;
        if (!unchanged(&k, &e[i]))
            changed |= 1ull << k.kind;
    }
    buf_varint(&w->record, changed);
    for (unsigned i = 0; i < MACHINE_KINDS; i++) {
        k = walk_of(w, i);
        if ((changed >> k.kind & 1) && !encode_kind(&k, &e[i]))
            return false;
    }
    return true;
}

int encode_machine(struct tape_writer *w, const struct baro_sample *s)
{
    if (!s->has_host || (w->machine && w->machine->written && w->machine->t_ns == s->host_ns))
        return 0;
    if (!w->machine && !(w->machine = calloc(1, sizeof *w->machine)))
        return -ENOMEM;
    w->machine->written = true;
    w->machine->t_ns = s->host_ns;
    buf_zigzag(&w->record, (int64_t)(s->host_ns - s->t_ns));
    return encode_kinds(w, s) ? encode_record(w, RECORD_MACHINE) : -ENOMEM;
}
