/* SPDX-License-Identifier: Apache-2.0 */
#include "output/text/cells.h"

#include <limits.h>
#include <string.h>

#include "base/escape.h"
#include "output/rows/escaped.h"

#define NARROW 70u /* columns; in a narrower block the table stands below its label */

static bool is_narrow(const struct lines *l)
{
    return l->style.width < NARROW;
}

static unsigned indent_of(const struct lines *l)
{
    return is_narrow(l) ? 4 : LINES_INDENT;
}

void cells_put(struct cells *c, unsigned i, struct buf *b)
{
    size_t n = b->failed ? 0 : b->len < CELL_MAX - 1 ? b->len : CELL_MAX - 1;
    memcpy(c->text[i], b->at ? b->at : (const unsigned char *)"", n);
    c->text[i][n] = 0;
    buf_clear(b);
}

unsigned cells_name_width(const struct lines *l)
{
    return l->style.whole_names ? CELL_MAX / 4 - 1 : l->style.width > 90 ? 36 : is_narrow(l) ? 15 : 24;
}

/* Puts the text of a cell, as the terminal can show it, in place of what the buffer has, and returns its width. */
static unsigned put_text(const struct lines *l, const char *text, struct buf *ret)
{
    buf_clear(ret);
    buf_str(ret, text);
    if (!l->style.utf8)
        text_ascii(ret, 0);
    return ret->len ? (unsigned)utf8_columns((const char *)ret->at, ret->len) : 0;
}

/* 0: not shown. */
static void widths(const struct lines *l, const struct cells *rows, unsigned n, unsigned room,
                   const unsigned char *first_to_go, unsigned width[CELLS])
{
    struct buf text = {0};
    unsigned all = 0;
    for (unsigned c = 0; c < CELLS; c++) {
        for (unsigned r = 0; r < n; r++) {
            unsigned w = put_text(l, rows[r].text[c], &text);
            width[c] = w > width[c] ? w : width[c];
        }
        all += width[c] + (c && width[c] ? 2 : 0);
    }
    for (; *first_to_go && all > room; first_to_go++) {
        all -= width[*first_to_go] + (width[*first_to_go] ? 2 : 0);
        width[*first_to_go] = 0;
    }
    buf_done(&text);
}

static void print_row(struct lines *l, const struct cells *row, const unsigned width[CELLS])
{
    struct buf text = {0};
    for (unsigned c = 0; c < CELLS; c++) {
        if (!width[c])
            continue;
        unsigned pad = width[c] - put_text(l, row->text[c], &text);
        buf_spaces(l->out, c ? pad + 2 : 0);
        buf_add(l->out, text.at, text.len);
        buf_spaces(l->out, c ? 0 : pad);
    }
    buf_done(&text);
}

void cells_print(struct lines *l, const char *label, const struct cells *rows, unsigned n,
                 const unsigned char *first_to_go)
{
    unsigned width[CELLS] = {0}, indent = indent_of(l);
    widths(l, rows, n, l->style.whole_names ? UINT_MAX : l->style.width - indent, first_to_go, width);
    for (unsigned r = 0; r < n; r++) {
        if (r == 0 && is_narrow(l)) {
            lines_tone(l, TONE_FAINT);
            buf_printf(l->out, "  %s\n", label);
        } else if (r == 0) {
            lines_begin(l, label, TONE_FAINT);
        }
        if (r || is_narrow(l))
            buf_spaces(l->out, indent);
        if (r == 0)
            lines_tone(l, TONE_FAINT);
        print_row(l, &rows[r], width);
        if (r == 0)
            lines_tone(l, TONE_PLAIN);
        lines_end(l);
    }
}
