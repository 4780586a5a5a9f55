/* SPDX-License-Identifier: Apache-2.0 */
/* Above the charts: the time axis, phases as bars in lanes, marks and events as points. */

#include "base/fmt.h"
#include "output/page/parts.h"
#include "output/text/phase_names.h"

#define LANE_HEIGHT 20u
#define LANES_MOST 12
#define EVENTS_MOST 400u

void page_time_axis(struct page *p)
{
    struct chart scale = {.from_ns = p->from_ns, .to_ns = p->to_ns, .start_ns = p->start_ns};
    struct chart_ticks ticks;
    struct buf *html = &p->html;
    chart_time_ticks(p->sheet ? p->sheet->charts : &scale, 9, &ticks);
    buf_printf(html,
               "<div class=\"track axis\"><div class=\"th\">%s</div><div class=\"tp\">"
               "<svg class=\"time\" width=\"100%%\" height=\"22\" aria-hidden=\"true\">",
               p->sheet ? p->sheet->axis : "time since the start");
    for (size_t i = 0; i < ticks.n; i++) {
        buf_str(html, "<text y=\"15\" x=\"");
        page_percent(p, html, (uint64_t)ticks.at[i].at);
        buf_printf(html, "%%\"%s>", i == 0 ? " class=\"first\"" : i + 1 == ticks.n ? " class=\"last\"" : "");
        page_string(html, ticks.at[i].text);
        buf_str(html, "</text>");
    }
    buf_str(html, "</svg></div></div>\n");
}

void page_lane_bar(struct page *p, const struct page_bar *bar)
{
    struct buf *html = &p->html;
    buf_printf(html, "<svg class=\"ph%s\" overflow=\"hidden\" x=\"", bar->has_failed ? " fail" : "");
    page_percent(p, html, bar->begin_ns);
    buf_str(html, "%\" width=\"");
    uint64_t end = bar->end_ns < p->to_ns ? bar->end_ns : p->to_ns;
    double share = end > bar->begin_ns ? 100 * (double)(end - bar->begin_ns) / (double)(p->to_ns - p->from_ns) : 0;
    fmt_decimal(html, share < 0.15 ? 0.15 : share, 3);
    buf_printf(html, "%%\" y=\"%u\" height=\"%u\" data-b=\"%llu\" data-e=\"%llu\"><title>", bar->lane * LANE_HEIGHT + 1,
               LANE_HEIGHT - 2, (unsigned long long)bar->begin_ns, (unsigned long long)end);
    page_string(html, bar->title);
    /* HTML, because text of SVG has no ellipsis. */
    buf_printf(
        html,
        "</title>%s<rect class=\"k%u\" width=\"100%%\" height=\"100%%\" rx=\"3\"/><foreignObject width=\"100%%\" "
        "height=\"100%%\"><div class=\"pn\"><span>",
        bar->has_failed ? "<rect width=\"4\" height=\"100%\"/>" : "", bar->color);
    page_string(html, bar->name);
    buf_str(html, "</span></div></foreignObject></svg>\n");
}

void page_begin_lane(struct page *p, const char *title, unsigned lanes)
{
    buf_printf(&p->html,
               "<div class=\"track lanes\"><div class=\"th\"><h3>%s</h3></div><div class=\"tp\">"
               "<svg class=\"lane\" width=\"100%%\" height=\"%u\" role=\"img\" aria-label=\"phases of the job\">\n",
               title, lanes * LANE_HEIGHT);
}

void page_end_lane(struct page *p)
{
    buf_str(&p->html, "</svg></div></div>\n");
}

static void phase(struct page *p, size_t i, unsigned color)
{
    const struct baro_timeline_item *item = baro_timeline_get(p->timeline, i);
    struct buf title = {0};
    buf_printf(&title, "%s, ", item->text);
    fmt_duration(&title, item->end_ns - item->begin_ns);
    buf_str(&title, item->is_open ? ", not ended" : "");
    buf_byte(&title, 0);
    const struct page_bar bar = {.begin_ns = item->begin_ns,
                                 .end_ns = item->end_ns,
                                 .lane = (unsigned)item->depth,
                                 .color = color,
                                 .has_failed = phase_status(p->timeline, i) != 0,
                                 .name = item->name,
                                 .title = title.failed ? "" : (const char *)title.at};
    page_lane_bar(p, &bar);
    buf_done(&title);
}

