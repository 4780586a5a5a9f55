/* SPDX-License-Identifier: Apache-2.0 */
/* OTLP: metrics of OpenTelemetry, as protobuf. Counters are cumulative sums since their start. */
#include <errno.h>
#include <otlp.pb-c.h> /* made from otlp.proto */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baro/version.h"
#include "programs/baro-push/encode.h"

#define NO_RECORDED_VALUE 1u
#define CUMULATIVE 2u

/* All parts of a message, in arrays that are freed together. */
struct message {
    Otlp__Point *point, **point_at;
    Otlp__Attribute *attribute, **attribute_at; /* two of each point, after those of the resource */
    Otlp__Value *value;
    Otlp__Metric *metric, **metric_at;
    Otlp__Gauge *gauge;
    Otlp__Sum *sum;
    size_t n_attributes, n_metrics;
};

static void message_done(struct message *m)
{
    free(m->point);
    free(m->point_at);
    free(m->attribute);
    free(m->attribute_at);
    free(m->value);
    free(m->metric);
    free(m->metric_at);
    free(m->gauge);
    free(m->sum);
}

static bool message_init(struct message *m, size_t n)
{
    size_t attributes = 2 * n + IDENTITY_MOST;
    *m = (struct message){
        .point = calloc(n, sizeof(*m->point)),
        .point_at = calloc(n, sizeof(*m->point_at)),
        .attribute = calloc(attributes, sizeof(*m->attribute)),
        .attribute_at = calloc(attributes, sizeof(*m->attribute_at)),
        .value = calloc(attributes, sizeof(*m->value)),
        .metric = calloc(n, sizeof(*m->metric)),
        .metric_at = calloc(n, sizeof(*m->metric_at)),
        .gauge = calloc(n, sizeof(*m->gauge)),
        .sum = calloc(n, sizeof(*m->sum)),
    };
    return m->point && m->point_at && m->attribute && m->attribute_at && m->value && m->metric && m->metric_at &&
           m->gauge && m->sum;
}

static void add_attribute(struct message *m, const char *key, const char *value)
{
    size_t i = m->n_attributes++;
    m->value[i] = (Otlp__Value)OTLP__VALUE__INIT;
    m->value[i].value_case = OTLP__VALUE__VALUE_TEXT;
    m->value[i].text = (char *)value;
    m->attribute[i] = (Otlp__Attribute)OTLP__ATTRIBUTE__INIT;
    m->attribute[i].key = (char *)key;
    m->attribute[i].value = &m->value[i];
    m->attribute_at[i] = &m->attribute[i];
}

/* ---- points ---- */

static void fill_value(Otlp__Point *to, const struct measure *m, uint64_t raw)
{
    int64_t whole;
    double real;
    if (measure_otlp(m, raw, &whole, &real)) {
        to->value_case = OTLP__POINT__VALUE_AS_INT;
        to->as_int = whole;
    } else {
        to->value_case = OTLP__POINT__VALUE_AS_DOUBLE;
        to->as_double = real;
    }
}

static void fill_point(struct message *m, size_t i, const struct batch *b, const struct point *from)
{
    const struct series *s = &b->points->at[from->series];
    const struct measure *of = measure_get(s->group, s->id);
    Otlp__Point *to = &m->point[i];
    *to = (Otlp__Point)OTLP__POINT__INIT;
    to->time_ns = (uint64_t)from->t_ns;
    to->start_ns = of->shape == SHAPE_GAUGE || from->start_ns < 0 ? 0 : (uint64_t)from->start_ns;
    if (from->is_end)
        to->flags = NO_RECORDED_VALUE;
    else
        fill_value(to, of, from->raw);
    to->attributes = &m->attribute_at[m->n_attributes];
    if (of->key)
        add_attribute(m, of->key, of->of_value);
    if (s->entity && measure_groups[s->group].attribute)
        add_attribute(m, measure_groups[s->group].attribute, s->entity);
    to->n_attributes = (size_t)(&m->attribute_at[m->n_attributes] - to->attributes);
    m->point_at[i] = to;
}

