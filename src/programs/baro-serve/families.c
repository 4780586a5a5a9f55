/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/families.h"

#include <stdio.h>
#include <string.h>

#include "output/rows/escaped.h"

static void add_quoted(struct buf *b, const char *text)
{
    struct buf safe = {0};
    text_escaped(&safe, text, strlen(text));
    for (size_t i = 0; i < safe.len; i++) {
        if (safe.at[i] == '"' || safe.at[i] == '\\')
            buf_byte(b, '\\');
        buf_byte(b, safe.at[i]);
    }
    b->failed = b->failed || safe.failed;
    buf_done(&safe);
}

void family_label(struct buf *b, const char *name, const char *value)
{
    buf_byte(b, b->len ? ',' : '{');
    buf_str(b, name);
    buf_str(b, "=\"");
    add_quoted(b, value);
    buf_byte(b, '"');
}

void family_begin(struct families *s, const char *name, const char *unit, bool is_counter, const char *help)
{
    const char *total = is_counter && !s->is_open_metrics ? "_total" : "";
    buf_printf(s->out, "# HELP %s%s ", name, total);
    for (const char *c = help; *c; c++) {
        if (*c == '\\' || (*c == '"' && s->is_open_metrics))
            buf_byte(s->out, '\\');
        buf_byte(s->out, (uint8_t)(*c == '\n' ? ' ' : *c));
    }
    buf_printf(s->out, "\n# TYPE %s%s %s\n", name, total, is_counter ? "counter" : "gauge");
    if (s->is_open_metrics && *unit)
        buf_printf(s->out, "# UNIT %s %s\n", name, unit);
}

void family_value(struct families *s, const char *name, bool is_counter, struct buf *labels, double v)
{
    buf_str(s->out, name);
    buf_str(s->out, is_counter ? "_total" : "");
    if (labels->len)
        buf_byte(labels, '}');
    buf_add(s->out, labels->at, labels->len);
    buf_byte(s->out, ' ');
    buf_double(s->out, v);
    buf_byte(s->out, '\n');
    s->out->failed = s->out->failed || labels->failed;
    buf_clear(labels);
}

struct family family_of(const char *kind, const struct baro_metric *m)
{
    struct family f = {.is_counter = m->semantics == BARO_SEM_COUNTER,
                       .unit = baro_unit_base(m->unit),
                       .divisor = baro_unit_divisor(m->unit),
                       .is_there = m->unit != BARO_UNIT_CHAR && m->unit != BARO_UNIT_ENTITY};
    snprintf(f.name, sizeof(f.name), "baro_%s_%s%s%s", kind, m->stem, *f.unit ? "_" : "", f.unit);
    return f;
}