static void phases(struct page *p)
{
    int lanes = baro_timeline_lanes(p->timeline);
    lanes = lanes < LANES_MOST ? lanes : LANES_MOST;
    if (!lanes)
        return;
    page_begin_lane(p, "Phases", (unsigned)lanes);
    struct chart_phase_colors colors = {.n = 0};
    size_t drawn = 0;
    for (size_t i = 0; i < baro_timeline_count(p->timeline); i++) {
        const struct baro_timeline_item *item = baro_timeline_get(p->timeline, i);
        if (item->kind == BARO_TIMELINE_PHASE && item->depth < lanes && drawn++ < 5000)
            phase(p, i, chart_phase_color(&colors, item->name));
    }
    page_end_lane(p);
}

static bool is_point(const struct baro_timeline_item *item)
{
    return item->kind == BARO_TIMELINE_MARK || item->kind == BARO_TIMELINE_EVENT;
}

static void point(struct page *p, const struct baro_timeline_item *item)
{
    struct buf *html = &p->html;
    const char *kind = item->kind == BARO_TIMELINE_MARK ? "mk" : item->is_problem ? "bad" : "ev";
    if (item->end_ns > item->begin_ns) {
        buf_printf(html, "<svg class=\"span %s\" data-b=\"%llu\" data-e=\"%llu\" y=\"5\" height=\"8\" x=\"", kind,
                   (unsigned long long)item->begin_ns, (unsigned long long)item->end_ns);
        page_percent(p, html, item->begin_ns);
        buf_str(html, "%\" width=\"");
        uint64_t end = item->end_ns < p->to_ns ? item->end_ns : p->to_ns;
        fmt_decimal(
            html, end > item->begin_ns ? 100 * (double)(end - item->begin_ns) / (double)(p->to_ns - p->from_ns) : 0, 3);
        buf_str(html, "%\"><rect width=\"100%\" height=\"100%\"/></svg>");
    }
    buf_printf(html, "<svg class=\"pt %s\" overflow=\"visible\" data-t=\"%llu\" x=\"", kind,
               (unsigned long long)item->begin_ns);
    page_percent(p, html, item->begin_ns);
    buf_str(html, "%\" y=\"9\"><title>");
    page_moment(p, html, item->begin_ns);
    buf_byte(html, ' ');
    page_string(html, item->text);
    buf_str(html, item->kind == BARO_TIMELINE_MARK ? "</title><path d=\"M0 -5L5 0L0 5L-5 0Z\"/></svg>\n"
                  : item->is_problem               ? "</title><path d=\"M0 -6L6 5H-6Z\"/></svg>\n"
                                                   : "</title><circle r=\"3\"/></svg>\n");
}

static void points(struct page *p)
{
    size_t n = 0, drawn = 0, count = baro_timeline_count(p->timeline);
    for (size_t i = 0; i < count; i++)
        n += is_point(baro_timeline_get(p->timeline, i));
    if (!n)
        return;
    buf_str(&p->html,
            "<div class=\"track lanes\"><div class=\"th\"><h3>Events</h3></div><div class=\"tp\">"
            "<svg class=\"lane\" width=\"100%\" height=\"18\" role=\"img\" aria-label=\"marks and events; the "
            "table of events lists them\">\n");
    for (int problems = 0; problems < 2; problems++) { /* problems last: over the others */
        for (size_t i = 0; i < count && drawn < EVENTS_MOST; i++) {
            const struct baro_timeline_item *item = baro_timeline_get(p->timeline, i);
            if (is_point(item) && item->is_problem == (problems != 0)) {
                point(p, item);
                drawn++;
            }
        }
        drawn = 0;
    }
    buf_str(&p->html, "</svg></div></div>\n");
}

void page_axis(struct page *p)
{
    page_time_axis(p);
    if (!p->timeline)
        return;
    phases(p);
    points(p);
    page_flush(p, false);
}
