/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the verdicts: what held the job up, what ended it, and what to ask for next time, with evidence. */
#include "output/page/parts.h"

static void evidence(struct page *p, const struct baro_verdict *v)
{
    struct buf *html = &p->html;
    if (!v->evidence_count)
        return;
    buf_str(html, "<details><summary>evidence</summary><table><tbody>\n");
    for (size_t i = 0; i < v->evidence_count; i++) {
        buf_str(html, "<tr><th scope=\"row\">");
        page_string(html, v->evidence[i].name);
        buf_str(html, "</th><td class=\"n\">");
        page_string(html, v->evidence[i].text);
        buf_str(html, "</td></tr>\n");
    }
    buf_str(html, "</tbody></table><p class=\"hint\">rule <code>");
    page_string(html, v->rule);
    buf_str(html, "</code></p></details>\n");
}

static void verdict(struct page *p, const struct baro_verdict *v)
{
    struct buf *html = &p->html;
    const char *weight = baro_verdict_weight_name(v->weight);
    buf_printf(html,
               "<li class=\"v-%s\" data-b=\"%llu\" data-e=\"%llu\"><span class=\"tag\">%s</span><div><p class=\"vt\">",
               weight, (unsigned long long)v->begin_ns, (unsigned long long)v->end_ns, weight);
    page_prose_string(html, v->title);
    if (v->phase) {
        buf_str(html, " <span class=\"in-phase\">in ");
        page_string(html, v->phase);
        buf_str(html, "</span>");
    }
    buf_str(html, "</p>");
    if (v->advice && *v->advice) {
        buf_str(html, "<p class=\"va\">");
        page_prose_string(html, v->advice);
        buf_str(html, "</p>");
    }
    evidence(p, v);
    buf_str(html, "</div></li>\n");
}

/* Writes the verdicts about the whole job, or those about phases. Returns how many there are. */
static size_t put_list(struct page *p, const struct baro_verdicts *all, bool of_phases, bool write)
{
    size_t n = 0;
    for (size_t i = 0; i < baro_verdicts_count(all); i++) {
        const struct baro_verdict *v = baro_verdicts_get(all, i);
        if ((v->phase != NULL) != of_phases)
            continue;
        if (!n++ && write)
            buf_str(&p->html, "<ul class=\"verdicts\">\n");
        if (write)
            verdict(p, v);
    }
    if (n && write)
        buf_str(&p->html, "</ul>\n");
    return n;
}

void page_verdicts(struct page *p, const struct baro_verdicts *all)
{
    if (!put_list(p, all, false, true))
        buf_str(&p->html, "<p class=\"calm\">No rule found anything that held it up.</p>\n");
    size_t of_phases = put_list(p, all, true, false);
    if (of_phases) {
        bool few = of_phases <= 2;
        buf_printf(&p->html, "<details%s><summary>%zu about %s</summary>\n", few ? " open" : "", of_phases,
                   of_phases == 1 ? "a phase" : "phases");
        put_list(p, all, true, true);
        buf_str(&p->html, "</details>\n");
    }
    page_flush(p, false);
}
