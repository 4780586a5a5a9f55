/* SPDX-License-Identifier: Apache-2.0 */
/* The collector "tasks": what each task of the job has used (job/task.h). */
#ifndef COLLECT_TASK_ROW_H
#define COLLECT_TASK_ROW_H

#include "collect/sampling.h"
#include "entity/entity.h"
#include "select/select.h"

struct task_row {
    struct sampling *sampling;
    struct entity_table table;
    struct selector *selector; /* borrowed; NULL: none */
    uint64_t (*value)[TASK_MAX];
    uint8_t (*absent)[TASK_MAX];
};

extern const struct collector task_collector;
void task_row_init(struct task_row *r, struct sampling *sampling);

/* Makes an entity and a task of the job for each name. Returns 0 or -ENOMEM. */
int task_row_use(struct task_row *r, const struct rules *rules);

#endif
