/* SPDX-License-Identifier: Apache-2.0 */
/* Draws charts as lines of text: braille dots for lines, blocks for stacks. Letters are used if the locale has only
 * ASCII, or if there are no colours to tell stacked curves apart. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/escape.h"
#include "output/chart/canvas.h"
#include "output/chart/plot_cells.h"
#include "output/rows/escaped.h"

static const short colors[CHART_COLORS + 1] = {68, 203, 35, 178, 80, 133, 208, 37, 99, 143, 247};

int grid_color(unsigned curve)
{
    return colors[curve <= CHART_COLORS ? curve : CHART_COLORS];
}

static void set_color(struct buf *b, bool on, int fore, int back)
{
    if (!on)
        return;
    buf_str(b, "\033[0");
    if (fore >= 0)
        buf_printf(b, ";38;5;%d", fore);
    if (back >= 0)
        buf_printf(b, ";48;5;%d", back);
    buf_byte(b, 'm');
}

void grid_colored(struct buf *b, const struct plot_grid *g, int color, const char *at)
{
    set_color(b, g->t->color, color, -1);
    buf_str(b, at);
    if (g->t->color)
        buf_str(b, "\033[0m");
}

/* ---- curves ---- */

static double row_value(const struct plot_grid *g, double rows_from_bottom)
{
    return g->ticks.end * rows_from_bottom / (double)g->rows;
}

static void stacked_cell(struct plot_grid *g, size_t col, size_t row, const double *top, size_t n)
{
    double bottom = row_value(g, (double)(g->rows - 1 - row)), cell = row_value(g, 1), total = n ? top[n - 1] : 0;
    struct plot_cell *at = &g->cells[row * g->columns + col];
    double filled = (total - bottom) / cell;
    if (filled < 1.0 / 16)
        return;
    size_t low = 0, high = 0;
    double most = filled < 1 ? filled : 1;
    while (low + 1 < n && top[low] <= bottom + cell * most * 0.25)
        low++;
    while (high + 1 < n && top[high] <= bottom + cell * most * 0.75)
        high++;
    at->color = g->curve_color[low];
    at->letter = g->curve_letter[low];
    if (!g->t->utf8 || !g->t->color) {
        at->glyph = filled >= 0.5 ? (unsigned char)g->curve_letter[filled < 1 ? high : low] : 0;
        at->color = g->curve_color[low];
        return;
    }
    if (filled < 0.94) {
        at->glyph = 0x2580 + (unsigned)fmin(7, fmax(1, floor(filled * 8 + 0.5)));
        at->color = g->curve_color[high];
    } else if (low == high) {
        at->glyph = 0x2588;
    } else {
        at->glyph = 0x2584;
        at->back = g->curve_color[high];
    }
}

static void stack(struct plot_grid *g)
{
    const struct chart *c = g->c;
    double top[CHART_COLORS + 8];
    for (size_t col = 0; col < g->columns; col++) {
        size_t n = 0, first, end;
        double sum = 0;
        bool any = false;
        grid_buckets(g, col, g->columns, &first, &end);
        for (size_t k = 0; k < c->n_curves; k++) {
            if (c->curves[k].shape != CHART_STACK || n == sizeof(top) / sizeof(*top))
                continue;
            double mean = 0;
            size_t known = 0;
            for (size_t i = first; i < end; i++) {
                mean += c->curves[k].at[i].known ? c->curves[k].at[i].mean : 0;
                known += c->curves[k].at[i].known;
            }
            sum += known ? mean / (double)known : 0;
            any = any || known;
            g->curve_color[n] = grid_color(c->curves[k].color);
            g->curve_letter[n] = grid_letter(k);
            top[n++] = sum;
        }
        for (size_t row = 0; row < g->rows && any; row++)
            stacked_cell(g, col, row, top, n);
    }
}

static void dots(struct plot_grid *g, size_t x, double low, double high, int color, char letter)
{
    size_t all = g->rows * 4;
    long from = lround(grid_share(g, low) * (double)(all - 1)), to = lround(grid_share(g, high) * (double)(all - 1));
    for (long y = from < 0 ? 0 : from; y <= to && y < (long)all; y++) {
        static const unsigned char bits[2][4] = {{0x40, 0x04, 0x02, 0x01}, {0x80, 0x20, 0x10, 0x08}};
        struct plot_cell *at = &g->cells[(g->rows - 1 - (size_t)y / 4) * g->columns + x / 2];
        if (at->glyph)
            continue;
        at->dots |= bits[x % 2][y % 4];
        at->color = color;
        at->letter = letter;
    }
}

