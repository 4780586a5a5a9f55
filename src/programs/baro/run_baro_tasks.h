/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a task file: baro-tasks parses it, in a process of its own. */
#ifndef PROGRAMS_BARO_RUN_BARO_TASKS_H
#define PROGRAMS_BARO_RUN_BARO_TASKS_H

#include "base/error.h"
#include "libbaro/rules/task_lines.h"

/* Returns 0 or a negative code, with one line in err. */
int task_file_read(struct task_file *ret, const char *path, struct baro_error *err);

/* Starts the program for a file of a folder (programs/baro-tasks/yaml_document.h), whose lines come from ret_fd
 * (libbaro/rules/task_lines.h). Returns its pid or a negative code. */
int task_file_start(const char *path, int *ret_fd);

#endif
