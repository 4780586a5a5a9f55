/* SPDX-License-Identifier: Apache-2.0 */
#include "output/page/sheet.h"

#include <errno.h>

#include "output/page/parts.h"

struct buf *page_html(struct page *p)
{
    return &p->html;
}

static void lane(struct page *p, const struct sheet_lane *l)
{
    if (!l->spans->n)
        return;
    page_begin_lane(p, l->title, l->spans->lanes);
    for (size_t i = 0; i < l->spans->n; i++) {
        const struct chart_span *s = &l->spans->at[i];
        const struct page_bar bar = {s->begin_ns, s->end_ns, s->lane, s->color, s->bad, s->text, s->text};
        page_lane_bar(p, &bar);
    }
    page_end_lane(p);
}

/* Ticks and what the cursor says, where the axis is no time. */
static void put_axis(const struct sheet *s, struct json *j)
{
    const struct chart *c = s->charts;
    json_key_text(j, "axis", s->axis);
    if (!s->tell)
        return;
    json_key_begin(j, "ticks", '[');
    for (size_t i = 0; c->ticks && i < c->ticks->n; i++) {
        json_begin(j, '[');
        json_double(j, c->ticks->at[i].at);
        json_text(j, c->ticks->at[i].text);
        json_end(j, ']');
    }
    json_end(j, ']');
    json_key_begin(j, "told", '[');
    for (size_t i = 0; i < c->buckets; i++) {
        struct buf text = {0};
        s->tell(s->context, i, &text);
        json_text_n(j, text.failed || !text.len ? "" : (const char *)text.at, text.failed ? 0 : text.len);
        buf_done(&text);
    }
    json_end(j, ']');
}

static void data(struct page *p)
{
    struct buf text = {0};
    struct json j = {.out = &text};
    json_begin(&j, '{');
    json_key_u64(&j, "from_ns", p->from_ns);
    json_key_u64(&j, "to_ns", p->to_ns);
    json_key_u64(&j, "start_ns", p->start_ns);
    put_axis(p->sheet, &j);
    json_key(&j, "charts");
    page_chart_data(p, &j);
    json_key_begin(&j, "moments", '[');
    json_end(&j, ']');
    json_end(&j, '}');
    page_put_data(p, &text);
    buf_done(&text);
}

static void charts(struct page *p)
{
    const struct sheet *s = p->sheet;
    page_begin_section(p, "time", s->heading);
    if (s->hint) {
        buf_str(&p->html, "<p class=\"hint\">");
        page_prose_string(&p->html, s->hint);
        buf_str(&p->html, "</p>\n");
    }
    buf_str(&p->html, "<div class=\"tracks\">\n");
    page_time_axis(p);
    for (size_t i = 0; i < s->n_lanes; i++)
        lane(p, &s->lanes[i]);
    page_charts(p);
    buf_str(&p->html, "</div>\n");
    page_end_section(p);
}

static int keep(void *context, const char *text, size_t len)
{
    buf_add(context, text, len);
    return 0;
}

int sheet_write(const struct sheet *s, struct buf *ret)
{
    struct page p = {.sheet = s, .sink = keep, .context = ret};
    if (s->n_charts) {
        p.from_ns = s->charts->from_ns;
        p.to_ns = s->charts->to_ns;
        p.start_ns = s->charts->start_ns;
    }
    page_begin_file(&p, s->title, strlen(s->title));
    page_begin_head(&p, s->title, strlen(s->title));
    buf_str(&p.html, "<dl class=\"meta\">\n");
    s->meta(&p, s->context);
    buf_str(&p.html, "</dl>\n</header>\n<main>\n");
    s->above(&p, s->context);
    if (s->n_charts)
        charts(&p);
    s->below(&p, s->context);
    buf_str(&p.html,
            "</main>\n<footer><p>Made by barograph " BARO_VERSION
            ". This file asks for nothing over a network.</p>\n<p>≥ at least, ≤ at most, ≈ about.</p></footer>\n");
    if (s->n_charts)
        data(&p);
    page_end_file(&p, s->n_charts > 0);
    bool has_failed = p.html.failed || ret->failed;
    buf_done(&p.html);
    return has_failed ? -ENOMEM : 0;
}
