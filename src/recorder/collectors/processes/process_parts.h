/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by process.c, process_stat.c and process_io.c. */
#ifndef RECORDER_COLLECTORS_PROCESSES_PROCESS_PARTS_H
#define RECORDER_COLLECTORS_PROCESSES_PROCESS_PARTS_H

#include "recorder/collectors/processes/process.h"
#include "recorder/job/member_values.h"

/* Puts the values of stat into the row. clock_ns: the CPU clock; 0: the ticks of stat count. */
void process_put_stat(struct processes *p, struct member *m, const struct pid_stat *st, uint64_t clock_ns);

/* Sets the CPU time since the run delay was read. Example: the run delay was 300 ms when the process had used 2 s. Now
 * it has used 2.4 s, and the run delay was not read again: the lag is 400 ms. */
void process_put_lag(struct member *m);

void process_read_io(struct processes *p, struct member *m);
/* Its I/O was not read, although it may have run. */
void process_left_io(const struct processes *p, struct member *m);
void process_put_zombie_io(struct member *m, const struct process_zombie *z);

#endif
