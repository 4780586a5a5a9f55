/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/tape/schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libbaro/tape/block.h"

struct texts {
    struct span stem, name, help, file;
    unsigned unit, semantics;
};

static bool scan_column(struct span *in, unsigned column, struct tape_column *ret, struct texts *ret_texts)
{
    struct texts *t = ret_texts;
    uint64_t len;
    unsigned scale, with, without;
    if (!scan_varint(in, &len) || len > in->len)
        return false;
    struct span row = span_of(in->at, (size_t)len);
    in->at += len;
    in->len -= (size_t)len;
    if (!scan_text(&row, &t->stem) || !scan_text(&row, &t->name) || !scan_text(&row, &t->help) ||
        !scan_text(&row, &t->file) || !scan_byte(&row, &t->unit) || !scan_byte(&row, &t->semantics) ||
        !scan_byte(&row, &scale) || !scale_valid(scale) || !scan_byte(&row, &with) || with > column ||
        !scan_byte(&row, &without) || without > column)
        return false;
    *ret = (struct tape_column){(uint8_t)scale, (uint8_t)with, (uint8_t)without};
    return true;
}

static void kind_forget(struct tape_kind *k)
{
    for (unsigned i = 0; i < k->n_more; i++)
        free((void *)(uintptr_t)k->more[i]);
}

/* A newer writer may have more units. */
static enum baro_unit unit_of(const struct texts *t)
{
    return t->unit <= BARO_UNIT_ENTITY ? (enum baro_unit)t->unit : BARO_UNIT_NONE;
}

static enum baro_semantics semantics_of(const struct texts *t)
{
    return t->semantics <= BARO_SEM_INFO ? (enum baro_semantics)t->semantics : BARO_SEM_GAUGE;
}

/* Makes a metric with its four texts in one allocation. */
static struct baro_metric *make_metric(const struct texts *t)
{
    const struct span stem = t->stem.len ? t->stem : t->name, from[] = {stem, t->name, t->help, t->file};
    const char *to[4];
    struct baro_metric *m = malloc(sizeof *m + stem.len + t->name.len + t->help.len + t->file.len + 4);
    if (!m)
        return NULL;
    char *at = (char *)(m + 1);
    for (size_t i = 0; i < 4; i++) {
        to[i] = at;
        memcpy(at, from[i].at, from[i].len);
        at += from[i].len;
        *at++ = 0;
    }
    *m = (struct baro_metric){
        .stem = to[0],
        .name = to[1],
        .help = to[2],
        .file = to[3],
        .unit = unit_of(t),
        .semantics = semantics_of(t),
    };
    return m;
}

static bool id_taken(const struct tape_kind *k, unsigned n, int id)
{
    for (unsigned i = 0; i < n; i++)
        if (k->metric[i] == id)
            return true;
    return false;
}

/* Finds the metric of the registry that a column stands for: it has the same name and unit, and no earlier column
 * stands for it. */
static int own_id(const struct tape_kind *k, int kind, unsigned i, const struct texts *t)
{
    const struct baro_metric *same = baro_metric_get(kind, (int)i); /* mostly it has the same number */
    int id = same && span_equal(t->name, same->name) ? (int)i : metric_find(kind, t->name.at, t->name.len);
    if (id < 0 || (unsigned)baro_metric_get(kind, id)->unit != t->unit || id_taken(k, i, id))
        return -1;
    return id;
}

static bool texts_fit(const struct texts *t)
{
    return t->stem.len <= METRIC_TEXT_MAX && t->name.len <= METRIC_TEXT_MAX && t->help.len <= METRIC_TEXT_MAX &&
           t->file.len <= METRIC_TEXT_MAX;
}

/* Adds a column. kind: its number; a kind that only the tape has finds no metric in the registry. */
static int add_column(struct span *in, struct tape_kind *k, int kind)
{
    struct texts t;
    unsigned i = k->columns.n;
    if (!scan_column(in, i, &k->columns.at[i], &t) || (k->name && !texts_fit(&t)))
        return BARO_E_CORRUPT;
    int id = k->name ? -1 : own_id(k, kind, i, &t);
    if (id < 0) {
        if (!(k->more[k->n_more] = make_metric(&t)))
            return -ENOMEM;
        id = (k->name ? 0 : (int)k->n_own) + (int)k->n_more++;
    }
    k->metric[i] = (uint8_t)id;
    k->other_order = k->other_order || (unsigned)id != i || i >= k->n_own;
    k->columns.related |= k->columns.at[i].with || k->columns.at[i].without;
    k->columns.n++;
    return 0;
}

static int add_columns(struct span *in, struct tape_kind *k, int kind, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        int r = add_column(in, k, kind);
        if (r < 0)
            return r;
    }
    if (k->name)
        k->n_own = k->columns.n;
    return 0;
}

static struct tape_kind *add_kind(struct schema *s, struct span name, bool own)
{
    struct tape_kind *k = s->n_kinds < TAPE_KINDS_MAX ? calloc(1, sizeof *k) : NULL;
    if (!k)
        return NULL;
    if (own)
        k->n_own = (unsigned)baro_metric_count((int)s->n_kinds);
    else if (!(k->name = strndup(name.at, name.len))) {
        free(k);
        return NULL;
    }
    return s->kind[s->n_kinds++] = k;
}

static int kind_of_name(const struct schema *s, struct span name)
{
    for (unsigned i = 0; i < s->n_kinds; i++)
        if (span_equal(name, i < KIND_COUNT ? baro_kind_name((int)i) : s->kind[i]->name))
            return (int)i;
    return -1;
}

