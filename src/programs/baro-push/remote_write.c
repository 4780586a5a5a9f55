/* SPDX-License-Identifier: Apache-2.0 */
/* Remote write of Prometheus: version 1.0 with labels as text, 2.0 with a table of symbols. */
#include <errno.h>
#include <remote_write.pb-c.h> /* made from remote_write.proto */
#include <snappy-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "programs/baro-push/encode.h"

#define LABELS_MOST (IDENTITY_MOST + 2)
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

static int by_name(const void *a, const void *b)
{
    return strcmp(((const Rw__Label *)a)->name, ((const Rw__Label *)b)->name);
}

/* Fills the labels of a series, sorted by name. name: room for that of the metric. Returns how many there are. */
static size_t label_series(const struct batch *b, const struct series *s, char *name, size_t size,
                           Rw__Label ret[LABELS_MOST])
{
    const struct measure *m = measure_get(s->group, s->id);
    size_t n = 0;
    snprintf(name, size, "%s%s", m->family.name, m->family.is_counter ? "_total" : "");
    ret[n] = (Rw__Label)RW__LABEL__INIT;
    ret[n].name = (char *)"__name__";
    ret[n++].value = name;
    for (size_t i = 0; i < b->identity->n; i++) {
        const struct called *c = &b->identity->at[i];
        if (!c->is_key && s->group != GROUP_INFO)
            continue;
        ret[n] = (Rw__Label)RW__LABEL__INIT;
        ret[n].name = c->label;
        ret[n++].value = c->value;
    }
    if (s->entity && *s->entity) {
        ret[n] = (Rw__Label)RW__LABEL__INIT;
        ret[n].name = (char *)measure_groups[s->group].label;
        ret[n++].value = s->entity;
    }
    qsort(ret, n, sizeof(*ret), by_name);
    return n;
}

/* ---- version 1.0 ---- */

struct series_1 {
    Rw__Series series;
    Rw__Label *label;
    char name[192];
};

static int compress(const void *at, size_t len, struct buf *ret)
{
    size_t most = snappy_max_compressed_length(len);
    if (!buf_reserve(ret, most) || snappy_compress(at, len, (char *)ret->at + ret->len, &most) != SNAPPY_OK)
        return -ENOMEM;
    ret->len += most;
    return 0;
}

static int pack(const ProtobufCMessage *message, struct buf *ret)
{
    struct buf plain = {0};
    size_t len = protobuf_c_message_get_packed_size(message);
    int code = buf_reserve(&plain, len + 1) ? 0 : -ENOMEM;
    if (code == 0)
        code = compress(plain.at, protobuf_c_message_pack(message, plain.at), ret);
    buf_done(&plain);
    return code;
}

static bool begin_series(const struct batch *b, const struct series *s, struct series_1 *ret)
{
    Rw__Label label[LABELS_MOST];
    size_t n = label_series(b, s, ret->name, sizeof(ret->name), label);
    ret->series = (Rw__Series)RW__SERIES__INIT;
    ret->label = calloc(n, sizeof(*label));
    ret->series.labels = calloc(n, sizeof(void *));
    if (!ret->label || !ret->series.labels)
        return false;
    memcpy(ret->label, label, n * sizeof(*label));
    for (size_t i = 0; i < n; i++)
        ret->series.labels[i] = &ret->label[i];
    ret->series.n_labels = n;
    return true;
}

/* Puts the points into series that have room for them. Returns the number of series; 0: out of memory. */
static size_t fill_series(const struct batch *b, const size_t *order, struct series_1 *series, Rw__Sample *sample,
                          Rw__Sample **sample_at)
{
    struct series_1 *now = series - 1;
    for (size_t i = 0; i < b->n; i++) {
        const struct point *point = &b->at[order[i]];
        if (!i || point->series != b->at[order[i - 1]].series) {
            if (!begin_series(b, &b->points->at[point->series], ++now))
                return 0;
            now->series.samples = &sample_at[i];
        }
        sample[i] = (Rw__Sample)RW__SAMPLE__INIT;
        sample[i].value = value_of(b->points, point);
        sample[i].timestamp = point->t_ns / 1000000;
        sample_at[i] = &sample[i];
        now->series.n_samples++;
    }
    return (size_t)(now + 1 - series);
}

static size_t count_series(const struct batch *b, const size_t *order)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        n += !i || b->at[order[i]].series != b->at[order[i - 1]].series;
    return n;
}

static int encode_1(struct series_1 *series, size_t n, struct buf *ret)
{
    Rw__Write write = RW__WRITE__INIT;
    write.timeseries = calloc(n + 1, sizeof(void *));
    for (size_t i = 0; write.timeseries && i < n; i++)
        write.timeseries[i] = &series[i].series;
    write.n_timeseries = n;
    int code = write.timeseries ? pack(&write.base, ret) : -ENOMEM;
    free(write.timeseries);
    return code;
}

/* ---- version 2.0: texts are numbers of symbols, and each series has its unit and help ---- */

