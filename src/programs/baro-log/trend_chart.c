/* SPDX-License-Identifier: Apache-2.0 */
/* A trend as a chart, and as a page with it. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "output/page/sheet.h"
#include "programs/baro-log/trend.h"
#include "programs/common/zone.h"

#define TICKS_MOST 12u
#define EACH_NS NS_PER_SEC /* width of a run on the axis */

static void put_start(const struct point *p, struct buf *ret)
{
    fmt_time_zone(ret, p->row->head->is.start_ns, zone_east(p->row->head->is.start_ns), false);
}

/* "11-29"; of runs of one day "10:05", of one hour "10:05:17" */
static void make_ticks(const struct trend *t, struct chart_ticks *ret)
{
    struct buf first = {0}, last = {0}, start = {0};
    size_t n = t->n < TICKS_MOST ? t->n : TICKS_MOST;
    put_start(&t->at[0], &first);
    put_start(&t->at[t->n - 1], &last);
    bool is_there = first.len > 19 && last.len > 19, is_one_day = is_there && memcmp(first.at, last.at, 10) == 0;
    int most = is_one_day && memcmp(first.at, last.at, 13) == 0 ? 8 : 5;
    *ret = (struct chart_ticks){.n = n};
    for (size_t k = 0; k < n; k++) {
        size_t i = (2 * k + 1) * t->n / (2 * n);
        ret->at[k].at = ((double)i + 0.5) * EACH_NS;
        put_start(&t->at[i], &start);
        if (start.len > 19)
            snprintf(ret->at[k].text, sizeof(ret->at[k].text), "%.*s", most,
                     (const char *)start.at + (is_one_day ? 11 : 5));
        buf_clear(&start);
    }
    buf_done(&first);
    buf_done(&last);
    buf_done(&start);
}

static bool add_marks(const struct trend *t, double scale, struct chart *c)
{
    bool has_room = true;
    for (size_t k = 0; k < t->n_changes && has_room; k++) {
        const struct point *p = &t->at[t->change[k]];
        double before = trend_level_before(t, k);
        char text[64];
        if (before > 0)
            snprintf(text, sizeof(text), "%+.1f %% at run %zu", 100 * (p->level / before - 1), t->change[k] + 1);
        else
            snprintf(text, sizeof(text), "change at run %zu", t->change[k] + 1);
        has_room = chart_add_mark(c, t->change[k] * EACH_NS + EACH_NS / 2, p->level * scale, text) == 0;
    }
    return has_room;
}

/* Values that lie close together, or below 0, would be hard to see on an axis from 0 on. */
static void choose_axis(const struct trend *t, double scale, struct chart *c)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < t->n; i++) {
        low = fmin(low, t->at[i].figure.value * scale);
        high = fmax(high, t->at[i].figure.value * scale);
    }
    c->low = low < 0 || (high > low && high - low < low) ? low - (high - low) / 10 : 0;
}

int trend_chart(const struct trend *t, bool has_marks, struct chart_ticks *ticks, struct chart *ret)
{
    const struct baro_fact *fact = t->of.fact;
    const double scale = fact->unit == BARO_UNIT_NS ? 1e-9 : 1;
    struct buf title = {0};
    trend_title(t, t->log.cli->tty && t->log.cli->width > 30 ? t->log.cli->width - 12 : 68, &title);
    buf_byte(&title, 0);
    *ret = (struct chart){.id = strdup("trend"),
                          .title = title.failed ? NULL : strdup((const char *)title.at),
                          .help = strdup(fact->help),
                          .unit = fact->unit == BARO_UNIT_NS      ? CHART_SECONDS
                                  : fact->unit == BARO_UNIT_BYTES ? CHART_BYTES
                                  : fact->unit == BARO_UNIT_RATIO ? CHART_RATIO
                                                                  : CHART_NUMBER,
                          .to_ns = t->n * EACH_NS,
                          .buckets = t->n,
                          .ticks = ticks};
    bool has_room = ret->id && ret->help && ret->title && chart_add_curve(ret, "level", CHART_DASHED, 1) &&
                    chart_add_curve(ret, "a run", CHART_DOTS, 0);
    for (size_t i = 0; i < t->n && has_room; i++) {
        double level = t->at[i].level * scale, v = t->at[i].figure.value * scale;
        ret->curves[0].at[i] = (struct chart_bucket){isfinite(level), level, level, level, level, .high = level};
        ret->curves[1].at[i] = (struct chart_bucket){true, v, v, v, v, .high = v};
    }
    if (has_room) {
        chart_finish(ret);
        make_ticks(t, ticks);
        choose_axis(t, scale, ret);
        has_room = !has_marks || add_marks(t, scale, ret);
    }
    buf_done(&title);
    return has_room ? 0 : -ENOMEM;
}

