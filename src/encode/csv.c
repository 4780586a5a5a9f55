/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "encode/encode.h"

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

/* Text that begins so is a formula in a spreadsheet. Text that begins with the apostrophe itself gets another one, so
 * that a reader gets back what it was by taking one away. */
static bool needs_apostrophe(const char *at, size_t len)
{
    return len && memchr("=+-@\t\r'", at[0], 7);
}

/* buf_escaped() leaves no line break, so commas, quotes and blanks at the ends are all that RFC 4180 asks for. */
static void text(struct buf *b, const char *at, size_t len, bool safe)
{
    struct buf escaped = {0};
    if (safe && needs_apostrophe(at, len))
        buf_byte(&escaped, '\'');
    buf_escaped(&escaped, at, len);
    if (escaped.failed)
        b->failed = true;
    else
        field(b, escaped.at, escaped.len);
    buf_done(&escaped);
}

static void cell(struct buf *b, const struct cell *c, bool safe)
{
    struct json number = {.out = b};
    switch (c->kind) {
    case CELL_ABSENT:
        break;
    case CELL_U64:
        buf_u64(b, c->u64);
        break;
    case CELL_I64:
        json_i64(&number, c->i64);
        break;
    case CELL_REAL:
        json_double(&number, c->real);
        break;
    case CELL_BOOL:
        buf_byte(b, c->u64 ? '1' : '0');
        break;
    case CELL_TEXT:
        text(b, c->text, c->len, safe);
        break;
    }
}

void csv_header(const struct columns *c, bool safe, struct buf *ret)
{
    for (size_t i = 0; i < c->n; i++) {
        buf_str(ret, i ? "," : "");
        text(ret, c->at[i].name, strlen(c->at[i].name), safe);
    }
    buf_byte(ret, '\n');
}

void csv_row(const struct columns *c, const struct row *r, bool safe, struct buf *ret)
{
    struct cell value;
    for (size_t i = 0; i < c->n; i++) {
        if (i)
            buf_byte(ret, ',');
        row_cell(r, &c->at[i], &value);
        cell(ret, &value, safe);
    }
    buf_byte(ret, '\n');
}
