/* SPDX-License-Identifier: Apache-2.0 */
/* Scanners for JSON (RFC 8259). They advance the span on success. */
#ifndef BASE_JSON_SCAN_H
#define BASE_JSON_SCAN_H

#include "base/span.h"

#define JSON_LEVELS_MOST 16u /* nesting levels of a value that is kept as text: "1" has none, "[]" has one */

void json_blanks(struct span *s);          /* skips blanks, tabs and ends of lines */
bool json_next_is(struct span *s, char c); /* the byte c, with blanks before it */
/* Reads a string and unescapes it into room for cap bytes. Text that does not fit is truncated (*ret_len is cap
 * then). NUL and half a pair of surrogates become U+FFFD. */
bool json_string(struct span *s, char *out, size_t cap, size_t *ret_len);
/* Does the same, but fails if the string would be truncated or changed. */
bool json_string_exact(struct span *s, char *out, size_t cap, size_t *ret_len);
bool json_literal(struct span *s, const char *word);

/* Checks a value of any type, skips blanks before it, and counts its nesting levels. Strings may contain bytes that
 * are not UTF-8. NaN, Infinity and -Infinity count as numbers: Python writes them, although RFC 8259 does not allow
 * them. */
bool json_value(struct span *s, unsigned *ret_levels);
/* Where does the text go wrong? Returns the offset, or SIZE_MAX if it is one value with blanks around it. */
size_t json_fault(struct span text);
/* Advances an object to the value of its first member with this key. Returns false if there is none. */
bool json_member(struct span *s, struct span key);
/* Takes the next element of a list: s is the list, and then what is left of it. ret begins with the element. Returns
 * false at the end, or where something else stands. */
bool json_element(struct span *s, struct span *ret);
/* Is the whole text one value, in UTF-8 and with JSON_LEVELS_MOST levels at most? */
bool json_is_value(struct span text);
/* Copies a value without the blanks between its parts; `to` must have room for as many bytes as the value. Returns the
 * length of the copy. */
size_t json_compact(struct span value, char *out);

#endif
