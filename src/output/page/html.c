/* SPDX-License-Identifier: Apache-2.0 */
/* Writes text for each of its contexts, and values as text. */
#include <string.h>

#include "base/fmt.h"
#include "output/page/parts.h"
#include "output/rows/escaped.h"
#include "base/command_line.h"
#include "output/text/read_fact.h"
#include "output/text/summary_text.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns the length of the unit that begins here; 0: none does. */
static size_t unit_at(const char *at, size_t len)
{
    static const char *const units[] = {"ns",  "µs",  "ms",  "s",    "min",  "h",    "B",    "kB",   "MB", "GB",
                                        "TB",  "PB",  "EB",  "KiB",  "MiB",  "GiB",  "TiB",  "%",    "°C", "GHz",
                                        "pss", "rss", "uss", "kB/s", "MB/s", "GB/s", "core", "cores"};
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        size_t n = strlen(units[i]);
        if (n > len || memcmp(at, units[i], n) != 0)
            continue;
        if (n == len || strchr(" .,;:)", at[n]))
            return n;
    }
    return 0;
}

/* Joins spaces before a unit and within a duration, so that no line ends there: "4 min 27 s" has three. */
static bool is_joined(const char *at, size_t len, size_t space)
{
    if (!space || space + 1 == len)
        return false;
    if (is_digit(at[space - 1]))
        return unit_at(at + space + 1, len - space - 1) > 0;
    size_t n = at[space - 1] == 'h' ? 1 : space > 3 && memcmp(at + space - 3, "min", 3) == 0 ? 3 : 0;
    return n && space > n + 1 && at[space - n - 1] == ' ' && is_digit(at[space - n - 2]) && is_digit(at[space + 1]);
}

void page_prose(struct buf *html, const char *at, size_t len)
{
    size_t from = 0;
    for (size_t i = 0; i <= len; i++) {
        if (i < len && at[i] != ' ')
            continue;
        bool is_option = i - from > 2 && memcmp(at + from, "--", 2) == 0;
        buf_str(html, is_option ? "<span class=\"nb\">" : "");
        chart_xml_escaped(html, at + from, i - from);
        buf_str(html, is_option ? "</span>" : "");
        if (i < len)
            buf_str(html, is_joined(at, len, i) ? "\302\240" : " ");
        from = i + 1;
    }
}

void page_prose_done(struct buf *html, struct buf *b)
{
    page_prose(html, (const char *)b->at, b->failed ? 0 : b->len);
    html->failed = html->failed || b->failed;
    buf_done(b);
}

void page_prose_string(struct buf *html, const char *text)
{
    struct buf b = {0};
    text_escaped(&b, text, strlen(text));
    page_prose_done(html, &b);
}

void page_moment(const struct page *p, struct buf *html, uint64_t t_ns)
{
    fmt_moment(html, t_ns > p->start_ns ? t_ns - p->start_ns : 0);
}

void page_duration(struct buf *html, uint64_t ns)
{
    struct buf b = {0};
    fmt_duration(&b, ns);
    page_prose_done(html, &b);
}

void page_string(struct buf *html, const char *text)
{
    chart_xml_text(html, text, strlen(text));
}

/* These characters occur only within strings of JSON, where escapes may stand for them. */
void page_script_json(struct buf *html, const char *json, size_t len)
{
    size_t from = 0;
    for (size_t i = 0; i < len; i++) {
        if (json[i] != '<' && json[i] != '>' && json[i] != '&')
            continue;
        buf_add(html, json + from, i - from);
        buf_printf(html, "\\u%04x", (unsigned)json[i]);
        from = i + 1;
    }
    buf_add(html, json + from, len - from);
}

void page_flush(struct page *p, bool all)
{
    if (p->html.failed || p->code < 0 || (!all && p->html.len < 65536))
        return;
    p->code = p->html.len ? p->sink(p->context, (const char *)p->html.at, p->html.len) : 0;
    buf_clear(&p->html);
}

void page_begin_section(struct page *p, const char *id, const char *title)
{
    buf_printf(&p->html, "<section id=\"%s\" aria-labelledby=\"h-%s\">\n<h2 id=\"h-%s\">%s</h2>\n", id, id, id, title);
}

void page_end_section(struct page *p)
{
    buf_str(&p->html, "</section>\n");
    page_flush(p, false);
}

void page_mark(struct buf *html, unsigned flags)
{
    const char *mark = baro_value_prefix(flags, BARO_PREFIX_SYMBOL);
    if (*mark)
        buf_printf(html, "<small title=\"%s\">%s</small>", baro_value_prefix(flags, BARO_PREFIX_WORDS), mark);
}

static void value_text(struct buf *b, const struct baro_fact *fact, const struct baro_value *v)
{
    if (fact->type == BARO_FACT_TIME)
        fmt_time_utc(b, v->i64);
    else if (fact->type == BARO_FACT_BOOLEAN)
        buf_str(b, v->u64 ? "yes" : "no");
    else if (fact->type == BARO_FACT_REAL && fact->unit == BARO_UNIT_RATIO) {
        fmt_decimal(b, v->real * 100, v->real < 0.0995 ? 2 : 1);
        buf_str(b, " %");
    } else if (fact->type == BARO_FACT_REAL)
        fmt_decimal(b, v->real, v->real < 10 ? 2 : 1);
    else if (fact->type == BARO_FACT_SIGNED)
        buf_printf(b, "%lld", (long long)v->i64);
    else
        report_format(fact)(b, v->u64);
}

