/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-top/grid.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "baro/text.h"

int grid_resize(struct grid *g, int rows, int columns)
{
    struct grid_cell *at = calloc((size_t)rows * (size_t)columns + 1, sizeof(*at));
    if (!at)
        return -ENOMEM;
    free(g->at);
    g->at = at;
    g->rows = rows;
    g->columns = columns;
    grid_clear(g);
    return 0;
}

int grid_init(struct grid *g, int rows, int columns, bool utf8)
{
    *g = (struct grid){.utf8 = utf8};
    return grid_resize(g, rows, columns);
}

void grid_done(struct grid *g)
{
    free(g->at);
    *g = (struct grid){0};
}

void grid_clear(struct grid *g)
{
    for (size_t i = 0; i < (size_t)g->rows * (size_t)g->columns; i++)
        g->at[i] = (struct grid_cell){' ', STYLE_PLAIN};
}

static struct grid_cell *cell_of(struct grid *g, int row, int column)
{
    return &g->at[(size_t)row * (size_t)g->columns + (size_t)column];
}

/* Writes one character that takes this many columns; a wide one that is half overwritten becomes a blank. */
static void put_point(struct grid *g, int row, int column, int width, uint32_t point, enum style style)
{
    if (row < 0 || row >= g->rows || column < 0 || column + width > g->columns)
        return;
    struct grid_cell *at = cell_of(g, row, column);
    if (at->point == 0 && column > 0)
        at[-1].point = ' ';
    if (column + width < g->columns && at[width].point == 0)
        at[width].point = ' ';
    *at = (struct grid_cell){point, (uint8_t)style};
    if (width == 2)
        at[1] = (struct grid_cell){0, (uint8_t)style};
}

/* Takes what baro_text_next() has found to be a valid character. */
static uint32_t decode(const char *text, size_t len)
{
    const unsigned char *at = (const unsigned char *)text;
    if (len == 1)
        return at[0];
    uint32_t point = at[0] & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++)
        point = point << 6 | (at[i] & 0x3f);
    return point;
}

/* Returns how many columns a character takes. The locale's wcwidth(3) does not know the newest characters: they take
 * one column, as in most terminals. */
static int point_columns(uint32_t point)
{
    int width = point < 0x80 ? 1 : wcwidth((wchar_t)point);
    return width < 0 ? 1 : width > 2 ? 2 : width;
}

/* One character, or one invalid byte, in the form in which it is written: at most 16 ASCII characters, or one
 * character of any width. */
struct glyph {
    char ascii[16];
    int columns;    /* columns of the whole text */
    uint32_t point; /* 0: ascii */
};

