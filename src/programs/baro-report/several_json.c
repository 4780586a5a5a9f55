/* SPDX-License-Identifier: Apache-2.0 */
/* Several tapes as one JSON object: docs/json.md has its members. It is written tape by tape. */
#include <errno.h>

#include "base/error.h"
#include "programs/baro-report/several.h"

static int section(const struct document *d, void *context, struct buf *ret, struct baro_error *err)
{
    struct json j = {.out = ret};
    (void)context;
    return document_json(d, &j, err);
}

static void put_tape(struct json *j, const struct listed_tape *t, const struct buf *report)
{
    json_begin(j, '{');
    json_key_text(j, "path", t->path);
    json_key_text(j, "error", t->is_unread ? t->reason.text : NULL);
    json_key(j, "report");
    if (t->is_unread)
        json_null(j);
    else
        json_raw(j, (const char *)report->at, report->len);
    json_end(j, '}');
    j->out->failed = j->out->failed || report->failed;
}

static void flags_of(struct json *j, unsigned flags, const char *bound, const char *estimate)
{
    json_key_bool(j, bound, flags & BARO_VALUE_LOWER_BOUND);
    json_key_bool(j, estimate, flags & (BARO_VALUE_ESTIMATE | BARO_VALUE_UPPER_BOUND));
}

static void value_or_null(struct json *j, const char *key, bool is_known, uint64_t v)
{
    json_key(j, key);
    if (is_known)
        json_u64(j, v);
    else
        json_null(j);
}

static void put_totals(struct json *j, const struct several *s)
{
    json_key_begin(j, "totals", '{');
    json_key_u64(j, "tapes", s->list->n);
    json_key_u64(j, "tapes_read", s->read);
    json_key_u64(j, "tapes_running", s->running);
    value_or_null(j, "cpu_ns", s->cpu.of, s->cpu.value);
    flags_of(j, s->cpu.flags, "cpu_is_lower_bound", "cpu_is_estimate");
    value_or_null(j, "processes_started", s->processes.of, s->processes.value);
    flags_of(j, s->processes.flags, "processes_started_is_lower_bound", "processes_started_is_estimate");
    value_or_null(j, "rss_peak_most_bytes", s->of_rss, s->rss.u64);
    flags_of(j, s->rss.flags, "rss_peak_most_is_lower_bound", "rss_peak_most_is_estimate");
    json_end(j, '}');
}

/* Writes nothing before a tape was read: if none can be read, nothing is written. */
static int pass_on(const struct several *s, struct buf *b, baro_sink *sink, void *context, struct baro_error *err)
{
    int r = b->failed ? error_set(err, -ENOMEM, "out of memory")
            : s->read ? sink(context, (const char *)b->at, b->len)
                      : 0;
    if (s->read)
        buf_clear(b);
    return r;
}

int several_json(struct several *s, baro_sink *sink, void *context, struct baro_error *err)
{
    struct buf out = {0}, report = {0};
    struct json j = {.out = &out};
    int r = 0;
    json_begin(&j, '{');
    json_key_u64(&j, "version", 1);
    json_key_begin(&j, "tapes", '[');
    for (size_t i = 0; i < s->list->n && r >= 0; i++) {
        buf_clear(&report);
        r = several_visit(s, i, section, NULL, &report, err);
        if (r >= 0)
            put_tape(&j, &s->list->at[i], &report);
        if (r >= 0)
            r = pass_on(s, &out, sink, context, err);
    }
    json_end(&j, ']');
    if (r >= 0)
        r = several_finish(s, err);
    if (r >= 0) {
        put_totals(&j, s);
        json_end(&j, '}');
        r = pass_on(s, &out, sink, context, err);
    }
    buf_done(&out);
    buf_done(&report);
    return r;
}
