/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "libbaro/verdict/verdict_rule.h"

void find_title(struct finding *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buf_vprintf(&f->title, format, args);
    va_end(args);
}

void find_advice(struct finding *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buf_vprintf(&f->advice, format, args);
    va_end(args);
}

void find_brief(struct finding *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buf_vprintf(&f->brief, format, args);
    va_end(args);
}

void find_hint(struct finding *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buf_vprintf(&f->hint, format, args);
    va_end(args);
}

/* ---- words ---- */

double whole_down(double value)
{
    return value > 0 && value < 1e18 ? (double)(uint64_t)value : value > 0 ? value : 0;
}

double whole_up(double value)
{
    double down = whole_down(value);
    return down < value ? down + 1 : down;
}

static struct words words_of(struct buf *b)
{
    struct words w = {""};
    snprintf(w.at, sizeof(w.at), "%.*s", (int)b->len, b->at ? (const char *)b->at : "");
    buf_done(b);
    return w;
}

static struct buf marked(unsigned flags)
{
    struct buf b = {0};
    buf_str(&b, baro_value_prefix(flags & ~SIGNS, flags & SIGNS ? BARO_PREFIX_SYMBOL : BARO_PREFIX_WORDS));
    return b;
}

struct words words_duration(double ns, unsigned flags)
{
    struct buf b = marked(flags);
    fmt_duration(&b, whole_of(ns));
    return words_of(&b);
}

struct words words_bytes(double bytes, unsigned flags)
{
    struct buf b = marked(flags);
    fmt_bytes(&b, whole_of(bytes));
    return words_of(&b);
}

struct words words_limit(double bytes)
{
    struct buf b = {0};
    fmt_limit(&b, whole_of(bytes));
    return words_of(&b);
}

struct words words_count(double n, unsigned flags)
{
    struct buf b = marked(flags);
    fmt_count(&b, whole_of(n + 0.5));
    return words_of(&b);
}

struct words words_percent(double ratio, unsigned flags)
{
    struct buf b = marked(flags);
    fmt_decimal(&b, ratio * 100, ratio >= 0.0995 ? 0 : 1);
    buf_str(&b, " %");
    return words_of(&b);
}

struct words words_cores(double cores, unsigned flags)
{
    struct buf b = marked(flags);
    bool whole = cores - whole_down(cores + 0.005) < 0.005;
    fmt_decimal(&b, cores, whole ? 0 : cores < 0.995 ? 2 : 1);
    return words_of(&b);
}

struct words words_ranks_beside(const struct evidence *e)
{
    struct buf b = {0};
    if (e->ranks_beside >= 1)
        buf_printf(&b, ", %.0f other rank%s of the job among them,", e->ranks_beside, e->ranks_beside > 1 ? "s" : "");
    return words_of(&b);
}

struct words words_first(struct words w)
{
    if (w.at[0] >= 'a' && w.at[0] <= 'z')
        w.at[0] = (char)(w.at[0] - 'a' + 'A');
    return w;
}

/* ---- rows ---- */

static struct words words_of_unit(double value, unsigned flags, enum baro_unit unit)
{
    struct buf b;
    switch (unit) {
    case BARO_UNIT_NS: return words_duration(value, flags);
    case BARO_UNIT_BYTES: return words_bytes(value, flags);
    case BARO_UNIT_RATIO: return words_percent(value, flags);
    case BARO_UNIT_NONE: return words_count(value, flags);
    default:
        b = marked(flags);
        fmt_decimal(&b, value, 2);
        return words_of(&b);
    }
}

static struct finding_row *new_row(struct finding *f, const char *name)
{
    if (f->n_rows == FINDING_ROWS_MOST)
        return NULL;
    struct finding_row *row = &f->row[f->n_rows++];
    *row = (struct finding_row){.name = name};
    return row;
}

void find_number(struct finding *f, const char *name, double value, unsigned flags, enum baro_unit unit)
{
    struct finding_row *row = isnan(value) ? NULL : new_row(f, name);
    if (!row)
        return;
    row->value = value;
    row->unit = unit;
    row->flags = flags;
    buf_str(&row->text, words_of_unit(value, flags | SIGNS, unit).at);
}

void find_text(struct finding *f, const char *name, const char *text)
{
    struct finding_row *row = *text ? new_row(f, name) : NULL;
    if (!row)
        return;
    row->value = NAN;
    buf_str(&row->text, text);
}

void finding_done(struct finding *f)
{
    buf_done(&f->title);
    buf_done(&f->advice);
    buf_done(&f->brief);
    buf_done(&f->hint);
    for (size_t i = 0; i < f->n_rows; i++)
        buf_done(&f->row[i].text);
    memset(f, 0, sizeof(*f));
}