static void present(struct buf *html, const struct baro_fact *fact, const struct baro_value *v)
{
    struct buf b = {0};
    page_mark(html, v->flags);
    if (fact->type == BARO_FACT_TEXT) {
        page_string(html, v->text);
        return;
    }
    value_text(&b, fact, v);
    page_prose_done(html, &b);
}

void page_value(struct buf *html, const struct baro_fact *fact, const struct baro_value *v)
{
    if (v->absent == BARO_ABSENT_NONE) {
        buf_str(html, "<span class=\"none\">none</span>");
    } else if (v->absent) {
        buf_printf(html, "<span class=\"absent\" title=\"%s\">%s</span>", report_reason(v->absent),
                   baro_absent_name((enum baro_absent)v->absent));
    } else if (fact->type == BARO_FACT_UNSIGNED && report_says_nothing(*v)) {
        buf_str(html, "<span class=\"absent\" title=\"≥0\">not known</span>");
    } else {
        present(html, fact, v);
    }
}

void page_unknown_cell(struct buf *html)
{
    buf_str(html, "<td class=\"n absent\" title=\"not known\">\342\200\223</td>");
}

void page_begin_number(struct buf *html, unsigned flags)
{
    const char *words = baro_value_prefix(flags, BARO_PREFIX_WORDS);
    if (*words)
        buf_printf(html, "<td class=\"n off\" title=\"%.*s\"", (int)strlen(words) - 1, words); /* without its blank */
    else
        buf_str(html, "<td class=\"n\"");
}

static void sort_key(struct buf *html, const struct baro_fact *fact, const struct baro_value *v)
{
    buf_str(html, " data-v=\"");
    if (fact->type == BARO_FACT_REAL)
        buf_printf(html, "%.17g", v->real);
    else if (fact->type == BARO_FACT_UNSIGNED)
        buf_u64(html, v->u64);
    else
        buf_printf(html, "%lld", (long long)v->i64);
    buf_byte(html, '"');
}

static bool is_text(const struct baro_fact *fact)
{
    return fact->type == BARO_FACT_TEXT || fact->type == BARO_FACT_BOOLEAN;
}

void page_fact_cell(struct buf *html, const struct baro_fact *fact, const struct baro_value *v)
{
    buf_str(html, is_text(fact) ? "<td" : "<td class=\"n\"");
    if (!v->absent && !is_text(fact))
        sort_key(html, fact, v);
    buf_byte(html, '>');
    page_value(html, fact, v);
    buf_str(html, "</td>");
}

void page_value_cell(struct buf *html, const struct baro_fact *fact, const struct baro_value *v)
{
    struct baro_value plain = *v;
    plain.flags = 0;
    if (is_text(fact) || (v->absent && v->absent != BARO_ABSENT_UNKNOWN)) {
        page_fact_cell(html, fact, v);
    } else if (v->absent || (fact->type == BARO_FACT_UNSIGNED && report_says_nothing(*v))) {
        page_unknown_cell(html);
    } else {
        page_begin_number(html, v->flags);
        sort_key(html, fact, v);
        buf_byte(html, '>');
        page_value(html, fact, &plain);
        buf_str(html, "</td>");
    }
}

static unsigned color_in(const struct page *p, const char *figure, const char *command)
{
    const struct chart *c = p->figures ? figures_find(p->figures, figure) : NULL;
    for (size_t i = 0; c && i < c->n_curves; i++) {
        if (c->curves[i].shape == CHART_STACK && strcmp(c->curves[i].name, command) == 0)
            return c->curves[i].color;
    }
    return CHART_COLOR_OTHERS;
}

unsigned page_color(const struct page *p, const char *command)
{
    return color_in(p, "cpu", command);
}

unsigned page_task_color(const struct page *p, const char *task)
{
    return color_in(p, "cpu_tasks", task);
}

void page_percent(const struct page *p, struct buf *html, uint64_t t_ns)
{
    t_ns = t_ns < p->from_ns ? p->from_ns : t_ns > p->to_ns ? p->to_ns : t_ns;
    fmt_decimal(html, 100 * (double)(t_ns - p->from_ns) / (double)(p->to_ns - p->from_ns), 3);
}

void page_status(struct buf *html, const struct life *life)
{
    if (life->has & LIFE_STATUS)
        report_status(life->status, html);
}

void page_life_name(const struct page *p, struct buf *html, const struct life *life)
{
    const char *name = names_at(&p->lives.names, life->name);
    page_string(html, *name ? name : "(not known)");
}

void page_life_label(const struct page *p, struct buf *html, const struct life *life)
{
    if (life->label == NAMES_NONE)
        return;
    buf_str(html, " <small>");
    page_string(html, names_at(&p->lives.names, life->label));
    buf_str(html, "</small>");
}

void page_command_cell(const struct page *p, struct buf *html, const struct life *life)
{
    struct command_line c;
    buf_str(html, "<td class=\"cmd\"");
    if (life->cmdline != NAMES_NONE) {
        const char *line = names_at(&p->lives.names, life->cmdline);
        command_line_read(line, PAGE_CMDLINE_MOST, &c);
        if (c.program.at > line) {
            buf_str(html, " title=\"");
            chart_xml_text(html, line, (size_t)(c.program.at - line) + c.program.len);
            buf_byte(html, '"');
        }
        buf_byte(html, '>');
        chart_xml_text(html, c.program.at, c.program.len);
        chart_xml_text(html, c.rest.at, c.rest.len);
    } else {
        buf_byte(html, '>');
    }
    buf_str(html, "</td>");
}
