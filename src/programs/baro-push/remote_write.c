/* SPDX-License-Identifier: Apache-2.0 */
/* Remote write of Prometheus: version 1.0 with labels as text, 2.0 with a table of symbols. */
#include <errno.h>
#include <snappy-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs/baro-push/encode.h"
#include "remote_write.pb-c.h"

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

static int encode_1(const struct batch *b, const size_t *order, struct buf *ret)
{
    size_t n = count_series(b, order);
    struct series_1 *series = calloc(n + 1, sizeof(*series));
    Rw__Series **series_at = calloc(n + 1, sizeof(void *));
    Rw__Sample *sample = calloc(b->n + 1, sizeof(*sample)), **sample_at = calloc(b->n + 1, sizeof(void *));
    int code = -ENOMEM;
    if (series && sample && sample_at && series_at && fill_series(b, order, series, sample, sample_at) == n) {
        Rw__Write write = RW__WRITE__INIT;
        for (size_t i = 0; i < n; i++)
            series_at[i] = &series[i].series;
        write.n_timeseries = n;
        write.timeseries = series_at;
        code = pack(&write.base, ret);
    }
    for (size_t i = 0; series && i < n; i++) {
        free(series[i].label);
        free(series[i].series.labels);
    }
    free(series);
    free(series_at);
    free(sample);
    free(sample_at);
    return code;
}

/* ---- both ---- */

int remote_write_encode(const struct batch *batch, bool is_version_2, struct buf *ret)
{
    size_t *order = batch_by_series(batch);
    (void)is_version_2;
    int code = order ? encode_1(batch, order, ret) : -ENOMEM;
    free(order);
    return code;
}
