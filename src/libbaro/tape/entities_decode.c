/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the entities at the cursor's position: of the machine, of later kinds, and of declared kinds. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "libbaro/tape/cursor.h"

static struct tape_entity *of(struct baro_entity *e)
{
    return (struct tape_entity *)e;
}

static struct kind_state *state_of(struct baro_tape *t, unsigned kind)
{
    struct kind_state **k = &t->kinds[kind];
    return *k ? *k : (*k = calloc(1, sizeof **k));
}

static bool own_records(unsigned kind)
{
    return kind > BARO_KIND_CGROUP;
}

static uint64_t weight_of(const struct tape_kind *k)
{
    return k->columns.n + ROW_WEIGHT;
}

static struct tape_entity *make(const struct tape_kind *k, unsigned kind)
{
    size_t n = k->n_own;
    struct tape_entity *made = calloc(1, sizeof *made + n * (sizeof *made->e.value + sizeof *made->e.absent));
    if (!made)
        return NULL;
    if (kind_extras(k) > 0 && !(made->extra = calloc(1, sizeof *made->extra))) {
        free(made);
        return NULL;
    }
    made->e.kind = (int)kind;
    made->e.n_values = n;
    made->e.value = made->values;
    made->e.absent = (uint8_t *)(made->values + n);
    made->e.metric = k->name ? k->more : NULL;
    if (made->extra) {
        view_extras(made->extra, k);
        made->e.extra = &made->extra->view;
    }
    return made;
}

/* Puts an entity into the list of unused ones. */
static void give(struct kind_state *l, struct baro_entity *e)
{
    free(e->name);
    free(e->label);
    free((void *)(uintptr_t)e->attribute);
    e->name = e->label = NULL;
    e->attribute = NULL;
    e->n_attributes = 0;
    of(e)->next_free = l->free;
    l->free = of(e);
}

static struct baro_entity *take_entity(struct baro_tape *t, unsigned kind)
{
    struct kind_state *l = t->kinds[kind];
    const struct tape_kind *k = t->schema.kind[kind];
    if (array_reserve(&l->at, l->n + 1, &l->cap, sizeof(*l->at)) < 0)
        return NULL;
    struct tape_entity *e = l->free;
    if (e)
        l->free = e->next_free;
    else if (!(e = make(k, kind)))
        return NULL;
    memset(e->e.absent, BARO_ABSENT_UNKNOWN, k->n_own);
    memset(e->e.value, 0, k->n_own * sizeof *e->e.value);
    l->at[l->n++] = &e->e;
    return &e->e;
}

static void forget_kind(struct kind_state *l)
{
    while (l->n > 0)
        give(l, l->at[--l->n]);
    l->last_id = 0;
    l->weight = 0;
    l->view.rows.read_ns = 0;
}

static void free_entities(struct kind_state *l)
{
    for (struct tape_entity *e; (e = l->free);) {
        l->free = e->next_free;
        free(e->extra);
        free(e);
    }
}

void entities_forget(struct baro_tape *t)
{
    for (unsigned kind = 0; kind < t->schema.n_kinds; kind++)
        if (t->kinds[kind])
            forget_kind(t->kinds[kind]);
    t->entity_weight = 0;
}

void entities_done(struct baro_tape *t)
{
    for (unsigned kind = 0; kind < TAPE_KINDS_MAX; kind++) {
        struct kind_state *l = t->kinds[kind];
        if (!l)
            continue;
        forget_kind(l);
        free_entities(l);
        free(l->at);
        free(l);
        t->kinds[kind] = NULL;
    }
}

