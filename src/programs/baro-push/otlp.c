/* SPDX-License-Identifier: Apache-2.0 */
/* OTLP: metrics of OpenTelemetry, as protobuf. Counters are cumulative sums since their start. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "baro/version.h"
#include "programs/baro-push/encode.h"
#include "programs/baro-push/proto.h"

#define NO_RECORDED_VALUE 1u
#define CUMULATIVE 2u

static void put_attribute(struct buf *out, unsigned field, const char *key, const char *value)
{
    size_t attribute = proto_begin(out, field);
    proto_text(out, 1, key);
    size_t any = proto_begin(out, 2);
    proto_text(out, 1, value);
    proto_end(out, any);
    proto_end(out, attribute);
}

static const struct measure *measure_of(const struct batch *b, size_t point)
{
    const struct series *s = &b->points->at[b->at[point].series];
    return measure_get(s->group, s->id);
}

static int by_metric(const void *a, const void *b, void *batch)
{
    size_t i = *(const size_t *)a, k = *(const size_t *)b;
    int order = strcmp(measure_of(batch, i)->otlp, measure_of(batch, k)->otlp);
    return order ? order : (i > k) - (i < k);
}

static void put_point(struct buf *out, const struct batch *b, const struct point *point)
{
    const struct series *s = &b->points->at[point->series];
    const struct measure *m = measure_get(s->group, s->id);
    size_t at = proto_begin(out, 1);
    int64_t whole;
    double real;
    if (m->shape != SHAPE_GAUGE && point->start_ns > 0)
        proto_fixed(out, 2, (uint64_t)point->start_ns);
    proto_fixed(out, 3, (uint64_t)point->t_ns);
    if (point->is_end)
        proto_number(out, 8, NO_RECORDED_VALUE);
    else if (measure_otlp(m, point->raw, &whole, &real))
        proto_fixed(out, 6, (uint64_t)whole);
    else
        proto_double(out, 4, real);
    if (m->key)
        put_attribute(out, 7, m->key, m->of_value);
    if (s->entity && measure_groups[s->group].attribute)
        put_attribute(out, 7, measure_groups[s->group].attribute, s->entity);
    proto_end(out, at);
}

/* n points of one metric. */
static void put_metric(struct buf *out, const struct batch *b, const size_t *order, size_t n)
{
    const struct measure *m = measure_of(b, order[0]);
    size_t metric = proto_begin(out, 2);
    proto_text(out, 1, m->otlp);
    if (m->otlp == m->own_name)
        proto_text(out, 2, m->family.help);
    proto_text(out, 3, m->otlp_unit);
    size_t data = proto_begin(out, m->shape == SHAPE_GAUGE ? 5 : 7);
    for (size_t i = 0; i < n; i++)
        put_point(out, b, &b->at[order[i]]);
    if (m->shape != SHAPE_GAUGE) {
        proto_number(out, 2, CUMULATIVE);
        proto_number(out, 3, m->shape == SHAPE_COUNTER);
    }
    proto_end(out, data);
    proto_end(out, metric);
}

static void put_metrics(struct buf *out, const struct batch *b, const size_t *order)
{
    for (size_t i = 0, n; i < b->n; i += n) {
        for (n = 1; i + n < b->n && strcmp(measure_of(b, order[i])->otlp, measure_of(b, order[i + n])->otlp) == 0;)
            n++;
        put_metric(out, b, order + i, n);
    }
}

int otlp_encode(const struct batch *batch, struct buf *ret)
{
    size_t *order = batch_by_series(batch);
    if (!order)
        return -ENOMEM;
    qsort_r(order, batch->n, sizeof(*order), by_metric, (void *)batch);
    size_t of_resource = proto_begin(ret, 1), resource = proto_begin(ret, 1);
    for (size_t i = 0; i < batch->identity->n; i++)
        put_attribute(ret, 1, batch->identity->at[i].attribute, batch->identity->at[i].value);
    proto_end(ret, resource);
    size_t of_scope = proto_begin(ret, 2), scope = proto_begin(ret, 1);
    proto_text(ret, 1, "barograph");
    proto_text(ret, 2, BARO_VERSION);
    proto_end(ret, scope);
    put_metrics(ret, batch, order);
    proto_text(ret, 3, MEASURE_SCHEMA);
    proto_end(ret, of_scope);
    proto_text(ret, 3, MEASURE_SCHEMA);
    proto_end(ret, of_resource);
    free(order);
    return ret->failed ? -ENOMEM : 0;
}

/* {1: {1: how many were rejected, 2: why}} */
bool otlp_answer(const void *at, size_t len, uint64_t *ret_refused, char *ret_why, size_t size)
{
    struct span s = span_of(at, len), partial;
    struct proto_field f, of;
    int code;
    *ret_refused = 0;
    ret_why[0] = 0;
    while ((code = proto_next(&s, &f)) > 0) {
        partial = f.number == 1 ? f.bytes : span_of("", 0);
        while ((code = proto_next(&partial, &of)) > 0) {
            if (of.number == 1)
                *ret_refused = of.value <= INT64_MAX ? of.value : 0;
            size_t n = of.number == 2 ? (of.bytes.len < size - 1 ? of.bytes.len : size - 1) : 0;
            for (size_t i = 0; i < n; i++)
                ret_why[i] = of.bytes.at[i] >= ' ' && of.bytes.at[i] <= '~' ? of.bytes.at[i] : '?';
            ret_why[n] = of.number == 2 ? 0 : ret_why[n];
        }
        if (code < 0)
            return false;
    }
    return code == 0;
}
