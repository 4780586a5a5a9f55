/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/programs/program_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kernel/proc/procfs.h"
#include "recorder/redact/redact.h"

struct program_entity {
    struct baro_entity e; /* first: the kind's list points to it */
    char *key;            /* the row's name in readings; e.name is the same with secrets removed */
    bool seen;            /* in this reading */
};

void program_table_init(struct program_table *t, const char *name)
{
    *t = (struct program_table){.kind = {.name = name}};
    t->kind.metric = (const struct baro_metric *const *)t->metric;
}

static void free_attributes(struct baro_entity *e)
{
    for (size_t i = 0; i < e->n_attributes; i++)
        free((char *)e->attribute[i].name); /* one block with the text */
    free((struct baro_attribute *)e->attribute);
    e->attribute = NULL;
    e->n_attributes = 0;
}

static void free_row(struct program_entity *p)
{
    if (!p)
        return;
    free_attributes(&p->e);
    free(p->e.name);
    free(p->e.value);
    free(p->e.absent);
    free(p->key);
    free(p);
}

void program_table_done(struct program_table *t)
{
    for (size_t i = 0; i < t->kind.rows.n; i++)
        free_row(t->row[i]);
    for (size_t i = 0; i < t->kind.n_metrics; i++)
        free(t->metric[i]);
    free(t->row);
    map_done(&t->by_key);
    t->row = NULL;
    t->kind.rows.n = t->kind.n_metrics = 0;
}

/* ---- columns ---- */

static bool has_unit(const char *name, const char *unit)
{
    const char *at = strstr(name, unit);
    size_t n = strlen(unit);
    return at && at > name && (!at[n] || strcmp(at + n, "_total") == 0 || strcmp(at + n, "_sum") == 0);
}

/* Bytes and nanoseconds are integers; any other unit is only part of the name. */
static enum baro_unit unit_of_name(const char *name)
{
    return has_unit(name, "_bytes") ? BARO_UNIT_BYTES : has_unit(name, "_ns") ? BARO_UNIT_NS : BARO_UNIT_REAL;
}

static struct baro_metric *make_metric(const char *name, const char *help, enum reading_type type)
{
    static const enum baro_semantics semantics[] = {
        [READING_GAUGE] = BARO_SEM_GAUGE, [READING_COUNTER] = BARO_SEM_COUNTER, [READING_INFO] = BARO_SEM_INFO};
    size_t name_len = strlen(name) + 1, help_len = strlen(help) + 1;
    struct baro_metric *m = malloc(sizeof(*m) + name_len + help_len);
    if (!m)
        return NULL;
    char *text = (char *)(m + 1);
    memcpy(text, name, name_len);
    memcpy(text + name_len, help, help_len);
    *m = (struct baro_metric){.stem = text,
                              .name = text,
                              .help = text + name_len,
                              .file = "--collect",
                              .unit = unit_of_name(name),
                              .semantics = semantics[type]};
    return m;
}

/* Returns the index of the column + 1, or 0 if there is no room. */
static uint16_t find_column(struct program_table *t, const struct reading *r, uint32_t i)
{
    const struct reading_column *c = &r->column[i];
    const char *name = reading_text(r, c->name);
    size_t n = t->kind.n_metrics;
    if (i < n && strcmp(t->metric[i]->name, name) == 0)
        return (uint16_t)(i + 1);
    for (size_t k = 0; k < n; k++) {
        if (strcmp(t->metric[k]->name, name) == 0)
            return (uint16_t)(k + 1);
    }
    if (n == PROGRAM_COLUMNS ||
        !(t->metric[n] = make_metric(name, reading_text(r, c->help), (enum reading_type)c->type))) {
        if (!t->left_out.first_column[0])
            snprintf(t->left_out.first_column, sizeof(t->left_out.first_column), "%s", name);
        return 0;
    }
    return (uint16_t)++t->kind.n_metrics;
}

/* Each row has a value for each column. */
static int grow_rows(struct program_table *t)
{
    size_t n = t->kind.n_metrics, cap = n + n / 4 < PROGRAM_COLUMNS ? n + n / 4 : PROGRAM_COLUMNS;
    if (n <= t->cap_columns)
        return 0;
    for (size_t i = 0; i < t->kind.rows.n; i++) {
        struct baro_entity *e = &t->row[i]->e;
        uint64_t *value = realloc(e->value, cap * sizeof(*value));
        e->value = value ? value : e->value;
        uint8_t *absent = value ? realloc(e->absent, cap) : NULL;
        e->absent = absent ? absent : e->absent;
        if (!absent)
            return -ENOMEM;
    }
    t->cap_columns = cap;
    return 0;
}

/* ---- rows ---- */

