/* SPDX-License-Identifier: Apache-2.0 */
/* The phases beside the verdicts: a bar for each over the whole time, and what it took. Phases of one path are one
 * row. If there are many, the longest are shown, and before these those that failed. */
#include <sys/wait.h>

#include "base/fmt.h"
#include "output/page/parts.h"
#include "output/text/lines.h"
#include "output/text/phase_names.h"

#define ROWS_MOST 12u
#define DRAWN_MOST 200u /* of one row */
#define BAR_LEAST "4"   /* pixels */
#define BAR_HEIGHT "100%"

static void bar(struct page *p, const struct baro_timeline_item *v, const char *class)
{
    struct buf *html = &p->html;
    uint64_t end = v->end_ns < p->to_ns ? v->end_ns : p->to_ns;
    double share = end > v->begin_ns ? 100 * (double)(end - v->begin_ns) / (double)(p->to_ns - p->from_ns) : 0;
    for (int least = 0; least < 2; least++) { /* the second one is seen where the first is narrow */
        buf_str(html, "<rect height=\"" BAR_HEIGHT "\" rx=\"2\" x=\"");
        page_percent(p, html, v->begin_ns);
        buf_str(html, "%\" width=\"");
        if (least)
            buf_str(html, BAR_LEAST);
        else
            fmt_decimal(html, share, 3);
        buf_printf(html, "%s\" class=\"%s\"/>", least ? "" : "%", class);
    }
}

static void bars(struct page *p, const struct named_phases *d)
{
    const struct baro_timeline *t = p->timeline;
    unsigned drawn = 0;
    buf_str(&p->html, "<td class=\"g\"><svg width=\"100%\" height=\"12\" aria-hidden=\"true\">");
    for (size_t i = 0; i < baro_timeline_count(t) && drawn < DRAWN_MOST; i++) {
        const struct baro_timeline_item *v = baro_timeline_get(t, i);
        if (!phase_is_named(t, i, d))
            continue;
        bar(p, v, d->status ? "failed" : "done");
        drawn++;
    }
    buf_str(&p->html, "</svg></td>");
}

static void cell(struct page *p, bool has, unsigned flags, uint64_t v, void (*format)(struct buf *, uint64_t))
{
    bool says_something = has && !(flags & BARO_VALUE_LOWER_BOUND && !v);
    page_begin_number(&p->html, says_something ? flags : 0);
    buf_byte(&p->html, '>');
    if (says_something)
        format(&p->html, v);
    buf_str(&p->html, "</td>");
}

static void row(struct page *p, const struct named_phases *d)
{
    struct buf *html = &p->html;
    int depth = d->first->depth < 6 ? d->first->depth : 6;
    buf_printf(html, "<tr%s><th scope=\"row\" class=\"d%d\" title=\"", d->status ? " class=\"fail\"" : "", depth);
    page_string(html, d->path);
    buf_str(html, "\">");
    page_string(html, d->first->name);
    if (d->n > 1)
        buf_printf(html, " <small>×%s</small>", COUNT(d->n));
    if (d->status)
        buf_printf(html, " <small>✗ %s%d</small>", WIFSIGNALED(d->status) ? "signal " : "status ",
                   WIFSIGNALED(d->status) ? WTERMSIG(d->status) : WEXITSTATUS(d->status));
    buf_str(html, "</th>");
    bars(p, d);
    cell(p, true, d->is_least ? BARO_VALUE_LOWER_BOUND : 0, d->took_ns, fmt_duration);
    cell(p, d->has_cpu, d->cpu_flags, d->cpu_ns, fmt_duration);
    cell(p, d->has_rss, d->rss_flags, d->rss_bytes, fmt_bytes);
    buf_str(html, "</tr>\n");
}

bool page_has_phases(const struct page *p)
{
    return p->timeline && p->figures && baro_timeline_lanes(p->timeline) > 0;
}

void page_gantt(struct page *p)
{
    struct phase_names names = {.n = 0};
    phase_names_collect(&names, p->timeline);
    phase_names_keep(&names, ROWS_MOST);
    buf_str(&p->html, "<table class=\"gantt\"><thead><tr><th scope=\"col\">phase</th><th scope=\"col\" class=\"g\">when"
                      "</th><th scope=\"col\" class=\"n\">took</th><th scope=\"col\" class=\"n\">cpu</th>"
                      "<th scope=\"col\" class=\"n\">peak rss</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < names.n; i++)
        row(p, &names.at[i]);
    buf_str(&p->html, "</tbody></table>\n");
    if (names.left_out)
        buf_printf(&p->html, "<p class=\"hint\">%s more in the table of phases below.</p>\n", COUNT(names.left_out));
    phase_names_done(&names);
}
