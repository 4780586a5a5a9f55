/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A screen as data: rows of cells, each with one character and a style. Views write into it; the terminal, a pipe or a
 * test shows it. Text outside of it is dropped. All text is escaped here, so the text in a cell is harmless.
 */
#ifndef PROGRAMS_BARO_TOP_GRID_H
#define PROGRAMS_BARO_TOP_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum style {
    STYLE_PLAIN,
    STYLE_STRONG,
    STYLE_FAINT,
    STYLE_LABEL, /* the name of a figure */
    STYLE_GOOD,
    STYLE_WARN,
    STYLE_BAD,
    STYLE_CPU,
    STYLE_MEMORY,
    STYLE_READ,
    STYLE_WRITE,
    STYLE_COUNT, /* a number of processes */
    STYLE_PRESSURE,
    STYLE_PHASE,
    STYLE_HEADING,  /* the titles of a table */
    STYLE_SORTED,   /* the title of the column that it is sorted by */
    STYLE_KEY,      /* a key in the last line */
    STYLE_SELECTED, /* the selected row */
    STYLE_PLAYHEAD, /* the moment that is shown, in a curve */
    STYLES
};

/* How a style looks: its colours in a palette of 256 and of 8 (COLOR_RED and the like of ncurses, which are those of
 * ANSI; -1: the terminal's own), its attributes with and without colours, and the code of what is printed. */
enum style_attribute { STYLE_BOLD = 1, STYLE_DIM = 2, STYLE_REVERSE = 4 };
struct style_look {
    short fore256, back256, fore8, back8;
    uint8_t with, without;
    const char *code;
};
extern const struct style_look style_looks[STYLES];

struct grid_cell {
    uint32_t point; /* 0: the right half of the character on the left */
    uint8_t style;
};

struct grid {
    int rows, columns;
    bool utf8; /* may hold more than ASCII */
    struct grid_cell *at;
};

/* Each returns 0 or -ENOMEM. */
int grid_init(struct grid *g, int rows, int columns, bool utf8);
int grid_resize(struct grid *g, int rows, int columns);
void grid_done(struct grid *g);
void grid_clear(struct grid *g);

/* Writes text from a column on, up to column `end`. Control characters, bytes that are not UTF-8 and (in ASCII) all
 * other characters are written as \xNN. Returns the column after it. */
int grid_text(struct grid *g, int row, int column, int end, enum style style, const char *text);
/* The same for bytes that need not end with NUL. */
int grid_bytes(struct grid *g, int row, int column, int end, enum style style, const char *at, size_t len);
/* The same for the text in b, which is emptied. */
int grid_take(struct grid *g, int row, int column, int end, enum style style, struct buf *b);
/* Writes b so that it ends before column `end`; if it does not fit after `column`, only its beginning. */
void grid_take_right(struct grid *g, int row, int column, int end, enum style style, struct buf *b);
__attribute__((format(printf, 6, 7))) int grid_printf(struct grid *g, int row, int column, int end, enum style style,
                                                      const char *format, ...);
/* Writes one character unchanged; if the grid is ASCII only, `ascii` instead. */
void grid_point(struct grid *g, int row, int column, enum style style, uint32_t point, char ascii);
/* Changes the style of cells and keeps their characters. */
void grid_restyle(struct grid *g, int row, int column, int end, enum style style);
/* How many columns text would take. */
int grid_columns_of(const struct grid *g, const char *at, size_t len);

/* The rows as text with newlines, without blanks at their ends; with colours for a terminal if asked for. */
void grid_print(const struct grid *g, int rows, bool color, struct buf *ret);

#endif
