/* SPDX-License-Identifier: Apache-2.0 */
/* The drawing functions of a picture: one drawing (draw.c) for SVG and for cairo. Only for the files of this folder. */
#ifndef OUTPUT_CHART_CANVAS_H
#define OUTPUT_CHART_CANVAS_H

#include "output/chart/chart.h"

enum ink_kind { INK_CURVE, INK_TEXT, INK_MUTED, INK_GRID, INK_AXIS, INK_LIMIT, INK_BAD, INK_PHASE, INK_GAP };
struct ink {
    enum ink_kind kind;
    unsigned color; /* colour of INK_CURVE and INK_PHASE */
};

enum anchor { ANCHOR_START, ANCHOR_MIDDLE, ANCHOR_END };
enum stroke { STROKE_LINE, STROKE_THIN, STROKE_DASHED, STROKE_GRID };
enum fill { FILL_SOLID, FILL_AREA, FILL_BAND, FILL_SPAN };

/* A part of the picture, for formats that have structure. */
enum chart_part {
    CHART_PART_GRID,
    CHART_PART_CURVE,
    CHART_PART_LIMIT,
    CHART_PART_MARK,
    CHART_PART_SPANS,
    CHART_PART_SPAN,
    CHART_PART_LEGEND
};

struct canvas {
    /* data: the curve, limit, mark or span that the part shows; NULL for other parts. */
    void (*begin)(struct canvas *c, enum chart_part part, const void *data);
    void (*end)(struct canvas *c);
    /* A path is made of moves and lines, then drawn and discarded. */
    void (*move)(struct canvas *c, double x, double y);
    void (*line)(struct canvas *c, double x, double y);
    void (*stroke)(struct canvas *c, struct ink ink, enum stroke how);
    void (*fill)(struct canvas *c, struct ink ink, enum fill how);
    void (*dot)(struct canvas *c, double x, double y, double radius, struct ink ink);
    /* at: raw bytes. halo: a rim in the background's colour, so that the text can be read on top of curves. title: text
     * that is shown on demand; NULL: none */
    void (*text)(struct canvas *c, double x, double y, enum anchor anchor, struct ink ink, bool bold, bool halo,
                 const char *at, size_t len);
};

#define TEXT_SIZE 11.0
#define TITLE_SIZE 13.0

/* Returns about how wide a text will be, in CSS pixels; fonts differ. */
double text_width(const char *at, size_t len, double size);
/* Returns how many bytes of it fit into a width. */
size_t text_fit(const char *at, size_t len, double size, double width);

struct layout {
    double x, y, width, height; /* place and size of the plot */
    double legend_y, spans_y;
    double lane; /* height of a lane of phases */
    struct chart_ticks values, times;
    double top; /* the value at the upper edge */
};
void chart_lay_out(const struct chart *c, const struct chart_picture *p, struct layout *ret);
void chart_draw(const struct chart *c, const struct chart_picture *p, const struct layout *l, struct canvas *canvas);

/* Adds text of a tape in the form in which it is shown: escaped by text_escaped(). */
void shown_text(const char *at, struct buf *ret);

/* 0xrrggbb */
extern const unsigned chart_palette[2][CHART_COLORS + 1]; /* light, dark; the last colour is that of others */
unsigned ink_rgb(struct ink ink, bool dark);

#endif