static struct glyph next_glyph(const struct grid *g, struct span *s)
{
    char written[BARO_TEXT_NEXT_SIZE];
    struct glyph ret = {.point = 0};
    size_t taken = baro_text_next(s->at, s->len, written), n = strlen(written);
    bool escaped = written[0] == '\\';
    s->at += taken;
    s->len -= taken;
    if (!escaped && (unsigned char)written[0] < 0x80) {
        ret.point = (unsigned char)written[0];
        ret.columns = 1;
    } else if (!escaped && g->utf8) {
        ret.point = decode(written, n);
        ret.columns = point_columns(ret.point);
    } else if (!escaped && decode(written, n) == 0xb5) {
        ret.point = 'u'; /* the u of microseconds */
        ret.columns = 1;
    } else {
        static const char hex[] = "0123456789abcdef";
        for (size_t i = 0; i < n; i++) {
            unsigned char byte = (unsigned char)written[i];
            const char code[4] = {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
            memcpy(ret.ascii + ret.columns, byte < 0x80 ? (const char *)&byte : code, byte < 0x80 ? 1 : 4);
            ret.columns += byte < 0x80 ? 1 : 4;
        }
    }
    return ret;
}

int grid_bytes(struct grid *g, int row, int column, int end, enum style style, const char *at, size_t len)
{
    struct span s = span_of(at, len);
    end = end < g->columns ? end : g->columns;
    while (s.len) {
        struct glyph one = next_glyph(g, &s);
        if (column + one.columns > end)
            return column < end ? column : end;
        if (one.columns && one.point)
            put_point(g, row, column, one.columns, one.point, style);
        for (int i = 0; !one.point && i < one.columns; i++)
            put_point(g, row, column + i, 1, (unsigned char)one.ascii[i], style);
        column += one.columns;
    }
    return column;
}

int grid_text(struct grid *g, int row, int column, int end, enum style style, const char *text)
{
    return grid_bytes(g, row, column, end, style, text, strlen(text));
}

int grid_take(struct grid *g, int row, int column, int end, enum style style, struct buf *b)
{
    column = grid_bytes(g, row, column, end, style, b->len ? (const char *)b->at : "", b->failed ? 0 : b->len);
    buf_clear(b);
    return column;
}

void grid_take_right(struct grid *g, int row, int column, int end, enum style style, struct buf *b)
{
    int n = grid_columns_of(g, b->len ? (const char *)b->at : "", b->failed ? 0 : b->len);
    grid_take(g, row, n < end - column ? end - n : column, end, style, b);
    if (n > end - column && end > column)
        grid_point(g, row, end - 1, style, 0x2026, '~'); /* "18,0" of "18,077,878" would be another number */
}

int grid_printf(struct grid *g, int row, int column, int end, enum style style, const char *format, ...)
{
    struct buf b = {0};
    va_list arguments;
    va_start(arguments, format);
    buf_vprintf(&b, format, arguments);
    va_end(arguments);
    column = grid_take(g, row, column, end, style, &b);
    buf_done(&b);
    return column;
}

void grid_point(struct grid *g, int row, int column, enum style style, uint32_t point, char ascii)
{
    put_point(g, row, column, 1, g->utf8 ? point : (uint32_t)ascii, style);
}

void grid_restyle(struct grid *g, int row, int column, int end, enum style style)
{
    end = end < g->columns ? end : g->columns;
    for (int i = column < 0 ? 0 : column; row >= 0 && row < g->rows && i < end; i++)
        cell_of(g, row, i)->style = (uint8_t)style;
}

int grid_columns_of(const struct grid *g, const char *at, size_t len)
{
    struct span s = span_of(at, len);
    int n = 0;
    while (s.len)
        n += next_glyph(g, &s).columns;
    return n;
}

/* ---- as text ---- */

/* clang-format off */
enum { BLACK, RED, GREEN, YELLOW, BLUE, MAGENTA, CYAN, WHITE, OWN = -1 };
const struct style_look style_looks[STYLES] = {
    [STYLE_PLAIN]    = {OWN, OWN, OWN, OWN, 0, 0, "0"},
    [STYLE_STRONG]   = {OWN, OWN, OWN, OWN, STYLE_BOLD, STYLE_BOLD, "0;1"},
    [STYLE_FAINT]    = {244, OWN, OWN, OWN, 0, STYLE_DIM, "0;2"},
    [STYLE_LABEL]    = {110, OWN, CYAN, OWN, 0, STYLE_BOLD, "0;36"},
    [STYLE_GOOD]     = {114, OWN, GREEN, OWN, STYLE_BOLD, STYLE_BOLD, "0;32"},
    [STYLE_WARN]     = {221, OWN, YELLOW, OWN, STYLE_BOLD, STYLE_BOLD, "0;33"},
    [STYLE_BAD]      = {203, OWN, RED, OWN, STYLE_BOLD, STYLE_BOLD, "0;1;31"},
    [STYLE_CPU]      = {114, OWN, GREEN, OWN, 0, 0, "0;32"},
    [STYLE_MEMORY]   = {75, OWN, BLUE, OWN, 0, 0, "0;34"},
    [STYLE_READ]     = {80, OWN, CYAN, OWN, 0, 0, "0;36"},
    [STYLE_WRITE]    = {176, OWN, MAGENTA, OWN, 0, 0, "0;35"},
    [STYLE_COUNT]    = {179, OWN, YELLOW, OWN, 0, 0, "0;33"},
    [STYLE_PRESSURE] = {203, OWN, RED, OWN, 0, 0, "0;31"},
    [STYLE_PHASE]    = {255, 60, WHITE, BLUE, 0, STYLE_REVERSE, "0;7;36"},
    [STYLE_HEADING]  = {250, 236, OWN, OWN, 0, STYLE_REVERSE, "0;7"},
    [STYLE_SORTED]   = {221, 236, OWN, OWN, STYLE_BOLD, STYLE_REVERSE | STYLE_BOLD, "0;1;7"},
    [STYLE_KEY]      = {255, OWN, OWN, OWN, STYLE_BOLD, STYLE_BOLD, "0;1"},
    [STYLE_SELECTED] = {255, 24, WHITE, BLUE, STYLE_BOLD, STYLE_REVERSE, "0;7"},
    [STYLE_PLAYHEAD] = {16, 221, BLACK, YELLOW, 0, STYLE_REVERSE, "0;7"},
};
/* clang-format on */

/* Returns the number of cells of a row without the blanks at its end. */
static int used(const struct grid *g, int row, bool color)
{
    int n = g->columns;
    const struct grid_cell *at = &g->at[(size_t)row * (size_t)g->columns];
    while (n > 0 && at[n - 1].point == ' ' && !(color && at[n - 1].style >= STYLE_HEADING))
        n--;
    return n;
}

void grid_print(const struct grid *g, int rows, bool color, struct buf *ret)
{
    for (int row = 0; row < rows && row < g->rows; row++) {
        const struct grid_cell *at = &g->at[(size_t)row * (size_t)g->columns];
        enum style style = STYLE_PLAIN;
        for (int i = 0, n = used(g, row, color); i < n; i++) {
            if (color && at[i].style != style)
                buf_printf(ret, "\033[%sm", style_looks[at[i].style].code);
            style = (enum style)at[i].style;
            if (at[i].point)
                buf_point(ret, at[i].point);
        }
        buf_str(ret, color && style != STYLE_PLAIN ? "\033[0m\n" : "\n");
    }
}
