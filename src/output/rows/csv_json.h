/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as text. Names and other text are made harmless (text_escaped) before each format's own quoting. */
#ifndef OUTPUT_ROWS_CSV_JSON_H
#define OUTPUT_ROWS_CSV_JSON_H

#include "baro/timeline.h"
#include "base/buf.h"
#include "base/json.h"
#include "output/rows/row.h"

/* RFC 4180, but lines end with "\n" alone. What is absent is an empty cell. safe: text that a spreadsheet takes for a
 * formula (it begins with = + - @, tab or carriage return) gets an apostrophe in front; numbers are left alone. */
void csv_header(const struct columns *c, bool safe, struct buf *ret);
void csv_row(const struct columns *c, const struct output_row *r, bool safe, struct buf *ret);
/* One cell of text. */
void csv_text(struct buf *b, const char *at, size_t len, bool safe);

/* One object a line. What is absent is null, and a last member "absent" has the reasons. */
void jsonl_row(const struct columns *c, const struct output_row *r, struct buf *ret);
/* The same object as part of a larger text. */
void json_row(const struct columns *c, const struct output_row *r, struct json *json);

/* Members of an object that is open: the facts of a phase; what is no exact value is listed in "lower_bounds",
 * "estimates" and "absent". */
void json_phase_facts(const struct baro_timeline *t, size_t item, struct json *json);
/* An attribute as a member of an object that is open; of a type that a later version added it is null. */
void json_attribute(const struct baro_attribute *a, struct json *json);
/* The attributes of a phase or a mark, as an object. */
void json_attributes(const struct baro_timeline_item *item, struct json *json);

#endif
