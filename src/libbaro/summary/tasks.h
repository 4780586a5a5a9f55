/* SPDX-License-Identifier: Apache-2.0 */
/* What each task of a recording has used, taken sample by sample: the section "tasks" of a summary. */
#ifndef LIBBARO_SUMMARY_TASKS_H
#define LIBBARO_SUMMARY_TASKS_H

#include "baro/sample.h"
#include "base/last_value.h"
#include "libbaro/interval/derive.h"
#include "libbaro/summary/task_cores.h"

/* What is taken from the rows of a task: the last value, or the largest sum of all samples. */
enum task_field {
    TASK_FIELD_CPU,
    TASK_FIELD_CPU_USER,
    TASK_FIELD_CPU_SYSTEM,
    TASK_FIELD_RUN_DELAY,
    TASK_FIELD_RSS,
    TASK_FIELD_PSS,
    TASK_FIELD_USS,
    TASK_FIELD_SWAP,
    TASK_FIELD_MEMORY_UNREAD,
    TASK_FIELD_RSS_ONE,
    TASK_FIELD_USS_ONE,
    TASK_FIELD_IO_READ,
    TASK_FIELD_IO_WRITE,
    TASK_FIELD_IO_RCHAR,
    TASK_FIELD_IO_WCHAR,
    TASK_FIELD_PEAK,
    TASK_FIELD_STARTED,
    TASK_FIELD_ENDED,
    TASK_FIELD_UNREAD,
    TASK_FIELD_IO_UNREAD,
    TASK_FIELD_COMMANDS_UNREAD,
    TASK_FIELD_COMMANDS_UNREAD_CPU,
    TASK_FIELD_SAMPLES,
    TASK_FIELD_LIVING,
    TASK_FIELD_ACTIVE,
    TASK_FIELD_BEGIN,
    TASK_FIELD_END,
    TASK_FIELD_TCP_SENT,
    TASK_FIELD_TCP_RECEIVED,
    TASK_FIELD_TCP_UNREAD,
    TASK_FIELD_EXIT_CODE,
    TASK_FIELD_EXIT_SIGNAL,
    TASK_FIELDS
};

struct task_row {
    uint32_t id;
    char *name, *label;
    uint64_t value[TASK_FIELDS];
    uint8_t absent[TASK_FIELDS];
    bool is_bound[TASK_FIELDS];
    struct derive_peak cores;
    struct task_cores process;
    double uss_sum; /* sums over all rows of its processes, and the number of rows with a value */
    uint64_t uss_rows;
    bool any_unread; /* in some sample the pss and uss of some process were not known */
};

/* Begins as all zero except for ticks. */
struct tasks {
    struct task_row *at;
    size_t n;
    int metric[TASK_FIELDS], process_cpu, process_task;
    struct last_table last; /* CPU time of each process */
    uint64_t before_ns;     /* when the sample before was */
    struct derive_ticks ticks;
};

/* Returns 0, or -ENOMEM if a task could not be added. Allocates nothing once all tasks are known. */
int tasks_add(struct tasks *t, const struct baro_sample *s);
void tasks_done(struct tasks *t);

/* Returns 0, or the reason why it is absent. */
int task_row_value(const struct task_row *one, enum task_field field, uint64_t *ret);
int task_row_uss_mean(const struct task_row *one, uint64_t *ret);
int task_row_cores(const struct task_row *one, double *ret_mean, double *ret_peak);

#endif