static bool put_row_key(struct program_table *t, size_t i)
{
    const char *key = t->row[i]->key;
    return map_add(&t->by_key, map_hash(key, strlen(key)), i);
}

static bool put_keys(struct program_table *t)
{
    bool done = true;
    map_clear(&t->by_key);
    for (size_t i = 0; done && i < t->kind.rows.n; i++)
        done = put_row_key(t, i);
    return done;
}

static int64_t find_row(const struct program_table *t, const char *key)
{
    uint64_t hash = map_hash(key, strlen(key));
    for (uint64_t *i = map_find(&t->by_key, hash); i; i = map_next(&t->by_key, hash, i)) {
        if (strcmp(t->row[*i]->key, key) == 0)
            return (int64_t)*i;
    }
    return -1;
}

static char *redacted(const char *text)
{
    struct buf b = {0};
    redact_name(span_str(text), &b);
    buf_byte(&b, 0);
    if (b.failed) {
        buf_done(&b);
        return NULL;
    }
    return (char *)b.at;
}

static struct program_entity *make_row(const struct program_table *t, const char *key)
{
    struct program_entity *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->key = strdup(key);
    p->e.name = redacted(key);
    p->e.label = (char *)"";
    p->e.value = calloc(t->cap_columns + 1, sizeof(*p->e.value));
    p->e.absent = calloc(t->cap_columns + 1, 1);
    if (p->key && p->e.name && p->e.value && p->e.absent)
        return p;
    free_row(p);
    return NULL;
}

static bool same_attributes(const struct baro_entity *e, const struct reading *r, const struct reading_row *row)
{
    const char *at = reading_text(r, row->labels);
    if (e->n_attributes != row->n_labels)
        return false;
    for (size_t i = 0; i < e->n_attributes; i++) {
        const char *raw = e->attribute[i].name + strlen(e->attribute[i].name) + 1;
        if (strcmp(e->attribute[i].name, at) != 0)
            return false;
        at += strlen(at) + 1;
        if (strcmp(raw, at) != 0)
            return false;
        at += strlen(at) + 1;
    }
    return true;
}

/* One block for each attribute: the name, the value as it was printed, and the value with secrets removed. */
static int set_attributes(struct baro_entity *e, const struct reading *r, const struct reading_row *row)
{
    const char *at = reading_text(r, row->labels);
    struct baro_attribute *attribute = row->n_labels ? calloc(row->n_labels, sizeof(*attribute)) : NULL;
    if (row->n_labels && !attribute)
        return -ENOMEM;
    free_attributes(e);
    e->attribute = attribute;
    for (size_t i = 0; i < row->n_labels; i++) {
        const char *name = at, *value = name + strlen(name) + 1;
        struct buf b = {0};
        at = value + strlen(value) + 1;
        buf_add(&b, name, (size_t)(at - name));
        size_t text = b.len;
        redact_name(span_str(value), &b);
        buf_byte(&b, 0);
        if (b.failed) {
            buf_done(&b);
            return -ENOMEM;
        }
        attribute[i] =
            (struct baro_attribute){.name = (char *)b.at, .type = BARO_ATTRIBUTE_TEXT, .text = (char *)b.at + text};
        e->n_attributes = i + 1;
    }
    e->info_version++;
    return 0;
}

static void set_owner(struct baro_entity *e, int32_t pid, program_start_fn *start_of, void *context)
{
    struct baro_entity_owner o = {.kind = pid > 0 ? BARO_OWNER_PROCESS : BARO_OWNER_NONE};
    if (pid > 0) {
        o.process = (struct baro_key){pid, start_of(context, pid)};
        if (!o.process.start && e->owner.kind == o.kind && e->owner.process.pid == pid)
            return;                                          /* it has ended: its known start time stays */
        o.kind = o.process.start ? o.kind : BARO_OWNER_NONE; /* no process with this pid is known here */
        o.process = o.process.start ? o.process : (struct baro_key){0};
    }
    e->info_version += o.kind != e->owner.kind || !baro_key_equal(o.process, e->owner.process);
    e->owner = o;
}

/* Returns the index of the row, -1 if there is no room, or -ENOMEM. */
static int64_t add_row(struct program_table *t, const char *key, uint32_t *ids)
{
    size_t n = t->kind.rows.n;
    if (n == READING_ROWS || (n + 1) * (t->kind.n_metrics + 4) > PROGRAM_WEIGHT) {
        return -1;
    }
    struct program_entity **row = array_room(t->row, n, &t->cap, sizeof(*row));
    if (!row)
        return -ENOMEM;
    t->row = row;
    if (!(t->row[n] = make_row(t, key)))
        return -ENOMEM;
    if (!put_row_key(t, n)) {
        free_row(t->row[n]);
        return -ENOMEM;
    }
    t->row[n]->e.id = ++*ids;
    t->row[n]->seen = true;
    t->kind.rows.n++;
    return (int64_t)n;
}

