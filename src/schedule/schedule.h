/* SPDX-License-Identifier: Apache-2.0 */
/* When to sample. Pure: times in, times out, all in nanoseconds since the recording began. */
#ifndef SCHEDULE_SCHEDULE_H
#define SCHEDULE_SCHEDULE_H

#include <stdint.h>

#include "schedule/budget.h"

/* The interval after a sample at elapsed_ns: fixed_ns, or if that is 0 ("auto") 1 % of the elapsed time between 10 ms
 * and 1 s, so that a run of any length has a curve of a few hundred points at least. */
uint64_t schedule_interval(uint64_t fixed_ns, uint64_t elapsed_ns);

/* The next deadline after the one that was due, on the absolute grid: it never drifts with the time a sample takes.
 * Deadlines that have passed already are skipped and counted in *ret_missed. */
uint64_t schedule_next(uint64_t fixed_ns, uint64_t due_ns, uint64_t now_ns, uint64_t *ret_missed);

/* Auto, while nothing happens: the time of the next cheap look (no sample) at now_ns, if nothing has happened since
 * quiet_ns. An eighth of the time that it has been quiet, and 250 ms at most, but no sooner than a sample would be due:
 * a job that slept for a second is found awake 125 ms after it woke up at the latest. */
uint64_t schedule_look(uint64_t quiet_ns, uint64_t now_ns);

/* Auto, while nothing happens: how long after the last sample there is another one, which tells of the machine around
 * the job. Half the time that it has been quiet, 30 ms to 1 s. */
uint64_t schedule_quiet(uint64_t quiet_ns, uint64_t now_ns);

/* The time from one turn of a collector to its next one: least_ns; a second from BUDGET_SPARSE on; and more where a
 * turn is expensive: it takes half of the budget at most, and never more than half a percent of the time. Examples with
 * least_ns 100 ms: a turn that costs 1 ms of CPU comes every 200 ms, with a budget of 0.1 % every 2 s. 20 s at most. */
uint64_t schedule_period(uint64_t least_ns, uint64_t cost_ns, uint64_t overhead_ppm, enum budget_level level);

#endif
