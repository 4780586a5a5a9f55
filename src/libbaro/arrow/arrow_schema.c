/* SPDX-License-Identifier: Apache-2.0 */
/* The Arrow types of columns, and the metadata of their fields. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "baro/header.h"
#include "baro/interval.h"
#include "baro/text.h"
#include "baro/version.h"
#include "libbaro/arrow/build.h"

static enum column_type metric_type(const struct baro_metric *m)
{
    switch (m->unit) {
    case BARO_UNIT_CHAR:
    case BARO_UNIT_ENTITY: return TYPE_TEXT;
    case BARO_UNIT_SIGNED: return TYPE_I64;
    case BARO_UNIT_RATIO:
    case BARO_UNIT_CELSIUS:
    case BARO_UNIT_JOULES:
    case BARO_UNIT_WATTS:
    case BARO_UNIT_DECIMAL:
    case BARO_UNIT_REAL: return TYPE_F64;
    default: return TYPE_U64;
    }
}

static enum column_type fact_type(const struct baro_fact *fact)
{
    return fact->type == BARO_FACT_REAL ? TYPE_F64 : TYPE_U64;
}

enum column_type arrow_type(const struct baro_column *c)
{
    switch (c->kind) {
    case BARO_COLUMN_TIME: return TYPE_TIME;
    case BARO_COLUMN_T:
    case BARO_COLUMN_END:
    case BARO_COLUMN_NUMBER: return TYPE_I64;
    case BARO_COLUMN_PID:
    case BARO_COLUMN_PPID:
    case BARO_COLUMN_OWNER:
    case BARO_COLUMN_DEPTH:
    case BARO_COLUMN_OCCURRENCE:
    case BARO_COLUMN_DRIVER:
    case BARO_COLUMN_STATUS:
    case BARO_COLUMN_SIGNAL: return TYPE_I32;
    case BARO_COLUMN_UID:
    case BARO_COLUMN_ID: return TYPE_U32;
    case BARO_COLUMN_START:
    case BARO_COLUMN_DRIVER_START:
    case BARO_COLUMN_AGE: return TYPE_U64;
    case BARO_COLUMN_CORES:
    case BARO_COLUMN_DERIVED: return TYPE_F64;
    case BARO_COLUMN_LOSSY:
    case BARO_COLUMN_OPEN:
    case BARO_COLUMN_IS_DRIVER:
    case BARO_COLUMN_IS_IDLE:
    case BARO_COLUMN_SAMPLED: return TYPE_BOOL;
    case BARO_COLUMN_FACT: return fact_type(c->fact);
    case BARO_COLUMN_METRIC:
    case BARO_COLUMN_SUM: return metric_type(c->metric);
    default: return TYPE_TEXT;
    }
}

static const char *format_of(enum column_type type)
{
    static const char *const formats[] = {
        [TYPE_TIME] = "tsn:UTC", [TYPE_I32] = "i", [TYPE_U32] = "I",  [TYPE_I64] = "l",
        [TYPE_U64] = "L",        [TYPE_F64] = "g", [TYPE_BOOL] = "b", [TYPE_TEXT] = "i",
    };
    return formats[type];
}

/* ---- metadata: int32 n, then n pairs of texts, each an int32 length and its bytes ---- */

static void put_len(struct buf *b, size_t len)
{
    int32_t n = (int32_t)len;
    buf_add(b, &n, sizeof(n));
}

static void put_pair(struct buf *b, const char *key, const char *value)
{
    int32_t n = 0;
    if (!value || !*value)
        return;
    size_t len = strlen(value), room = baro_text_escape(value, len, NULL, 0);
    if (b->len)
        memcpy(&n, b->at, sizeof(n));
    else
        put_len(b, 0);
    put_len(b, strlen(key));
    buf_str(b, key);
    put_len(b, room);
    if (buf_reserve(b, room + 1))
        b->len += baro_text_escape(value, len, (char *)b->at + b->len, room + 1);
    n++;
    if (!b->failed)
        memcpy(b->at, &n, sizeof(n));
}

static void describe_metric(struct buf *b, const struct baro_metric *m)
{
    put_pair(b, "unit", baro_unit_name(m->unit));
    put_pair(b, "semantics", baro_semantics_name(m->semantics));
    put_pair(b, "help", m->help);
    put_pair(b, "source", m->file);
}

