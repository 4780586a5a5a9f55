/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charts as inline SVG that is as wide as the page: curves stand in an inner svg whose coordinates (buckets across,
 * 1000 down) are stretched; text and marks stand outside of it, at percentages. Zooming is another viewBox.
 */
#include <stdlib.h>
#include <string.h>

#include "output/page/parts.h"

#define TALL 168u
#define LOW 96u
#define LEGEND_LINE 19u
#define DOWN 1000 /* coordinates of a plot from its top to its bottom */

struct plot {
    struct page *p;
    const struct chart *c;
    double begin, end; /* values at the bottom and at the top of the axis */
    unsigned height;
};

static int down(const struct plot *w, double v)
{
    double y = w->end > w->begin ? DOWN - (v - w->begin) / (w->end - w->begin) * DOWN : DOWN;
    return y < 0 ? 0 : y > DOWN ? DOWN : (int)(y + 0.5);
}

/* ---- paths: a point where the value changes, at the middle of its bucket ---- */

/* Draws one stretch of known buckets [from, to); value() gives the y of each. */
typedef double value_function(const struct chart_curve *curve, const double *below, size_t i);

static double value_mean(const struct chart_curve *curve, const double *below, size_t i)
{
    return curve->at[i].mean + (below ? below[i] : 0);
}

static double value_max(const struct chart_curve *curve, const double *below, size_t i)
{
    (void)below;
    return curve->at[i].is_bound ? curve->at[i].high : curve->at[i].max;
}

static double value_min(const struct chart_curve *curve, const double *below, size_t i)
{
    (void)below;
    return curve->at[i].min;
}

/* Points at twice the bucket's number plus one: the middle. Points on one level are left out. */
static void points(const struct plot *w, const struct chart_curve *curve, const double *below, value_function *value,
                   size_t from, size_t to, bool back)
{
    struct buf *html = &w->p->html;
    int last = -1;
    for (size_t k = from; k < to; k++) {
        size_t i = back ? to - 1 - (k - from) : k;
        int y = down(w, value(curve, below, i));
        int next = k + 1 < to ? down(w, value(curve, below, back ? i - 1 : i + 1)) : -1;
        if (k > from && y == last && next == y)
            continue;
        if (k > from && y != last && curve->shape == CHART_DASHED) /* a level holds up to its end */
            buf_printf(html, "L%zu %dV%d", 2 * i, last, y);
        if (k == from)
            buf_printf(html, "%s%zu %d", back ? "L" : "M", back ? 2 * i + 2 : 2 * i, y);
        buf_printf(html, "L%zu %d", 2 * i + 1, y);
        if (next < 0)
            buf_printf(html, "L%zu %d", back ? 2 * i : 2 * i + 2, y);
        last = y;
    }
}

/* The buckets that a path has: all known ones, only those with a known value, or only those with bounds. */
enum bucket_part { BUCKETS_ALL, BUCKETS_WHOLE, BUCKETS_BOUNDS };

static size_t next_bucket(const struct chart *c, const struct chart_curve *curve, size_t i, enum bucket_part part,
                          bool has_it)
{
    for (; i < c->buckets; i++) {
        const struct chart_bucket *b = &curve->at[i];
        bool has = b->known && (part == BUCKETS_ALL || b->is_bound == (part == BUCKETS_BOUNDS));
        if (has == has_it)
            break;
    }
    return i;
}

enum path_kind { PATH_STACK, PATH_AREA, PATH_LINE, PATH_DASHED, PATH_BAND, PATH_BOUNDS, PATH_TOTAL };

static const struct {
    const char *class;
    value_function *value;
    enum bucket_part part;
    bool to_floor, to_least; /* an area down to 0, or to the lowest values */
} paths[] = {
    [PATH_STACK] = {"a", value_mean, BUCKETS_ALL, true, false},
    [PATH_AREA] = {"a pale", value_mean, BUCKETS_WHOLE, true, false},
    [PATH_LINE] = {"l", value_mean, BUCKETS_WHOLE, false, false},
    [PATH_DASHED] = {"d", value_mean, BUCKETS_WHOLE, false, false},
    [PATH_BAND] = {"b", value_max, BUCKETS_ALL, false, true},
    [PATH_BOUNDS] = {"d", value_mean, BUCKETS_BOUNDS, false, false},
    [PATH_TOTAL] = {"t", value_max, BUCKETS_WHOLE, false, false},
};