/* Each column of dots includes all values of its buckets, so no peak is lost. */
static void line_curve(struct plot_grid *g, const struct chart_curve *curve, char letter, bool fill)
{
    int color = grid_color(curve->color);
    double before = NAN;
    for (size_t x = 0; x < 2 * g->columns; x++) {
        double low = INFINITY, high = -INFINITY, last = NAN;
        size_t first, end;
        grid_buckets(g, x, 2 * g->columns, &first, &end);
        for (size_t i = first; i < end; i++) {
            const struct chart_bucket *b = &curve->at[i];
            if (!b->known || (b->is_bound && curve->has_whole))
                continue;
            low = fmin(low, b->min);
            high = fmax(high, b->max);
            last = b->last;
        }
        if (!isnan(before) && low <= high) {
            low = fmin(low, before);
            high = fmax(high, before);
        }
        before = last;
        if (low <= high)
            dots(g, x, fill ? 0 : low, high, color, letter);
    }
}

/* A bullet in the middle of each bucket. */
static void dot_curve(struct plot_grid *g, const struct chart_curve *curve, char letter)
{
    for (size_t i = 0; i < g->c->buckets; i++) {
        if (!curve->at[i].known)
            continue;
        size_t col = (2 * i + 1) * g->columns / (2 * g->c->buckets);
        size_t row = (size_t)(fmax(0, 1 - grid_share(g, curve->at[i].mean)) * (double)(g->rows - 1) + 0.5);
        struct plot_cell *at = &g->cells[row * g->columns + col];
        at->glyph = g->t->utf8 ? 0x2022 : (unsigned char)letter;
        at->color = grid_color(curve->color);
    }
}

/* Marks the highest value within a column above the stack, if it is higher by a good part of a cell. */
static void peaks(struct plot_grid *g, const struct chart_curve *total)
{
    for (size_t x = 0; x < 2 * g->columns; x++) {
        double high = -1, mean = 0;
        size_t first, end;
        grid_buckets(g, x, 2 * g->columns, &first, &end);
        for (size_t i = first; i < end; i++) {
            const struct chart_bucket *b = &total->at[i];
            high = b->known && b->max > high ? b->max : high;
            mean += b->known ? b->mean / (double)(end - first) : 0;
        }
        if (high - mean > row_value(g, 0.75))
            dots(g, x, high, high, GRID_MUTED, '.');
    }
}

static void limit_line(struct plot_grid *g, const struct chart_step *step)
{
    double share = grid_share(g, step->value);
    size_t row = (size_t)fmin((double)g->rows - 1, floor((1 - share) * (double)g->rows + 1e-9));
    for (size_t col = 0; col < g->columns; col++) {
        struct plot_cell *at = &g->cells[row * g->columns + col];
        size_t first, end;
        grid_buckets(g, col, g->columns, &first, &end);
        if (!at->glyph && !at->dots && first >= step->from && first < step->to) {
            at->glyph = g->t->utf8 ? 0x2504 : '-';
            at->color = GRID_LIMIT;
        }
    }
}

static void draw_limits(struct plot_grid *g)
{
    for (size_t i = 0; i < g->c->n_limits; i++) {
        struct chart_step steps[CHART_STEPS_MOST];
        size_t n = chart_limit_steps(g->c, &g->c->limits[i], steps);
        for (size_t k = 0; k < n; k++)
            limit_line(g, &steps[k]);
    }
}

static void draw_curves(struct plot_grid *g)
{
    size_t areas = 0;
    stack(g);
    for (size_t k = 0; k < g->c->n_curves; k++)
        areas += g->c->curves[k].shape == CHART_AREA;
    for (size_t k = 0; k < g->c->n_curves; k++) {
        const struct chart_curve *curve = &g->c->curves[k];
        if (!curve->known || curve->shape == CHART_STACK)
            continue;
        if (curve->shape == CHART_TOTAL)
            peaks(g, curve);
        else if (curve->shape == CHART_DOTS)
            dot_curve(g, curve, grid_letter(k));
        else
            line_curve(g, curve, grid_letter(k), curve->shape == CHART_AREA && areas == 1);
    }
    draw_limits(g);
}

/* ---- lines of text ---- */

static void label(const struct plot_grid *g, size_t row, struct buf *ret)
{
    const char *text = "";
    for (size_t i = 0; i < g->ticks.n; i++) {
        double at = (1 - grid_share(g, g->ticks.at[i].at)) * (double)(g->rows - 1);
        if ((size_t)floor(at + 0.5) == row)
            text = g->ticks.at[i].text;
    }
    size_t len = utf8_columns(text, strlen(text));
    buf_spaces(ret, g->labels > len ? g->labels - len : 0);
    grid_colored(ret, g, GRID_MUTED, text);
    grid_colored(ret, g, GRID_MUTED, g->t->utf8 ? (*text ? " \342\224\244" : " \342\224\202") : *text ? " +" : " |");
}

