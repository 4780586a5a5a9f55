/* SPDX-License-Identifier: Apache-2.0 */
/* Scanners for JSON (RFC 8259), for those who parse it. They advance the span on success. */
#ifndef READING_JSON_TEXT_H
#define READING_JSON_TEXT_H

#include "base/span.h"

void json_blanks(struct span *s); /* skips blanks, tabs and ends of lines */
bool json_next_is(struct span *s, char c); /* the byte c, after blanks */
/* A string, unescaped into room for cap bytes. What does not fit is cut off (*ret_len is cap then). */
bool json_string(struct span *s, char *out, size_t cap, size_t *ret_len);
bool json_literal(struct span *s, const char *word);

#endif
