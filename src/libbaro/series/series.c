/* SPDX-License-Identifier: Apache-2.0 */
/* Curves in buckets: which exist, and what they hold. include/baro/series.h has the rules. */
#include "libbaro/series/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "baro/interval.h"
#include "base/error.h"
#include "libbaro/interval/derive.h"

#define SCALE_RATE 1e9 /* growth per nanosecond times this is growth per second */

/* ---- making ---- */

int baro_series_new(struct baro_series **ret, uint64_t from_ns, uint64_t to_ns, size_t buckets, struct baro_error *err)
{
    if (to_ns <= from_ns || buckets == 0 || buckets > SIZE_MAX / sizeof(struct baro_bucket) / 2)
        return error_set(err, BARO_E_RANGE, "a series needs a time that is not empty, and buckets");
    struct baro_series *s = calloc(1, sizeof(*s));
    if (!s)
        return error_set(err, -ENOMEM, "out of memory");
    s->from_ns = from_ns;
    s->to_ns = to_ns;
    s->n_buckets = buckets;
    *ret = s;
    return 0;
}

void baro_series_free(struct baro_series *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_curves; i++) {
        free(s->curve[i].name);
        free(s->curve[i].at);
    }
    for (size_t i = 0; i < s->n_counters; i++) {
        last_done(&s->counter[i].last);
        free(s->counter[i].term);
    }
    last_done(&s->called);
    free(s->curve);
    free(s->counter);
    free(s);
}

