/* SPDX-License-Identifier: Apache-2.0 */
#include "output/rows/runlog.h"
#include "output/rows/row.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/escape.h"
#include "base/fmt.h"
#include "base/json.h"

struct runlog {
    struct baro_timeline *timeline;
    const struct baro_header *header;
    struct baro_tape *tape;
    bool *written; /* by the id of an item */
    size_t n_written;
};

int runlog_new(struct runlog **ret, const struct baro_header *header, struct baro_tape *tape, struct baro_error *err)
{
    struct runlog *r = calloc(1, sizeof(*r));
    *ret = r;
    if (!r)
        return error_set(err, -ENOMEM, "out of memory");
    r->header = header;
    r->tape = tape;
    return baro_timeline_new(&r->timeline, header, err);
}

void runlog_free(struct runlog *r)
{
    if (!r)
        return;
    baro_timeline_free(r->timeline);
    free(r->written);
    free(r);
}

void runlog_record(struct runlog *r, const struct baro_record *record)
{
    if (record->kind != BARO_RECORD_SAMPLE) /* samples are not needed: RunLog has no resource usage */
        baro_timeline_add(r->timeline, record);
}

/* ---- values as Python's json writes them ---- */

/* ASCII only; bytes that are not UTF-8 become U+FFFD. */
static void put_json_text(struct buf *b, const char *text)
{
    static const char from[] = "\"\\\n\r\t\f\b", to[] = "\"\\nrtfb";
    buf_byte(b, '"');
    for (struct span s = span_str(text); s.len;) {
        uint32_t point;
        size_t n = utf8_next(s, &point);
        const char *known = strchr(from, *s.at);
        if (known)
            buf_printf(b, "\\%c", to[known - from]);
        else if (!n || point < ' ' || point > '~')
            buf_python_point(b, n ? point : 0xfffd);
        else
            buf_byte(b, (uint8_t)point);
        n = n ? n : 1;
        s = span_of(s.at + n, s.len - n);
    }
    buf_byte(b, '"');
}

