/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-report/ranks_page.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "output/page/sheet.h"

#define DRAWN_MOST 128u  /* rows of the picture: with more ranks each is the mean of several */
#define LISTED_MOST 500u /* rows of the table of ranks */
#define ROW_HEIGHT 11u

enum { CHART_EACH, CHART_CORES_SUM, CHART_MEMORY_SUM, CHARTS };

struct ranks_page {
    const struct ranks *r;
    const struct buf *notes;
    struct chart charts[CHARTS];
    struct page *page;
};

/* ---- curves ---- */

static void set_bucket(struct chart_bucket *to, double v)
{
    *to = (struct chart_bucket){.known = !isnan(v), .min = v, .max = v, .mean = v, .last = v};
}

static bool begin_chart(const struct ranks *r, struct chart *c, const char *id, const char *title, const char *help,
                        enum chart_unit unit)
{
    *c = (struct chart){.id = strdup(id),
                        .title = strdup(title),
                        .help = strdup(help),
                        .unit = unit,
                        .to_ns = ranks_wall_ns(r),
                        .buckets = RANK_CELLS};
    return c->id && c->title && c->help;
}

/* The mean, the least and the most of all ranks, and the slowest. */
static bool make_each(const struct ranks *r, struct chart *c)
{
    if (!begin_chart(r, c, "each", "Cores of a rank",
                     "Cores that a rank used: all of them on average, in a band from "
                     "the one that used least to the one that used most at that time",
                     CHART_CORES) ||
        !chart_add_curve(c, "all ranks", CHART_LINE, 0) ||
        (r->slowest.by && !chart_add_curve(c, "slowest", CHART_LINE, 1)))
        return false;
    for (size_t k = 0; k < RANK_CELLS; k++) {
        struct chart_bucket *to = &c->curves[0].at[k];
        double sum = 0, n = 0;
        *to = (struct chart_bucket){.min = INFINITY};
        for (size_t i = 0; i < r->n; i++) {
            double v = (double)r->at[i].cores[k];
            if (v < 0)
                continue;
            sum += v;
            n++;
            to->min = fmin(to->min, v);
            to->max = fmax(to->max, v);
        }
        to->known = n > 0;
        to->mean = to->last = n > 0 ? sum / n : 0;
        if (r->slowest.by)
            set_bucket(&c->curves[1].at[k],
                       r->at[r->slowest.rank].cores[k] < 0 ? NAN : (double)r->at[r->slowest.rank].cores[k]);
    }
    chart_finish(c);
    return true;
}

static bool make_sum(const struct ranks *r, struct chart *c, bool is_memory)
{
    if (!begin_chart(r, c, is_memory ? "memory" : "cpu", is_memory ? "Memory of all ranks (RSS)" : "Cores of all ranks",
                     is_memory ? "Resident memory of all ranks, by the clocks of their machines; what several share "
                                 "counts in each"
                               : "Cores that all ranks used together, by the clocks of their machines",
                     is_memory ? CHART_BYTES : CHART_CORES) ||
        !chart_add_curve(c, "all ranks", CHART_AREA, 0))
        return false;
    for (size_t k = 0; k < RANK_CELLS; k++) {
        double sum = NAN;
        for (size_t i = 0; i < r->n; i++) {
            double v = (double)(is_memory ? r->at[i].memory[k] : r->at[i].cores[k]);
            if (v >= 0)
                sum = isnan(sum) ? v : sum + v;
        }
        set_bucket(&c->curves[0].at[k], sum);
    }
    chart_finish(c);
    return true;
}

/* ---- above the charts ---- */

static void put_meta(struct page *page, void *context)
{
    const struct ranks_page *p = context;
    char text[64];
    page_meta(page, "batch job", p->r->job);
    page_meta(page, "step", p->r->step);
    snprintf(text, sizeof(text), "%zu of %u", p->r->n, p->r->count ? p->r->count : (uint32_t)p->r->n);
    page_meta(page, "ranks", text);
    snprintf(text, sizeof(text), "%zu", p->r->n_nodes);
    page_meta(page, "nodes", text);
}

