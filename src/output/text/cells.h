/* SPDX-License-Identifier: Apache-2.0 */
/* Small tables of the block: titles, then rows; the first column is text, the others are numbers. */
#ifndef OUTPUT_TEXT_CELLS_H
#define OUTPUT_TEXT_CELLS_H

#include "output/text/lines.h"

#define CELLS 7u
#define CELL_MAX 1024u

struct cells {
    char text[CELLS][CELL_MAX];
};

void cells_put(struct cells *c, unsigned i, struct buf *b); /* empties it */
unsigned cells_name_width(const struct lines *l);           /* largest width of the first column */
/* rows: the titles first. A column without text is left out. If the table is too wide, columns are left out in the
 * order of first_to_go, which ends with 0. */
void cells_print(struct lines *l, const char *label, const struct cells *rows, unsigned n,
                 const unsigned char *first_to_go);

#endif
