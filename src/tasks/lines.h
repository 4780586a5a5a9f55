/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks as JSON lines, which select/task_file.h reads. */
#ifndef TASKS_LINES_H
#define TASKS_LINES_H

#include "tasks/check.h"

void job_lines(const struct job *job, struct buf *out);
void job_error_line(const char *text, struct buf *out);

#endif
