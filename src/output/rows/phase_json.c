/* SPDX-License-Identifier: Apache-2.0 */
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
