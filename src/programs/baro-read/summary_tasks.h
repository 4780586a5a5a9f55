/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROGRAMS_BARO_READ_SUMMARY_TASKS_H
#define PROGRAMS_BARO_READ_SUMMARY_TASKS_H

#include "programs/common/tape_args.h"

/* baro summary --by task: prints what each task has used, as a table or JSON. Returns the exit status. */
int summary_tasks(struct cli *cli, const struct settings *s, struct baro_tape *tape, const char *path);

#endif
