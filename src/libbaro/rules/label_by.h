/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks by what the tape says of each process, instead of by rules: its service, container, user, command or control
 * group is its task. The fold of tasks sums them up (task_fold.h).
 */
#ifndef LIBBARO_RULES_LABEL_BY_H
#define LIBBARO_RULES_LABEL_BY_H

#include "libbaro/rules/task_fold.h"

enum label_by { LABEL_BY_NONE, LABEL_BY_SERVICE, LABEL_BY_CONTAINER, LABEL_BY_USER, LABEL_BY_COMMAND, LABEL_BY_CGROUP };

struct labeler;

/* Reads a line {"by": "service"}. Returns LABEL_BY_NONE for other lines. */
enum label_by label_by_of(const char *lines);

struct labeler *labeler_new(enum label_by by); /* NULL: out of memory */
void labeler_free(struct labeler *l);          /* NULL allowed */
/* Another part of the tape begins: its control groups have other ids. */
void labeler_part(struct labeler *l);

/* Gives each process its task, and the sample the tasks, which belong to the labeler until the next call. Brief lives
 * are given to the fold. is_base: what was counted of them before this sample is not of this tape. Both return 0 or
 * -ENOMEM. */
int labeler_sample(struct labeler *l, struct baro_sample *s, struct task_fold *f, bool is_base);
int labeler_exit(struct labeler *l, struct baro_exit *e);
/* Gives the processes of the last sample their own tasks back. */
void labeler_restore(struct labeler *l, struct baro_process *const *processes, size_t n);

#endif
