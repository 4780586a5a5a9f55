/* SPDX-License-Identifier: Apache-2.0 */
/* Escapes text, so that it is safe to print. Code above the library's public API uses baro/text.h instead. */
#ifndef BASE_ESCAPE_H
#define BASE_ESCAPE_H

#include "base/buf.h"

/* Makes bytes harmless for terminals, CSV and JSON readers: control bytes, DEL, C1, characters that reorder or break
 * lines, and bytes that are not valid UTF-8 become \xNN; a backslash becomes two. The result can be reversed. */
void buf_escaped(struct buf *b, const char *at, size_t len);
/* Does one step of buf_escaped(): takes a character, or an invalid byte, off a span that is not empty. Returns the
 * text that stands for it: a pointer into the span, or into `room`. */
struct span escape_next(struct span *s, char room[4]);

/* Returns the length of the character at the start of a span that is not empty; 0 if it is not valid by RFC 3629
 * (shortest form, no surrogate, at most U+10FFFF). */
size_t utf8_next(struct span s, uint32_t *ret_point);
/* Does this character control a terminal or reorder text, so that it is written escaped? */
bool escape_needed(uint32_t point);

/* Returns how many columns of a terminal escaped text takes. */
size_t utf8_columns(const char *at, size_t len);

#endif
