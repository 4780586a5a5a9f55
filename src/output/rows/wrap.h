/* SPDX-License-Identifier: Apache-2.0 */
/* Text for people in lines that fit. */
#ifndef OUTPUT_ROWS_WRAP_H
#define OUTPUT_ROWS_WRAP_H

#include "base/buf.h"

/* Writes escaped text, broken at blanks. The first line begins at `column`; further lines begin with `indent`
 * blanks. A number and its unit stay together. Returns the column at the end. */
unsigned wrap_words(struct buf *b, const char *at, size_t len, unsigned column, unsigned indent, unsigned width);

/* Wraps the text in b from offset `from` on, line by line; continuations are indented by two more. */
void wrap_lines(struct buf *b, size_t from, unsigned width);

#endif
