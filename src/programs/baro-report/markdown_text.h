/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of a tape in Markdown as GitHub reads it (GFM). Nothing of it is read as markup: no emphasis, link, image, HTML,
 * mention, reference to an issue or end of a table's cell.
 */
#ifndef PROGRAMS_BARO_REPORT_MARKDOWN_TEXT_H
#define PROGRAMS_BARO_REPORT_MARKDOWN_TEXT_H

#include "base/buf.h"

/* Writes a name or a command line as code; raw bytes. in_table: within a cell of a table. */
void markdown_code(struct buf *b, const char *at, size_t len, bool in_table);
/* The same for the title of a recording, truncated to the room of a heading or a cell. Returns whether it was
 * truncated. */
bool markdown_title(struct buf *b, const struct buf *title, bool in_table);
/* Writes a part of a sentence; raw bytes. */
void markdown_text(struct buf *b, const char *at, size_t len);
/* The same for text that is already escaped (text_escaped). */
void markdown_escaped_text(struct buf *b, const char *at, size_t len);

#endif
