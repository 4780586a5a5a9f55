/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks as JSON lines, which libbaro/rules/task_lines.h reads. */
#ifndef PROGRAMS_BARO_TASKS_JSON_LINES_H
#define PROGRAMS_BARO_TASKS_JSON_LINES_H

#include "programs/baro-tasks/check.h"

void job_lines(const struct job *job, struct buf *out);
void job_error_line(const char *text, struct buf *out);

#endif