static bool scan_gone(struct span *in, struct kind_state *l)
{
    size_t kept = 0, next = 0;
    uint64_t gap;
    bool ok;
    while ((ok = scan_varint(in, &gap) && gap <= l->n - next) && gap > 0) {
        for (size_t gone = next + (size_t)gap - 1; next < gone;) {
            struct baro_entity *stays = l->at[next];
            l->at[next++] = l->at[kept];
            l->at[kept++] = stays;
        }
        next++;
    }
    /* The entities that are gone have been swapped to the positions between kept and next. */
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

/* Sets the attributes, with their texts in the same allocation. */
static bool set_attributes(struct baro_entity *e, struct span from)
{
    size_t bytes, n = attributes_count(from, &bytes);
    struct baro_attribute *made = NULL;
    if (n > 0 && !(made = malloc(n * sizeof *made + bytes)))
        return false;
    if (made)
        attributes_fill(from, made, (char *)(made + n));
    free((void *)(uintptr_t)e->attribute);
    e->attribute = made;
    e->n_attributes = n;
    return true;
}

static int scan_info(struct span *in, struct kind_state *l, struct baro_entity *e)
{
    struct entity_info info;
    if (!entity_info_scan(in, &l->last_id, l->whole, &info))
        return BARO_E_CORRUPT;
    e->id = info.id;
    e->info_version = info.info_version;
    e->owner = info.owner;
    return set_text(&e->name, info.name) && set_text(&e->label, info.label) && set_attributes(e, info.attributes)
               ? 0
               : -ENOMEM;
}

static void shift(const struct baro_tape *t, int time, struct baro_entity *e, bool back)
{
    if (time >= 0 && (size_t)time < e->n_values)
        series_shift(t, time, e->value, e->absent, back);
}

/* Reads a row. That of a new entity has the differences to the entity before it in the list. */
static int scan_row(struct baro_tape *t, struct span *in, unsigned kind, size_t i)
{
    struct kind_state *l = t->kinds[kind];
    const struct tape_kind *k = t->schema.kind[kind];
    bool fresh = i == l->n;
    unsigned flags;
    struct row row;
    struct baro_entity *old = !fresh ? l->at[i] : i > 0 ? l->at[i - 1] : NULL;
    int time = kind < KIND_COUNT ? metric_time((int)kind) : -1;
    if (old) {
        shift(t, time, old, true);
        gather(k, old->value, old->absent, of(old)->extra, row.value, row.absent);
        shift(t, time, old, false);
    } else {
        memset(&row, 0, sizeof row);
    }
    if (!row_scan(in, &k->columns, row.value, row.absent, &flags) || (fresh && !(flags & ROW_INFO)))
        return BARO_E_CORRUPT;
    struct baro_entity *e = fresh ? take_entity(t, kind) : l->at[i];
    if (!e)
        return -ENOMEM;
    scatter(k, row.value, row.absent, e->value, e->absent, of(e)->extra);
    shift(t, time, e, false);
    return flags & ROW_INFO ? scan_info(in, l, e) : 0;
}

/* most: the largest number of rows that is allowed */
static int scan_rows(struct baro_tape *t, struct span *in, unsigned kind, size_t most)
{
    struct kind_state *l = t->kinds[kind];
    uint64_t gap;
    for (size_t next = 0;;) {
        if (!scan_varint(in, &gap))
            return BARO_E_CORRUPT;
        if (gap == 0)
            return 0;
        if (gap - 1 > l->n - next || next + (size_t)(gap - 1) >= most)
            return BARO_E_CORRUPT;
        next += (size_t)(gap - 1);
        int r = scan_row(t, in, kind, next++);
        if (r < 0)
            return r;
    }
}

static int scan_kind(struct baro_tape *t, struct span *in, unsigned kind, bool whole, uint64_t read_ns)
{
    struct kind_state *l = state_of(t, kind);
    if (!l)
        return -ENOMEM;
    uint64_t each = weight_of(t->schema.kind[kind]), most = ENTITIES_MAX;
    l->whole = whole;
    if (own_records(kind)) {
        t->entity_weight -= l->weight;
        most = (WEIGHT_MAX - t->entity_weight) / each;
        most = most < ENTITIES_MAX ? most : ENTITIES_MAX;
    }
    int r = scan_gone(in, l) ? scan_rows(t, in, kind, (size_t)most) : BARO_E_CORRUPT;
    if (own_records(kind))
        t->entity_weight += l->weight = l->n * each;
    l->view.rows.read_ns = read_ns;
    for (size_t i = 0; i < l->n; i++)
        l->at[i]->read_ns = read_ns;
    return r;
}

/* ---- the sample's view ---- */

static void show_declared(struct baro_tape *t)
{
    unsigned n = t->schema.n_kinds - KIND_COUNT;
    for (unsigned i = 0; i < n; i++) {
        static struct baro_entity *const none[1];
        unsigned kind = KIND_COUNT + i;
        const struct tape_kind *k = t->schema.kind[kind];
        struct kind_state *l = state_of(t, kind);
        if (!l)
            continue;
        l->view.name = k->name;
        l->view.metric = k->more;
        l->view.n_metrics = k->n_more;
        l->view.rows.n = l->n;
        l->view.rows.at = l->n ? l->at : none;
        t->declared[i] = &l->view;
    }
    t->sample.n_declared = n;
    t->sample.declared = t->declared;
}

void entities_show(struct baro_tape *t)
{
    struct baro_sample *s = &t->sample;
    static struct baro_entity *const none[1];
    for (unsigned kind = BARO_KIND_CPU; kind < KIND_COUNT; kind++) {
        const struct kind_state *l = t->kinds[kind];
        bool any = l && l->n > 0;
        s->entities[kind] = (struct baro_entities){any ? l->n : 0, any ? l->at : none, l ? l->view.rows.read_ns : 0};
    }
    show_declared(t);
    const struct kind_state *hosts = t->kinds[BARO_KIND_HOST];
    if (!hosts || hosts->n == 0)
        return;
    const struct baro_entity *host = hosts->at[0];
    memcpy(s->host, host->value, sizeof s->host);
    memcpy(s->host_absent, host->absent, sizeof s->host_absent);
    s->host_extra = host->extra;
}

/* ---- records ---- */

/* Applies a record of the machine, which has kinds in the order of their numbers. */
int state_machine(struct baro_tape *t, struct span body)
{
    int64_t after;
    uint64_t changed;
    if (!scan_zigzag(&body, &after) || !scan_varint(&body, &changed))
        return BARO_E_CORRUPT;
    t->sample.has_host = true;
    t->sample.host_ns = t->sample.t_ns + (uint64_t)after;
    for (unsigned number = 0; number < SCHEMA_KINDS; number++) {
        int kind = t->schema.kind_of[number];
        if (!(changed >> number & 1))
            continue;
        if (kind < BARO_KIND_HOST)
            break;
        int r = scan_kind(t, &body, (unsigned)kind, false, t->sample.host_ns);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Applies a declaration. If the number of columns has changed, all rows of the kind follow anew. */
int state_declare(struct baro_tape *t, struct span body)
{
    unsigned kind;
    bool changed;
    int r = schema_declare(body, &t->schema, &kind, &changed);
    if (r < 0 || !t->kinds[kind])
        return r;
    struct kind_state *l = t->kinds[kind];
    t->entity_weight -= l->weight;
    forget_kind(l);
    if (changed)
        free_entities(l);
    return 0;
}

int state_entities(struct baro_tape *t, struct span body)
{
    uint64_t number;
    int64_t after;
    if (!scan_varint(&body, &number) || !scan_zigzag(&body, &after))
        return BARO_E_CORRUPT;
    int kind = -1;
    if (number < SCHEMA_KINDS)
        kind = t->schema.kind_of[number];
    else if (number - SCHEMA_KINDS < t->schema.n_kinds - t->schema.first_declared)
        kind = (int)(t->schema.first_declared + (unsigned)(number - SCHEMA_KINDS));
    if (kind <= BARO_KIND_CGROUP)
        return BARO_E_CORRUPT;
    return scan_kind(t, &body, (unsigned)kind, true, t->sample.t_ns + (uint64_t)after);
}
