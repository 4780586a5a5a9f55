/* SPDX-License-Identifier: Apache-2.0 */
/* Scanners for JSON (RFC 8259). They advance the span on success. */
#ifndef BASE_JSON_SCAN_H
#define BASE_JSON_SCAN_H

#include "base/span.h"

#define JSON_LEVELS_MOST 16u /* nesting levels of a value that is kept as text: "1" has none, "[]" has one */

void json_blanks(struct span *s);          /* skips blanks, tabs and ends of lines */
bool json_next_is(struct span *s, char c); /* the byte c, with blanks before it */
/* A string, unescaped into room for cap bytes. What does not fit is left out (*ret_len is cap then); NUL and half a
 * pair of surrogates become U+FFFD. */
bool json_string(struct span *s, char *out, size_t cap, size_t *ret_len);
/* The same, but fails if the string would be truncated or changed. */
bool json_string_exact(struct span *s, char *out, size_t cap, size_t *ret_len);
bool json_literal(struct span *s, const char *word);

/* A value of any type, blanks before it included: checks it, and counts its levels. Strings may hold bytes that are not
 * UTF-8. NaN, Infinity and -Infinity are numbers, as Python writes them and no RFC allows. */
bool json_value(struct span *s, unsigned *ret_levels);
/* Is the whole text one value, in UTF-8 and with JSON_LEVELS_MOST levels at most? */
bool json_is_value(struct span text);
/* Copies a value without the blanks between its parts; `to` must have room for as many bytes as the value. Returns the
 * length of the copy. */
size_t json_compact(struct span value, char *out);

#endif