static void path(const struct plot *w, const struct chart_curve *curve, const double *below, enum path_kind kind)
{
    struct buf *html = &w->p->html;
    enum bucket_part part = paths[kind].part;
    buf_printf(html, "<path class=\"%s k%u\" data-k=\"", paths[kind].class, curve->color);
    page_string(html, curve->name);
    buf_str(html, "\" d=\"");
    for (size_t i = next_bucket(w->c, curve, 0, part, true); i < w->c->buckets;
         i = next_bucket(w->c, curve, i, part, true)) {
        size_t to = next_bucket(w->c, curve, i, part, false);
        points(w, curve, below, paths[kind].value, i, to, false);
        if (paths[kind].to_least)
            points(w, curve, NULL, value_min, i, to, true);
        if (paths[kind].to_floor)
            buf_printf(html, "V%dH%zuZ", DOWN, 2 * i);
        else if (paths[kind].to_least)
            buf_byte(html, 'Z');
        i = to;
    }
    buf_str(html, "\"/>\n");
}

/* Round ends of lines that have no length are round also in stretched coordinates. */
static void dots(const struct plot *w, const struct chart_curve *curve)
{
    struct buf *html = &w->p->html;
    buf_printf(html, "<path class=\"l dot k%u\" data-k=\"", curve->color);
    page_string(html, curve->name);
    buf_str(html, "\" d=\"");
    for (size_t i = 0; i < w->c->buckets; i++) {
        if (curve->at[i].known)
            buf_printf(html, "M%zu %dh0", 2 * i + 1, down(w, curve->at[i].mean));
    }
    buf_str(html, "\"/>\n");
}

/* Stacked areas from the highest to the lowest: each covers what is below it. */
static void stack(const struct plot *w)
{
    const struct chart *c = w->c;
    double *below = calloc(c->buckets * (c->n_curves + 1), sizeof *below);
    if (!below) {
        w->p->html.failed = true;
        return;
    }
    size_t n = 0, which[64];
    for (size_t k = 0; k < c->n_curves && n < 63; k++) {
        if (c->curves[k].shape != CHART_STACK || !c->curves[k].known)
            continue;
        which[n++] = k;
        for (size_t i = 0; i < c->buckets; i++)
            below[n * c->buckets + i] =
                below[(n - 1) * c->buckets + i] + (c->curves[k].at[i].known ? c->curves[k].at[i].mean : 0);
    }
    for (size_t k = n; k-- > 0;)
        path(w, &c->curves[which[k]], below + k * c->buckets, PATH_STACK);
    free(below);
}

static bool has_band(const struct chart *c, const struct chart_curve *curve)
{
    for (size_t i = 0; i < c->buckets; i++) {
        if (curve->at[i].known && value_max(curve, NULL, i) > curve->at[i].min * 1.02)
            return true;
    }
    return false;
}

static void draw_curves(const struct plot *w)
{
    stack(w);
    for (size_t k = 0; k < w->c->n_curves; k++) {
        const struct chart_curve *curve = &w->c->curves[k];
        if (curve->shape == CHART_STACK || !curve->known)
            continue;
        if (curve->shape == CHART_TOTAL) {
            path(w, curve, NULL, PATH_TOTAL);
            continue;
        }
        if (curve->shape == CHART_DOTS) {
            dots(w, curve);
            continue;
        }
        if (curve->shape == CHART_AREA)
            path(w, curve, NULL, PATH_AREA);
        if (has_band(w->c, curve))
            path(w, curve, NULL, PATH_BAND);
        path(w, curve, NULL, curve->shape == CHART_DASHED ? PATH_DASHED : PATH_LINE);
        if (curve->has_bounds)
            path(w, curve, NULL, PATH_BOUNDS);
    }
}

/* ---- around them ---- */

static void draw_limits(const struct plot *w)
{
    struct buf *html = &w->p->html;
    for (size_t i = 0; i < w->c->n_limits; i++) {
        const struct chart_limit *limit = &w->c->limits[i];
        struct chart_step steps[CHART_STEPS_MOST];
        size_t n = chart_limit_steps(w->c, limit, steps);
        buf_str(html, n ? "<path class=\"limit\" d=\"" : "");
        for (size_t k = 0; k < n; k++) {
            bool joins = k && steps[k - 1].to == steps[k].from;
            if (!joins)
                buf_printf(html, "M%zu ", 2 * steps[k].from);
            buf_printf(html, joins ? "V%dH%zu" : "%dH%zu", down(w, steps[k].value), 2 * steps[k].to);
        }
        buf_str(html, n ? "\"/>\n" : "");
    }
}

