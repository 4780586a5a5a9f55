/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the verdicts: what held the job up, what ended it, and what to ask for next time. Each is a line that opens:
 * its sentences and the evidence are within. */
#include "output/page/parts.h"

static void evidence(struct page *p, const struct baro_verdict *v)
{
    struct buf *html = &p->html;
    if (!v->evidence_count)
        return;
    buf_str(html, "<table><tbody>\n");
    for (size_t i = 0; i < v->evidence_count; i++) {
        if (v->evidence[i].flags & BARO_VALUE_LOWER_BOUND && v->evidence[i].value <= 0)
            continue; /* at least nothing */
        buf_str(html, "<tr><th scope=\"row\">");
        page_string(html, v->evidence[i].name);
        buf_str(html, "</th><td class=\"n\">");
        page_string(html, v->evidence[i].text);
        buf_str(html, "</td></tr>\n");
    }
    buf_str(html, "</tbody></table>");
}

/* Writes a text in an element of this class, or nothing if there is none. */
static void prose(struct page *p, const char *element, const char *class, const char *before, const char *text)
{
    if (!text || !*text)
        return;
    buf_printf(&p->html, "<%s class=\"%s\">%s", element, class, before);
    page_prose_string(&p->html, text);
    buf_printf(&p->html, "</%s>\n", element);
}

static void verdict(struct page *p, const struct baro_verdict *v)
{
    struct buf *html = &p->html;
    const char *weight = baro_verdict_weight_name(v->weight);
    buf_printf(html, "<li class=\"v-%s\"><details><summary><b class=\"tag\" title=\"%s\">", weight, weight);
    page_string(html, v->rule);
    buf_str(html, "</b> <span class=\"vb\">");
    if (v->phase) {
        buf_str(html, "in ");
        page_string(html, v->phase);
        buf_str(html, ": ");
    }
    page_prose_string(html, v->brief);
    buf_str(html, "</span> ");
    prose(p, "span", "vh", "→ ", v->hint);
    buf_str(html, "</summary>\n");
    prose(p, "p", "vt", "", v->title);
    prose(p, "p", "va", "", v->advice);
    evidence(p, v);
    buf_str(html, "</details></li>\n");
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
        buf_printf(&p->html, "<p class=\"calm\">No rule found anything%s.</p>\n",
                   p->is_host_only ? "" : " that held it up");
    size_t of_phases = put_list(p, all, true, false);
    if (of_phases) {
        bool few = of_phases <= 2;
        buf_printf(&p->html, "<details class=\"more\"%s><summary>%zu about %s</summary>\n", few ? " open" : "",
                   of_phases, of_phases == 1 ? "a phase" : "phases");
        put_list(p, all, true, true);
        buf_str(&p->html, "</details>\n");
    }
    page_flush(p, false);
}
