/* SPDX-License-Identifier: Apache-2.0 */
#include "output/rows/table.h"

#include <string.h>

#include "base/escape.h"
#include "output/rows/escaped.h"
#include "output/rows/wrap.h"

#define COLUMN_LEAST 8u /* of text in a table whose columns shrink */

static void table_cell(struct table *t, const char *at, size_t len)
{
    unsigned column = (unsigned)(t->cells++ % t->columns), n = (unsigned)utf8_columns(at, len);
    if (n > t->width[column])
        t->width[column] = n;
    buf_add(&t->text, at, len);
    buf_byte(&t->text, 0);
}

void table_text(struct table *t, const char *text)
{
    table_cell(t, text, strlen(text));
}

void table_take(struct table *t, struct buf *cell)
{
    if (t->ascii)
        text_ascii(cell, 0);
    table_cell(t, cell->len ? (const char *)cell->at : "", cell->len);
    t->text.failed = t->text.failed || cell->failed;
    buf_clear(cell);
}

/* Bytes of at that fit into n columns. */
static size_t fit(const char *at, size_t len, unsigned n)
{
    size_t i = 0;
    while (i < len) {
        size_t step = 1;
        while (i + step < len && ((unsigned char)at[i + step] & 0xc0) == 0x80)
            step++;
        unsigned columns = (unsigned)utf8_columns(at + i, step);
        if (columns > n)
            break;
        n -= columns;
        i += step;
    }
    return i;
}

/* Which columns are shown; the columns that stand before the last one. */
static unsigned choose_columns(const struct table *t, unsigned width, bool shown[TABLE_COLUMNS])
{
    unsigned before = 0, last = t->width[t->columns - 1];
    for (unsigned c = 0; c < t->columns; c++) {
        shown[c] = true;
        before += c + 1 < t->columns ? t->width[c] + 2 : 0;
    }
    for (unsigned i = 0; width && i < t->n_drop && before + (last < TABLE_LAST_LEAST ? last : TABLE_LAST_LEAST) > width;
         i++) {
        shown[t->drop[i]] = false;
        before -= t->width[t->drop[i]] + 2;
    }
    return before;
}

/* Makes the widest columns of text narrower, down to COLUMN_LEAST, until a line fits. Numbers are never truncated:
 * where they do not fit, the last columns are left out. Returns whether any is. */
static bool shrink_columns(const struct table *t, unsigned width, unsigned size[TABLE_COLUMNS],
                           bool shown[TABLE_COLUMNS])
{
    unsigned all = 0, n = t->columns;
    for (unsigned c = 0; c < n; c++)
        all += size[c] + (c ? 2 : 0);
    while (all > width) {
        unsigned widest = n;
        for (unsigned c = 0; c < n; c++) {
            if (!t->right[c] && size[c] > COLUMN_LEAST && (widest == n || size[c] >= size[widest]))
                widest = c;
        }
        if (widest == n)
            break;
        size[widest]--;
        all--;
    }
    for (; n > 1 && all + (n < t->columns ? 3 : 0) > width; n--) {
        shown[n - 1] = false;
        all -= size[n - 1] + 2;
    }
    return n < t->columns;
}

/* Truncated text ends with an ellipsis. */
static void put_fitting(const struct table *t, const char *at, size_t len, unsigned n, struct buf *ret)
{
    const unsigned dots = t->ascii ? 3 : 1;
    if (fit(at, len, n) == len) {
        buf_add(ret, at, len);
        return;
    }
    buf_add(ret, at, fit(at, len, n > dots ? n - dots : 0));
    buf_str(ret, t->ascii ? "..." : "…");
}

/* A line of a table whose columns shrink. */
static void put_shrunk(const struct table *t, const char *const *cells, const unsigned *size, const bool *shown,
                       bool is_cut, struct buf *ret)
{
    for (unsigned c = 0; c < t->columns && shown[c]; c++) {
        size_t len = strlen(cells[c]);
        unsigned n = (unsigned)utf8_columns(cells[c], len), pad = size[c] > n ? size[c] - n : 0;
        buf_spaces(ret, c ? 2 : 0);
        buf_spaces(ret, t->right[c] ? pad : 0);
        put_fitting(t, cells[c], len, size[c], ret);
        bool is_last = c + 1 == t->columns || !shown[c + 1];
        if (!t->right[c] && (!is_last || is_cut))
            buf_spaces(ret, pad);
    }
    if (is_cut)
        buf_str(ret, t->ascii ? "..." : " …");
    while (ret->len && !ret->failed && ret->at[ret->len - 1] == ' ')
        ret->len--;
    buf_byte(ret, '\n');
}

static void print_shrunk(const struct table *t, unsigned width, struct buf *ret)
{
    const char *at = (const char *)t->text.at, *cells[TABLE_COLUMNS];
    unsigned size[TABLE_COLUMNS];
    bool shown[TABLE_COLUMNS];
    for (unsigned c = 0; c < t->columns; c++) {
        size[c] = t->width[c];
        shown[c] = true;
    }
    bool is_cut = shrink_columns(t, width, size, shown);
    for (size_t i = 0; i + t->columns <= t->cells; i += t->columns) {
        for (unsigned c = 0; c < t->columns; c++, at += strlen(at) + 1)
            cells[c] = at;
        put_shrunk(t, cells, size, shown, is_cut, ret);
    }
}

static void last_cell(const struct table *t, const char *at, size_t len, unsigned used, unsigned width, struct buf *ret)
{
    bool right = t->right[t->columns - 1];
    if (t->wrap && width && used + TABLE_LAST_LEAST > width) {
        buf_str(ret, "\n    ");
        wrap_words(ret, at, len, 4, 4, width);
    } else if (t->wrap && width) {
        wrap_words(ret, at, len, used, used, width);
    } else if (width && !right) {
        put_fitting(t, at, len, width > used + 8 ? width - used : 8, ret);
    } else {
        buf_add(ret, at, len);
    }
}

void table_print(const struct table *t, unsigned width, struct buf *ret)
{
    const char *at = (const char *)t->text.at;
    bool shown[TABLE_COLUMNS];
    unsigned used = 0, before = choose_columns(t, width, shown);
    if (t->text.failed)
        ret->failed = true;
    if (t->shrink && width && t->cells && !t->text.failed) {
        print_shrunk(t, width, ret);
        return;
    }
    for (size_t i = 0; i < t->cells && !t->text.failed; i++) {
        unsigned column = (unsigned)(i % t->columns);
        bool last = column + 1 == t->columns;
        size_t len = strlen(at);
        unsigned n = (unsigned)utf8_columns(at, len), pad = t->width[column] > n ? t->width[column] - n : 0;
        used = column ? used : 0;
        if (shown[column]) {
            buf_spaces(ret, used ? 2 : 0);
            if (t->right[column])
                buf_spaces(ret, pad);
            if (last)
                last_cell(t, at, len, before, width, ret);
            else
                buf_add(ret, at, len);
            if (!t->right[column] && !last)
                buf_spaces(ret, pad);
            used += t->width[column] + 2;
        }
        while (last && ret->len && !ret->failed && ret->at[ret->len - 1] == ' ')
            ret->len--;
        if (last)
            buf_byte(ret, '\n');
        at += len + 1;
    }
}

void table_done(struct table *t)
{
    buf_done(&t->text);
}