/* ---- the page ---- */

static void put_figure(const struct trend *t, struct figure f, struct buf *html)
{
    struct buf b = {0};
    subject_put(&t->of, f, &b);
    page_prose_done(html, &b);
}

static void put_meta(struct page *page, void *context)
{
    const struct trend *t = context;
    struct buf first = {0}, last = {0};
    put_start(&t->at[0], &first);
    put_start(&t->at[t->n - 1], &last);
    buf_byte(&first, 0);
    buf_byte(&last, 0);
    page_meta(page, "first", first.failed ? "" : (const char *)first.at);
    page_meta(page, "last", last.failed ? "" : (const char *)last.at);
    page_meta(page, "host", t->hosts > 1 ? "several" : t->at[0].row->head->host);
    buf_done(&first);
    buf_done(&last);
}

static void put_above(struct page *page, void *context)
{
    const struct trend *t = context;
    struct buf *html = page_html(page), b = {0};
    page_begin_section(page, "verdict", "In short");
    buf_str(html, "<div class=\"short\"><div>\n");
    for (size_t k = 0; k < t->n_changes; k++) {
        buf_printf(&b, "Change at run %zu: ", t->change[k] + 1);
        trend_step(t, k, &b);
        buf_str(html, "<p class=\"sentence\">");
        page_prose_done(html, &b);
        buf_str(html, "</p><p class=\"hint\">");
        trend_when(t, k, &b);
        page_prose_done(html, &b);
        buf_str(html, "</p>\n");
    }
    trend_notes(t, &b);
    buf_byte(&b, 0);
    for (const char *at = b.failed ? "" : (const char *)b.at; *at; at += strcspn(at, "\n") + 1) {
        buf_str(html, "<p class=\"hint\">");
        page_prose(html, at, strcspn(at, "\n"));
        buf_str(html, "</p>\n");
    }
    buf_str(html, "</div></div>\n");
    page_end_section(page);
    html->failed = html->failed || b.failed;
    buf_done(&b);
}

static void put_run(const struct trend *t, size_t i, struct buf *html)
{
    const struct point *p = &t->at[i];
    const char *commit = tape_head_tag(p->row->head, "git.commit");
    buf_printf(html, "<tr><td class=\"n\" data-v=\"%zu\">%zu</td><td>", i + 1, i + 1);
    put_start(p, html);
    buf_printf(html, "</td><td class=\"n\" data-v=\"%.17g\">", p->figure.value);
    put_figure(t, p->figure, html);
    buf_str(html, "</td>");
    buf_str(html, isnan(p->level) ? "<td class=\"n\">" : "<td class=\"n soft\">");
    if (!isnan(p->level))
        put_figure(t, (struct figure){p->level, 0}, html);
    buf_str(html, "</td><td>");
    if (commit)
        chart_xml_text(html, commit, strlen(commit) > 12 ? 12 : strlen(commit));
    buf_str(html, "</td><td>");
    page_string(html, p->row->head->host);
    buf_str(html, "</td><td>");
    if (p->row->number)
        buf_printf(html, "@%zu ", p->row->number);
    page_string(html, p->row->name);
    buf_str(html, "</td></tr>\n");
}

static void put_below(struct page *page, void *context)
{
    const struct trend *t = context;
    page_begin_table(page, "runs", "Runs", "run>|started|value>|level>|commit|host|tape");
    for (size_t i = t->n; i-- > 0;)
        put_run(t, i, page_html(page));
    page_end_table(page, 0, 0, "");
}

/* "run 7, 2026-11-29 10:00" */
static void tell(const void *context, size_t bucket, struct buf *ret)
{
    const struct trend *t = context;
    struct buf start = {0};
    put_start(&t->at[bucket], &start);
    buf_printf(ret, "run %zu, ", bucket + 1);
    buf_add(ret, start.at, start.len > 16 ? 16 : start.len);
    buf_done(&start);
}

int trend_page(const struct trend *t, struct buf *ret)
{
    struct chart_ticks ticks;
    struct chart c;
    int code = trend_chart(t, true, &ticks, &c);
    const struct sheet s = {.title = c.title,
                            .meta = put_meta,
                            .above = put_above,
                            .below = put_below,
                            .tell = tell,
                            .context = (void *)t,
                            .heading = "Over all runs",
                            .axis = "runs, by their start",
                            .charts = &c,
                            .n_charts = 1};
    code = code < 0 ? code : sheet_write(&s, ret);
    chart_done(&c);
    return code;
}