static void value_axis(const struct plot *w, const struct chart_ticks *ticks)
{
    struct buf *html = &w->p->html;
    buf_str(html, "<g class=\"ya\" aria-hidden=\"true\">");
    for (size_t i = 0; i < ticks->n; i++) {
        double y = (double)down(w, ticks->at[i].at) * w->height / DOWN;
        buf_printf(html, "<line x1=\"0\" x2=\"100%%\" y1=\"%.1f\" y2=\"%.1f\"/>", y, y);
        buf_printf(html, "<text y=\"%.1f\">", y + 4);
        page_string(html, ticks->at[i].text);
        buf_str(html, "</text>");
    }
    buf_str(html, "</g>\n");
}

static void time_grid(const struct plot *w)
{
    struct buf *html = &w->p->html;
    struct chart_ticks ticks;
    chart_time_ticks(w->c, 9, &ticks);
    buf_str(html, "<g class=\"tg\">");
    for (size_t i = 0; i < ticks.n; i++) {
        buf_str(html, "<line y1=\"0\" y2=\"100%\" x1=\"");
        page_percent(w->p, html, (uint64_t)ticks.at[i].at);
        buf_str(html, "%\" x2=\"");
        page_percent(w->p, html, (uint64_t)ticks.at[i].at);
        buf_str(html, "%\"/>");
    }
    buf_str(html, "</g>\n");
}

static void marks(const struct plot *w)
{
    struct buf *html = &w->p->html;
    for (size_t i = 0; i < w->c->n_marks; i++) {
        const struct chart_mark *mark = &w->c->marks[i];
        double y = (double)down(w, mark->value) * w->height / DOWN;
        bool left = (double)(mark->t_ns - w->p->from_ns) > 0.6 * (double)(w->p->to_ns - w->p->from_ns);
        double below = chart_below_mark(w->c, mark), stem = (double)down(w, below) * w->height / DOWN - y;
        buf_printf(html,
                   "<svg class=\"mark%s\" overflow=\"visible\" data-t=\"%llu\" data-y=\"%.9g\" "
                   "data-below=\"%.9g\" x=\"",
                   left ? " left" : "", (unsigned long long)mark->t_ns, mark->value, below);
        page_percent(w->p, html, mark->t_ns);
        buf_printf(html, "%%\" y=\"%.1f\">", y);
        if (stem > 4) /* the curve is lower: a line leads to it */
            buf_printf(html, "<line y1=\"4\" y2=\"%.1f\"/>", stem);
        buf_printf(html, "<circle r=\"3.5\"/><text x=\"%s\" y=\"-7\">", left ? "-7" : "7");
        page_string(html, mark->text);
        buf_str(html, "</text></svg>\n");
    }
}

static void drawing(const struct plot *w)
{
    struct buf *html = &w->p->html;
    struct chart_ticks ticks;
    chart_axis_ticks(w->c, w->height > LOW ? 5 : 4, &ticks);
    struct plot scaled = *w;
    scaled.begin = ticks.begin;
    scaled.end = ticks.end;
    buf_printf(html, "<svg class=\"plot\" width=\"100%%\" height=\"%u\" role=\"img\" data-end=\"%.9g\"", w->height,
               scaled.end);
    if (scaled.begin != 0)
        buf_printf(html, " data-begin=\"%.9g\"", scaled.begin);
    buf_str(html, " aria-label=\"");
    page_string(html, w->c->title);
    for (size_t i = 0; i < w->c->n_marks; i++) {
        buf_str(html, ", ");
        page_string(html, w->c->marks[i].text);
    }
    buf_str(html, "\">\n");
    time_grid(&scaled);
    buf_printf(html,
               "<svg class=\"in\" width=\"100%%\" height=\"%u\" viewBox=\"0 0 %zu %d\" preserveAspectRatio=\"none\">\n",
               w->height, 2 * w->c->buckets, DOWN);
    draw_curves(&scaled);
    draw_limits(&scaled);
    buf_str(html, "</svg>\n");
    value_axis(&scaled, &ticks);
    marks(&scaled);
    buf_str(html, "</svg>\n");
}