/* Removes the rows that are not in the reading. Returns whether there were any. */
static bool drop_unseen(struct program_table *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->kind.rows.n; i++) {
        if (t->row[i]->seen)
            t->row[kept++] = t->row[i];
        else
            free_row(t->row[i]);
    }
    bool any = kept < t->kind.rows.n;
    t->kind.rows.n = kept;
    return any;
}

/* ---- values ---- */

static void set_cell(struct program_table *t, struct baro_entity *e, size_t column, const struct reading_cell *c)
{
    bool whole = t->metric[column]->unit != BARO_UNIT_REAL;
    double real;
    memcpy(&real, &c->bits, sizeof(real));
    e->value[column] = 0;
    e->absent[column] = BARO_ABSENT_UNKNOWN;
    if (c->value == READING_ABSENT)
        return;
    if (whole && c->value == READING_REAL && !(real >= 0 && real < 18446744073709549568.0)) { /* -5 bytes */
        t->left_out.values++;
        return;
    }
    e->absent[column] = BARO_PRESENT;
    if (whole) {
        e->value[column] = c->value == READING_INTEGER ? c->bits : (uint64_t)(real + 0.5);
        return;
    }
    if (c->value == READING_INTEGER)
        real = (double)c->bits;
    memcpy(&e->value[column], &real, sizeof(real));
}

static void note_most(uint32_t *most, uint32_t n)
{
    *most = n > *most ? n : *most;
}

static int take_rows(struct program_table *t, const struct reading *r, uint32_t *ids, uint16_t *row_of,
                     program_start_fn *start_of, void *context)
{
    uint32_t left_out = 0;
    for (uint32_t i = 0; i < r->n_rows; i++) {
        const struct reading_row *row = &r->row[i];
        const char *key = reading_text(r, row->name);
        int64_t at = i < t->kind.rows.n && strcmp(t->row[i]->key, key) == 0 ? (int64_t)i : find_row(t, key);
        if (at < 0 && (at = add_row(t, key, ids)) == -ENOMEM)
            return -ENOMEM;
        row_of[i] = at < 0 ? 0 : (uint16_t)(at + 1);
        left_out += at < 0;
        if (at < 0)
            continue;
        struct baro_entity *e = &t->row[at]->e;
        memset(e->value, 0, t->kind.n_metrics * sizeof(*e->value));
        memset(e->absent, BARO_ABSENT_UNKNOWN, t->kind.n_metrics);
        if (row->pid || e->owner.kind)
            set_owner(e, row->pid, start_of, context);
        if (!same_attributes(e, r, row) && set_attributes(e, r, row) < 0)
            return -ENOMEM;
    }
    note_most(&t->left_out.rows, left_out);
    return 0;
}

static int prepare_columns(struct program_table *t, const struct reading *r)
{
    uint32_t left_out = 0;
    for (uint32_t i = 0; i < r->n_columns; i++) {
        t->column_of[i] = find_column(t, r, i);
        left_out += !t->column_of[i];
    }
    note_most(&t->left_out.columns, left_out);
    if (grow_rows(t) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < t->kind.rows.n; i++)
        t->row[i]->seen = false;
    for (uint32_t i = 0; i < r->n_rows; i++) {
        int64_t at = find_row(t, reading_text(r, r->row[i].name));
        if (at >= 0)
            t->row[at]->seen = true;
    }
    return drop_unseen(t) && !put_keys(t) ? -ENOMEM : 0;
}

int program_table_take(struct program_table *t, const struct reading *r, uint32_t *ids, uint64_t t_ns,
                       program_start_fn *start_of, void *context)
{
    uint16_t row_of[READING_ROWS];
    int code = prepare_columns(t, r);
    if (code == 0)
        code = take_rows(t, r, ids, row_of, start_of, context);
    for (uint32_t i = 0; i < r->n_cells && code == 0; i++) {
        const struct reading_cell *c = &r->cell[i];
        uint16_t row = row_of[c->row], column = t->column_of[c->column];
        if (row && column)
            set_cell(t, &t->row[row - 1]->e, column - 1u, c);
    }
    if (code < 0)
        program_table_clear(t, t_ns);
    t->kind.rows.at = (struct baro_entity *const *)t->row;
    t->kind.rows.read_ns = t_ns;
    return code;
}

void program_table_clear(struct program_table *t, uint64_t t_ns)
{
    for (size_t i = 0; i < t->kind.rows.n; i++)
        t->row[i]->seen = false;
    drop_unseen(t);
    map_clear(&t->by_key);
    if (t->kind.rows.read_ns)
        t->kind.rows.read_ns = t_ns;
}
