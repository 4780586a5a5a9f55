/* SPDX-License-Identifier: Apache-2.0 */
/* Harmless text. What follows the library's public API uses baro/text.h instead. */
#ifndef BASE_ESCAPE_H
#define BASE_ESCAPE_H

#include "base/buf.h"

/* Makes bytes harmless for terminals, CSV and JSON readers: control bytes, DEL, C1, characters that reorder or break
 * lines, and bytes that are not valid UTF-8 become \xNN; a backslash becomes two. The result can be reversed. */
void buf_escaped(struct buf *b, const char *at, size_t len);
/* The same one step at a time: takes a character, or an invalid byte, off a span that is not empty, and returns how it
 * is written, either in place or in room. */
struct span escape_next(struct span *s, char room[4]);

#endif
