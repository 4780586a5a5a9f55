/* SPDX-License-Identifier: Apache-2.0 */
#include "output/text/read_fact.h"

#include <string.h>

#include "base/fmt.h"
#include "output/rows/table.h"

struct baro_value report_row(const struct baro_summary *s, const char *section, const char *name, size_t row)
{
    struct baro_value v;
    baro_summary_value(s, baro_summary_fact_find(section, name), row, &v);
    return v;
}

struct baro_value report_fact(const struct baro_summary *s, const char *section, const char *name)
{
    return report_row(s, section, name, 0);
}

struct baro_value report_header(const struct baro_header *h, const char *name)
{
    struct baro_value v;
    if (baro_header_value(h, baro_header_fact_find(name), 0, &v) != BARO_PRESENT)
        v.text = "";
    return v;
}

size_t report_rows(const struct baro_summary *s, const char *section)
{
    return baro_summary_rows(s, baro_summary_section_find(section));
}

bool report_has_u64(const struct baro_summary *s, const char *section, const char *name, uint64_t *ret)
{
    struct baro_value v = report_fact(s, section, name);
    *ret = v.u64;
    return v.absent == BARO_PRESENT;
}

bool report_has_real(const struct baro_summary *s, const char *section, const char *name, double *ret)
{
    struct baro_value v = report_fact(s, section, name);
    *ret = v.real;
    return v.absent == BARO_PRESENT;
}

bool report_says_nothing(struct baro_value v)
{
    return v.absent || (v.flags & BARO_VALUE_LOWER_BOUND && !v.u64);
}

bool report_real_says_nothing(struct baro_value v)
{
    return v.flags & BARO_VALUE_LOWER_BOUND && v.real < 0.005;
}

void report_marked(struct buf *b, struct baro_value v, void (*format)(struct buf *, uint64_t))
{
    if (v.absent)
        return;
    if (report_says_nothing(v)) {
        buf_str(b, "not known");
        return;
    }
    buf_str(b, baro_value_prefix(v.flags, BARO_PREFIX_SYMBOL));
    format(b, v.u64);
}

void (*report_format(const struct baro_fact *fact))(struct buf *b, uint64_t v)
{
    return fact->unit == BARO_UNIT_NS ? fmt_duration : fact->unit == BARO_UNIT_BYTES ? fmt_bytes : fmt_count;
}

unsigned report_table_cell(struct table *t, const struct baro_fact *fact, const struct baro_value *v)
{
    struct buf cell = {0};
    bool is_real = fact->type == BARO_FACT_REAL;
    bool is_nothing = v->absent || (is_real && report_real_says_nothing(*v));
    buf_str(&cell, is_nothing ? "?" : baro_value_prefix(v->flags, BARO_PREFIX_SYMBOL));
    if (!is_nothing && is_real)
        fmt_decimal(&cell, v->real, 2);
    else if (!is_nothing)
        report_format(fact)(&cell, v->u64);
    table_take(t, &cell);
    buf_done(&cell);
    return is_nothing ? 0 : v->flags;
}

uint64_t report_u64(const struct baro_summary *s, const char *section, const char *name)
{
    return report_fact(s, section, name).u64;
}

bool report_is(const struct baro_summary *s, const char *section, const char *name)
{
    return report_fact(s, section, name).u64 != 0;
}

const char *report_text(const struct baro_summary *s, const char *section, const char *name)
{
    struct baro_value v = report_fact(s, section, name);
    return v.text ? v.text : "";
}

bool report_text_is(const struct baro_summary *s, const char *section, const char *name, const char *text)
{
    return strcmp(report_text(s, section, name), text) == 0;
}
