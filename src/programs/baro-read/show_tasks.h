/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks at the moment that baro show shows, also those whose processes have ended. */
#ifndef PROGRAMS_BARO_READ_SHOW_TASKS_H
#define PROGRAMS_BARO_READ_SHOW_TASKS_H

#include "baro/tape.h"
#include "output/rows/row.h"
#include "output/rows/table.h"
#include "programs/common/cli.h"

/* A line for each task, or for the one with this name; nothing if there is none. memory: has the sample that rates are
 * taken from. */
void show_tasks_text(const struct baro_tape *tape, const struct baro_record *record, struct baro_previous *memory,
                     const char *only, struct buf *b);
/* Writes the name of a process's task as a cell; "-": it belongs to none. */
void show_task_cell(const struct baro_sample *s, const struct baro_row *p, struct table *t);
/* Does the process belong to the task with this name? NULL: every process does. */
bool show_task_fits(const struct baro_sample *s, const struct baro_row *p, const char *name);
/* Is there a task with this name? */
bool show_tasks_has(const struct baro_sample *s, const char *name);
/* Reports that there is no such task, and names the tasks there are. Returns the exit status. */
int show_tasks_missing(const struct cli *cli, const struct baro_sample *s, const char *name, const char *path);

#endif
