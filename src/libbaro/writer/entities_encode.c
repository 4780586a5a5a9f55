/* SPDX-License-Identifier: Apache-2.0 */
/* Entities: the machine's record, and the records of later kinds and of those that are declared. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libbaro/tape/schema.h"
#include "libbaro/writer/writer_state.h"

struct entity_base {
    uint32_t id, info_version;
};

/* What the tape holds of one kind in this block, in the order of the last record; row i stands at i times the kind's
 * columns. */
struct kind_rows {
    uint32_t last_id; /* the id in the last info */
    const struct tape_columns *c;
    struct tape_columns *own; /* c of a declared kind */
    bool usable;              /* for declared kinds: a reader accepts its name */
    bool declared;            /* in this block */
    bool written;             /* in this block */
    bool dropped;             /* for the rest of this block */
    uint64_t read_ns;         /* as in the last record */
    struct entity_base *at;
    uint64_t *value;
    uint8_t *absent;
    size_t n, cap;
};

struct entity_writer {
    bool machine_written; /* in this block */
    uint64_t machine_ns;
    struct kind_rows *kind[KIND_COUNT], *declared[DECLARED_MAX];
    uint64_t weight; /* weight of the rows in records of their own: see WEIGHT_MAX */
};

/* One kind while its record is written. */
struct kind_walk {
    struct tape_writer *w;
    struct kind_rows *rows;
    const struct tape_columns *c;
    bool whole;  /* infos have owner and attributes */
    size_t next; /* position that a gap counts from */
};

static void rows_free(struct kind_rows *k)
{
    if (!k)
        return;
    free(k->own);
    free(k->at);
    free(k->value);
    free(k->absent);
    free(k);
}

void entities_free(struct entity_writer *e)
{
    for (size_t i = 0; e && i < KIND_COUNT; i++)
        rows_free(e->kind[i]);
    for (size_t i = 0; e && i < DECLARED_MAX; i++)
        rows_free(e->declared[i]);
    free(e);
}

static void rows_new_block(struct kind_rows *k)
{
    if (!k)
        return;
    k->last_id = 0;
    k->declared = k->written = k->dropped = false;
    k->n = 0;
}

void entities_new_block(struct entity_writer *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < KIND_COUNT; i++)
        rows_new_block(e->kind[i]);
    for (size_t i = 0; i < DECLARED_MAX; i++)
        rows_new_block(e->declared[i]);
    e->machine_written = false;
    e->weight = 0;
}

static struct entity_writer *writer_of(struct tape_writer *w)
{
    if (!w->entities)
        w->entities = calloc(1, sizeof *w->entities);
    return w->entities;
}

static struct kind_rows *rows_of(struct tape_writer *w, int kind)
{
    struct kind_rows **k = &w->entities->kind[kind];
    if (!*k && writer_make_columns(w, (enum baro_kind)kind) && (*k = calloc(1, sizeof **k)))
        (*k)->c = w->columns[kind];
    return *k;
}

static bool reserve_rows(struct kind_rows *k, size_t n)
{
    if (n <= k->cap)
        return true;
    size_t cap = n + n / 8 + 1, columns = k->c->n;
    struct entity_base *at = realloc(k->at, cap * sizeof *at);
    uint64_t *value = at ? realloc(k->value, cap * columns * sizeof *value + 1) : NULL;
    uint8_t *absent = value ? realloc(k->absent, cap * columns + 1) : NULL;
    k->at = at ? at : k->at;
    k->value = value ? value : k->value;
    k->absent = absent ? absent : k->absent;
    if (absent)
        k->cap = cap;
    return absent != NULL;
}

static bool same(const struct kind_rows *k, size_t i, const struct baro_entity *e)
{
    size_t at = i * k->c->n;
    return k->at[i].info_version == e->info_version &&
           memcmp(&k->value[at], e->value, k->c->n * sizeof *e->value) == 0 &&
           memcmp(&k->absent[at], e->absent, k->c->n) == 0;
}

static bool unchanged(const struct kind_rows *k, const struct baro_entities *e)
{
    if (k->n != e->n)
        return false;
    for (size_t i = 0; i < e->n; i++)
        if (k->at[i].id != e->at[i]->id || !same(k, i, e->at[i]))
            return false;
    return true;
}

/* Matches, in order, the entities on the tape with those that there are now, and writes which are gone. Returns how
 * many stay. */
static size_t drop_gone(struct kind_walk *k, const struct baro_entities *e)
{
    struct kind_rows *l = k->rows;
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
        buf_varint(&k->w->record, i - next + 1);
        next = i + 1;
    }
    buf_varint(&k->w->record, 0);
    return kept;
}

