/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of columns that are put together from several values. */
#include <string.h>

#include "baro/steps.h"
#include "baro/timeline.h"
#include "base/json.h"
#include "libbaro/columns/columns.h"

/* Copies the text into the caller's room and returns its length, as snprintf(3) does. */
static size_t give_text(struct buf *b, size_t len, char *ret, size_t size)
{
    size_t n = len < size ? len : size ? size - 1 : 0;
    if (b->failed)
        n = len = 0;
    if (n)
        memcpy(ret, b->at, n);
    if (size)
        ret[n] = 0;
    buf_done(b);
    return len;
}

static void write_attribute(struct buf *b, const struct baro_attribute *a)
{
    struct json number = {.out = b};
    buf_str(b, b->len ? ", " : "");
    buf_str(b, a->name);
    buf_byte(b, '=');
    switch (a->type) {
    case BARO_ATTRIBUTE_UNSIGNED: buf_u64(b, a->u64); break;
    case BARO_ATTRIBUTE_SIGNED: json_i64(&number, a->i64); break;
    case BARO_ATTRIBUTE_REAL: json_double(&number, a->real); break;
    case BARO_ATTRIBUTE_TEXT:
    case BARO_ATTRIBUTE_JSON: buf_str(b, a->text); break;
    case BARO_ATTRIBUTE_BOOLEAN: buf_str(b, a->u64 ? "true" : "false"); break;
    }
}

size_t baro_row_attributes_text(const struct baro_row *row, char *ret, size_t size)
{
    struct baro_attribute a;
    struct buf b = {0};
    for (size_t i = 0; baro_row_attribute(row, i, &a) == 0; i++)
        write_attribute(&b, &a);
    return give_text(&b, b.len, ret, size);
}

static void write_member(struct json *j, const struct baro_attribute *a)
{
    json_key(j, a->name);
    switch (a->type) {
    case BARO_ATTRIBUTE_UNSIGNED: json_u64(j, a->u64); break;
    case BARO_ATTRIBUTE_SIGNED: json_i64(j, a->i64); break;
    case BARO_ATTRIBUTE_REAL: json_double(j, a->real); break;
    case BARO_ATTRIBUTE_TEXT: json_text(j, a->text); break;
    case BARO_ATTRIBUTE_BOOLEAN: json_bool(j, a->u64); break;
    case BARO_ATTRIBUTE_JSON: json_embed(j, a->text); break;
    }
}

/* The name of a mark or a phase is its first attribute. */
size_t baro_event_given_json(const struct baro_event *e, char *ret, size_t size)
{
    enum baro_event_kind kind = baro_event_kind_of(e);
    bool named = kind == BARO_EVENT_MARK || kind == BARO_EVENT_EXEC || kind == BARO_EVENT_PHASE_BEGIN ||
                 kind == BARO_EVENT_PHASE_END;
    size_t n = named ? baro_event_attribute_count(e) : 0;
    struct buf b = {0};
    struct json json = {.out = &b};
    struct baro_attribute a;
    if (n < 2)
        return give_text(&b, 0, ret, size);
    json_begin(&json, '{');
    for (size_t i = 1; i < n && baro_event_attribute(e, i, &a) == 0; i++)
        write_member(&json, &a);
    json_end(&json, '}');
    return give_text(&b, b.len ? b.len - 1 : 0, ret, size); /* without the end of the line */
}

size_t baro_timeline_given_json(const struct baro_timeline *timeline, size_t item, char *ret, size_t size)
{
    const struct baro_timeline_item *v = baro_timeline_get(timeline, item);
    struct buf b = {0};
    struct json json = {.out = &b};
    if (!v || !v->attribute_count)
        return give_text(&b, 0, ret, size);
    json_begin(&json, '{');
    for (size_t i = 0; i < v->attribute_count; i++)
        write_member(&json, &v->attribute[i]);
    json_end(&json, '}');
    return give_text(&b, b.len ? b.len - 1 : 0, ret, size); /* without the end of the line */
}

/* Adds the name of a fact whose value has the mark of a flag. */
static void put_marked(struct buf *b, const struct baro_fact *fact, const struct baro_value *v, unsigned flag)
{
    const char *mark = v->absent ? NULL : baro_value_mark(v->flags), *wanted = baro_value_mark(flag);
    if (!mark || !wanted || strcmp(mark, wanted) != 0)
        return;
    buf_str(b, b->len ? " " : "");
    buf_str(b, fact->name);
}

size_t baro_timeline_marked(const struct baro_timeline *timeline, size_t item, unsigned flag, char *ret, size_t size)
{
    struct baro_value v;
    struct buf b = {0};
    for (int fact = 0; fact < baro_timeline_fact_count(); fact++) {
        baro_timeline_value(timeline, item, fact, &v);
        put_marked(&b, baro_timeline_fact(fact), &v, flag);
    }
    return give_text(&b, b.len, ret, size);
}

size_t baro_steps_marked(const struct baro_steps *steps, size_t step, unsigned flag, char *ret, size_t size)
{
    struct baro_value v;
    struct buf b = {0};
    for (int fact = 0; fact < baro_steps_fact_count(); fact++) {
        baro_steps_value(steps, step, fact, &v);
        put_marked(&b, baro_steps_fact(fact), &v, flag);
    }
    return give_text(&b, b.len, ret, size);
}

/* Have threads of the job run since the run delay was last read? Then its value is old. */
static bool delay_lags(const struct baro_sample *s)
{
    uint64_t lag;
    int id = baro_metric_find(BARO_KIND_JOB, "run_delay_lag");
    return baro_row_value(baro_sample_row(s, BARO_KIND_JOB, 0), id, &lag) == BARO_PRESENT && lag;
}

/*
 * Example: five processes share 300 MB, and the budget has let two of them be read so far. Their pss adds up to 133 MB,
 * that of all five to 329 MB: the text is "pss_bytes uss_bytes" until the other three have been read.
 */
size_t baro_sample_bounds_text(const struct baro_sample *s, char *ret, size_t size)
{
    struct buf b = {0};
    for (int id = 0; id < baro_metric_count(BARO_KIND_PROCESS); id++) {
        uint64_t sum;
        size_t lacking;
        if (!baro_metric_adds_up(id) || baro_sample_sum(s, id, &sum, &lacking) != BARO_PRESENT || !lacking)
            continue;
        buf_str(&b, b.len ? " " : "");
        buf_str(&b, baro_metric_get(BARO_KIND_PROCESS, id)->name);
    }
    if (delay_lags(s)) {
        buf_str(&b, b.len ? " " : "");
        buf_str(&b, "run_delay_ns");
    }
    return give_text(&b, b.len, ret, size);
}
