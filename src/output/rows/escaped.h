/* SPDX-License-Identifier: Apache-2.0 */
/* Writes text of a tape in its escaped form (baro/text.h) into buffers. */
#ifndef OUTPUT_ROWS_ESCAPED_H
#define OUTPUT_ROWS_ESCAPED_H

#include "base/buf.h"

/* Adds text, escaped by baro_text_escape(). */
void text_escaped(struct buf *b, const char *at, size_t len);

#endif