/* A float has a point or an exponent, also if it is whole. */
static void put_real(struct buf *b, double v)
{
    size_t begin = b->len;
    if (!isfinite(v)) {
        buf_str(b, isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity");
        return;
    }
    json_double(&(struct json){.out = b}, v);
    bool is_float = b->failed;
    for (size_t i = begin; i < b->len && !is_float; i++)
        is_float = b->at[i] == '.' || b->at[i] == 'e';
    if (!is_float)
        buf_str(b, ".0");
}

static void put_json_key(struct buf *b, const char *key)
{
    buf_str(b, b->failed || b->at[b->len - 1] == '{' ? "" : ", ");
    put_json_text(b, key);
    buf_str(b, ": ");
}

static void put_attribute_value(struct buf *b, const struct baro_attribute *a)
{
    switch (a->type) {
    case BARO_ATTRIBUTE_UNSIGNED: buf_u64(b, a->u64); break;
    case BARO_ATTRIBUTE_SIGNED: buf_printf(b, "%lld", (long long)a->i64); break;
    case BARO_ATTRIBUTE_REAL: put_real(b, a->real); break;
    case BARO_ATTRIBUTE_TEXT: put_json_text(b, a->text); break;
    case BARO_ATTRIBUTE_BOOLEAN: buf_str(b, a->u64 ? "true" : "false"); break;
    case BARO_ATTRIBUTE_JSON: buf_python_json(b, a->text); break;
    default: buf_str(b, "null"); /* a type of a later version */
    }
}

static void put_attributes(struct buf *b, const struct baro_timeline_item *v)
{
    for (size_t i = 0; i < v->attribute_count && !b->failed; i++) {
        put_json_key(b, v->attribute[i].name);
        put_attribute_value(b, &v->attribute[i]);
    }
}

/* ---- lines ---- */

/* A line that has a "ts" of another kind among its attributes gets no second one. */
static void put_ts(const struct runlog *r, const struct baro_timeline_item *v, struct buf *b)
{
    for (size_t i = 0; i < v->attribute_count; i++) {
        if ((v->kind == BARO_TIMELINE_PHASE || v->attributes_beside) && strcmp(v->attribute[i].name, "ts") == 0)
            return;
    }
    put_json_key(b, "ts");
    if (*v->written_ts) {
        put_json_text(b, v->written_ts);
        return;
    }
    buf_byte(b, '"');
    fmt_time_zone(b, row_realtime_ns(r->tape, r->header, v->end_ns), 0, true);
    buf_byte(b, '"');
}

static void put_seconds(const struct baro_timeline_item *v, struct buf *b)
{
    bool is_whole = v->duration_ns || v->written_seconds.name;
    uint64_t took_ns = is_whole ? v->duration_ns : v->end_ns - v->begin_ns, ms = (took_ns + 500000) / 1000000;
    put_json_key(b, "seconds");
    if (v->written_seconds.name)
        put_attribute_value(b, &v->written_seconds);
    else
        put_real(b, (double)ms / 1e3);
}

static void put_line(const struct runlog *r, const struct baro_timeline_item *v, struct buf *b)
{
    bool is_phase = v->kind == BARO_TIMELINE_PHASE;
    buf_byte(b, '{');
    put_ts(r, v, b);
    put_json_key(b, "type");
    put_json_text(b, is_phase ? "phase" : "event");
    put_json_key(b, is_phase ? "name" : "event");
    put_json_text(b, v->name);
    if (is_phase)
        put_seconds(v, b);
    if (is_phase && v->is_open) {
        put_json_key(b, "is_open");
        buf_str(b, "true");
    }
    if (is_phase || v->attributes_beside) {
        put_attributes(b, v);
    } else if (v->attribute_count) {
        put_json_key(b, "data");
        buf_byte(b, '{');
        put_attributes(b, v);
        buf_byte(b, '}');
    }
    buf_str(b, "}\n");
}

static int by_end(const void *a, const void *b)
{
    const struct baro_timeline_item *x = *(const struct baro_timeline_item *const *)a,
                                    *y = *(const struct baro_timeline_item *const *)b;
    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static bool is_due(const struct runlog *r, const struct baro_timeline_item *v, bool all_read)
{
    bool is_of_job = v->kind == BARO_TIMELINE_PHASE || v->kind == BARO_TIMELINE_MARK;
    return is_of_job && !r->written[v->id] && (!v->is_open || all_read);
}

/* Ids are those of all items so far. */
static bool grow_ids(struct runlog *r)
{
    size_t n = 0;
    for (size_t i = 0; i < baro_timeline_count(r->timeline); i++) {
        size_t id = baro_timeline_get(r->timeline, i)->id;
        n = id >= n ? id + 1 : n;
    }
    if (n <= r->n_written)
        return true;
    bool *at = realloc(r->written, n * sizeof(*at));
    if (!at)
        return false;
    memset(at + r->n_written, 0, (n - r->n_written) * sizeof(*at));
    r->written = at;
    r->n_written = n;
    return true;
}

int runlog_write(struct runlog *r, bool all_read, struct buf *ret)
{
    if (baro_timeline_finish(r->timeline, NULL) < 0 || !grow_ids(r))
        return -ENOMEM;
    size_t n = 0, count = baro_timeline_count(r->timeline);
    const struct baro_timeline_item **due = malloc((count + 1) * sizeof(*due));
    for (size_t i = 0; due && i < count; i++) {
        const struct baro_timeline_item *v = baro_timeline_get(r->timeline, i);
        if (is_due(r, v, all_read))
            due[n++] = v;
    }
    if (!due)
        return -ENOMEM;
    qsort(due, n, sizeof(*due), by_end);
    for (size_t i = 0; i < n; i++) {
        put_line(r, due[i], ret);
        r->written[due[i]->id] = true;
    }
    free(due);
    return ret->failed ? -ENOMEM : 0;
}
