/* SPDX-License-Identifier: Apache-2.0 */
/* The processes as bars: names at the left, bars in one SVG that is stretched over the time axis. */
#include <string.h>

#include "base/fmt.h"
#include "output/page/parts.h"
#include "output/text/lines.h"
#include "output/text/steps.h"

#define ROW_HEIGHT 17u
#define ACROSS 10000.0
#define LEVELS 5u
#define LINKS_DRAWN 2000u

static int across(const struct page *p, uint64_t t_ns)
{
    t_ns = t_ns < p->from_ns ? p->from_ns : t_ns > p->to_ns ? p->to_ns : t_ns;
    return (int)((double)(t_ns - p->from_ns) * ACROSS / (double)(p->to_ns - p->from_ns));
}

/* The title of a bar, shown under the pointer. */
static void title(struct page *p, const struct bar_row *row)
{
    struct buf *html = &p->html;
    buf_str(html, "<title>");
    if (row->life == LIFE_NONE) {
        fmt_count(html, row->n);
        buf_str(html, " processes");
        if (row->name != NAMES_NONE) {
            buf_str(html, " ");
            page_string(html, names_at(&p->lives.names, row->name));
        }
        buf_str(html, ", at most ");
        fmt_count(html, row->most);
        buf_str(html, " at once");
    } else {
        const struct life *life = &p->lives.at[row->life];
        page_life_name(p, html, life);
        if (life->label != NAMES_NONE) {
            buf_byte(html, ' ');
            page_string(html, names_at(&p->lives.names, life->label));
        }
        buf_printf(html, " %d, ", life->pid);
        fmt_duration(html, life->end_ns - life->begin_ns);
        if (life->has & LIFE_STATUS) {
            buf_str(html, ", ");
            page_status(html, life);
        }
        if (life->has & LIFE_RSS) {
            unsigned flags = life->has & LIFE_RSS_IS_BOUND ? BARO_VALUE_LOWER_BOUND : 0;
            buf_printf(html, ", peak %s", baro_value_prefix(flags, BARO_PREFIX_SYMBOL));
            fmt_bytes(html, life->rss_peak_bytes);
        }
    }
    if (row->cpu_ns) {
        buf_str(html, ", cpu ");
        fmt_duration(html, row->cpu_ns);
    }
    buf_str(html, "</title>");
}

static const char *row_name(const struct page *p, const struct bar_row *row)
{
    return row->name == NAMES_NONE ? "" : names_at(&p->lives.names, row->name);
}

static void begin_row(struct page *p, const struct bar_row *row, const char *class)
{
    buf_printf(&p->html, "<g class=\"%s k%u\" data-k=\"", class, page_color(p, row_name(p, row)));
    page_string(&p->html, row_name(p, row));
    if (row->life != LIFE_NONE)
        buf_printf(&p->html, "\" data-p=\"%u", row->life);
    buf_str(&p->html, "\">");
    title(p, row);
}

/* Draws the bar of one process. Its darkness shows how many cores the process used on average: one that only waits
 * is pale. */
static void single(struct page *p, const struct bar_row *row, unsigned y)
{
    const struct life *life = &p->lives.at[row->life];
    int from = across(p, row->begin_ns), to = across(p, row->end_ns);
    uint64_t lived = row->end_ns - row->begin_ns;
    double cores = lived ? (double)row->cpu_ns / (double)lived : 0;
    unsigned level = cores > 0.75 ? 5 : cores > 0.4 ? 4 : cores > 0.15 ? 3 : cores > 0.03 ? 2 : 1;
    begin_row(p, row, "bar");
    buf_printf(&p->html, "<rect class=\"u%u\" x=\"%d\" y=\"%u\" width=\"%d\" height=\"%u\"/>", level, from, y + 2,
               to - from < 12 ? 12 : to - from, ROW_HEIGHT - 4);
    if (life_has_failed(life))
        buf_printf(&p->html, "<rect class=\"failed\" x=\"%d\" y=\"%u\" width=\"14\" height=\"%u\"/>",
                   to > 14 ? to - 14 : 0, y + 2, ROW_HEIGHT - 4);
    buf_str(&p->html, "</g>\n");
}

static unsigned level_of(const struct bar_row *row, unsigned k)
{
    return row->alive[k] ? (row->alive[k] * LEVELS + row->most - 1) / row->most : 0;
}

static void strip(struct page *p, const struct bar_row *row, unsigned y)
{
    double step = (double)p->bars.end_ns / BARS_BUCKETS;
    begin_row(p, row, "strip");
    for (unsigned level = 1; level <= LEVELS; level++) {
        bool any = false;
        for (unsigned k = 0, to; k < BARS_BUCKETS; k = to) {
            for (to = k + 1; to < BARS_BUCKETS && level_of(row, to) == level_of(row, k); to++)
                ;
            if (level_of(row, k) != level)
                continue;
            if (!any)
                buf_printf(&p->html, "<path class=\"u%u\" d=\"", level);
            int from = across(p, (uint64_t)(k * step));
            buf_printf(&p->html, "M%d %uH%dv%uH%dZ", from, y + 2, across(p, (uint64_t)(to * step)) + 1, ROW_HEIGHT - 4,
                       from);
            any = true;
        }
        buf_str(&p->html, any ? "\"/>" : "");
    }
    buf_str(&p->html, "</g>\n");
}

