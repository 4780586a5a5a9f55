/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/wait.h>

#include "output/rows/csv_json.h"

void json_fact(struct json *j, const struct baro_fact *fact, const struct baro_value *v)
{
    json_key(j, fact->name);
    if (v->absent) {
        json_null(j);
        return;
    }
    switch (fact->type) {
    case BARO_FACT_UNSIGNED: json_u64(j, v->u64); break;
    case BARO_FACT_BOOLEAN: json_bool(j, v->u64 != 0); break;
    case BARO_FACT_SIGNED:
    case BARO_FACT_TIME: json_i64(j, v->i64); break;
    case BARO_FACT_REAL: json_double(j, v->real); break;
    case BARO_FACT_TEXT: json_text(j, v->text); break;
    }
}

/* Writes an object with what `say` says of the facts of a phase; nothing if it says nothing. */
static void put_said(struct json *j, const struct baro_timeline *t, size_t item, const char *key,
                     const char *say(const struct baro_value *v))
{
    struct baro_value v;
    bool any = false;
    for (int f = 0; f < baro_timeline_fact_count(); f++) {
        baro_timeline_value(t, item, f, &v);
        if (!say(&v))
            continue;
        if (!any)
            json_key_begin(j, key, '{');
        any = true;
        json_key_text(j, baro_timeline_fact(f)->name, say(&v));
    }
    if (any)
        json_end(j, '}');
}

static const char *mark_of(const struct baro_value *v)
{
    return baro_value_mark(v->flags);
}

static const char *reason_of(const struct baro_value *v)
{
    return v->absent == BARO_PRESENT || v->absent == BARO_ABSENT_NONE ? NULL : baro_absent_name(v->absent);
}

void json_phase_facts(const struct baro_timeline *t, size_t item, struct json *j)
{
    struct baro_value v;
    for (int f = 0; f < baro_timeline_fact_count(); f++) {
        baro_timeline_value(t, item, f, &v);
        json_fact(j, baro_timeline_fact(f), &v);
    }
    put_said(j, t, item, "marks", mark_of);
    put_said(j, t, item, "absent", reason_of);
}

/* Adds an attribute as a member to an open object; null if a later version added its type. */
static void json_attribute(const struct baro_attribute *a, struct json *j)
{
    json_key(j, a->name);
    switch (a->type) {
    case BARO_ATTRIBUTE_UNSIGNED: json_u64(j, a->u64); break;
    case BARO_ATTRIBUTE_SIGNED: json_i64(j, a->i64); break;
    case BARO_ATTRIBUTE_REAL: json_double(j, a->real); break;
    case BARO_ATTRIBUTE_TEXT: json_text(j, a->text); break;
    case BARO_ATTRIBUTE_BOOLEAN: json_bool(j, a->u64); break;
    case BARO_ATTRIBUTE_JSON: json_embed(j, a->text); break;
    default: json_null(j); /* a type of a later version */
    }
}

void json_attributes(const struct baro_timeline_item *item, struct json *j)
{
    json_begin(j, '{');
    for (size_t i = 0; i < item->attribute_count; i++)
        json_attribute(&item->attribute[i], j);
    json_end(j, '}');
}

/* Adds a text that the library writes as snprintf(3) does. */
static void put_path(struct json *j, const struct baro_timeline *t, size_t item)
{
    struct buf b = {0};
    size_t len = baro_timeline_path(t, item, NULL, 0);
    if (buf_reserve(&b, len + 1))
        baro_timeline_path(t, item, (char *)b.at, len + 1);
    if (b.failed)
        json_null(j);
    else
        json_text_n(j, (const char *)b.at, len);
    buf_done(&b);
}

/* One of the two is null, or both: the phase has no command, or it is not known how that ended. */
static void put_status(struct json *j, const struct baro_timeline *t, size_t item)
{
    int status = 0;
    bool is_known = baro_timeline_status(t, item, &status) == BARO_PRESENT, killed = WIFSIGNALED(status);
    json_key(j, "status");
    json_u64_or_null(j, is_known && !killed, (uint64_t)WEXITSTATUS(status));
    json_key_text(j, "signal", is_known && killed ? baro_signal_name(WTERMSIG(status)) : NULL);
}

void json_phase(const struct baro_timeline *t, size_t item, struct json *j)
{
    const struct baro_timeline_item *v = baro_timeline_get(t, item);
    json_begin(j, '{');
    json_key_text(j, "name", v->name);
    json_key(j, "path");
    put_path(j, t, item);
    json_key(j, "parent");
    if (v->parent >= 0)
        put_path(j, t, (size_t)v->parent);
    else
        json_null(j);
    json_key_u64(j, "begin_ns", v->begin_ns);
    json_key_u64(j, "end_ns", v->end_ns);
    json_key_bool(j, "is_open", v->is_open);
    json_key_bool(j, "begins_before", v->begins_before);
    json_key_i64(j, "depth", v->depth);
    put_status(j, t, item);
    json_key(j, "attributes");
    json_attributes(v, j);
    json_phase_facts(t, item, j);
    json_end(j, '}');
}

static void put_phases(struct json *j, const struct baro_timeline *t)
{
    json_key_begin(j, "phases", '[');
    for (size_t i = 0; i < baro_timeline_count(t); i++) {
        if (baro_timeline_get(t, i)->kind == BARO_TIMELINE_PHASE)
            json_phase(t, i, j);
    }
    json_end(j, ']');
}

static int to_buf(void *context, const char *text, size_t len)
{
    buf_add(context, text, len);
    return 0;
}

/* The library writes an object without phases; it is opened again at its end. */
int json_summary(const struct baro_fold *fold, const char *path, struct buf *ret, struct baro_error *err)
{
    struct json j = {.out = ret, .pretty = true, .depth = 1, .some = {[1] = true}};
    int code = baro_verdicts_json(baro_fold_verdicts(fold), baro_fold_summary(fold), path, to_buf, ret, err);
    if (code < 0)
        return code;
    while (ret->len && strchr("}\n", ret->at[ret->len - 1]))
        ret->len--;
    put_phases(&j, baro_fold_timeline(fold));
    json_end(&j, '}');
    return 0;
}
