/* SPDX-License-Identifier: Apache-2.0 */
/* All of a report as one JSON object: docs/json.md has its members. */
#include <errno.h>

#include "base/error.h"
#include "output/chart/figure.h"
#include "output/rows/csv_json.h"
#include "programs/baro-report/document.h"

/* ---- figures ---- */

/* The figures of a report as series of numbers. */

#define BUCKETS 200u

enum which { MIN, MEAN, MAX };

static void values(struct json *j, const char *key, const struct chart_curve *curve, size_t n, enum which which)
{
    json_key_begin(j, key, '[');
    for (size_t i = 0; i < n; i++) {
        const struct chart_bucket *b = &curve->at[i];
        json_double_or_null(j, b->known, which == MIN ? b->min : which == MEAN ? b->mean : b->max);
    }
    json_end(j, ']');
}

static void put_curves(struct json *j, const struct chart *c)
{
    json_key_begin(j, "curves", '[');
    for (size_t i = 0; i < c->n_curves; i++) {
        json_begin(j, '{');
        json_key_text(j, "name", c->curves[i].name);
        values(j, "min", &c->curves[i], c->buckets, MIN);
        values(j, "mean", &c->curves[i], c->buckets, MEAN);
        values(j, "max", &c->curves[i], c->buckets, MAX);
        json_end(j, '}');
    }
    json_end(j, ']');
}

/* A limit that changed: its value in each bucket; null where there was none. */
static void put_steps(struct json *j, const struct chart *c, const double *at)
{
    json_key_begin(j, "values", '[');
    for (size_t i = 0; i < c->buckets; i++) {
        json_double_or_null(j, at[i] > 0, at[i]);
    }
    json_end(j, ']');
}

static void put_lines(struct json *j, const struct chart *c)
{
    json_key_begin(j, "limits", '[');
    for (size_t i = 0; i < c->n_limits; i++) {
        json_begin(j, '{');
        json_key_text(j, "name", c->limits[i].name);
        json_key_double(j, "value", c->limits[i].value);
        if (c->limits[i].at)
            put_steps(j, c, c->limits[i].at);
        json_end(j, '}');
    }
    json_end(j, ']');
    json_key_begin(j, "marks", '[');
    for (size_t i = 0; i < c->n_marks; i++) {
        json_begin(j, '{');
        json_key_u64(j, "t_ns", c->marks[i].t_ns);
        json_key_double(j, "value", c->marks[i].value);
        json_key_text(j, "text", c->marks[i].text);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void put_chart(struct json *j, const struct chart *c)
{
    json_begin(j, '{');
    json_key_text(j, "id", c->id);
    json_key_text(j, "title", c->title);
    json_key_text(j, "unit", chart_unit_name(c->unit));
    json_key_text(j, "absent", c->absent);
    json_key_u64(j, "from_ns", c->from_ns);
    json_key_u64(j, "to_ns", c->to_ns);
    json_key_u64(j, "start_ns", c->start_ns);
    json_key_u64(j, "buckets", c->buckets);
    put_curves(j, c);
    put_lines(j, c);
    json_end(j, '}');
}

/* Adds the member "figures" to an open object. Returns 0 or a negative code. */
static int document_json_figures(const struct document *d, struct json *j, struct baro_error *err)
{
    struct figure_options options = {.buckets = BUCKETS, .summary = d->summary};
    struct chart_set *figures;
    uint64_t first, last;
    json_key_begin(j, "figures", '[');
    int r = baro_tape_range(d->tape, &first, &last, err);
    if (r > 0)
        r = figures_of_tape(d->tape, &options, &figures, err);
    else if (r == 0)
        r = 1; /* without a sample nothing can be drawn */
    for (size_t i = 0; r == 0 && i < figures_count(figures); i++)
        put_chart(j, figures_chart(figures, i));
    if (r == 0)
        figures_free(figures);
    json_end(j, ']');
    return r < 0 ? r : 0;
}

static const char *kind_name(enum baro_timeline_kind kind)
{
    static const char *const names[] = {"phase", "mark", "event"};
    return kind <= BARO_TIMELINE_EVENT ? names[kind] : "unknown";
}

static void put_item(struct json *j, const struct baro_timeline *t, size_t i)
{
    const struct baro_timeline_item *item = baro_timeline_get(t, i);
    json_begin(j, '{');
    json_key_text(j, "kind", kind_name(item->kind));
    json_key_text(j, "name", item->name);
    json_key_text(j, "text", item->text);
    json_key_u64(j, "begin_ns", item->begin_ns);
    json_key_u64(j, "end_ns", item->end_ns);
    json_key_bool(j, "is_problem", item->is_problem);
    if (item->pid) {
        json_key_i64(j, "pid", item->pid);
        json_key_u64(j, "start_ticks", item->start_ticks);
    }
    json_key(j, "attributes");
    json_attributes(item, j);
    if (item->kind == BARO_TIMELINE_PHASE) {
        json_key_bool(j, "is_open", item->is_open);
        json_key_u64(j, "depth", (uint64_t)item->depth);
        json_key_begin(j, "used", '{');
        json_phase_facts(t, i, j);
        json_end(j, '}');
    }
    json_end(j, '}');
}

static void put_timeline(struct json *j, const struct baro_timeline *t)
{
    json_key_begin(j, "timeline", '[');
    for (size_t i = 0; i < baro_timeline_count(t); i++)
        put_item(j, t, i);
    json_end(j, ']');
}

/* Writes the object of `baro summary --json`, unchanged. */
static int put_summary(struct json *j, const struct document *d, struct baro_error *err)
{
    struct buf text = {0};
    int r = json_summary(d->fold, d->path, &text, err);
    json_key(j, "summary");
    while (text.len && text.at[text.len - 1] == '\n')
        text.len--;
    buf_add(j->out, text.at, text.len);
    j->named = false; /* the value itself was written */
    j->out->failed = j->out->failed || text.failed;
    buf_done(&text);
    return r;
}

int document_json(const struct document *d, void *context, struct buf *ret, struct baro_error *err)
{
    struct json j = {.out = ret};
    (void)context;
    json_begin(&j, '{');
    json_key_u64(&j, "format", 2);
    int r = put_summary(&j, d, err);
    put_timeline(&j, d->timeline);
    if (r >= 0)
        r = document_json_figures(d, &j, err);
    json_end(&j, '}');
    return r >= 0 && ret->failed ? error_set(err, -ENOMEM, "out of memory") : r;
}
