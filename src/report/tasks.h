/* SPDX-License-Identifier: Apache-2.0 */
/* What each task of a recording has used, taken sample by sample, as a table and as JSON. */
#ifndef REPORT_TASKS_H
#define REPORT_TASKS_H

#include <stddef.h>

#include "baro/sample.h"
#include "base/buf.h"
#include "base/json.h"

struct report_tasks;

/* kind: that of tasks. NULL: out of memory. */
struct report_tasks *report_tasks_new(int kind);
void report_tasks_free(struct report_tasks *t); /* NULL allowed */
void report_tasks_add(struct report_tasks *t, const struct baro_sample *s);
size_t report_tasks_count(const struct report_tasks *t); /* NULL: 0 */
/* The task with the most CPU time comes first. */
void report_tasks_text(const struct report_tasks *t, int width, struct buf *ret);
/* In the order of the rules. */
void report_tasks_json(const struct report_tasks *t, struct json *j);

#endif
