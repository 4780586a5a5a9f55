/* SPDX-License-Identifier: Apache-2.0 */
/* Several tapes as one JSON object: docs/json.md has its members. */
#include <stdio.h>

#include "programs/baro-report/several.h"

static void put_sum(struct json *j, const char *name, const char *unit, bool is_known, struct baro_value v)
{
    char key[64];
    snprintf(key, sizeof(key), "%s%s", name, unit);
    json_key(j, key);
    if (is_known)
        json_u64(j, v.u64);
    else
        json_null(j);
    snprintf(key, sizeof(key), "%s_is_lower_bound", name);
    json_key_bool(j, key, v.flags & BARO_VALUE_LOWER_BOUND);
    snprintf(key, sizeof(key), "%s_is_estimate", name);
    json_key_bool(j, key, v.flags & (BARO_VALUE_ESTIMATE | BARO_VALUE_UPPER_BOUND));
}

void several_json(const struct several *s, struct buf *ret)
{
    struct json j = {.out = ret};
    json_begin(&j, '{');
    json_key_u64(&j, "format", 2);
    json_key_begin(&j, "tapes", '[');
    for (size_t i = 0; i < s->list.n; i++) {
        const struct listed_tape *t = &s->list.at[i];
        json_begin(&j, '{');
        json_key_text(&j, "path", t->path);
        json_key_text(&j, "error", t->is_unread ? t->reason.text : NULL);
        json_key(&j, "report");
        if (t->is_unread)
            json_null(&j);
        else
            json_raw(&j, (const char *)t->section.at, t->section.len);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_key_begin(&j, "totals", '{');
    json_key_u64(&j, "tapes", s->list.n);
    json_key_u64(&j, "tapes_read", s->read);
    json_key_u64(&j, "tapes_running", s->running);
    put_sum(&j, "cpu", "_ns", s->cpu.of, (struct baro_value){.u64 = s->cpu.value, .flags = s->cpu.flags});
    put_sum(&j, "processes_started", "", s->processes.of,
            (struct baro_value){.u64 = s->processes.value, .flags = s->processes.flags});
    put_sum(&j, "rss_peak_most", "_bytes", s->of_rss, s->rss);
    json_end(&j, '}');
    json_end(&j, '}');
}
