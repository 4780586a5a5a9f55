/* SPDX-License-Identifier: Apache-2.0 */
/* Completeness and cost of the recording; and a searchable table of all facts of the summary. */
#include "output/page/parts.h"

static void fact_row(struct page *p, const struct baro_section *section, int id)
{
    struct buf *html = &p->html;
    const struct baro_fact *fact = baro_summary_fact(id);
    struct baro_value v;
    baro_summary_value(p->summary, id, 0, &v);
    buf_printf(html, "<tr><th scope=\"row\">%s%s%s</th>", section->name, *section->name ? "." : "", fact->name);
    page_fact_cell(html, fact, &v);
    buf_str(html, "<td class=\"help\">");
    page_string(html, fact->help);
    buf_str(html, "</td></tr>\n");
}

void page_facts(struct page *p)
{
    struct buf *html = &p->html;
    page_begin_section(p, "complete", "How complete this is");
    page_words(p, true);
    buf_str(html, "<details><summary>All figures</summary><div class=\"tw\"><table class=\"facts\" "
                  "data-table=\"facts\"><thead><tr>"
                  "<th scope=\"col\">figure</th><th scope=\"col\" class=\"n\">value</th><th "
                  "scope=\"col\">meaning</th></tr></thead><tbody>\n");
    for (int i = 0; i < baro_summary_section_count(); i++) {
        const struct baro_section *section = baro_summary_section(i);
        for (int k = 0; !section->is_table && k < section->fact_count; k++)
            fact_row(p, section, section->first_fact + k);
    }
    buf_str(html, "</tbody></table></div></details>\n");
    page_end_section(p);
}
