/* SPDX-License-Identifier: Apache-2.0 */
/* The member `verdicts` of `baro summary --json`: docs/json.md. */
#include <errno.h>
#include <math.h>

#include "base/error.h"
#include "base/json.h"
#include "libbaro/summary/summary.h"
#include "libbaro/verdict/verdict.h"

static void write_evidence(struct json *j, const struct baro_evidence *e)
{
    bool is_text = e->unit == BARO_UNIT_NONE && isnan(e->value);
    json_begin(j, '{');
    json_key_text(j, "name", e->name);
    json_key(j, "value");
    json_double_or_null(j, !is_text, e->value);
    json_key_text(j, "mark", baro_value_mark(e->flags));
    json_key_text(j, "unit", baro_unit_name(e->unit));
    json_key_text(j, "text", e->text);
    json_end(j, '}');
}

static void write_verdict(struct json *j, const struct baro_verdict *v)
{
    json_begin(j, '{');
    json_key_text(j, "rule", v->rule);
    json_key_text(j, "weight", baro_verdict_weight_name(v->weight));
    json_key_text(j, "brief", v->brief);
    json_key_text(j, "hint", *v->hint ? v->hint : NULL);
    json_key_text(j, "title", v->title);
    json_key_text(j, "advice", *v->advice ? v->advice : NULL);
    json_key_text(j, "phase", v->phase);
    json_key_u64(j, "begin_ns", v->begin_ns);
    json_key_u64(j, "end_ns", v->end_ns);
    json_key_begin(j, "evidence", '[');
    for (size_t i = 0; i < v->evidence_count; i++)
        write_evidence(j, &v->evidence[i]);
    json_end(j, ']');
    json_end(j, '}');
}

int baro_verdicts_json(const struct baro_verdicts *verdicts, const struct baro_summary *summary, const char *tape_name,
                       baro_sink *sink, void *context, struct baro_error *err)
{
    struct buf text = {0};
    struct json json = {.out = &text, .pretty = true};
    json_begin(&json, '{');
    if (summary)
        summary_json_members(summary, tape_name, &json);
    json_key_begin(&json, "verdicts", '[');
    for (size_t i = 0; i < baro_verdicts_count(verdicts); i++)
        write_verdict(&json, baro_verdicts_get(verdicts, i));
    json_end(&json, ']');
    json_end(&json, '}');
    int code = text.failed ? error_set(err, -ENOMEM, "out of memory") : sink(context, (const char *)text.at, text.len);
    buf_done(&text);
    return code;
}