struct symbols {
    struct map by_hash;
    char **at;
    size_t n, cap;
    bool failed;
};

static uint32_t symbol_of(struct symbols *s, const char *text)
{
    uint64_t key = map_hash(text, strlen(text));
    for (uint64_t *i = map_find(&s->by_hash, key); i; i = map_next(&s->by_hash, key, i)) {
        if (strcmp(s->at[*i], text) == 0)
            return (uint32_t)*i;
    }
    char **room = array_room(s->at, s->n, &s->cap, sizeof(*s->at));
    if (!room || !map_add(&s->by_hash, key, s->n)) {
        s->failed = true;
        return 0;
    }
    s->at = room;
    s->at[s->n] = (char *)text; /* borrowed from the series */
    return (uint32_t)s->n++;
}

struct series_2 {
    Rw__Series2 series;
    Rw__Metadata2 metadata;
};

static bool fill_series_2(const struct batch *b, const struct series_1 *from, const size_t *order,
                          struct symbols *symbols, Rw__Sample2 *sample, Rw__Sample2 **sample_at, struct series_2 *to)
{
    const struct series *s = &b->points->at[b->at[order[0]].series];
    const struct measure *m = measure_get(s->group, s->id);
    to->series = (Rw__Series2)RW__SERIES2__INIT;
    to->metadata = (Rw__Metadata2)RW__METADATA2__INIT;
    to->metadata.type = m->family.is_counter ? 1 : 2;
    to->metadata.help_ref = symbol_of(symbols, m->family.help);
    to->metadata.unit_ref = symbol_of(symbols, m->family.unit);
    to->series.metadata = &to->metadata;
    to->series.labels_refs = calloc(2 * from->series.n_labels, sizeof(uint32_t));
    for (size_t i = 0; to->series.labels_refs && i < from->series.n_labels; i++) {
        to->series.labels_refs[to->series.n_labels_refs++] = symbol_of(symbols, from->label[i].name);
        to->series.labels_refs[to->series.n_labels_refs++] = symbol_of(symbols, from->label[i].value);
    }
    for (size_t i = 0; i < from->series.n_samples; i++) {
        const struct point *point = &b->at[order[i]];
        sample[i] = (Rw__Sample2)RW__SAMPLE2__INIT;
        sample[i].value = from->series.samples[i]->value;
        sample[i].timestamp = from->series.samples[i]->timestamp;
        sample[i].start_timestamp = m->family.is_counter && point->start_ns > 0 ? point->start_ns / 1000000 : 0;
        sample_at[i] = &sample[i];
    }
    to->series.n_samples = from->series.n_samples;
    to->series.samples = sample_at;
    return to->series.labels_refs && !symbols->failed;
}

/* Makes the message of version 2.0 from the series of one of version 1.0. */
static int encode_2(const struct batch *b, const size_t *order, const struct series_1 *series, size_t n,
                    struct buf *ret)
{
    struct symbols symbols = {0};
    struct series_2 *all = calloc(n + 1, sizeof(*all));
    Rw__Series2 **at = calloc(n + 1, sizeof(void *));
    Rw__Sample2 *sample = calloc(b->n + 1, sizeof(*sample)), **sample_at = calloc(b->n + 1, sizeof(void *));
    bool is_done = all && at && sample && sample_at;
    symbol_of(&symbols, "");
    for (size_t i = 0, k = 0; is_done && i < n; k += series[i++].series.n_samples) {
        is_done = fill_series_2(b, &series[i], order + k, &symbols, sample + k, sample_at + k, &all[i]);
        at[i] = &all[i].series;
    }
    int code = -ENOMEM;
    if (is_done) {
        Rw__Write2 write = RW__WRITE2__INIT;
        write.n_symbols = symbols.n;
        write.symbols = symbols.at;
        write.n_timeseries = n;
        write.timeseries = at;
        code = pack(&write.base, ret);
    }
    for (size_t i = 0; all && i < n; i++)
        free(all[i].series.labels_refs);
    map_done(&symbols.by_hash);
    free(symbols.at);
    free(all);
    free(at);
    free(sample);
    free(sample_at);
    return code;
}

/* ---- both ---- */

int remote_write_encode(const struct batch *b, bool is_version_2, struct buf *ret)
{
    size_t *order = batch_by_series(b), n = order ? count_series(b, order) : 0;
    struct series_1 *series = calloc(n + 1, sizeof(*series));
    Rw__Sample *sample = calloc(b->n + 1, sizeof(*sample)), **sample_at = calloc(b->n + 1, sizeof(void *));
    int code = -ENOMEM;
    if (order && series && sample && sample_at && fill_series(b, order, series, sample, sample_at) == n)
        code = is_version_2 ? encode_2(b, order, series, n, ret) : encode_1(series, n, ret);
    for (size_t i = 0; series && i < n; i++) {
        free(series[i].label);
        free(series[i].series.labels);
    }
    free(series);
    free(sample);
    free(sample_at);
    free(order);
    return code;
}
