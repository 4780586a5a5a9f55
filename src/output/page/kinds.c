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

static void note_entity(struct kinds *k, int kind, const struct baro_row *e, size_t so_far)
{
    const char *name = baro_row_name(e), *label = baro_row_label(e);
    char *text = NULL;
    if (so_far >= KINDS_ENTITIES || k->n == sizeof(k->entity) / sizeof(*k->entity))
        return;
    if (kind < baro_kind_count() &&
        kind == BARO_KIND_GPU) /* devices are mostly of one model, which the summary names */
        label = "";
    int n = baro_row_owner(e) == BARO_OWNER_PROCESS && *name
                ? asprintf(&text, "%d on %s", (int)baro_row_owner_pid(e), name)
                : asprintf(&text, "%s%s%s", name, *name && *label ? " " : "", label);
    if (n < 0) {
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
                note_entity(k, kind, e, i);
        }
    }
}

/* Kinds of devices: only some of their many metrics have charts, and time is shown as a share. */
struct drawn {
    const char *stem, *title;
};

static const struct drawn *drawn_of(const struct baro_tape *tape, int kind)
{
    static const struct drawn gpu[] = {
        {"busy", "GPU: utilisation"},
        {"sm_active", "GPU: multiprocessors with work"},
        {"memory_used", "GPU: memory in use"},
        {"busy_others", "GPU: use by others"},
        {"energy", "GPU: power"}, /* mean between two readings: power at a reading would miss the rest */
        {"temperature", "GPU: temperature"},
        {"throttled_power", "GPU: throttled by power"},
        {"throttled_thermal", "GPU: throttled by heat"},
        {0},
    };
    static const struct drawn process[] = {{"memory", "GPU: memory by process"}, {"busy", "GPU: use by process"}, {0}};
    static const struct drawn energy[] = {{"energy", "Power of CPUs and memory"}, {"power", "Power of sensors"}, {0}};
    const char *name = baro_tape_kind_name(tape, kind);
    bool is_own = kind < baro_kind_count();
    return is_own && strcmp(name, "gpu") == 0           ? gpu
           : is_own && strcmp(name, "gpu_process") == 0 ? process
           : is_own && strcmp(name, "energy") == 0      ? energy
                                                        : NULL;
}

static const struct drawn *drawn_as(const struct baro_tape *tape, int kind, const struct baro_metric *m)
{
    const struct drawn *d = drawn_of(tape, kind);
    while (d && d->stem && strcmp(d->stem, m->stem) != 0)
        d++;
    return d && d->stem ? d : NULL;
}

static enum chart_unit chart_unit_of(const struct baro_metric *m, bool of_device)
{
    bool is_rate = m->semantics == BARO_SEM_COUNTER;
    if (is_rate && of_device && m->unit == BARO_UNIT_NS)
        return CHART_RATIO;
    switch (m->unit) {
    case BARO_UNIT_JOULES:
    case BARO_UNIT_WATTS: return CHART_WATTS;
    case BARO_UNIT_NS: return is_rate ? CHART_CORES : CHART_SECONDS;
    case BARO_UNIT_BYTES: return is_rate ? CHART_BYTES_PER_SECOND : CHART_BYTES;
    case BARO_UNIT_RATIO: return CHART_RATIO;
    case BARO_UNIT_HERTZ: return CHART_HERTZ;
    case BARO_UNIT_CELSIUS: return CHART_CELSIUS;
    default: return is_rate ? CHART_PER_SECOND : CHART_COUNT;
    }
}

/* Returns the factor from a value of a series to the unit of the chart. */
static double factor_of(const struct baro_metric *m)
{
    switch (m->unit) {
    case BARO_UNIT_NS: return 1e-9;
    case BARO_UNIT_RATIO:
    case BARO_UNIT_DECIMAL:
    case BARO_UNIT_JOULES:
    case BARO_UNIT_WATTS: return 1e-6;
    case BARO_UNIT_CELSIUS: return 1e-3;
    default: return 1;
    }
}

static bool begin_chart(struct kinds *k, const struct baro_tape *tape, int kind, const struct baro_metric *m,
                        const struct chart *like)
{
    struct chart *c = &k->chart[k->charts];
    char id[32];
    snprintf(id, sizeof id, "kind-%zu", k->charts);
    *c = (struct chart){.unit = chart_unit_of(m, drawn_of(tape, kind) != NULL),
                        .from_ns = like->from_ns,
                        .to_ns = like->to_ns,
                        .start_ns = like->start_ns,
                        .buckets = like->buckets};
    c->id = strdup(id);
    c->help = strdup(m->help ? m->help : "");
    const struct drawn *own = drawn_as(tape, kind, m);
    if (own)
        c->title = strdup(own->title);
    else if (asprintf(&c->title, "%s: %s", baro_tape_kind_name(tape, kind), m->name) < 0)
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

/* A directory has charts of its size and its files; not of how it was walked. */
static bool is_drawn(const struct kinds *k, const struct baro_tape *tape, int kind, const struct baro_metric *m)
{
    bool any = false;
    for (size_t i = 0; i < k->n && !any; i++)
        any = k->entity[i].kind == kind;
    if (!any || m->semantics == BARO_SEM_INFO || m->unit == BARO_UNIT_CHAR)
        return false;
    if (drawn_of(tape, kind))
        return drawn_as(tape, kind, m) != NULL;
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
            if (!is_drawn(k, tape, kind, m))
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

static void fill_kind_curve(struct chart *c, const struct baro_series *s, int first, double factor)
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
        fill_kind_curve(&k->chart[i], s, p.first[i], p.factor[i]);
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
