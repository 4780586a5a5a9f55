/* SPDX-License-Identifier: Apache-2.0 */
/* The collector "tasks": which tasks the job has, and what of them readers can't sum up: counts of control groups,
 * commands that were not read, exit statuses (recorder/job/task.h). */
#ifndef RECORDER_COLLECTORS_PROCESSES_TASK_ROW_H
#define RECORDER_COLLECTORS_PROCESSES_TASK_ROW_H

#include "kernel/cgroup/meter.h"
#include "recorder/sampling/entity.h"
#include "recorder/sampling/sampling.h"
#include "recorder/select/select.h"

/* A control group whose processes are a task: the kernel's count of its CPU time. */
struct task_group {
    struct cgroup_hierarchies places;
    struct cgroup_meter meter;
    struct cgroup_reading base, last;
    uint64_t counted_ns; /* as read last */
    size_t task;         /* counted from 0 */
    struct task_group *next;
};

struct task_row {
    struct sampling *sampling;
    struct entity_table table;
    struct selector *selector; /* borrowed, and maybe shared with other recordings; NULL: none */
    struct pin *pins;          /* those of the options, with the places of control groups */
    struct task_group *groups;
};

extern const struct collector task_collector;
void task_row_init(struct task_row *r, struct sampling *sampling);

/* Makes an entity and a task of the job for each name, and finds control groups. root_fd: of "/". selects: as
 * of job_use_tasks(). Returns 0 or a negative code. */
int task_row_use(struct task_row *r, const struct select_options *options, int root_fd, bool selects,
                 struct baro_error *err);

/* The number of the task of this name in a job that has other members, too: a new one, unless there is one. Returns a
 * negative code if there can be no more. */
int task_row_name(struct task_row *r, const char *name);

#endif
