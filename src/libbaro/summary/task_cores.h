/* SPDX-License-Identifier: Apache-2.0 */
/* The cores that single processes of a task used between samples. CPU time before the first and after the last
 * sample of a process is not included. */
#ifndef LIBBARO_SUMMARY_TASK_CORES_H
#define LIBBARO_SUMMARY_TASK_CORES_H

#include "baro/sample.h"
#include "base/last_value.h"

#define TASK_CORES_WITHIN 100000000u /* ns: over less time than this, a rate is mostly noise */

struct task_cores {
    double peak, used_ns, time_ns;
};

/* begin_ns: when the process began, if it began since the sample before, else 0; last: what is known of each process
 * from the samples so far, of all tasks. */
void task_cores_add(struct task_cores *c, struct last_table *last, const struct baro_row *p, int cpu_metric,
                    uint64_t t_ns, uint64_t begin_ns);

#endif
