/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of a summary by name, for text: what is absent is 0 or "" where it makes no difference to what is written. */
#ifndef REPORT_READ_H
#define REPORT_READ_H

#include "baro/summary.h"

struct baro_value report_fact(const struct baro_summary *s, const char *section, const char *name);
struct baro_value report_row(const struct baro_summary *s, const char *section, const char *name, size_t row);
size_t report_rows(const struct baro_summary *s, const char *section);

/* Each returns whether there is a value. */
bool report_has_u64(const struct baro_summary *s, const char *section, const char *name, uint64_t *ret);
bool report_has_real(const struct baro_summary *s, const char *section, const char *name, double *ret);

uint64_t report_u64(const struct baro_summary *s, const char *section, const char *name);
bool report_is(const struct baro_summary *s, const char *section, const char *name);
const char *report_text(const struct baro_summary *s, const char *section, const char *name);
bool report_text_is(const struct baro_summary *s, const char *section, const char *name, const char *text);

#endif