static void legend(const struct plot *w)
{
    struct buf *html = &w->p->html;
    buf_str(html, "<ul class=\"legend\">\n");
    for (size_t k = 0; k < w->c->n_curves; k++) {
        const struct chart_curve *curve = &w->c->curves[k];
        if (!curve->known)
            continue;
        buf_printf(html, "<li%s><button type=\"button\" data-k=\"",
                   curve->shape == CHART_TOTAL ? " class=\"total\"" : "");
        page_string(html, curve->name);
        buf_printf(html, "\"><i class=\"k%u%s\"></i><span>", curve->color,
                   curve->shape == CHART_DASHED  ? " dash"
                   : curve->shape == CHART_TOTAL ? " tot"
                                                 : "");
        page_string(html, curve->name);
        buf_printf(html, "</span><b data-curve=\"%zu\">", k);
        struct buf text = {0};
        chart_max_text(w->c->unit, curve, &text);
        chart_xml_escaped(html, (const char *)text.at, text.len);
        buf_done(&text);
        buf_str(html, "</b></button></li>\n");
    }
    for (size_t i = 0; i < w->c->n_limits; i++) {
        buf_str(html, "<li class=\"lim\"><i></i><span>");
        page_string(html, w->c->limits[i].name);
        buf_str(html, "</span><b>");
        struct buf text = {0};
        chart_limit_text(w->c, &w->c->limits[i], &text);
        chart_xml_escaped(html, (const char *)text.at, text.len);
        buf_done(&text);
        buf_str(html, "</b></li>\n");
    }
    buf_str(html, "</ul>\n");
}

/* If the legend is beside the plot, the plot is as high as the legend. */
static unsigned height_of(const struct chart *c, bool tall)
{
    size_t lines = c->n_limits;
    for (size_t k = 0; k < c->n_curves; k++)
        lines += c->curves[k].known;
    unsigned least = tall ? TALL : LOW, legend = (unsigned)lines * LEGEND_LINE;
    return legend > least ? legend : least;
}

static void track(struct page *p, const struct chart *c, size_t i, bool tall)
{
    struct plot w = {.p = p, .c = c, .height = height_of(c, tall)};
    buf_printf(&p->html,
               "<figure class=\"track chart\" id=\"c-%s\" data-chart=\"%zu\"><figcaption class=\"th\"><h3 title=\"",
               c->id, i);
    page_string(&p->html, c->help);
    buf_str(&p->html, "\">");
    page_string(&p->html, c->title);
    buf_str(&p->html, "</h3>\n");
    legend(&w);
    buf_str(&p->html, "</figcaption><div class=\"tp\">\n");
    drawing(&w);
    buf_str(&p->html, "</div></figure>\n");
    page_flush(p, false);
}

#define TALL_CHARTS 2u /* CPU and memory: drawn whatever they show */

static bool has_value(const struct chart *c)
{
    for (size_t k = 0; k < c->n_curves; k++) {
        if (c->curves[k].known)
            return true;
    }
    return false;
}

/* Is it about the machine? The tape of the machine has these charts, too. */
static bool is_of_machine(const struct chart *c)
{
    return strncmp(c->id, "host_", 5) == 0 || strcmp(c->id, "pressure") == 0 || strcmp(c->id, "disk") == 0 ||
           strcmp(c->id, "net") == 0;
}

/* Returns the chart of the machine's tape with this id; NULL: there is none with values. */
static const struct chart *of_machine(const struct page *p, const struct chart *c)
{
    const struct chart *m = p->machine && is_of_machine(c) ? figures_find(p->machine, c->id) : NULL;
    return m && has_value(m) && m->buckets == c->buckets ? m : NULL;
}

static const struct chart *own_or_machine(const struct page *p, size_t i)
{
    const struct chart *c = figures_chart(p->figures, i), *m = c ? of_machine(p, c) : NULL;
    return m ? m : c;
}

/* CPU and memory, the numbers that the job itself gave with marks, the other figures, then directories and the kinds
 * that only the tape has. */
const struct chart *page_chart_at(const struct page *p, size_t i)
{
    if (p->sheet)
        return i < p->sheet->n_charts ? &p->sheet->charts[i] : NULL;
    size_t n = figures_count(p->figures), first = n < TALL_CHARTS ? n : TALL_CHARTS;
    size_t numbers = p->numbers ? figures_count(p->numbers) : 0;
    if (i < first)
        return own_or_machine(p, i);
    if (i < first + numbers)
        return figures_chart(p->numbers, i - first);
    i -= numbers;
    return i < n ? own_or_machine(p, i) : p->devices ? figures_chart(p->devices, i - n) : NULL;
}