static void describe_column(struct buf *b, const struct baro_column *c, const struct baro_header *header, int rows)
{
    const struct baro_derived *d = c->kind == BARO_COLUMN_DERIVED ? baro_derived_get(rows, c->id) : NULL;
    const bool of_process = c->kind == BARO_COLUMN_SUM || (c->kind == BARO_COLUMN_METRIC && rows == BARO_KIND_PROCESS);
    if (c->kind == BARO_COLUMN_METRIC || c->kind == BARO_COLUMN_SUM)
        describe_metric(b, c->metric);
    if (of_process && c->id < baro_metric_count(BARO_KIND_PROCESS) && !baro_header_wants(header, c->id))
        put_pair(b, "absent", baro_absent_name(BARO_ABSENT_NOT_ASKED));
    if (c->kind == BARO_COLUMN_T || c->kind == BARO_COLUMN_END || c->kind == BARO_COLUMN_AGE)
        put_pair(b, "unit", baro_unit_name(BARO_UNIT_NS));
    if (c->kind == BARO_COLUMN_CORES)
        put_pair(b, "unit", "cores");
    if (c->kind == BARO_COLUMN_CORES || d)
        put_pair(b, "semantics", baro_semantics_name(BARO_SEM_GAUGE));
    if (c->kind == BARO_COLUMN_FACT) {
        put_pair(b, "unit", baro_unit_name(c->fact->unit));
        put_pair(b, "help", c->fact->help);
    }
    if (d) {
        put_pair(b, "unit", d->unit);
        put_pair(b, "help", d->help);
    }
}

/* ---- schemas ---- */

struct owned {
    char *name, *metadata;
    struct ArrowSchema dictionary;
    struct ArrowSchema *children[];
};

static void release(struct ArrowSchema *s)
{
    struct owned *o = s->private_data;
    for (int64_t i = 0; i < s->n_children; i++) {
        if (s->children[i]->release)
            s->children[i]->release(s->children[i]);
        free(s->children[i]);
    }
    if (s->dictionary && s->dictionary->release)
        s->dictionary->release(s->dictionary);
    free(o->name);
    free(o->metadata);
    free(o);
    s->release = NULL;
}

/* Makes a schema; it takes over the memory of the metadata. Returns 0 or -ENOMEM. */
static int schema_init(struct ArrowSchema *ret, const char *format, const char *name, struct buf *metadata,
                       size_t n_children)
{
    struct owned *o = calloc(1, sizeof(*o) + n_children * sizeof(struct ArrowSchema *));
    char *copy = o ? strdup(name) : NULL;
    if (!copy || metadata->failed) {
        free(copy);
        free(o);
        buf_done(metadata);
        return -ENOMEM;
    }
    o->name = copy;
    o->metadata = (char *)metadata->at;
    *metadata = (struct buf){0};
    *ret = (struct ArrowSchema){.format = format,
                                .name = o->name,
                                .metadata = o->metadata,
                                .children = n_children ? o->children : NULL,
                                .release = release,
                                .private_data = o};
    return 0;
}

static int field(const struct column *c, const struct baro_header *header, int rows, struct ArrowSchema *ret)
{
    struct buf metadata = {0}, none = {0};
    describe_column(&metadata, c->is, header, rows);
    int code = schema_init(ret, format_of(c->type), c->is->name, &metadata, 0);
    if (code < 0)
        return code;
    ret->flags = ARROW_FLAG_NULLABLE;
    if (c->type != TYPE_TEXT)
        return 0;
    struct owned *o = ret->private_data;
    code = schema_init(&o->dictionary, "u", "", &none, 0);
    if (code < 0) {
        ret->release(ret);
        return code;
    }
    o->dictionary.flags = ARROW_FLAG_NULLABLE;
    ret->dictionary = &o->dictionary;
    return 0;
}

int arrow_schema(const struct column *c, size_t n, const struct baro_header *header, int rows, const char *kind,
                 struct ArrowSchema *ret)
{
    struct ArrowSchema whole;
    struct buf metadata = {0};
    put_pair(&metadata, "kind", kind);
    put_pair(&metadata, "barograph", BARO_VERSION);
    int code = schema_init(&whole, "+s", "", &metadata, n);
    if (code < 0)
        return code;
    for (size_t i = 0; code == 0 && i < n; i++) {
        struct ArrowSchema *child = calloc(1, sizeof(*child));
        code = child ? field(&c[i], header, rows, child) : -ENOMEM;
        if (code < 0)
            free(child);
        else
            whole.children[whole.n_children++] = child;
    }
    if (code == 0)
        *ret = whole;
    else
        whole.release(&whole);
    return code;
}