static void row_text(const struct plot_grid *g, size_t row, struct buf *ret)
{
    int fore = -1, back = -1;
    size_t end = g->columns;
    label(g, row, ret);
    while (end > 0 && !g->cells[row * g->columns + end - 1].glyph && !g->cells[row * g->columns + end - 1].dots)
        end--;
    for (size_t col = 0; col < end; col++) {
        const struct plot_cell *at = &g->cells[row * g->columns + col];
        bool empty = !at->glyph && !at->dots;
        int to_fore = empty ? -1 : at->color, to_back = empty ? -1 : at->back;
        if (to_fore != fore || to_back != back)
            set_color(ret, g->t->color, to_fore, to_back);
        fore = to_fore;
        back = to_back;
        if (at->glyph)
            buf_point(ret, at->glyph);
        else if (at->dots)
            buf_point(ret, g->has_letters ? (unsigned char)at->letter : 0x2800u | at->dots);
        else
            buf_byte(ret, ' ');
    }
    if (fore >= 0 || back >= 0)
        set_color(ret, g->t->color, -1, -1);
    buf_byte(ret, '\n');
}

/* The entries of the legend, in lines as wide as the chart. */
struct legend {
    const struct plot_grid *g;
    struct buf *out;
    size_t column;
};

static void entry(struct legend *l, const char *sign, int color, const char *text, size_t len, bool escape)
{
    struct buf b = {0};
    if (escape)
        text_escaped(&b, at_most(text, &len), len);
    else
        buf_add(&b, text, len);
    size_t width = utf8_columns((const char *)b.at, b.len) + (*sign ? 2 : 0);
    if (l->column && l->column + 3 + width > l->g->t->width) {
        buf_byte(l->out, '\n');
        l->column = 0;
    }
    for (size_t i = 0; i < (l->column ? 3 : l->g->labels + 2); i++, l->column++)
        buf_byte(l->out, ' ');
    if (*sign) {
        grid_colored(l->out, l->g, color, sign);
        buf_byte(l->out, ' ');
    }
    buf_add(l->out, b.at, b.len);
    l->column += width;
    l->out->failed = l->out->failed || b.failed;
    buf_done(&b);
}

/* Buckets with only bounds are gaps, unless all buckets are. */
static void bounds_entry(struct legend *l, const struct chart_curve *curve)
{
    struct buf b = {0};
    bool at_least = curve->shape == CHART_STACK || !curve->has_whole;
    text_escaped(&b, curve->name, strlen(curve->name));
    buf_str(&b, at_least ? ": a lower bound, " : ": gaps where not all of it is known, ");
    chart_max_text(l->g->c->unit, curve, &b);
    entry(l, "", -1, (const char *)b.at, b.len, false);
    buf_done(&b);
}

static void legend(const struct plot_grid *g, struct buf *ret)
{
    struct legend l = {g, ret, 0};
    const struct chart *c = g->c;
    for (size_t k = 0; k < c->n_curves; k++) {
        const struct chart_curve *curve = &c->curves[k];
        char letter[2] = {grid_letter(k), 0};
        bool blocks = g->t->utf8 && (curve->shape == CHART_STACK ? g->t->color : !g->has_letters);
        if (curve->shape == CHART_TOTAL)
            continue;
        entry(&l,
              !blocks                       ? letter
              : curve->shape == CHART_STACK ? "\342\226\210"
              : curve->shape == CHART_DOTS  ? "\342\200\242"
                                            : "\342\224\200",
              grid_color(curve->color), curve->name, strlen(curve->name), true);
        if (curve->has_bounds)
            bounds_entry(&l, curve);
    }
    for (size_t i = 0; i < c->n_limits; i++) {
        struct buf b = {0};
        buf_printf(&b, "%s ", c->limits[i].name);
        chart_limit_text(c, &c->limits[i], &b);
        bool drawn = chart_limit_is_drawn(c, &c->limits[i]);
        entry(&l, !drawn ? "" : g->t->utf8 ? "\342\224\204" : "-", GRID_LIMIT, (const char *)b.at, b.len, false);
        buf_done(&b);
    }
    for (size_t i = 0; i < c->n_marks; i++) {
        struct buf b = {0};
        text_escaped(&b, c->marks[i].text, strlen(c->marks[i].text));
        buf_str(&b, ", at ");
        fmt_moment(&b, c->marks[i].t_ns); /* in the form that baro show --at takes, as in the summary */
        entry(&l, "", -1, (const char *)b.at, b.len, false);
        buf_done(&b);
    }
    if (l.column)
        buf_byte(ret, '\n');
}

void chart_text(const struct chart *c, const struct chart_terminal *t, struct buf *ret)
{
    struct plot_grid g;
    struct buf out = {0};
    grid_init(&g, c, t);
    if (!g.cells) {
        ret->failed = true;
        return;
    }
    draw_curves(&g);
    buf_printf(&out, "%s\n", c->title);
    if (c->absent)
        buf_printf(&out, "%s\n", c->absent);
    for (size_t row = 0; row < g.rows && !c->absent; row++)
        row_text(&g, row, &out);
    if (!c->absent) {
        grid_time_axis(&g, &out);
        grid_lanes(&g, &out);
        legend(&g, &out);
    }
    buf_add(ret, out.at, out.len);
    ret->failed = ret->failed || out.failed;
    buf_done(&out);
    free(g.cells);
}
