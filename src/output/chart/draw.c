/* SPDX-License-Identifier: Apache-2.0 */
/* One drawing of a chart for all canvases with pixels. */
#include <string.h>

#include "output/chart/drawing.h"

static double x_of(const struct drawing *d, double t_ns)
{
    double share = (t_ns - (double)d->c->from_ns) / (double)(d->c->to_ns - d->c->from_ns);
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    return d->l->x + d->l->width * share;
}

static void draw_text(const struct drawing *d, double x, double y, enum anchor anchor, enum ink_kind ink,
                      const char *at)
{
    d->to->text(d->to, x, y, anchor, (struct ink){.kind = ink}, false, false, at, strlen(at));
}

static void straight(const struct drawing *d, double x1, double y1, double x2, double y2, enum ink_kind ink,
                     enum stroke how)
{
    d->to->move(d->to, x1, y1);
    d->to->line(d->to, x2, y2);
    d->to->stroke(d->to, (struct ink){.kind = ink}, how);
}

static void rectangle(const struct drawing *d, double x, double y, double w, double h, struct ink ink, enum fill how)
{
    d->to->move(d->to, x, y);
    d->to->line(d->to, x + w, y);
    d->to->line(d->to, x + w, y + h);
    d->to->line(d->to, x, y + h);
    d->to->fill(d->to, ink, how);
}

/* ---- axes ---- */

static void grid(const struct drawing *d)
{
    const struct layout *l = d->l;
    d->to->begin(d->to, CHART_PART_GRID, NULL);
    for (size_t i = 0; i < l->values.n; i++) {
        double y = drawing_y(d, l->values.at[i].at);
        straight(d, l->x, y, l->x + l->width, y, i ? INK_GRID : INK_AXIS, STROKE_GRID);
        draw_text(d, l->x - 6, y + 3.5, ANCHOR_END, INK_MUTED, l->values.at[i].text);
    }
    for (size_t i = 0; i < l->times.n; i++) {
        double x = x_of(d, l->times.at[i].at);
        straight(d, x, l->y, x, l->y + l->height, INK_GRID, STROKE_GRID);
        if (!d->p->has_time)
            continue;
        straight(d, x, l->y + l->height, x, l->y + l->height + 4, INK_AXIS, STROKE_GRID);
        double half = text_width(l->times.at[i].text, strlen(l->times.at[i].text), TEXT_SIZE) / 2;
        bool over = x + half > d->p->width - 2;
        draw_text(d, over ? d->p->width - 2 : x, l->y + l->height + 16, over ? ANCHOR_END : ANCHOR_MIDDLE, INK_MUTED,
                  l->times.at[i].text);
    }
    d->to->end(d->to);
}

/* ---- limits and marks ---- */

static void limit_text(const struct drawing *d, const struct chart_limit *limit, struct buf *ret)
{
    buf_printf(ret, "%s ", limit->name);
    chart_limit_text(d->c, limit, ret);
}

/* Draws steps; a single line if the limit never changed. */
static double limit_line(const struct drawing *d, const struct chart_step *steps, size_t n)
{
    double y = 0;
    for (size_t k = 0; k < n; k++) {
        double x = drawing_x_of_bucket(d, steps[k].from);
        y = drawing_y(d, steps[k].value);
        if (k && steps[k - 1].to == steps[k].from)
            d->to->line(d->to, x, y);
        else
            d->to->move(d->to, x, y);
        d->to->line(d->to, drawing_x_of_bucket(d, steps[k].to), y);
    }
    d->to->stroke(d->to, (struct ink){.kind = INK_LIMIT}, STROKE_DASHED);
    return y;
}

static void draw_limits(const struct drawing *d)
{
    const struct layout *l = d->l;
    for (size_t i = 0; i < d->c->n_limits; i++) {
        const struct chart_limit *limit = &d->c->limits[i];
        struct chart_step steps[CHART_STEPS_MOST];
        struct buf b = {0};
        size_t n = chart_limit_steps(d->c, limit, steps);
        if (!n)
            continue;
        d->to->begin(d->to, CHART_PART_LIMIT, limit);
        double y = limit_line(d, steps, n), x = drawing_x_of_bucket(d, steps[n - 1].to);
        limit_text(d, limit, &b);
        if (!b.failed)
            d->to->text(d->to, x - 4, y - l->y > 14 ? y - 4 : y + 12, ANCHOR_END, (struct ink){.kind = INK_LIMIT},
                        false, true, (const char *)b.at, b.len);
        d->to->end(d->to);
        buf_done(&b);
    }
}

