/* SPDX-License-Identifier: Apache-2.0 */
/* What the section "tasks" of a summary has besides the cells of the rows of tasks (struct fold). */
#ifndef LIBBARO_SUMMARY_TASKS_H
#define LIBBARO_SUMMARY_TASKS_H

#include "base/last_value.h"
#include "libbaro/interval/derive.h"

struct baro_sample;

struct task_more {
    uint32_t id;
    struct derive_peak cores;
    /* The cores that single processes used between samples. CPU time before the first and after the last sample of a
     * process is not included. */
    double one_peak, one_used_ns, one_time_ns;
    double uss_sum; /* over all rows of its processes with a value, and their number */
    uint64_t uss_rows, process_samples;
    uint64_t most[2]; /* the largest sums of pss and of uss, */
    bool is_short[2]; /* and whether some process lacked the value then */
};

/* Begins as all zero except for ticks. */
struct tasks {
    struct task_more *at; /* in the order of fold.tasks */
    size_t n;
    struct last_table last; /* CPU time of each process */
    uint64_t before_ns;     /* when the sample before was */
    struct derive_ticks ticks;
};

/* Adds a sample. Returns 0, or -ENOMEM if a task could not be added. Allocates nothing once all tasks are known. */
int tasks_add(struct tasks *t, const struct baro_sample *s);
void tasks_done(struct tasks *t);

#endif
