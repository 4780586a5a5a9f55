/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as text. Names and other text are made harmless (text_escaped) before each format's own quoting. */
#ifndef OUTPUT_ROWS_CSV_JSON_H
#define OUTPUT_ROWS_CSV_JSON_H

#include "baro/fold.h"
#include "baro/timeline.h"
#include "base/buf.h"
#include "base/json.h"
#include "output/rows/row.h"

/* Writes CSV as in RFC 4180, except that lines end with "\n" alone. An absent value is an empty cell. safe: text
 * that a spreadsheet would take for a formula (it begins with = + - @, tab or carriage return) gets an apostrophe in
 * front; numbers do not. */
void csv_header(const struct columns *c, bool safe, struct buf *ret);
void csv_row(const struct columns *c, const struct output_row *r, bool safe, struct buf *ret);
/* One cell of text. */
void csv_text(struct buf *b, const char *at, size_t len, bool safe);

/* Writes one JSON object per line. An absent value is null, and a last member "absent" has the reasons. */
void jsonl_row(const struct columns *c, const struct output_row *r, struct buf *ret);
/* Writes the same object as part of a larger text. */
void json_row(const struct columns *c, const struct output_row *r, struct json *json);
/* The same as a row_put(). */
int json_put_row(void *json, const struct columns *c, const struct output_row *r);

/* Adds a fact as a member to an open object; null if it is absent. */
void json_fact(struct json *json, const struct baro_fact *fact, const struct baro_value *v);
/* Adds the facts of a phase as members to an open object. Their marks and reasons of absence are the members "marks"
 * and "absent". */
void json_phase_facts(const struct baro_timeline *t, size_t item, struct json *json);
/* A phase as an object: who it is, how its command ended, its attributes and facts. */
void json_phase(const struct baro_timeline *t, size_t item, struct json *json);
/* The object of `baro summary --json`, of a fold that has verdicts. Returns 0 or a negative code. */
int json_summary(const struct baro_fold *fold, const char *path, struct buf *ret, struct baro_error *err);
/* The attributes of a phase or a mark, as an object. */
void json_attributes(const struct baro_timeline_item *item, struct json *json);

#endif
