/* SPDX-License-Identifier: Apache-2.0 */
/* A table with aligned columns for people. Cells are copied; their text must be escaped already. */
#ifndef OUTPUT_ROWS_TABLE_H
#define OUTPUT_ROWS_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define TABLE_COLUMNS 20
#define TABLE_LAST_LEAST 16u

struct table {
    unsigned columns;
    bool right[TABLE_COLUMNS];     /* numbers stand at the right */
    unsigned width[TABLE_COLUMNS]; /* so far */
    struct buf text;               /* cells, each ended by NUL */
    size_t cells;
    unsigned char drop[TABLE_COLUMNS]; /* the columns to leave out, in this order, while the last column would be
                                          narrower than TABLE_LAST_LEAST, and than its text */
    unsigned n_drop;
    bool ascii;  /* signs and characters beyond ASCII are replaced (text_ascii) */
    bool shrink; /* the widest columns of text are truncated, not the last one alone; none of drop is left out */
    bool wrap;   /* the last column is broken at blanks instead of truncated */
};

void table_text(struct table *t, const char *text);
void table_take(struct table *t, struct buf *cell); /* adds it and empties it */
/* Writes lines of at most `width` columns (0: of any length). If they would be longer, columns are left out, then
 * the last column is truncated, which an ellipsis shows, or wrapped. */
void table_print(const struct table *t, unsigned width, struct buf *ret);
void table_done(struct table *t);

#endif