enum how { HOW_DRAWN, HOW_FOLDED, HOW_LEFT_OUT };

static enum how how_of(const struct chart *c, size_t i)
{
    if (c->absent || !has_value(c))
        return HOW_LEFT_OUT;
    return i >= TALL_CHARTS && chart_is_flat(c) ? HOW_FOLDED : HOW_DRAWN;
}

/* Writes "Network of the machine: received 0 B/s, sent 0 B/s": a line that opens the chart. */
static void folded(struct page *p, const struct chart *c, size_t i)
{
    struct buf *html = &p->html, text = {0};
    buf_str(html, "<details class=\"fold\"><summary><b>");
    page_string(html, c->title);
    buf_str(html, "</b> flat");
    for (size_t k = 0; k < c->n_curves; k++) {
        if (!c->curves[k].known || c->curves[k].shape == CHART_TOTAL)
            continue;
        buf_str(html, " \u00b7 ");
        page_string(html, c->curves[k].name);
        buf_byte(html, ' ');
        chart_value_text(c->unit, c->curves[k].mean, &text);
        chart_xml_escaped(html, (const char *)text.at, text.len);
        buf_clear(&text);
    }
    buf_str(html, "</summary>\n");
    track(p, c, i, false);
    buf_str(html, "</details>\n");
    buf_done(&text);
}

static const char *reason_of(const struct page *p, const struct chart *c)
{
    if (is_of_machine(c) && baro_header_mode(p->header) == BARO_MODE_ATTACH)
        return "this tape has nothing of the machine, and no tape of the machine is beside it";
    return c->absent ? c->absent : "no sample has the values";
}

/* Writes one line for all charts that have this reason, from chart `i` on; nothing if an earlier one had it. */
static void left_out(struct page *p, size_t i)
{
    const struct chart *c = page_chart_at(p, i), *other;
    const char *reason = reason_of(p, c);
    for (size_t k = 0; k < i; k++) {
        other = page_chart_at(p, k);
        if (how_of(other, k) == HOW_LEFT_OUT && strcmp(reason_of(p, other), reason) == 0)
            return;
    }
    buf_str(&p->html, "<p class=\"fold\">Not drawn: ");
    for (size_t k = i; (other = page_chart_at(p, k)); k++) {
        if (how_of(other, k) != HOW_LEFT_OUT || strcmp(reason_of(p, other), reason) != 0)
            continue;
        buf_str(&p->html, k > i ? ", <b>" : "<b>");
        page_string(&p->html, other->title);
        buf_str(&p->html, "</b>");
    }
    buf_str(&p->html, " (");
    page_string(&p->html, reason);
    buf_str(&p->html, ")</p>\n");
}

void page_charts(struct page *p)
{
    const struct chart *c;
    for (enum how how = HOW_DRAWN; how <= HOW_LEFT_OUT; how++) {
        for (size_t i = 0; (c = page_chart_at(p, i)); i++) {
            if (how_of(c, i) != how)
                continue;
            if (how == HOW_DRAWN)
                track(p, c, i, i < TALL_CHARTS);
            else if (how == HOW_FOLDED)
                folded(p, c, i);
            else
                left_out(p, i);
        }
    }
    if (p->machine) {
        buf_str(&p->html, "<p class=\"fold\">The charts of the machine are from the tape <b>");
        page_string(&p->html, p->options->machine_name);
        buf_str(&p->html, "</b>.</p>\n");
    }
}

/* ---- small curves ---- */

void page_spark(struct page *p, const struct chart *c, const struct chart_curve *curve)
{
    enum { ACROSS = 120 };
    if (!c || !curve || !curve->known || curve->max <= 0)
        return;
    buf_printf(&p->html,
               "<svg class=\"spark\" viewBox=\"0 0 %d 100\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><path "
               "d=\"M0 100",
               ACROSS);
    for (size_t x = 0; x < ACROSS; x++) {
        double most = 0;
        size_t from = x * c->buckets / ACROSS, to = (x + 1) * c->buckets / ACROSS;
        for (size_t i = from; i < to || i == from; i++)
            most = chart_is_whole(&curve->at[i]) && curve->at[i].max > most ? curve->at[i].max : most;
        buf_printf(&p->html, "L%zu %d", x, 100 - (int)(most / curve->max * 96));
    }
    buf_printf(&p->html, "L%d 100Z\"/></svg>", ACROSS);
}