/* A new entity is written as the differences to the one before it in the list. */
static void write_row(struct kind_walk *k, size_t i, const struct baro_entity *e, bool fresh)
{
    static const struct row zero;
    struct kind_rows *l = k->rows;
    struct buf *out = &k->w->record;
    size_t n = k->c->n, at = (fresh ? i - 1 : i) * n;
    bool first = fresh && i == 0;
    unsigned flags = fresh || l->at[i].info_version != e->info_version ? ROW_INFO : 0;
    buf_varint(out, i - k->next + 1);
    k->next = i + 1;
    row_write(out, k->c, first ? zero.value : &l->value[at], first ? zero.absent : &l->absent[at], e->value, e->absent,
              flags);
    if (flags & ROW_INFO)
        entity_info_write(out, &l->last_id, e, k->whole);
    l->at[i] = (struct entity_base){e->id, e->info_version};
    memcpy(&l->value[i * n], e->value, n * sizeof *e->value);
    memcpy(&l->absent[i * n], e->absent, n);
}

static bool encode_kind(struct tape_writer *w, struct kind_rows *l, const struct baro_entities *e, bool whole)
{
    struct kind_walk k = {.w = w, .rows = l, .c = l->c, .whole = whole};
    size_t kept = drop_gone(&k, e);
    if (!reserve_rows(l, e->n))
        return false;
    for (size_t i = 0; i < e->n; i++)
        if (i >= kept || !same(l, i, e->at[i]))
            write_row(&k, i, e->at[i], i >= kept);
    l->n = e->n;
    l->written = true;
    buf_varint(&w->record, 0);
    return true;
}

/* ---- the machine's record ---- */

static bool encode_machine_kinds(struct tape_writer *w, const struct baro_sample *s)
{
    struct baro_entity host = {
        .kind = BARO_KIND_HOST, .value = (uint64_t *)s->host, .absent = (uint8_t *)s->host_absent};
    struct baro_entity *hosts = &host;
    struct baro_entities e[MACHINE_KINDS] = {{.n = 1, .at = &hosts}};
    uint64_t changed = 0;
    for (int i = 0; i < MACHINE_KINDS; i++) {
        int kind = BARO_KIND_HOST + i;
        struct kind_rows *rows = rows_of(w, kind);
        if (!rows)
            return false;
        if (i > 0)
            e[i] = s->entities[kind];
        if (e[i].n > ENTITIES_MAX)
            e[i].n = ENTITIES_MAX;
        if (!unchanged(rows, &e[i]))
            changed |= 1ull << kind;
    }
    buf_varint(&w->record, changed);
    for (int i = 0; i < MACHINE_KINDS; i++) {
        int kind = BARO_KIND_HOST + i;
        if ((changed >> kind & 1) && !encode_kind(w, rows_of(w, kind), &e[i], false))
            return false;
    }
    return true;
}

int encode_machine(struct tape_writer *w, const struct baro_sample *s)
{
    if (!s->has_host)
        return 0;
    struct entity_writer *e = writer_of(w);
    if (!e)
        return -ENOMEM;
    if (e->machine_written && e->machine_ns == s->host_ns)
        return 0;
    e->machine_written = true;
    e->machine_ns = s->host_ns;
    buf_zigzag(&w->record, (int64_t)(s->host_ns - s->t_ns));
    return encode_machine_kinds(w, s) ? encode_record(w, RECORD_MACHINE) : -ENOMEM;
}

/* ---- kinds with records of their own ---- */

/* Returns how many rows the kind may have now, given those of the other kinds. */
static size_t most_rows(const struct entity_writer *e, const struct kind_rows *k)
{
    uint64_t each = k->c->n + ROW_WEIGHT;
    return (size_t)((WEIGHT_MAX - (e->weight - k->n * each)) / each);
}

/* Leaves out a reading that would make the frame too long. The reader then lacks the rows to which the next ones
 * would be differences, so the kind waits for the next block. */
static int leave_out_kind(struct tape_writer *w, struct kind_rows *k, size_t n_before)
{
    uint64_t each = k->c->n + ROW_WEIGHT;
    buf_clear(&w->record);
    k->dropped = true;
    if (n_before > k->n) {
        w->entities->weight += (n_before - k->n) * each;
        k->n = n_before;
    }
    return 0;
}