static void label(struct page *p, const struct bar_row *row)
{
    struct buf *html = &p->html;
    buf_printf(html, "<li class=\"d%u\" data-k=\"", row->depth < 12 ? row->depth : 12);
    page_string(html, row_name(p, row));
    if (row->life != LIFE_NONE && p->lives.at[row->life].cmdline != NAMES_NONE) {
        buf_str(html, "\" title=\"");
        const char *cmdline = names_at(&p->lives.names, p->lives.at[row->life].cmdline);
        chart_xml_text(html, cmdline, strnlen(cmdline, 400));
    }
    buf_str(html, "\"><span>");
    if (row->name == NAMES_NONE)
        buf_str(html, "others");
    else
        page_string(html, *row_name(p, row) ? row_name(p, row) : "(not known)");
    if (row->life != LIFE_NONE)
        page_life_label(p, html, &p->lives.at[row->life]);
    buf_str(html, "</span>");
    if (row->life == LIFE_NONE) {
        buf_printf(html, " <b>×%s</b>", COUNT(row->n));
    } else {
        buf_printf(html, " <b>%d</b>", p->lives.at[row->life].pid);
    }
    buf_str(html, "</li>\n");
}

/* A row above the processes: from when to when the job waited for which step. */
static void chain(struct page *p)
{
    struct buf *html = &p->html;
    size_t n = baro_steps_links(p->steps);
    for (size_t i = 0; i < n && i < LINKS_DRAWN; i++) {
        const struct baro_step_link *l = baro_steps_link(p->steps, i);
        const struct baro_step *step = l->step < 0 ? NULL : baro_steps_get(p->steps, (size_t)l->step);
        int from = across(p, l->begin_ns), to = across(p, l->end_ns);
        if (!step)
            continue;
        buf_printf(html, "<g class=\"bar link k%u\" data-k=\"", page_color(p, step->name));
        page_string(html, step->name);
        buf_str(html, "\"><title>");
        page_step_name(p, l->step);
        buf_printf(html, ", %s%s%s</title><rect class=\"u%u\" x=\"%d\" y=\"2\" width=\"%d\" height=\"%u\"/></g>\n",
                   DURATION(l->end_ns - l->begin_ns), *report_link_after(l) ? "; before it waited for " : "",
                   report_link_after(l), i % 2 ? 3u : 5u, from, to - from < 12 ? 12 : to - from, ROW_HEIGHT - 4);
    }
}

static void caption(struct page *p)
{
    struct buf *html = &p->html;
    uint64_t merged = 0, strips = 0;
    for (uint32_t i = 0; i < p->bars.n; i++) {
        merged += p->bars.row[i].life == LIFE_NONE ? p->bars.row[i].n : 0;
        strips += p->bars.row[i].life == LIFE_NONE;
    }
    buf_str(html,
            "<p class=\"hint\">Each bar is a process, below its parent; the darker, the more CPU it used. Red ends: "
            "it failed.");
    if (page_has_steps(p)) {
        struct buf saving = {0};
        buf_str(html, " The first row has what the job waited for, from its end backwards: the step that ended last, "
                      "before its beginning the one that had ended last by then, and so on. ");
        report_chain_saving(p->steps, &saving);
        chart_xml_text(html, (const char *)saving.at, saving.len);
        buf_str(html, saving.len ? "." : "");
        buf_done(&saving);
    }
    if (merged)
        buf_printf(html,
                   " %s of %s processes are merged into %llu strip%s: by name under their parent, the darker, the more "
                   "of them lived at that time.",
                   COUNT(merged), COUNT(p->lives.n + p->lives.left_out), (unsigned long long)strips,
                   strips == 1 ? "" : "s");
    if (p->lives.left_out)
        buf_printf(html, " %s more are not drawn.", COUNT(p->lives.left_out));
    buf_str(html, "</p>\n");
}

void page_bars(struct page *p)
{
    if (!p->bars.n)
        return;
    buf_str(&p->html, "<h3 class=\"sub\">Processes</h3>\n");
    caption(p);
    unsigned first = page_has_steps(p) ? 1 : 0, rows = p->bars.n + first;
    buf_str(&p->html, "<div class=\"track bars\"><ul class=\"th\">\n");
    if (first)
        buf_str(&p->html, "<li class=\"chain\"><span>chain of last finishers</span></li>\n");
    for (uint32_t i = 0; i < p->bars.n; i++)
        label(p, &p->bars.row[i]);
    buf_printf(&p->html,
               "</ul><div class=\"tp\"><svg class=\"plot\" width=\"100%%\" height=\"%u\" role=\"img\" "
               "aria-label=\"processes over time; the table of processes lists them\"><svg class=\"in\" "
               "width=\"100%%\" height=\"%u\" "
               "viewBox=\"0 0 %d %u\" preserveAspectRatio=\"none\">\n",
               rows * ROW_HEIGHT, rows * ROW_HEIGHT, (int)ACROSS, rows * ROW_HEIGHT);
    if (first)
        chain(p);
    for (uint32_t i = 0; i < p->bars.n; i++) {
        if (p->bars.row[i].life == LIFE_NONE)
            strip(p, &p->bars.row[i], (i + first) * ROW_HEIGHT);
        else
            single(p, &p->bars.row[i], (i + first) * ROW_HEIGHT);
        page_flush(p, false);
    }
    buf_str(&p->html, "</svg></svg></div></div>\n");
}
