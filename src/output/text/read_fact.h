/* SPDX-License-Identifier: Apache-2.0 */
/* Reads facts of a summary by name, for text. An absent fact is read as 0 or "" where the text would be the same. */
#ifndef OUTPUT_TEXT_READ_FACT_H
#define OUTPUT_TEXT_READ_FACT_H

#include "baro/summary.h"
#include "base/buf.h"

struct baro_value report_fact(const struct baro_summary *s, const char *section, const char *name);
struct baro_value report_row(const struct baro_summary *s, const char *section, const char *name, size_t row);
/* Reads a fact of a header; its text is "" if it is absent. */
struct baro_value report_header(const struct baro_header *h, const char *name);
size_t report_rows(const struct baro_summary *s, const char *section);

/* Each returns whether there is a value. */
bool report_has_u64(const struct baro_summary *s, const char *section, const char *name, uint64_t *ret);
bool report_has_real(const struct baro_summary *s, const char *section, const char *name, double *ret);

/* It is absent, or "at least 0". */
bool report_says_nothing(struct baro_value v);
/* It is "at least 0.00". */
bool report_real_says_nothing(struct baro_value v);
/* Writes the value after the words for its flags: "at least 3.10 s"; "not known" instead of "at least 0"; nothing if
 * it is absent. */
void report_marked(struct buf *b, struct baro_value v, void (*format)(struct buf *, uint64_t));

/* How a number is written in the unit of its fact: as a duration, bytes or a count. */
void (*report_format(const struct baro_fact *fact))(struct buf *b, uint64_t v);
/* Adds a value to a table after the mark of its flags, or "?". Returns these flags. */
struct table;
unsigned report_table_cell(struct table *t, const struct baro_fact *fact, const struct baro_value *v);

uint64_t report_u64(const struct baro_summary *s, const char *section, const char *name);
bool report_is(const struct baro_summary *s, const char *section, const char *name);
const char *report_text(const struct baro_summary *s, const char *section, const char *name);
bool report_text_is(const struct baro_summary *s, const char *section, const char *name, const char *text);

#endif
