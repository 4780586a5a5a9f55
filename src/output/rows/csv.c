/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "output/rows/csv_json.h"
#include "output/rows/escaped.h"

static void field(struct buf *b, const unsigned char *at, size_t len)
{
    bool quoted = len && (memchr(at, ',', len) || memchr(at, '"', len) || at[0] == ' ' || at[len - 1] == ' ');
    if (!quoted) {
        buf_add(b, at, len);
        return;
    }
    buf_byte(b, '"');
    for (size_t i = 0; i < len; i++) {
        if (at[i] == '"')
            buf_byte(b, '"');
        buf_byte(b, at[i]);
    }
    buf_byte(b, '"');
}

/* A text that begins with one of these is a formula in a spreadsheet, so it gets an apostrophe in front. So does a text
 * that begins with an apostrophe: a reader gets the original back by taking one away. */
static bool needs_apostrophe(const char *at, size_t len)
{
    return len && memchr("=+-@\t\r'", at[0], 7);
}

/* Can the text be written as it is? It can if it is printable ASCII without comma, quote or backslash, and has no
 * blank at either end. */
static bool is_plain_cell(const unsigned char *at, size_t len)
{
    bool plain = !len || (at[0] != ' ' && at[len - 1] != ' ');
    for (size_t i = 0; i < len; i++)
        plain &= at[i] >= ' ' && at[i] <= '~' && at[i] != ',' && at[i] != '"' && at[i] != '\\';
    return plain;
}

/* text_escaped() leaves no line break, so RFC 4180 requires quotes only for commas, quotes and blanks at the ends. */
void csv_text(struct buf *b, const char *at, size_t len, bool safe)
{
    struct buf escaped = {0};
    if (is_plain_cell((const unsigned char *)at, len) &&
        !(safe && needs_apostrophe(at, len))) { /* nearly all texts need no apostrophe */
        buf_add(b, at, len);
        return;
    }
    if (safe && needs_apostrophe(at, len))
        buf_byte(&escaped, '\'');
    text_escaped(&escaped, at, len);
    if (escaped.failed)
        b->failed = true;
    else
        field(b, escaped.at, escaped.len);
    buf_done(&escaped);
}

static void put_number_cell(struct buf *b, const struct cell *c)
{
    struct json json = {.out = b};
    if (c->kind == CELL_I64)
        json_i64(&json, c->i64);
    else
        json_double(&json, c->real);
}

void csv_header(const struct columns *c, bool safe, struct buf *ret)
{
    for (size_t i = 0; i < c->n; i++) {
        buf_str(ret, i ? "," : "");
        csv_text(ret, c->at[i]->name, strlen(c->at[i]->name), safe);
    }
    buf_byte(ret, '\n');
}

/* Most cells are numbers: room is made once for all of them. */
#define CELL_MOST (BUF_U64_MOST + 1) /* and the comma */

void csv_row(const struct columns *c, const struct output_row *r, bool safe, struct buf *ret)
{
    struct cell cell;
    if (!buf_reserve(ret, c->n * CELL_MOST + 1))
        return;
    row_read(r, c);
    for (size_t i = 0; i < c->n; i++) {
        if (i)
            ret->at[ret->len++] = ',';
        row_cell(r, c, i, &cell);
        if (cell.kind == CELL_ABSENT)
            continue;
        if (cell.kind == CELL_U64) {
            ret->len = (size_t)(buf_put_u64(ret->at + ret->len, cell.u64) - ret->at);
            continue;
        }
        if (cell.kind == CELL_BOOL) {
            ret->at[ret->len++] = cell.u64 ? '1' : '0';
            continue;
        }
        if (cell.kind == CELL_JSON)
            field(ret, (const unsigned char *)cell.text, cell.len);
        else if (cell.kind == CELL_TEXT)
            csv_text(ret, cell.text, cell.len, safe);
        else
            put_number_cell(ret, &cell);
        if (!buf_reserve(ret, (c->n - i) * CELL_MOST + 1)) /* they may be longer */
            return;
    }
    ret->at[ret->len++] = '\n';
}