/* A label is above its point, or below it where a limit's label may be, on the side with more room. */
static void marks(const struct drawing *d)
{
    const struct layout *l = d->l;
    for (size_t i = 0; i < d->c->n_marks; i++) {
        const struct chart_mark *m = &d->c->marks[i];
        double x = x_of(d, (double)m->t_ns), y = drawing_y(d, m->value);
        bool left = x - l->x > l->width * 0.6;
        struct buf b = {0};
        shown_text(m->text, &b);
        if (b.failed)
            return;
        d->to->begin(d->to, CHART_PART_MARK, m);
        double below = drawing_y(d, chart_below_mark(d->c, m));
        if (below - y > 4) /* the curve is lower at that time: a line leads to it */
            straight(d, x, y + 3, x, below, INK_TEXT, STROKE_GRID);
        d->to->dot(d->to, x, y, 3, (struct ink){.kind = INK_TEXT});
        double room = (left ? x - l->x : l->x + l->width - x) - 8;
        size_t fit = text_fit((const char *)b.at, b.len, TEXT_SIZE, room);
        double label_y = y - l->y > 26 ? y - 7 : y + 15;
        for (size_t k = 0; k < d->c->n_limits; k++) {
            double apart = label_y - drawing_y(d, d->c->limits[k].value);
            if (chart_limit_is_drawn(d->c, &d->c->limits[k]) && apart > -18 && apart < 14)
                label_y = y + 15;
        }
        d->to->text(d->to, left ? x - 6 : x + 6, label_y, left ? ANCHOR_END : ANCHOR_START,
                    (struct ink){.kind = INK_TEXT}, false, true, (const char *)b.at, fit);
        d->to->end(d->to);
        buf_done(&b);
    }
}

/* ---- phases, marks and events ---- */

#define LANES_MOST 6u /* deeper phases are not drawn */

/* right: the x up to which the lane is drawn already. A bar that would add less than half a pixel is left out. */
static void phase(const struct drawing *d, const struct chart_span *s, double *right)
{
    double x = x_of(d, (double)s->begin_ns), end = x_of(d, (double)s->end_ns);
    double y = d->l->spans_y + d->l->lane * s->lane;
    struct buf b = {0};
    if (end < *right + 0.5)
        return;
    double w = end - x < 1 ? 1 : end - x;
    *right = x + w;
    shown_text(s->text, &b);
    d->to->begin(d->to, CHART_PART_SPAN, s);
    rectangle(d, x, y, w > 4 ? w - 0.75 : w, d->l->lane - 2, (struct ink){INK_PHASE, s->color}, FILL_SPAN);
    size_t fit = b.failed ? 0 : text_fit((const char *)b.at, b.len, TEXT_SIZE, w - 8);
    if (fit == b.len && fit)
        d->to->text(d->to, x + 4, y + d->l->lane - 5, ANCHOR_START, (struct ink){.kind = INK_TEXT}, false, false,
                    (const char *)b.at, fit);
    d->to->end(d->to);
    buf_done(&b);
}

static void moment(const struct drawing *d, const struct chart_span *s, double *before)
{
    double x = x_of(d, (double)s->begin_ns);
    if (x - *before < 1)
        return;
    *before = x;
    d->to->begin(d->to, CHART_PART_SPAN, s);
    straight(d, x, d->l->y - 3, x, d->l->y + d->l->height, s->bad ? INK_BAD : INK_AXIS, STROKE_DASHED);
    d->to->end(d->to);
}

static void gap(const struct drawing *d, const struct chart_span *s)
{
    double x = x_of(d, (double)s->begin_ns), end = x_of(d, (double)s->end_ns);
    d->to->begin(d->to, CHART_PART_SPAN, s);
    rectangle(d, x, d->l->y, end - x < 1 ? 1 : end - x, d->l->height, (struct ink){.kind = INK_GAP}, FILL_SPAN);
    d->to->end(d->to);
}

static void spans(const struct drawing *d)
{
    const struct chart_spans *s = d->c->spans;
    double right[LANES_MOST], before = -1;
    if (!s || !s->n)
        return;
    for (size_t i = 0; i < LANES_MOST; i++)
        right[i] = d->l->x - 1;
    d->to->begin(d->to, CHART_PART_SPANS, NULL);
    for (size_t i = 0; i < s->n; i++) {
        const struct chart_span *span = &s->at[i];
        if (span->end_ns < d->c->from_ns || span->begin_ns > d->c->to_ns)
            continue;
        if (span->kind == CHART_PHASE && span->lane < LANES_MOST)
            phase(d, span, &right[span->lane]);
        else if (span->kind == CHART_GAP)
            gap(d, span);
        else if (span->kind != CHART_PHASE)
            moment(d, span, &before);
    }
    d->to->end(d->to);
}

/* ---- title and legend ---- */

static double swatch(const struct drawing *d, double x, double y, const struct chart_curve *curve)
{
    struct ink ink = {INK_CURVE, curve->color};
    if (curve->shape == CHART_STACK || curve->shape == CHART_AREA) {
        rectangle(d, x, y - 8, 10, 10, ink, FILL_SOLID);
    } else if (curve->shape == CHART_DOTS) {
        d->to->dot(d->to, x + 6, y - 3, 2.5, ink);
    } else {
        d->to->move(d->to, x, y - 3);
        d->to->line(d->to, x + 12, y - 3);
        d->to->stroke(d->to, ink, curve->shape == CHART_DASHED ? STROKE_DASHED : STROKE_LINE);
    }
    return x + 16;
}