static int counter_of(struct baro_series *s, int kind, int metric)
{
    for (size_t i = 0; i < s->n_counters; i++) {
        if (s->counter[i].kind == kind && s->counter[i].metric == metric)
            return (int)i;
    }
    struct counter *grown = realloc(s->counter, (s->n_counters + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    s->counter = grown;
    struct counter *c = &grown[s->n_counters];
    *c = (struct counter){
        .kind = kind, .metric = metric, .exit_metric = -1, .brief_metric = -1, .read_ns = SERIES_NEVER};
    const struct baro_metric *m = baro_metric_get(kind, metric);
    if (kind == BARO_KIND_PROCESS && m)
        c->exit_metric = baro_metric_find(BARO_KIND_EXIT, m->name);
    if (kind == BARO_KIND_PROCESS && m && strncmp(m->name, "io_", 3) != 0) /* the I/O of a row has that of children */
        c->brief_metric = baro_metric_find(BARO_KIND_BRIEF, m->name);
    return (int)s->n_counters++;
}

/* Links the counter to the curve that is added next. */
static int add_term(struct baro_series *s, int kind, int metric, bool first, bool per)
{
    int i = counter_of(s, kind, metric);
    if (i < 0)
        return i;
    struct counter *c = &s->counter[i];
    struct term *grown = realloc(c->term, (c->n_terms + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    c->term = grown;
    grown[c->n_terms++] = (struct term){.curve = s->n_curves, .first = first, .per = per};
    return i;
}

static int add_curve(struct baro_series *s, struct curve c, const char *name, struct baro_error *err)
{
    struct curve *grown = realloc(s->curve, (s->n_curves + 1) * sizeof(*grown));
    s->curve = grown ? grown : s->curve;
    c.at = calloc(s->n_buckets, sizeof(*c.at));
    c.name = name ? strdup(name) : NULL;
    if (!grown || !c.at || (name && !c.name)) {
        free(c.at);
        free(c.name);
        s->failed = true;
        return error_set(err, -ENOMEM, "out of memory");
    }
    c.read_ns = SERIES_NEVER;
    if (c.kind == BARO_KIND_PROCESS && !c.id && name) {
        c.called = series_name_number(s, name);
        c.called = c.called ? c.called : ++s->n_called;
    }
    s->curve[s->n_curves] = c;
    return (int)s->n_curves++;
}

bool series_one_of_a_kind(int kind)
{
    return kind == BARO_KIND_JOB || kind == BARO_KIND_RECORDER || kind == BARO_KIND_HOST;
}

static int check_metric(int kind, int metric, struct baro_error *err)
{
    if (kind < 0 || kind > UINT8_MAX || kind == BARO_KIND_EXIT || metric < 0)
        return error_set(err, BARO_E_RANGE, "this kind or metric has no series");
    return 0;
}

int baro_series_add_value(struct baro_series *s, int kind, uint32_t id, const char *name, int metric,
                          struct baro_error *err)
{
    int r = check_metric(kind, metric, err);
    if (r < 0)
        return r;
    if (kind == BARO_KIND_PROCESS && !id && metric < PROCESS_MAX && !derive_adds_up((enum process_metric)metric))
        return error_set(err, BARO_E_RANGE, "%s does not add up over processes", baro_metric_get(kind, metric)->name);
    bool one = series_one_of_a_kind(kind);
    return add_curve(s, (struct curve){.kind = kind, .id = one ? 0 : id, .metric = metric, .counter = -1},
                     one ? NULL : name, err);
}

int baro_series_add_rate(struct baro_series *s, int kind, uint32_t id, const char *name, int metric,
                         struct baro_error *err)
{
    int r = check_metric(kind, metric, err);
    if (r < 0)
        return r;
    const struct baro_metric *m = baro_metric_get(kind, metric); /* NULL: only the tape has it */
    if (m && m->semantics != BARO_SEM_COUNTER)
        return error_set(err, BARO_E_RANGE, "%s is no counter: it has no rate", m->name);
    bool one = series_one_of_a_kind(kind);
    int counter = add_term(s, kind, metric, true, false);
    if (counter < 0)
        return error_set(err, counter, "out of memory");
    return add_curve(
        s, (struct curve){.kind = kind, .id = one ? 0 : id, .metric = metric, .counter = counter, .scale = SCALE_RATE},
        one ? NULL : name, err);
}

int baro_series_add_derived(struct baro_series *s, int kind, uint32_t id, const char *name, int derived,
                            struct baro_error *err)
{
    const struct baro_derived *d = baro_derived_get(kind, derived);
    if (!d)
        return error_set(err, BARO_E_RANGE, "there is no such derived metric");
    bool one = series_one_of_a_kind(kind);
    bool of_time = baro_metric_get(kind, d->from[0])->unit == BARO_UNIT_NS;
    struct curve c = {.kind = kind,
                      .id = one ? 0 : id,
                      .metric = d->from[0],
                      .share = d->per != NULL,
                      .scale = d->per || of_time ? 1 : SCALE_RATE};
    int r = 0;
    for (size_t i = 0; i < d->n_from && r >= 0; i++) {
        r = add_term(s, kind, d->from[i], i == 0, false);
        c.counter = i == 0 ? r : c.counter;
    }
    for (size_t i = 0; i < d->n_per && d->per && r >= 0; i++)
        r = add_term(s, kind, d->per[i], false, true);
    return r < 0 ? error_set(err, r, "out of memory") : add_curve(s, c, one ? NULL : name, err);
}

int baro_series_add_count(struct baro_series *s, int kind, const char *name, struct baro_error *err)
{
    if (series_one_of_a_kind(kind) || check_metric(kind, 0, err) < 0)
        return error_set(err, BARO_E_RANGE, "this kind has no count");
    return add_curve(s, (struct curve){.kind = kind, .metric = SERIES_COUNT, .counter = -1}, name, err);
}

/* ---- buckets ---- */

uint64_t baro_series_bucket_ns(const struct baro_series *s, size_t i)
{
    return s->from_ns + (uint64_t)((unsigned __int128)(s->to_ns - s->from_ns) * i / s->n_buckets);
}

const struct baro_bucket *baro_series_bucket(const struct baro_series *s, int curve, size_t i)
{
    return curve >= 0 && (size_t)curve < s->n_curves && i < s->n_buckets ? &s->curve[curve].at[i] : NULL;
}

/* The bucket of an instant within the stretch. Rounding may be off by one to either side of a border. */
static size_t bucket_of(const struct baro_series *s, uint64_t t_ns)
{
    size_t i = (size_t)((unsigned __int128)(t_ns - s->from_ns) * s->n_buckets / (s->to_ns - s->from_ns));
    if (i + 1 < s->n_buckets && baro_series_bucket_ns(s, i + 1) <= t_ns)
        i++;
    return i;
}

static void raise_bucket(const struct curve *c, struct baro_bucket *b, double value)
{
    bool first = !b->covered_ns && (c->counter >= 0 || !b->points);
    b->min = first || value < b->min ? value : b->min;
    b->max = first || value > b->max ? value : b->max;
    b->last = value;
}

void series_spread(const struct baro_series *s, struct curve *c, uint64_t a, uint64_t b, double value)
{
    a = a < s->from_ns ? s->from_ns : a;
    b = b > s->to_ns ? s->to_ns : b;
    for (size_t i = a < b ? bucket_of(s, a) : 0; a < b; i++) {
        uint64_t end = baro_series_bucket_ns(s, i + 1);
        uint64_t part = (end < b ? end : b) - a;
        raise_bucket(c, &c->at[i], value);
        c->at[i].covered_ns += part;
        c->at[i].mean += value * (double)part;
        a += part;
    }
}

static void reach_unsure(struct baro_bucket *b, double low, const struct bounds *bounds)
{
    b->low = !b->unsure_ns || low < b->low ? low : b->low;
    b->high = !b->unsure_ns || bounds->high > b->high ? bounds->high : b->high;
    b->at_least = bounds->at_least > b->at_least ? bounds->at_least : b->at_least;
}

void series_spread_unsure(const struct baro_series *s, struct curve *c, uint64_t a, uint64_t b)
{
    a = a < s->from_ns ? s->from_ns : a;
    b = b > s->to_ns ? s->to_ns : b;
    for (size_t i = a < b ? bucket_of(s, a) : 0; a < b; i++) {
        uint64_t end = baro_series_bucket_ns(s, i + 1), part = (end < b ? end : b) - a;
        reach_unsure(&c->at[i], c->value, &c->bounds);
        c->at[i].unsure_ns += part;
        a += part;
    }
}

void series_point(const struct baro_series *s, struct curve *c, uint64_t t_ns, double value)
{
    if (t_ns < s->from_ns || t_ns >= s->to_ns)
        return;
    struct baro_bucket *b = &c->at[bucket_of(s, t_ns)];
    raise_bucket(c, b, value);
    b->points++;
}

void series_finish(struct baro_series *s)
{
    for (size_t i = 0; i < s->n_curves; i++) {
        for (size_t k = 0; k < s->n_buckets; k++) {
            struct baro_bucket *b = &s->curve[i].at[k];
            b->mean = b->covered_ns ? b->mean / (double)b->covered_ns : b->last;
        }
    }
}
