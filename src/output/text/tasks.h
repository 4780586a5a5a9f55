/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks of a summary as a table. */
#ifndef OUTPUT_TEXT_TASKS_H
#define OUTPUT_TEXT_TASKS_H

#include "baro/summary.h"
#include "base/buf.h"

size_t report_tasks_count(const struct baro_summary *s);
/* The task with the most CPU time comes first. most: of more, the others are one line; 0: all. */
void report_tasks_text(const struct baro_summary *s, size_t most, int width, bool utf8, struct buf *ret);
/* The same after other parts of a summary; nothing if there are no tasks. */
void report_tasks_section(const struct baro_summary *s, int width, bool utf8, struct buf *ret);

/* Rows of the section "tasks", those with the most CPU time first: fills at most cap and returns how many. */
size_t report_tasks_order(const struct baro_summary *s, size_t *ret, size_t cap);

#endif
