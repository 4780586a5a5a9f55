/* SPDX-License-Identifier: Apache-2.0 */
#include "output/chart/kinds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "output/chart/figure_parts.h"

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
    if (kind == BARO_KIND_GPU) /* devices are mostly of one model, which the summary names */
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
        size_t n = kind == BARO_KIND_BRIEF ? 0 : baro_sample_rows(r->u.sample, kind); /* hundreds that come and go */
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

static int add_kind_chart(struct making *m, const struct kinds *k, int kind, const struct baro_metric *metric, size_t n)
{
    const struct drawn *own = drawn_as(m->tape, kind, metric);
    bool is_rate = metric->semantics == BARO_SEM_COUNTER;
    enum chart_unit unit =
        drawn_of(m->tape, kind) && is_rate && metric->unit == BARO_UNIT_NS ? CHART_RATIO : chart_unit_of_metric(metric);
    char id[32], *title = NULL;
    snprintf(id, sizeof(id), "kind-%zu", n);
    if (asprintf(&title, own ? "%s" : "%s: %s", own ? own->title : baro_tape_kind_name(m->tape, kind), metric->name) <
        0)
        return -ENOMEM;
    int chart = making_chart(m, id, title, metric->help ? metric->help : "", unit);
    free(title);
    unsigned color = 0;
    for (size_t i = 0; i < k->n && chart >= 0 && m->failed >= 0; i++) {
        const struct curve_row row = {
            .kind = kind, .metric = metric->name, .how = is_rate ? ROW_RATE : ROW_VALUE, .shape = CHART_LINE};
        if (k->entity[i].kind == kind)
            making_curve(m, (size_t)chart, &row, k->entity[i].name, k->entity[i].id, NULL, color++ % CHART_COLORS);
    }
    return m->failed;
}

static int add_kinds(struct making *m, void *context)
{
    const struct kinds *k = context;
    size_t n = 0;
    int r = 0;
    for (int kind = BARO_KIND_DIRECTORY; kind < baro_tape_kind_count(m->tape); kind++) {
        for (int id = 0; id < baro_tape_metric_count(m->tape, kind) && n < KINDS_CHARTS && r >= 0; id++) {
            const struct baro_metric *metric = baro_tape_metric(m->tape, kind, id);
            if (is_drawn(k, m->tape, kind, metric))
                r = add_kind_chart(m, k, kind, metric, n++);
        }
    }
    return r;
}

int figures_of_kinds(struct baro_tape *tape, struct kinds *k, const struct figure_options *options,
                     struct chart_set **ret, struct baro_error *err)
{
    struct making m = {.tape = tape, .options = options, .err = err, .keeps_empty = true};
    if (k->failed)
        return error_set(err, -ENOMEM, "out of memory");
    if (!k->n)
        return 0;
    int r = making_begin(&m);
    if (r >= 0)
        r = making_run(&m, add_kinds, k, ret);
    making_done(&m);
    return r;
}

void kinds_done(struct kinds *k)
{
    for (size_t i = 0; i < k->n; i++)
        free(k->entity[i].name);
}
