/* SPDX-License-Identifier: Apache-2.0 */
/* When to sample. Pure: times in, times out, all in nanoseconds since the recording began. */
#ifndef COLLECT_SCHEDULE_H
#define COLLECT_SCHEDULE_H

#include <stdint.h>

/* The interval after a sample at elapsed_ns: fixed_ns, or if that is 0 ("auto") 1 % of the elapsed time between 10 ms and
 * 1 s, so that a run of any length has a curve of a few hundred points at least. */
uint64_t schedule_interval(uint64_t fixed_ns, uint64_t elapsed_ns);

/* How much longer the interval may become: auto gives way to the overhead budget, a fixed one does not. */
#define SCHEDULE_STRETCH 4u

/* The next deadline after the one that was due, on the absolute grid: it never drifts with the time a sample takes. Deadlines
 * that have passed already are skipped and counted in *ret_missed. */
uint64_t schedule_next(uint64_t fixed_ns, uint64_t due_ns, uint64_t now_ns, uint64_t *ret_missed);

#endif
