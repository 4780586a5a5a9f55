/* SPDX-License-Identifier: Apache-2.0 */
#include "output/page/kinds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static bool has_entity(const struct kinds *k, int kind, uint32_t id)
{
    for (size_t i = 0; i < k->n; i++) {
        if (k->entity[i].kind == kind && k->entity[i].id == id)
            return true;
    }
    return false;
}

static void note(struct kinds *k, int kind, const struct baro_row *e, size_t so_far)
{
    const char *name = baro_row_name(e), *label = baro_row_label(e);
    char *text = NULL;
    if (so_far >= KINDS_ENTITIES || k->n == sizeof(k->entity) / sizeof(*k->entity))
        return;
    if (asprintf(&text, "%s%s%s", name, *name && *label ? " " : "", label) < 0) {
        k->failed = true;
        return;
    }
    k->entity[k->n++] = (struct kinds_entity){kind, baro_row_id(e), text};
}

void kinds_add(struct kinds *k, const struct baro_tape *tape, const struct baro_record *r)
{
    if (r->kind != BARO_RECORD_SAMPLE)
        return;
    for (int kind = BARO_KIND_DIRECTORY; kind < baro_tape_kind_count(tape); kind++) {
        size_t n = baro_sample_rows(r->u.sample, kind);
        for (size_t i = 0; i < n && i < KINDS_ENTITIES; i++) {
            const struct baro_row *e = baro_sample_row(r->u.sample, kind, i);
            if (!has_entity(k, kind, baro_row_id(e)))
                note(k, kind, e, i);
        }
    }
}

static enum chart_unit unit_of(const struct baro_metric *m)
{
    bool is_rate = m->semantics == BARO_SEM_COUNTER;
    switch (m->unit) {
    case BARO_UNIT_NS: return is_rate ? CHART_CORES : CHART_SECONDS;
    case BARO_UNIT_BYTES: return is_rate ? CHART_BYTES_PER_SECOND : CHART_BYTES;
    case BARO_UNIT_RATIO: return CHART_RATIO;
    case BARO_UNIT_HERTZ: return CHART_HERTZ;
    case BARO_UNIT_CELSIUS: return CHART_CELSIUS;
    default: return is_rate ? CHART_PER_SECOND : CHART_COUNT;
    }
}

/* What a value of a series is multiplied by to be in the unit of the chart. */
static double factor_of(const struct baro_metric *m)
{
    return m->unit == BARO_UNIT_NS ? 1e-9 : 1;
}

static bool begin_chart(struct kinds *k, const struct baro_tape *tape, int kind, const struct baro_metric *m,
                        const struct chart *like)
{
    struct chart *c = &k->chart[k->charts];
    char id[32];
    snprintf(id, sizeof id, "kind-%zu", k->charts);
    *c = (struct chart){.unit = unit_of(m),
                        .from_ns = like->from_ns,
                        .to_ns = like->to_ns,
                        .start_ns = like->start_ns,
                        .buckets = like->buckets};
    c->id = strdup(id);
    c->help = strdup(m->help ? m->help : "");
    if (asprintf(&c->title, "%s: %s", baro_tape_kind_name(tape, kind), m->name) < 0)
        c->title = NULL;
    k->charts++;
    return c->id && c->help && c->title;
}

static int add_curves(struct kinds *k, struct chart *c, struct baro_series *s, int kind, int metric, bool is_rate,
                      int *ret_first, struct baro_error *err)
{
    *ret_first = -1;
    for (size_t i = 0; i < k->n; i++) {
        const struct kinds_entity *e = &k->entity[i];
        if (e->kind != kind)
            continue;
        int curve = is_rate ? baro_series_add_rate(s, kind, e->id, NULL, metric, err)
                            : baro_series_add_value(s, kind, e->id, NULL, metric, err);
        if (curve < 0)
            return curve;
        *ret_first = *ret_first < 0 ? curve : *ret_first;
        if (!chart_add_curve(c, e->name, CHART_LINE, (unsigned)(c->n_curves % CHART_COLORS)))
            return error_set(err, -ENOMEM, "out of memory");
    }
    return 0;
}

/* A directory has charts of its size and its files, none of how it was walked. */
static bool is_drawn(const struct kinds *k, int kind, const struct baro_metric *m)
{
    bool any = false;
    for (size_t i = 0; i < k->n && !any; i++)
        any = k->entity[i].kind == kind;
    if (!any || m->semantics == BARO_SEM_INFO || m->unit == BARO_UNIT_CHAR)
        return false;
    return kind != BARO_KIND_DIRECTORY || strcmp(m->stem, "used") == 0 || strcmp(m->stem, "files") == 0;
}

struct plan {
    int first[KINDS_CHARTS];
    double factor[KINDS_CHARTS];
};

static int plan(struct kinds *k, struct baro_tape *tape, struct baro_series *s, const struct chart *like,
                struct plan *ret, struct baro_error *err)
{
    for (int kind = BARO_KIND_DIRECTORY; kind < baro_tape_kind_count(tape); kind++) {
        for (int id = 0; id < baro_tape_metric_count(tape, kind) && k->charts < KINDS_CHARTS; id++) {
            const struct baro_metric *m = baro_tape_metric(tape, kind, id);
            if (!is_drawn(k, kind, m))
                continue;
            size_t at = k->charts;
            if (!begin_chart(k, tape, kind, m, like))
                return error_set(err, -ENOMEM, "out of memory");
            ret->factor[at] = factor_of(m);
            int code =
                add_curves(k, &k->chart[at], s, kind, id, m->semantics == BARO_SEM_COUNTER, &ret->first[at], err);
            if (code < 0)
                return code;
        }
    }
    return 0;
}

static void fill(struct chart *c, const struct baro_series *s, int first, double factor)
{
    for (size_t k = 0; k < c->n_curves; k++) {
        for (size_t i = 0; i < c->buckets; i++) {
            const struct baro_bucket *b = baro_series_bucket(s, first + (int)k, i);
            if (b && (b->covered_ns || b->points))
                c->curves[k].at[i] = (struct chart_bucket){.known = true,
                                                           .min = b->min * factor,
                                                           .max = b->max * factor,
                                                           .mean = b->mean * factor,
                                                           .last = b->last * factor};
        }
    }
    chart_finish(c);
}

int kinds_make(struct kinds *k, struct baro_tape *tape, const struct chart *like, struct baro_error *err)
{
    struct baro_series *s = NULL;
    struct plan p = {0};
    if (k->failed)
        return error_set(err, -ENOMEM, "out of memory");
    if (!k->n)
        return 0;
    int code = baro_series_new(&s, like->from_ns, like->to_ns, like->buckets, err);
    if (code >= 0)
        code = plan(k, tape, s, like, &p, err);
    if (code >= 0)
        code = baro_series_read(s, tape, err);
    for (size_t i = 0; code >= 0 && i < k->charts; i++)
        fill(&k->chart[i], s, p.first[i], p.factor[i]);
    baro_series_free(s);
    return code < 0 ? code : 0;
}

void kinds_done(struct kinds *k)
{
    for (size_t i = 0; i < k->n; i++)
        free(k->entity[i].name);
    for (size_t i = 0; i < k->charts; i++)
        chart_done(&k->chart[i]);
}