static void begin_metric(struct message *m, const struct measure *of, size_t first)
{
    size_t i = m->n_metrics++;
    Otlp__Metric *to = &m->metric[i];
    *to = (Otlp__Metric)OTLP__METRIC__INIT;
    to->name = (char *)of->otlp;
    to->unit = (char *)of->otlp_unit;
    to->description = (char *)(of->otlp == of->own_name ? of->family.help : "");
    if (of->shape == SHAPE_GAUGE) {
        m->gauge[i] = (Otlp__Gauge)OTLP__GAUGE__INIT;
        m->gauge[i].points = &m->point_at[first];
        to->data_case = OTLP__METRIC__DATA_GAUGE;
        to->gauge = &m->gauge[i];
    } else {
        m->sum[i] = (Otlp__Sum)OTLP__SUM__INIT;
        m->sum[i].points = &m->point_at[first];
        m->sum[i].temporality = CUMULATIVE;
        m->sum[i].is_monotonic = of->shape == SHAPE_COUNTER;
        to->data_case = OTLP__METRIC__DATA_SUM;
        to->sum = &m->sum[i];
    }
    m->metric_at[i] = to;
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

static void fill_metrics(struct message *m, const struct batch *b, const size_t *order)
{
    for (size_t i = 0; i < b->n; i++) {
        const struct measure *of = measure_of(b, order[i]);
        if (!i || strcmp(of->otlp, measure_of(b, order[i - 1])->otlp) != 0)
            begin_metric(m, of, i);
        fill_point(m, i, b, &b->at[order[i]]);
        Otlp__Metric *now = &m->metric[m->n_metrics - 1];
        if (now->data_case == OTLP__METRIC__DATA_GAUGE)
            now->gauge->n_points++;
        else
            now->sum->n_points++;
    }
}

/* ---- the request ---- */

static int pack(struct message *m, size_t n_identity, struct buf *ret)
{
    Otlp__Scope scope = OTLP__SCOPE__INIT;
    Otlp__ScopeMetrics of_scope = OTLP__SCOPE_METRICS__INIT, *scope_at = &of_scope;
    Otlp__Resource resource = OTLP__RESOURCE__INIT;
    Otlp__ResourceMetrics metrics = OTLP__RESOURCE_METRICS__INIT, *metrics_at = &metrics;
    Otlp__Request request = OTLP__REQUEST__INIT;
    scope.name = (char *)"barograph";
    scope.version = (char *)BARO_VERSION;
    of_scope.scope = &scope;
    of_scope.n_metrics = m->n_metrics;
    of_scope.metrics = m->metric_at;
    of_scope.schema_url = metrics.schema_url = (char *)MEASURE_SCHEMA;
    resource.n_attributes = n_identity;
    resource.attributes = m->attribute_at;
    metrics.resource = &resource;
    metrics.n_scope_metrics = 1;
    metrics.scope_metrics = &scope_at;
    request.n_resource_metrics = 1;
    request.resource_metrics = &metrics_at;
    size_t len = otlp__request__get_packed_size(&request);
    if (!buf_reserve(ret, len + 1))
        return -ENOMEM;
    ret->len += otlp__request__pack(&request, ret->at + ret->len);
    return 0;
}

int otlp_encode(const struct batch *batch, struct buf *ret)
{
    struct message m;
    bool is_there = message_init(&m, batch->n);
    size_t *order = batch_by_series(batch);
    int code = -ENOMEM;
    if (is_there && order) {
        qsort_r(order, batch->n, sizeof(*order), by_metric, (void *)batch);
        for (size_t i = 0; i < batch->identity->n; i++)
            add_attribute(&m, batch->identity->at[i].attribute, batch->identity->at[i].value);
        fill_metrics(&m, batch, order);
        code = pack(&m, batch->identity->n, ret);
    }
    message_done(&m);
    free(order);
    return code;
}

bool otlp_answer(const void *at, size_t len, uint64_t *ret_refused, char *ret_why, size_t size)
{
    Otlp__Answer *a = otlp__answer__unpack(NULL, len, at);
    *ret_refused = 0;
    ret_why[0] = 0;
    if (!a)
        return false;
    const Otlp__PartialSuccess *partial = a->partial_success;
    if (partial) {
        *ret_refused = partial->rejected > 0 ? (uint64_t)partial->rejected : 0;
        size_t n = 0;
        for (const char *c = partial->message; *c && n + 1 < size; c++)
            ret_why[n++] = *c >= ' ' && *c <= '~' ? *c : '?';
        ret_why[n] = 0;
    }
    otlp__answer__free_unpacked(a, NULL);
    return true;
}
