/* SPDX-License-Identifier: Apache-2.0 */
/* The cells of a chart in a terminal. Only for the files of this folder. */
#ifndef OUTPUT_CHART_PLOT_CELLS_H
#define OUTPUT_CHART_PLOT_CELLS_H

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "output/chart/chart.h"

struct plot_cell {
    unsigned glyph;     /* a code point; 0: dots, if there are any */
    unsigned char dots; /* braille */
    char letter;        /* replaces dots if only ASCII can be shown */
    int color, back;    /* one of 256 colours; -1: none */
};

struct plot_grid {
    const struct chart *c;
    const struct chart_terminal *t;
    size_t columns, rows, labels; /* labels: columns of the texts of values */
    bool has_letters; /* lines are letters instead of dots: only ASCII can be shown, or colours are missing to tell
                       * several lines apart */
    struct chart_ticks ticks;
    struct plot_cell *cells;
    int curve_color[CHART_COLORS + 8];
    char curve_letter[CHART_COLORS + 8];
};

/* Colours of 256. */
#define GRID_LIMIT 160
#define GRID_MUTED 244
int grid_color(unsigned curve);

void grid_colored(struct buf *b, const struct plot_grid *g, int color, const char *at);
void grid_time_axis(const struct plot_grid *g, struct buf *ret);
/* The lines of phases, marks and problems. */
void grid_lanes(const struct plot_grid *g, struct buf *ret);

#define GRID_ROWS 12u
#define NAME_COLUMNS 40u

/* The letter that names a curve if there are no colours. */
static inline char grid_letter(size_t curve)
{
    return "*ox+#%&=abcdefghij"[curve % 18];
}

/* Returns at most this many bytes of a name, in whole characters. */
static inline const char *at_most(const char *text, size_t *len)
{
    if (*len > NAME_COLUMNS)
        *len = NAME_COLUMNS;
    while (*len && ((unsigned char)text[*len] & 0xc0) == 0x80)
        (*len)--;
    return text;
}

/* Where a value is between the bottom of the plot (0) and its top (1). */
static inline double grid_share(const struct plot_grid *g, double value)
{
    return (value - g->ticks.begin) / (g->ticks.end - g->ticks.begin);
}

/* Finds the buckets that belong to column x of n: at least one. */
static inline void grid_buckets(const struct plot_grid *g, size_t x, size_t n, size_t *ret_first, size_t *ret_end)
{
    size_t first = g->c->buckets * x / n, end = g->c->buckets * (x + 1) / n;
    *ret_first = first < g->c->buckets ? first : g->c->buckets - 1;
    *ret_end = end > *ret_first ? end : *ret_first + 1;
}

/* Curves that are drawn over each other: all except those of a stack. */
static inline size_t grid_lines(const struct chart *c)
{
    size_t n = 0;
    for (size_t k = 0; k < c->n_curves; k++)
        n += c->curves[k].known && c->curves[k].shape != CHART_STACK && c->curves[k].shape != CHART_TOTAL &&
             c->curves[k].shape != CHART_DOTS;
    return n;
}

static inline void grid_init(struct plot_grid *g, const struct chart *c, const struct chart_terminal *t)
{
    *g = (struct plot_grid){.c = c, .t = t, .rows = t->height ? t->height : GRID_ROWS};
    g->rows = g->rows < 3 ? 3 : g->rows;
    g->has_letters = !t->utf8 || (!t->color && grid_lines(c) > 1);
    chart_axis_ticks(c, g->rows / 3 + 1, &g->ticks);
    for (size_t i = 0; i < g->ticks.n; i++) {
        size_t len = utf8_columns(g->ticks.at[i].text, strlen(g->ticks.at[i].text));
        g->labels = len > g->labels ? len : g->labels;
    }
    g->columns = t->width > g->labels + 12 ? t->width - g->labels - 2 : 10;
    g->cells = calloc(g->columns * g->rows, sizeof(*g->cells));
    for (size_t i = 0; g->cells && i < g->columns * g->rows; i++)
        g->cells[i].color = g->cells[i].back = -1;
}

#endif
