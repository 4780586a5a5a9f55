/* SPDX-License-Identifier: Apache-2.0 */
/* All of a report as one JSON object: docs/json.md has its members. */
#include <errno.h>

#include "base/error.h"
#include "output/rows/csv_json.h"
#include "programs/baro-report/document.h"

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
