/* SPDX-License-Identifier: Apache-2.0 */
/* Several tapes as one JSON object: docs/json.md has its members. */
#include "programs/baro-report/several.h"

static void put_total(struct json *j, const char *key, const struct baro_combined *c)
{
    json_key(j, key);
    json_u64_or_null(j, c->known, c->value.u64);
}

static void put_mark(struct json *j, const char *key, const struct baro_combined *c)
{
    if (c->known && baro_value_mark(c->value.flags))
        json_key_text(j, key, baro_value_mark(c->value.flags));
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
    put_total(&j, "cpu_ns", &s->cpu);
    put_total(&j, "processes_started", &s->processes);
    put_total(&j, "rss_peak_most_bytes", &s->rss);
    json_key_begin(&j, "marks", '{');
    put_mark(&j, "cpu_ns", &s->cpu);
    put_mark(&j, "processes_started", &s->processes);
    put_mark(&j, "rss_peak_most_bytes", &s->rss);
    json_end(&j, '}');
    json_end(&j, '}');
    json_end(&j, '}');
}
