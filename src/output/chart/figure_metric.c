/* SPDX-License-Identifier: Apache-2.0 */
/* A figure of one metric, as a user names it. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "output/chart/figure_parts.h"

struct found {
    struct curve_row row;
    enum chart_unit unit;
    const char *help;
    char id[96], title[256];
    const char *what;   /* as the user named it */
    const char *entity; /* NULL: all */
};

static enum chart_unit unit_of_word(const char *word)
{
    static const struct {
        const char *word;
        enum chart_unit unit;
    } units[] = {{"cores", CHART_CORES},
                 {"ratio", CHART_RATIO},
                 {"bytes per second", CHART_BYTES_PER_SECOND},
                 {"per second", CHART_PER_SECOND},
                 {"ns", CHART_SECONDS}};
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (strcmp(units[i].word, word) == 0)
            return units[i].unit;
    }
    return CHART_COUNT;
}

enum chart_unit chart_unit_of_metric(const struct baro_metric *m)
{
    bool is_rate = m->semantics == BARO_SEM_COUNTER;
    switch (m->unit) {
    case BARO_UNIT_NS: return is_rate ? CHART_CORES : CHART_SECONDS;
    case BARO_UNIT_BYTES: return is_rate ? CHART_BYTES_PER_SECOND : CHART_BYTES;
    case BARO_UNIT_RATIO: return CHART_RATIO;
    case BARO_UNIT_HERTZ: return CHART_HERTZ;
    case BARO_UNIT_JOULES:
    case BARO_UNIT_WATTS: return CHART_WATTS;
    case BARO_UNIT_CELSIUS: return CHART_CELSIUS;
    default: return is_rate ? CHART_PER_SECOND : CHART_COUNT;
    }
}

static bool find_in(const struct baro_tape *tape, int kind, const char *name, struct found *f)
{
    int derived = baro_derived_find(kind, name);
    int metric = baro_tape_metric_find(tape, kind, name);
    const struct baro_metric *m = baro_tape_metric(tape, kind, metric);
    if (kind == BARO_KIND_EXIT || (derived < 0 && !m))
        return false;
    f->row = (struct curve_row){.kind = kind, .shape = CHART_AREA};
    if (derived >= 0) {
        const struct baro_derived *d = baro_derived_get(kind, derived);
        f->row.how = ROW_DERIVED;
        f->row.metric = d->name;
        f->unit = unit_of_word(d->unit);
        f->help = d->help;
        return true;
    }
    f->row.how = m->semantics == BARO_SEM_COUNTER ? ROW_RATE : ROW_VALUE;
    f->row.metric = m->name;
    f->unit = chart_unit_of_metric(m);
    f->help = m->help;
    return true;
}

/* "host.memory_used@x": kind, metric, entity. */
static bool find_named(const struct baro_tape *tape, const char *what, struct found *f)
{
    static const int first[] = {BARO_KIND_PROCESS, BARO_KIND_JOB, BARO_KIND_HOST};
    const char *at = strchr(what, '@'), *dot = strchr(what, '.');
    size_t len = at ? (size_t)(at - what) : strlen(what);
    f->entity = at ? at + 1 : NULL;
    int kinds = baro_tape_kind_count(tape);
    char name[128];
    snprintf(name, sizeof(name), "%.*s", (int)len, what);
    if (dot && dot < what + len) {
        char kind[64];
        snprintf(kind, sizeof(kind), "%.*s", (int)(dot - what), what);
        int k = baro_tape_kind_find(tape, kind);
        return k >= 0 && find_in(tape, k, name + (dot + 1 - what), f);
    }
    for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++) {
        if (find_in(tape, first[i], name, f))
            return true;
    }
    for (int k = 0; k < kinds; k++) {
        if (find_in(tape, k, name, f))
            return true;
    }
    return false;
}

static void name_it(const struct baro_tape *tape, struct found *f)
{
    const char *kind = baro_tape_kind_name(tape, f->row.kind);
    snprintf(f->id, sizeof(f->id), "%s-%s", kind, f->row.metric);
    for (char *c = f->id; *c; c++) {
        bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '_';
        *c = plain ? *c : '-';
    }
    const char *per = f->row.how != ROW_RATE ? "" : f->unit == CHART_CORES ? ", per time" : " per second";
    snprintf(f->title, sizeof(f->title), "%s.%s%s%s%s", kind, f->row.metric, per, f->entity ? " of " : "",
             f->entity ? f->entity : "");
}

#define MARKS "mark."

static int add_axis(struct making *m, void *context)
{
    (void)context;
    return making_chart(m, "", "", "", CHART_NUMBER) < 0 ? m->failed : 0;
}

static int add_metric(struct making *m, void *context)
{
    struct found *f = context;
    if (!find_named(m->tape, f->what, f))
        return error_set(m->err, BARO_E_RANGE,
                         "there is no figure and no metric %s: `baro plot --list` and "
                         "`baro metrics` list them",
                         f->what);
    name_it(m->tape, f);
    int chart = making_chart(m, f->id, f->title, f->help, f->unit);
    if (chart < 0)
        return m->failed;
    if (!making_curve(m, (size_t)chart, &f->row, f->entity ? f->entity : f->row.metric, 0, f->entity, 0) && !m->failed)
        return error_set(m->err, BARO_E_RANGE, "%s does not add up over processes: name one, as %s@NAME", f->row.metric,
                         f->row.metric);
    return m->failed;
}

/* "mark.loss": no metric, but a number that the job gave with marks. */
static int of_marks(struct making *m, const char *name, struct chart_set **ret)
{
    struct chart_set *axis = NULL;
    int r = making_run(m, add_axis, NULL, &axis);
    if (r >= 0)
        r = figures_of_marks(m->timeline, &axis->charts[0], name, ret, m->err);
    if (r >= 0 && (*ret)->n) { /* adds the phases, marks and events that are drawn over the chart */
        (*ret)->spans = axis->spans;
        axis->spans = (struct chart_spans){0};
        (*ret)->charts[0].spans = &(*ret)->spans;
    } else if (r >= 0) {
        figures_free(*ret);
        *ret = NULL;
        r = error_set(m->err, BARO_E_RANGE, "no two marks have a number %s", name);
    }
    figures_free(axis);
    return r;
}

int figures_of_metric(struct baro_tape *tape, const char *what, const struct figure_options *options,
                      struct chart_set **ret, struct baro_error *err)
{
    struct making m = {.tape = tape, .options = options, .err = err};
    struct found f = {.what = what};
    int r = making_begin(&m);
    if (r >= 0 && strncmp(what, MARKS, sizeof(MARKS) - 1) == 0) {
        r = of_marks(&m, what + sizeof(MARKS) - 1, ret);
        making_done(&m);
        return r;
    }
    if (r >= 0)
        r = making_run(&m, add_metric, &f, ret);
    if (r >= 0 && !(*ret)->charts[0].absent)
        decorate_peak(&(*ret)->charts[0], m.summary, NULL);
    making_done(&m);
    return r;
}