/* Reads a kind of the schema. A second one with the same name is skipped. */
static int scan_kind(struct span *in, unsigned number, struct schema *s, bool *seen)
{
    uint64_t n;
    struct span name;
    struct tape_kind skipped = {.name = (char *)""};
    if (!scan_text(in, &name) || !scan_varint(in, &n) || n > COLUMNS_MAX)
        return BARO_E_CORRUPT;
    int kind = kind_of_name(s, name);
    if (number >= SCHEMA_KINDS || name.len == 0 || name.len > KIND_NAME_MAX || (kind >= 0 && seen[kind])) {
        int r = add_columns(in, &skipped, -1, (unsigned)n);
        kind_forget(&skipped);
        return r;
    }
    if (kind < 0) {
        kind = (int)s->n_kinds;
        if (!add_kind(s, name, false))
            return -ENOMEM;
    }
    seen[kind] = true;
    s->kind_of[number] = (int16_t)kind;
    return add_columns(in, s->kind[kind], kind, (unsigned)n);
}

int schema_scan(struct span in, struct schema *ret)
{
    uint64_t n_kinds;
    bool seen[TAPE_KINDS_MAX] = {0};
    memset(ret, 0, sizeof *ret);
    memset(ret->kind_of, -1, sizeof ret->kind_of);
    for (int kind = 0; kind < KIND_COUNT; kind++)
        if (!add_kind(ret, span_of("", 0), true))
            return -ENOMEM;
    if (!scan_varint(&in, &n_kinds))
        return BARO_E_CORRUPT;
    for (uint64_t i = 0; i < n_kinds; i++) {
        int r = scan_kind(&in, i < SCHEMA_KINDS ? (unsigned)i : SCHEMA_KINDS, ret, seen);
        if (r < 0)
            return r;
    }
    ret->first_declared = ret->n_kinds;
    return 0;
}

/* Is a column the same as in the declaration before? */
static bool same_column(const struct tape_kind *k, unsigned i, const struct tape_column *c, const struct texts *t)
{
    const struct baro_metric *m = k->more[i];
    return memcmp(&k->columns.at[i], c, sizeof *c) == 0 && span_equal(t->name, m->name) && unit_of(t) == m->unit &&
           semantics_of(t) == m->semantics;
}

/* Undoes a declaration that turned out to be damaged. */
static void undo_declaration(struct schema *s, struct tape_kind *k, unsigned known, unsigned columns)
{
    while (k->n_more > known)
        free((void *)(uintptr_t)k->more[--k->n_more]);
    k->columns.n = k->n_own = columns;
    if (known == 0 && k == s->kind[s->n_kinds - 1]) {
        s->n_kinds--;
        free(k->name);
        free(k);
    }
}

/* Reads the columns of a declaration. There may be fewer than before, if the cursor went back to an earlier block. */
static int declare_columns(struct span *in, struct tape_kind *k, unsigned n)
{
    unsigned known = n < k->n_more ? n : k->n_more;
    for (unsigned i = 0; i < known; i++) {
        struct tape_column c = {0};
        struct texts t;
        if (!scan_column(in, i, &c, &t) || !same_column(k, i, &c, &t))
            return BARO_E_CORRUPT;
    }
    k->columns.n = known;
    return add_columns(in, k, -1, n - known);
}

int schema_declare(struct span in, struct schema *s, unsigned *ret_kind, bool *ret_changed)
{
    uint64_t number, n;
    struct span name;
    if (!scan_varint(&in, &number) || number >= DECLARED_MAX || !scan_text(&in, &name) || name.len == 0 ||
        name.len > KIND_NAME_MAX || !scan_varint(&in, &n) || n > COLUMNS_MAX)
        return BARO_E_CORRUPT;
    unsigned kind = s->first_declared + (unsigned)number;
    int same = kind_of_name(s, name);
    if (kind > s->n_kinds || (kind == s->n_kinds ? same >= 0 : same != (int)kind))
        return BARO_E_CORRUPT;
    if (kind == s->n_kinds && !add_kind(s, name, false))
        return -ENOMEM;
    struct tape_kind *k = s->kind[kind];
    unsigned known = k->n_more, columns = k->columns.n;
    int r = declare_columns(&in, k, (unsigned)n);
    if (r < 0)
        undo_declaration(s, k, known, columns);
    *ret_kind = kind;
    *ret_changed = columns != n;
    return r;
}

static struct baro_metric *copy_metric(const struct baro_metric *m)
{
    struct texts t = {.stem = span_str(m->stem),
                      .name = span_str(m->name),
                      .help = span_str(m->help),
                      .file = span_str(m->file),
                      .unit = m->unit,
                      .semantics = m->semantics};
    return make_metric(&t);
}

int schema_learn(struct schema *s, const struct schema *from)
{
    for (unsigned i = s->first_declared; i < from->n_kinds; i++) {
        const struct tape_kind *more = from->kind[i];
        if (i == s->n_kinds && !add_kind(s, span_str(more->name), false))
            return -ENOMEM;
        struct tape_kind *k = s->kind[i];
        for (unsigned c = k->n_more; c < more->n_more; c++) {
            if (!(k->more[c] = copy_metric(more->more[c])))
                return -ENOMEM;
            k->columns.at[c] = more->columns.at[c];
            k->metric[c] = (uint8_t)c;
            k->n_more++;
        }
    }
    return 0;
}

void schema_done(struct schema *s)
{
    for (unsigned i = 0; i < s->n_kinds; i++) {
        kind_forget(s->kind[i]);
        free(s->kind[i]->name);
        free(s->kind[i]);
    }
    memset(s, 0, sizeof *s);
}
