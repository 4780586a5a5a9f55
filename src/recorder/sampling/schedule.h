/* SPDX-License-Identifier: Apache-2.0 */
/* When to sample. Pure: times in, times out, all in nanoseconds since the recording began. */
#ifndef RECORDER_SAMPLING_SCHEDULE_H
#define RECORDER_SAMPLING_SCHEDULE_H

#include <stdint.h>

#include "recorder/sampling/budget.h"

/* Returns the interval after a sample at elapsed_ns: fixed_ns; or, if that is 0 ("auto"), 1 % of the elapsed time, at
 * least 10 ms and at most 1 s, so that a recording of any length has at least a few hundred samples. */
uint64_t schedule_interval(uint64_t fixed_ns, uint64_t elapsed_ns);

/* Returns the time of the next sample after the one that was due, on an absolute grid that does not drift with the cost
 * of samples. Times in the past are left out and counted in *ret_missed. */
uint64_t schedule_next(uint64_t fixed_ns, uint64_t due_ns, uint64_t now_ns, uint64_t *ret_missed);

/* Auto, idle job: returns when the job is checked next (which is not a sample), if nothing has happened since quiet_ns:
 * after an eighth of the idle time, at most 250 ms, but not before a sample would be due. Example: a job that slept for
 * a second is checked at most 125 ms after it woke up. */
uint64_t schedule_check(uint64_t quiet_ns, uint64_t now_ns);

/* Auto, idle job: returns how long after the last sample the next one is taken: half of the idle time, 30 ms to 1 s,
 * because the machine is sampled, too. alone: the machine is not sampled, and the time is up to 30 s. */
uint64_t schedule_quiet(uint64_t quiet_ns, uint64_t now_ns, bool alone);

/* Returns the time from one turn of a collector to the next: least_ns; at least a second from BUDGET_SPARSE on; longer
 * if a turn is expensive, so that turns take at most a tenth of the budget and half a percent of the time; at most 20
 * s. Examples with least_ns 100 ms: with a budget of 1 % a turn that costs 0.3 ms of CPU time comes every 300 ms; with
 * no budget a turn of 1 ms every 200 ms.
 */
uint64_t schedule_period(uint64_t least_ns, uint64_t cost_ns, uint64_t overhead_ppm, enum budget_level level);

#endif
