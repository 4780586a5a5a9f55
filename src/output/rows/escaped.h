/* SPDX-License-Identifier: Apache-2.0 */
/* What readers write of a tape's text: baro/text.h, into buffers. */
#ifndef OUTPUT_ROWS_ESCAPED_H
#define OUTPUT_ROWS_ESCAPED_H

#include "base/buf.h"

/* Adds what baro_text_escape() makes of it. */
void text_escaped(struct buf *b, const char *at, size_t len);

#endif
