/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a task file: baro-tasks parses it, in a process of its own. */
#ifndef CLI_TASK_FILE_H
#define CLI_TASK_FILE_H

#include "base/error.h"
#include "select/task_file.h"

/* Returns 0 or a negative code, with one line in err. */
int task_file_read(struct task_file *ret, const char *path, struct baro_error *err);

/* Are the processes and control groups there that are named? Notes the start times of processes, so that none is taken
 * for another one. Returns 0 or a negative code. */
int task_file_find(struct task_file *f, const char *path, struct baro_error *err);

#endif
