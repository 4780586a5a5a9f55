/* SPDX-License-Identifier: Apache-2.0 */
/* Text for people in lines that fit. */
#ifndef OUTPUT_ROWS_WRAP_H
#define OUTPUT_ROWS_WRAP_H

#include "base/buf.h"

/* Text that is harmless already, broken at blanks: from column on; further lines begin with indent blanks. A number
 * keeps its unit. Returns the column at the end. */
unsigned wrap_words(struct buf *b, const char *at, size_t len, unsigned column, unsigned indent, unsigned width);

/* Wraps what stands in b from there on, line by line; what is broken is indented by two more. */
void wrap_lines(struct buf *b, size_t from, unsigned width);

#endif