static int encode_reading(struct tape_writer *w, const struct baro_sample *s, struct kind_rows *k, uint64_t number,
                          struct baro_entities e)
{
    uint64_t each = k->c->n + ROW_WEIGHT;
    size_t most = most_rows(w->entities, k), n_before = k->n;
    if (k->dropped || e.read_ns == 0 || (k->written && k->read_ns == e.read_ns))
        return 0;
    e.n = e.n < most ? e.n : most;
    buf_varint(&w->record, number);
    buf_zigzag(&w->record, (int64_t)(e.read_ns - s->t_ns));
    w->entities->weight -= k->n * each;
    bool ok = encode_kind(w, k, &e, true);
    w->entities->weight += k->n * each;
    if (!ok)
        return -ENOMEM;
    k->read_ns = e.read_ns;
    if (w->record.len + w->raw - w->raw_frame > FRAME_ENTITIES_MAX)
        return leave_out_kind(w, k, n_before);
    return encode_record(w, RECORD_ENTITIES);
}

/* Does a reader accept the name? It is not empty, not too long, and not that of another kind. */
static bool name_usable(const struct baro_sample *s, size_t number)
{
    const char *name = s->declared[number]->name;
    if (!name || !*name || strlen(name) > KIND_NAME_MAX || baro_kind_find(name) >= 0)
        return false;
    for (size_t i = 0; i < number; i++)
        if (s->declared[i]->name && strcmp(s->declared[i]->name, name) == 0)
            return false;
    return true;
}

static struct kind_rows *declared_of(struct entity_writer *e, const struct baro_sample *s, size_t number)
{
    struct kind_rows **k = &e->declared[number];
    if (*k)
        return *k;
    struct kind_rows *made = calloc(1, sizeof *made);
    struct tape_columns *columns = made ? calloc(1, sizeof *columns) : NULL;
    if (!columns) {
        free(made);
        return NULL;
    }
    made->c = made->own = columns;
    made->usable = name_usable(s, number);
    return *k = made;
}

static void write_columns(struct tape_writer *w, const struct kind_rows *k, const struct baro_declared *d)
{
    buf_varint(&w->record, k->c->n);
    for (unsigned i = 0; i < k->c->n; i++) {
        size_t from = w->declaration.len;
        column_write(&w->declaration, d->metric[i], &k->c->at[i], true);
        buf_varint(&w->record, w->declaration.len - from);
        buf_add(&w->record, w->declaration.at + from, w->declaration.len - from);
    }
    w->record.failed |= w->declaration.failed;
    buf_clear(&w->declaration);
}

/* Declares a kind: once in each block, and again when it has more columns; then all rows are written anew. */
static int declare(struct tape_writer *w, struct kind_rows *k, uint64_t number, const struct baro_declared *d)
{
    size_t n = d->n_metrics < COLUMNS_MAX ? d->n_metrics : COLUMNS_MAX;
    if (k->declared && n <= k->c->n)
        return 0;
    w->entities->weight -= k->n * (k->c->n + ROW_WEIGHT);
    k->last_id = 0;
    k->written = k->dropped = false;
    k->n = 0;
    if (n > k->c->n) {
        columns_of_metrics(d->metric, n, k->own);
        k->cap = 0;
    }
    buf_varint(&w->record, number);
    buf_varint(&w->record, strlen(d->name));
    buf_str(&w->record, d->name);
    write_columns(w, k, d);
    k->declared = true;
    return encode_record(w, RECORD_DECLARE);
}

static int encode_declared(struct tape_writer *w, const struct baro_sample *s)
{
    uint64_t number = 0;
    for (size_t i = 0; i < s->n_declared && i < DECLARED_MAX; i++) {
        struct kind_rows *k = declared_of(w->entities, s, i);
        if (!k)
            return -ENOMEM;
        if (!k->usable)
            continue;
        int r = declare(w, k, number, s->declared[i]);
        if (r == 0)
            r = encode_reading(w, s, k, SCHEMA_KINDS + number, s->declared[i]->rows);
        if (r < 0)
            return r;
        number++;
    }
    return 0;
}

int encode_entities(struct tape_writer *w, const struct baro_sample *s)
{
    bool later_kinds = false;
    for (int kind = BARO_KIND_CGROUP + 1; kind < KIND_COUNT; kind++)
        later_kinds |= s->entities[kind].read_ns != 0;
    if (s->n_declared == 0 && !later_kinds)
        return 0;
    if (!writer_of(w))
        return -ENOMEM;
    for (int kind = BARO_KIND_CGROUP + 1; kind < KIND_COUNT; kind++) {
        struct kind_rows *k = rows_of(w, kind);
        int r = k ? encode_reading(w, s, k, (uint64_t)kind, s->entities[kind]) : -ENOMEM;
        if (r < 0)
            return r;
    }
    return encode_declared(w, s);
}