static void put_sentence(void *context, const char *label, struct buf *text)
{
    struct buf *html = context;
    buf_printf(html, "<p class=\"sentence\">%c%s: ", label[0] - 'a' + 'A', label + 1);
    page_prose(html, (const char *)text->at, text->len);
    buf_str(html, "</p>\n");
}

static void put_number(struct buf *html, struct buf *b, double key)
{
    buf_printf(html, "<td class=\"n\" data-v=\"%.17g\">", key);
    page_prose(html, b->len ? (const char *)b->at : "", b->len);
    buf_str(html, "</td>");
    buf_clear(b);
}

static void put_of_rank(const struct ranks *r, const struct baro_fact *fact, double v, size_t rank, struct buf *html)
{
    struct buf b = {0};
    ranks_put_number(fact, v, &b);
    put_number(html, &b, v);
    buf_printf(html, "<td class=\"n soft\">%u</td>", r->at[rank].number);
    buf_done(&b);
}

static void put_row(void *context, const char *label, const struct baro_fact *fact, const struct baro_spread *s)
{
    struct ranks_page *p = context;
    struct buf *html = page_html(p->page), b = {0};
    buf_str(html, "<tr><td>");
    page_string(html, label);
    buf_str(html, "</td>");
    ranks_put_all(fact, s, &b);
    put_number(html, &b, s->all.real);
    put_of_rank(p->r, fact, s->least, s->least_run, html);
    ranks_put_number(fact, s->median, &b);
    put_number(html, &b, s->median);
    put_of_rank(p->r, fact, s->most, s->most_run, html);
    double over = s->mean > 0 ? 100 * (s->most / s->mean - 1) : 0;
    buf_printf(&b, "+%.0f %%", over);
    put_number(html, &b, over);
    buf_str(html, "</tr>\n");
    buf_done(&b);
}

static void put_above(struct page *page, void *context)
{
    struct ranks_page *p = context;
    struct buf *html = page_html(page);
    p->page = page;
    page_begin_section(page, "verdict", "In short");
    buf_str(html, "<div class=\"short\"><div>\n");
    ranks_each_sentence(p->r, put_sentence, html);
    for (size_t at = 0; at < p->notes->len;) {
        const char *line = (const char *)p->notes->at + at, *end = memchr(line, '\n', p->notes->len - at);
        size_t n = end ? (size_t)(end - line) : p->notes->len - at;
        buf_str(html, "<p class=\"hint\">");
        page_prose(html, line, n);
        buf_str(html, "</p>\n");
        at += n + 1;
    }
    buf_str(html, "</div></div>\n");
    page_end_section(page);
    page_begin_table(page, "job", "The job", "|all ranks>|least>|rank>|median>|most>|rank>|over mean>");
    ranks_each_row(p->r, put_row, p);
    page_end_table(page, 0, 0, "");
}

/* ---- ranks over time ---- */

/* The mean of some ranks in a cell; below 0: none has a value. */
static double mean_of(const struct ranks *r, size_t from, size_t until, size_t cell)
{
    double sum = 0, n = 0;
    for (size_t i = from; i < until; i++) {
        if (r->at[i].cores[cell] < 0)
            continue;
        sum += (double)r->at[i].cores[cell];
        n++;
    }
    return n > 0 ? sum / n : -1;
}

static void put_cells(const struct ranks *r, size_t row, size_t rows, double full, struct buf *html)
{
    size_t from = row * r->n / rows, until = (row + 1) * r->n / rows;
    buf_str(html, "<g><title>rank ");
    buf_printf(html, "%u", r->at[from].number);
    if (until - from > 1)
        buf_printf(html, " to %u", r->at[until - 1].number);
    buf_str(html, " on ");
    page_string(html, rank_node(r, from));
    buf_str(html, "</title>");
    for (size_t k = 0; k < RANK_CELLS; k++) {
        double v = mean_of(r, from, until, k);
        if (v >= 0)
            buf_printf(html, "<rect x=\"%zu\" y=\"%zu\" width=\"1.02\" height=\"%u\" fill-opacity=\"%.2f\"/>", k,
                       row * ROW_HEIGHT, ROW_HEIGHT - 1, full > 0 ? 0.06 + 0.94 * v / full : 0.06);
    }
    buf_str(html, "</g>\n");
}

