/* SPDX-License-Identifier: Apache-2.0 */
#include "output/rows/table.h"

#include <string.h>

#include "base/escape.h"
#include "output/rows/escaped.h"
#include "output/rows/wrap.h"

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
    for (; i < len; i++) {
        if (((unsigned char)at[i] & 0xc0) != 0x80 && n-- == 0)
            break;
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
