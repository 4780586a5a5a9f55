/* SPDX-License-Identifier: Apache-2.0 */
/* Remote write of Prometheus: version 1.0 with labels as text, 2.0 with a table of symbols. */
#include <errno.h>
#include <snappy-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "programs/baro-push/encode.h"
#include "programs/baro-push/proto.h"

#define LABELS_MOST (IDENTITY_MOST + 2)
enum { COUNTER = 1, GAUGE = 2 };
#define STALE 0x7ff0000000000002u /* the NaN that ends a series; all others are another one */
#define NO_NUMBER 0x7ff8000000000001u

static double value_of(const struct points *p, const struct point *point)
{
    uint64_t bits = STALE;
    double v;
    if (!point->is_end) {
        const struct series *s = &p->at[point->series];
        v = measure_base(measure_get(s->group, s->id), point->raw);
        if (v == v)
            return v;
        bits = NO_NUMBER;
    }
    memcpy(&v, &bits, sizeof(v));
    return v;
}

struct label {
    const char *name, *value;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct label *)a)->name, ((const struct label *)b)->name);
}

/* Fills the labels of a series, sorted by name. name: room for that of the metric. Returns how many there are. */
static size_t label_series(const struct batch *b, const struct series *s, char *name, size_t size,
                           struct label ret[LABELS_MOST])
{
    const struct measure *m = measure_get(s->group, s->id);
    size_t n = 0;
    snprintf(name, size, "%s%s", m->family.name, m->family.is_counter ? "_total" : "");
    ret[n++] = (struct label){"__name__", name};
    for (size_t i = 0; i < b->identity->n; i++) {
        const struct called *c = &b->identity->at[i];
        if (c->is_key || s->group == GROUP_INFO)
            ret[n++] = (struct label){c->label, c->value};
    }
    if (s->entity && *s->entity)
        ret[n++] = (struct label){measure_groups[s->group].label, s->entity};
    qsort(ret, n, sizeof(*ret), by_name);
    return n;
}

/* ---- version 1.0 ---- */

/* n points of one series. */
static void put_series_1(const struct batch *b, const size_t *order, size_t n, struct buf *out)
{
    struct label label[LABELS_MOST];
    char name[192];
    size_t n_labels = label_series(b, &b->points->at[b->at[order[0]].series], name, sizeof(name), label);
    size_t series = proto_begin(out, 1);
    for (size_t i = 0; i < n_labels; i++) {
        size_t at = proto_begin(out, 1);
        proto_text(out, 1, label[i].name);
        proto_text(out, 2, label[i].value);
        proto_end(out, at);
    }
    for (size_t i = 0; i < n; i++) {
        size_t at = proto_begin(out, 2);
        proto_double(out, 1, value_of(b->points, &b->at[order[i]]));
        proto_number(out, 2, (uint64_t)(b->at[order[i]].t_ns / 1000000));
        proto_end(out, at);
    }
    proto_end(out, series);
}

/* ---- version 2.0: texts are numbers of symbols, and each series has its unit and help ---- */

struct symbols {
    struct map by_hash;
    struct buf at; /* each ended by NUL */
    struct buf message;
    uint64_t n;
};

/* The number of a text in the table of symbols, which has it once. */
static uint64_t symbol_of(struct symbols *s, const char *text)
{
    uint64_t key = map_hash(text, strlen(text));
    key = key ? key : 1;
    for (uint64_t *i = map_find(&s->by_hash, key); i; i = map_next(&s->by_hash, key, i)) {
        if (strcmp((char *)s->at.at + (*i & UINT32_MAX), text) == 0)
            return *i >> 32;
    }
    if (s->at.len >= UINT32_MAX || !map_add(&s->by_hash, key, s->n << 32 | s->at.len))
        s->message.failed = true;
    buf_add(&s->at, text, strlen(text) + 1);
    s->message.failed = s->message.failed || s->at.failed;
    proto_text(&s->message, 4, text);
    return s->n++;
}

static void put_series_2(const struct batch *b, const size_t *order, size_t n, struct symbols *symbols, struct buf *out)
{
    const struct series *s = &b->points->at[b->at[order[0]].series];
    const struct measure *m = measure_get(s->group, s->id);
    struct label label[LABELS_MOST];
    char name[192];
    size_t n_labels = label_series(b, s, name, sizeof(name), label), series = proto_begin(out, 5);
    size_t refs = proto_begin(out, 1);
    for (size_t i = 0; i < n_labels; i++) {
        buf_varint(out, symbol_of(symbols, label[i].name));
        buf_varint(out, symbol_of(symbols, label[i].value));
    }
    proto_end(out, refs);
    for (size_t i = 0; i < n; i++) {
        const struct point *point = &b->at[order[i]];
        size_t at = proto_begin(out, 2);
        proto_double(out, 1, value_of(b->points, point));
        proto_number(out, 2, (uint64_t)(point->t_ns / 1000000));
        if (m->family.is_counter && point->start_ns > 0)
            proto_number(out, 3, (uint64_t)point->start_ns / 1000000);
        proto_end(out, at);
    }
    size_t metadata = proto_begin(out, 5);
    proto_number(out, 1, m->family.is_counter ? COUNTER : GAUGE);
    proto_number(out, 3, symbol_of(symbols, m->family.help));
    proto_number(out, 4, symbol_of(symbols, m->family.unit));
    proto_end(out, metadata);
    proto_end(out, series);
}

/* ---- both ---- */

static void compress(const struct buf *from, struct buf *ret)
{
    size_t most = snappy_max_compressed_length(from->len);
    if (!buf_reserve(ret, most))
        return;
    if (snappy_compress((char *)from->at, from->len, (char *)ret->at + ret->len, &most) == SNAPPY_OK)
        ret->len += most;
    else
        ret->failed = true;
}

int remote_write_encode(const struct batch *b, bool is_version_2, struct buf *ret)
{
    size_t *order = batch_by_series(b), n = 0;
    struct symbols symbols = {0};
    struct buf series = {0}, *plain = is_version_2 ? &symbols.message : &series;
    if (is_version_2)
        symbol_of(&symbols, "");
    for (size_t i = 0; order && i < b->n; i += n) {
        for (n = 1; i + n < b->n && b->at[order[i + n]].series == b->at[order[i]].series;)
            n++;
        if (is_version_2)
            put_series_2(b, order + i, n, &symbols, &series);
        else
            put_series_1(b, order + i, n, &series);
    }
    if (is_version_2) /* receivers want the symbols first */
        buf_add(plain, series.at, series.len);
    bool fits = order && !series.failed && !plain->failed;
    if (fits)
        compress(plain, ret);
    map_done(&symbols.by_hash);
    buf_done(&symbols.at);
    buf_done(&symbols.message);
    buf_done(&series);
    free(order);
    return fits && !ret->failed ? 0 : -ENOMEM;
}
