/* SPDX-License-Identifier: Apache-2.0 */
/* The handler for metrics over time, in buckets. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/span.h"
#include "programs/baro-serve/catalogue.h"
#include "programs/baro-serve/instant.h"
#include "programs/baro-serve/route.h"
#include "programs/baro-serve/sight.h"

#define BUCKETS 300u
#define BUCKETS_MOST 5000u
#define CURVES 10u

struct curve {
    const char *what; /* as the client named it */
    int number;
    const char *unit;
    bool is_rate;
};

struct range {
    struct request *q;
    struct baro_tape *tape;
    struct baro_series *series;
    uint64_t from_ns, to_ns, buckets;
    struct curve curve[CURVES];
    size_t n;
};

/* Adds a curve for "KIND.METRIC", with "@NAME" or "@#ID": "job.cores", "process.rss@cc1", "disk.busy_ratio@#12". */
static bool add_curve(struct range *r, const char *what)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct curve *c = &r->curve[r->n];
    char kind_name[64] = "", name[128] = "";
    int code = BARO_E_RANGE;
    const char *dot = strchr(what, '.'), *at = strchr(what, '@');
    const char *of = at ? at + 1 : NULL;
    uint64_t id = 0;
    if (r->n == CURVES) {
        request_fail(r->q, 400, "bad_parameter", "at most %u metrics in one request", CURVES);
        return false;
    }
    if (dot && (!at || dot < at)) {
        snprintf(kind_name, sizeof(kind_name), "%.*s", (int)(dot - what), what);
        snprintf(name, sizeof(name), "%.*s", (int)(at ? at - dot - 1 : (ptrdiff_t)strlen(dot + 1)), dot + 1);
    }
    struct span number = span_str(of && *of == '#' ? of + 1 : "");
    if (scan_u64(&number, &id) && !number.len && id <= UINT32_MAX)
        of = NULL;
    else
        id = 0;
    int kind = baro_tape_kind_find(r->tape, kind_name);
    kind = kind >= 0 && !sight_kind(r->q, kind) ? -1 : kind;
    int derived = kind < 0 ? -1 : baro_derived_find(kind, name);
    int metric = kind < 0 ? -1 : baro_tape_metric_find(r->tape, kind, name);
    const struct baro_metric *m = metric < 0 ? NULL : baro_tape_metric(r->tape, kind, metric);
    c->what = what;
    c->is_rate = derived < 0 && m && m->semantics == BARO_SEM_COUNTER;
    c->unit = derived >= 0 ? baro_derived_get(kind, derived)->unit : m ? baro_unit_name(m->unit) : "";
    if (derived >= 0)
        code = baro_series_add_derived(r->series, kind, (uint32_t)id, of, derived, &err);
    else if (m)
        code = (c->is_rate ? baro_series_add_rate : baro_series_add_value)(r->series, kind, (uint32_t)id, of, metric,
                                                                           &err);
    if (code < 0) {
        if (!err.text[0])
            error_set(&err, code, "the tape has no such metric");
        request_fail_param(r->q, "metric: KIND.METRIC, such as job.cores or process.rss@NAME; ", &err, code);
        return false;
    }
    c->number = code;
    r->n++;
    return true;
}

static void write_range(struct range *r)
{
    static const char *const names[] = {"min", "mean", "max"};
    struct json j = {.out = &r->q->out};
    json_begin(&j, '{');
    json_key_u64(&j, "from_ns", r->from_ns);
    json_key_u64(&j, "to_ns", r->to_ns);
    json_key_u64(&j, "buckets", r->buckets);
    json_key_begin(&j, "series", '[');
    for (const struct curve *c = r->curve; c < r->curve + r->n; c++) {
        json_begin(&j, '{');
        json_key_text(&j, "metric", c->what);
        json_key_text(&j, "unit", c->unit);
        json_key_bool(&j, "is_rate", c->is_rate);
        for (size_t which = 0; which < 3; which++) {
            json_key_begin(&j, names[which], '[');
            for (size_t i = 0; i < r->buckets; i++) {
                const struct baro_bucket *b = baro_series_bucket(r->series, c->number, i);
                if (b && (b->covered_ns || b->points))
                    json_double(&j, which == 0 ? b->min : which == 1 ? b->mean : b->max);
                else if (b && which == 0 && b->at_least > 0)
                    json_double(&j, b->at_least);
                else
                    json_null(&j);
            }
            json_end(&j, ']');
        }
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_end(&j, '}');
    request_json_end(r->q);
}

static bool choose(struct range *r)
{
    struct request *q = r->q;
    struct baro_error err = BARO_ERROR_INIT;
    int code = baro_tape_read_kinds(r->tape, &err);
    if (code >= 0 && (code = baro_tape_range(r->tape, &r->from_ns, &r->to_ns, &err)) == 0)
        request_fail(q, 404, "no_sample", "the tape has no sample yet");
    else if (code < 0)
        request_fail_tape(q, &err);
    if (code <= 0 || !instant_moment(q, r->tape, "from", &r->from_ns) || !instant_moment(q, r->tape, "to", &r->to_ns) ||
        !request_number(q, "buckets", BUCKETS, BUCKETS_MOST, &r->buckets))
        return false;
    if (!request_param(q, "to") && r->to_ns >= r->from_ns && r->to_ns - r->from_ns < r->buckets)
        r->to_ns = r->from_ns + r->buckets; /* a tape with one sample so far */
    if (r->to_ns <= r->from_ns || !r->buckets || r->to_ns - r->from_ns < r->buckets) {
        request_fail(q, 400, "bad_parameter", "to is not after from, or there are no buckets");
        return false;
    }
    code = baro_series_new(&r->series, r->from_ns, r->to_ns, (size_t)r->buckets, &err);
    if (code < 0) {
        request_fail_param(q, "", &err, code);
        return false;
    }
    for (size_t i = 0; i < q->n_params; i++) {
        if (strcmp(q->param[i].name, "metric") == 0 && !add_curve(r, q->param[i].value ? q->param[i].value : ""))
            return false;
    }
    if (!r->n)
        request_fail(q, 400, "bad_parameter", "metric is missing: KIND.METRIC, such as job.cores; it can be repeated");
    return r->n > 0;
}

void api_range(struct request *q)
{
    struct range r = {.q = q, .tape = request_tape(q)};
    struct baro_error err = BARO_ERROR_INIT;
    if (r.tape && choose(&r)) {
        if (baro_series_read(r.series, r.tape, &err) < 0)
            request_fail_tape(q, &err);
        else
            write_range(&r);
    }
    baro_series_free(r.series);
    baro_tape_close(r.tape);
}
