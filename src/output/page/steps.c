/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of the job and the chain of last finishers as a table. */
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "output/page/parts.h"
#include "output/text/lines.h"
#include "output/text/steps.h"

#define STEPS_SHOWN 60u
#define NAME_MOST 160u /* bytes */

bool page_has_steps(const struct page *p)
{
    size_t steps = 0;
    for (size_t i = 0; i < baro_steps_count(p->steps) && steps < 2; i++)
        steps += baro_steps_get(p->steps, i)->pid && !baro_steps_get(p->steps, i)->is_driver;
    return steps > 1;
}

void page_step_name(struct page *p, ptrdiff_t step)
{
    struct buf name = {0};
    report_step_name(baro_steps_get(p->steps, (size_t)step), NAME_MOST, &name);
    chart_xml_text(&p->html, (const char *)name.at, name.len);
    buf_done(&name);
}

/* The links of each step: how long they are, and what the last of them waited for. */
struct in_chain {
    uint64_t ns;
    const struct baro_step_link *link;
};

static struct in_chain *find_links(const struct page *p)
{
    struct in_chain *at = calloc(baro_steps_count(p->steps) + 1, sizeof(*at));
    for (size_t i = 0; at && i < baro_steps_links(p->steps); i++) {
        const struct baro_step_link *l = baro_steps_link(p->steps, i);
        if (l->step < 0)
            continue;
        at[l->step].ns += l->end_ns - l->begin_ns;
        at[l->step].link = l;
    }
    return at;
}

static void row(struct page *p, size_t i, const struct in_chain *chain)
{
    static const char *const facts[] = {"responsible_ns", "wall_ns",        "cpu_ns",
                                        "run_delay_ns",   "rss_peak_bytes", "processes"};
    const struct baro_step *step = baro_steps_get(p->steps, i);
    struct buf *html = &p->html;
    buf_str(html, "<tr data-k=\"");
    page_string(html, step->name);
    buf_str(html, "\"><td class=\"cmd\"");
    if (step->cmdline) {
        buf_str(html, " title=\"");
        chart_xml_text(html, step->cmdline, strnlen(step->cmdline, PAGE_CMDLINE_MOST));
        buf_byte(html, '"');
    }
    buf_byte(html, '>');
    page_step_name(p, (ptrdiff_t)i);
    buf_printf(html, "</td><td class=\"n\" data-v=\"%llu\">", (unsigned long long)step->begin_ns);
    page_moment(p, html, step->begin_ns);
    buf_str(html, "</td>");
    for (size_t k = 0; k < sizeof(facts) / sizeof(*facts); k++) {
        struct baro_value v;
        baro_fact_id fact = baro_steps_fact_find(facts[k]);
        baro_steps_value(p->steps, i, fact, &v);
        page_value_cell(html, baro_steps_fact(fact), &v);
    }
    buf_printf(html, "<td class=\"n\" data-v=\"%llu\">", (unsigned long long)chain->ns);
    if (chain->link)
        fmt_duration(html, chain->ns);
    buf_printf(html, "</td><td>%s</td></tr>\n", chain->link ? report_link_after(chain->link) : "");
}

void page_steps(struct page *p)
{
    size_t n = baro_steps_count(p->steps), shown = n < STEPS_SHOWN ? n : STEPS_SHOWN;
    struct in_chain *chain = page_has_steps(p) ? find_links(p) : NULL;
    if (!chain)
        return;
    page_begin_table(p, "steps", "Steps",
                     "step|began>|responsible>|wall>|cpu>|wait>|peak rss>|processes>|in the chain>|waited for");
    for (size_t i = 0; i < shown; i++)
        row(p, i, &chain[i]);
    page_end_table(p, shown, n, "steps");
    free(chain);
}