#define NAME_WIDTH 150.0

static void shown_name(const struct chart_curve *curve, struct buf *ret, size_t *ret_fit)
{
    shown_text(curve->name, ret);
    *ret_fit = ret->failed ? 0 : text_fit((const char *)ret->at, ret->len, TEXT_SIZE, NAME_WIDTH);
    if (ret->failed || !curve->has_bounds || *ret_fit < ret->len)
        return;
    buf_str(ret, curve->shape == CHART_STACK ? " (pale: at least)" : " (dashed: a bound)");
    *ret_fit = ret->failed ? 0 : ret->len;
}

/* Returns the number of lines of the legend; draws it only if d->to is set. */
static size_t legend(const struct drawing *d)
{
    double x = d->l->x, y = d->l->legend_y, right = d->p->width - 8;
    size_t lines = 1;
    bool any = false;
    for (size_t i = 0; i < d->c->n_curves + d->c->n_limits; i++) {
        bool is_limit = i >= d->c->n_curves;
        const struct chart_curve *curve = is_limit ? NULL : &d->c->curves[i];
        const struct chart_limit *limit = is_limit ? &d->c->limits[i - d->c->n_curves] : NULL;
        struct buf b = {0};
        size_t fit;
        if (curve ? curve->shape == CHART_TOTAL : chart_limit_is_drawn(d->c, limit))
            continue;
        if (curve)
            shown_name(curve, &b, &fit);
        else
            limit_text(d, limit, &b), fit = b.failed ? 0 : b.len;
        double width = 16 * !is_limit + text_width((const char *)b.at, fit, TEXT_SIZE) + 14;
        if (any && x + width - 14 > right) {
            x = d->l->x;
            y += 16;
            lines++;
        }
        if (d->to) {
            double at = curve ? swatch(d, x, y, curve) : x;
            if (is_limit)
                d->to->begin(d->to, CHART_PART_LIMIT, limit);
            d->to->text(d->to, at, y, ANCHOR_START, (struct ink){.kind = is_limit ? INK_MUTED : INK_TEXT}, false, false,
                        (const char *)b.at, fit);
            if (is_limit)
                d->to->end(d->to);
        }
        x += width;
        any = true;
        buf_done(&b);
    }
    return any ? lines : 0;
}

void chart_lay_out(const struct chart *c, const struct chart_picture *p, struct layout *ret)
{
    struct drawing d = {c, p, ret, NULL};
    struct layout l = {.lane = 16};
    double y = p->has_title ? 26 : 6, labels = 0;
    double bottom = p->has_time ? 22 : 6;
    chart_axis_ticks(c, p->height < 120 ? 3 : p->height < 260 ? 5 : 7, &l.values);
    for (size_t i = 0; i < l.values.n; i++) {
        double w = text_width(l.values.at[i].text, strlen(l.values.at[i].text), TEXT_SIZE);
        labels = w > labels ? w : labels;
    }
    l.x = labels + 12 < 56 ? 56 : labels + 12; /* the same for charts below each other, if labels permit */
    l.width = p->width - l.x - 12 < 20 ? 20 : p->width - l.x - 12;
    l.top = l.values.end;
    l.legend_y = y + 10;
    *ret = l;
    if (p->has_legend)
        y += 16.0 * (double)legend(&d) + 4;
    l.spans_y = y;
    if (p->has_spans && c->spans && c->spans->lanes)
        y += l.lane * (c->spans->lanes < LANES_MOST ? c->spans->lanes : LANES_MOST) + 2;
    l.y = y + 4;
    l.height = p->height - bottom - l.y < 20 ? 20 : p->height - bottom - l.y;
    /* Leaves room for the text of a mark above the curves. */
    double room = chart_top(c) * (1 + 22 / l.height);
    l.top = c->n_marks && room > l.top ? room : l.top;
    size_t most = (size_t)(l.width / 74);
    chart_time_ticks(c, most < 3 ? 3 : most > 14 ? 14 : most, &l.times);
    *ret = l;
}

void chart_draw(const struct chart *c, const struct chart_picture *p, const struct layout *l, struct canvas *canvas)
{
    struct drawing d = {c, p, l, canvas};
    if (p->has_title)
        canvas->text(canvas, 10, 18, ANCHOR_START, (struct ink){.kind = INK_TEXT}, true, false, c->title,
                     strlen(c->title));
    grid(&d);
    if (c->absent)
        draw_text(&d, l->x + l->width / 2, l->y + l->height / 2, ANCHOR_MIDDLE, INK_MUTED, c->absent);
    draw_curves(&d);
    if (p->has_spans)
        spans(&d);
    draw_limits(&d);
    marks(&d);
    if (p->has_legend) {
        canvas->begin(canvas, CHART_PART_LEGEND, NULL);
        legend(&d);
        canvas->end(canvas);
    }
}