static void put_picture(const struct ranks *r, struct page *page)
{
    size_t rows = r->n < DRAWN_MOST ? r->n : DRAWN_MOST;
    struct buf *html = page_html(page);
    double full = 0;
    for (size_t i = 0; i < r->n; i++) {
        for (size_t k = 0; k < RANK_CELLS; k++)
            full = fmax(full, (double)r->at[i].cores[k]);
    }
    page_begin_section(page, "over-time", "Ranks over time");
    buf_printf(html,
               "<p class=\"hint\">A row is %s, from the first at the top; the stronger its colour, the more cores it "
               "used: %.2f at most.",
               rows == r->n ? "a rank" : "the mean of several ranks", full);
    buf_printf(html,
               "</p>\n<svg class=\"ranks\" viewBox=\"0 0 %u %zu\" width=\"100%%\" height=\"%zu\" "
               "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"cores of each rank over time\">\n",
               RANK_CELLS, rows * ROW_HEIGHT, rows * ROW_HEIGHT);
    for (size_t row = 0; row < rows; row++)
        put_cells(r, row, rows, full, html);
    buf_str(html, "</svg>\n");
    page_end_section(page);
}

static void put_rank(const struct ranks *r, size_t i, struct buf *html)
{
    const struct rank *at = &r->at[i];
    struct buf b = {0};
    buf_printf(html, "<tr><td class=\"n\" data-v=\"%u\">%u</td><td>", at->number, at->number);
    page_string(html, rank_node(r, i));
    buf_str(html, "</td><td>");
    if (at->status < 0)
        buf_str(&b, "no end");
    else
        report_status(at->status, &b);
    page_prose_done(html, &b);
    buf_str(html, "</td>");
    b = (struct buf){0};
    fmt_duration(&b, at->wall_ns);
    put_number(html, &b, (double)at->wall_ns);
    if (!isnan(at->cpu_ns))
        fmt_duration(&b, (uint64_t)at->cpu_ns);
    put_number(html, &b, isnan(at->cpu_ns) ? -1 : at->cpu_ns);
    if (!isnan(at->waited_ns))
        fmt_duration(&b, (uint64_t)at->waited_ns);
    put_number(html, &b, isnan(at->waited_ns) ? -1 : at->waited_ns);
    double memory = -1;
    for (size_t k = 0; k < RANK_CELLS; k++)
        memory = fmax(memory, (double)at->memory[k]);
    if (memory >= 0)
        fmt_bytes(&b, (uint64_t)memory);
    put_number(html, &b, memory);
    buf_str(html, "<td>");
    page_string(html, at->tape);
    buf_str(html, "</td></tr>\n");
    buf_done(&b);
}

static void put_below(struct page *page, void *context)
{
    const struct ranks_page *p = context;
    put_picture(p->r, page);
    page_begin_table(page, "ranks", "Ranks", "rank>|node|end|wall>|cpu>|waited for a core>|memory>|tape");
    size_t n = p->r->n < LISTED_MOST ? p->r->n : LISTED_MOST;
    for (size_t i = 0; i < n; i++)
        put_rank(p->r, i, page_html(page));
    page_end_table(page, n, p->r->n, "ranks");
}

int ranks_page(const struct ranks *r, const struct buf *notes, struct buf *ret)
{
    struct ranks_page p = {.r = r, .notes = notes};
    struct buf title = {0};
    buf_printf(&title, "%s, %zu ranks", r->title, r->n);
    buf_byte(&title, 0);
    bool is_made = make_each(r, &p.charts[CHART_EACH]) && make_sum(r, &p.charts[CHART_CORES_SUM], false) &&
                   make_sum(r, &p.charts[CHART_MEMORY_SUM], true) && !title.failed;
    const struct sheet s = {.title = is_made ? (const char *)title.at : "",
                            .meta = put_meta,
                            .above = put_above,
                            .below = put_below,
                            .context = &p,
                            .heading = "Over time",
                            .axis = "time since the first rank began",
                            .charts = p.charts,
                            .n_charts = CHARTS};
    int code = is_made ? sheet_write(&s, ret) : -ENOMEM;
    for (size_t i = 0; i < CHARTS; i++)
        chart_done(&p.charts[i]);
    buf_done(&title);
    return code;
}
