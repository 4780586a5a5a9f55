/* SPDX-License-Identifier: Apache-2.0 */
/* Writes text of a tape in its escaped form (baro/text.h) into buffers. */
#ifndef OUTPUT_ROWS_ESCAPED_H
#define OUTPUT_ROWS_ESCAPED_H

#include "base/buf.h"

/* Adds text, escaped by baro_text_escape(). */
void text_escaped(struct buf *b, const char *at, size_t len);

/* For terminals that show only ASCII: from this position on, replaces signs by plain ones ("≥" by ">=", "µ" by "u"),
 * and the bytes of all other characters by \xNN. */
void text_ascii(struct buf *b, size_t from);

#endif
