/* SPDX-License-Identifier: Apache-2.0 */
#include "page/page.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/fmt.h"

void page_text(struct buf *html, const char *at, size_t len)
{
    struct buf safe = {0};
    buf_escaped(&safe, at, len);
    for (size_t i = 0; i < safe.len; i++) {
        switch (safe.at[i]) {
        case '&': buf_str(html, "&amp;"); break;
        case '<': buf_str(html, "&lt;"); break;
        case '>': buf_str(html, "&gt;"); break;
        case '"': buf_str(html, "&quot;"); break;
        case '\'': buf_str(html, "&#39;"); break;
        default: buf_byte(html, safe.at[i]);
        }
    }
    html->failed = html->failed || safe.failed;
    buf_done(&safe);
}

static void text(struct buf *html, const char *s)
{
    page_text(html, s, strlen(s));
}

static void number(struct buf *html, const struct baro_fact *fact, const struct baro_value *v)
{
    if (fact->type == BARO_FACT_BOOLEAN)
        buf_str(html, v->u64 ? "yes" : "no");
    else if (fact->type == BARO_FACT_REAL)
        fmt_decimal(html, v->real, 3);
    else if (fact->type == BARO_FACT_SIGNED)
        buf_printf(html, "%lld", (long long)v->i64);
    else if (fact->unit == BARO_UNIT_BYTES)
        fmt_bytes(html, v->u64);
    else if (fact->unit == BARO_UNIT_NS)
        fmt_duration(html, v->u64);
    else
        fmt_count(html, v->u64);
}

static void cell(struct buf *html, const struct baro_summary *summary, int id, size_t row)
{
    const struct baro_fact *fact = baro_summary_fact(id);
    struct baro_value v;
    baro_summary_value(summary, id, row, &v);
    buf_str(html, "<td>");
    if (v.absent == BARO_ABSENT_NONE)
        buf_str(html, "&ndash;");
    else if (v.absent)
        text(html, baro_absent_name((enum baro_absent)v.absent));
    else if (v.flags & BARO_VALUE_LOWER_BOUND)
        buf_str(html, "at least ");
    else if (v.flags & BARO_VALUE_ESTIMATE)
        buf_str(html, "about ");
    if (!v.absent && fact->type == BARO_FACT_TEXT)
        text(html, v.text);
    else if (!v.absent && fact->type == BARO_FACT_TIME)
        fmt_time_utc(html, v.i64);
    else if (!v.absent)
        number(html, fact, &v);
    buf_str(html, "</td>");
}

static void heading_cell(struct buf *html, const struct baro_fact *fact)
{
    buf_str(html, "<th title=\"");
    text(html, fact->help);
    buf_str(html, "\">");
    text(html, fact->name);
    buf_str(html, "</th>");
}

static void table(struct buf *html, const struct baro_summary *summary, const struct baro_section *section, int id)
{
    buf_str(html, "<tr>");
    for (int i = 0; i < section->fact_count; i++)
        heading_cell(html, baro_summary_fact(section->first_fact + i));
    buf_str(html, "</tr>\n");
    for (size_t row = 0; row < baro_summary_rows(summary, id); row++) {
        buf_str(html, "<tr>");
        for (int i = 0; i < section->fact_count; i++)
            cell(html, summary, section->first_fact + i, row);
        buf_str(html, "</tr>\n");
    }
}

static void list(struct buf *html, const struct baro_summary *summary, const struct baro_section *section)
{
    for (int i = 0; i < section->fact_count; i++) {
        buf_str(html, "<tr>");
        heading_cell(html, baro_summary_fact(section->first_fact + i));
        cell(html, summary, section->first_fact + i, 0);
        buf_str(html, "</tr>\n");
    }
}

static void sections(struct buf *html, const struct baro_summary *summary)
{
    for (int i = 0; i < baro_summary_section_count(); i++) {
        const struct baro_section *section = baro_summary_section(i);
        if (!baro_summary_rows(summary, i))
            continue;
        buf_str(html, "<h2>");
        text(html, *section->name ? section->name : "recording");
        buf_str(html, "</h2>\n<table>\n");
        if (section->is_table)
            table(html, summary, section, i);
        else
            list(html, summary, section);
        buf_str(html, "</table>\n");
    }
}

int page_write(struct baro_tape *tape, const struct page_options *options, baro_sink *sink, void *context,
               struct baro_error *err)
{
    struct baro_summary *summary;
    struct buf html = {0};
    int r = baro_summary_of_tape(tape, &summary, err);
    if (r < 0)
        return r;
    buf_str(&html, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>");
    text(&html, options->tape_name);
    buf_str(&html, "</title>\n</head>\n<body>\n<h1>");
    text(&html, options->tape_name);
    buf_str(&html, "</h1>\n");
    sections(&html, summary);
    buf_str(&html, "</body>\n</html>\n");
    r = html.failed ? error_set(err, -ENOMEM, "out of memory") : sink(context, (const char *)html.at, html.len);
    buf_done(&html);
    baro_summary_free(summary);
    return r;
}
