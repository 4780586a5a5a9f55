/* SPDX-License-Identifier: Apache-2.0 */
/* When to sample. Pure: times in, times out, all in nanoseconds since the recording began. */
#ifndef COLLECT_SCHEDULE_H
#define COLLECT_SCHEDULE_H

#include <stdint.h>

/* The interval after a sample at elapsed_ns: fixed_ns, or if that is 0 ("auto") 1 % of the elapsed time between 10 ms and
 * 1 s, so that a run of any length has a curve of a few hundred points at least. */
uint64_t schedule_interval(uint64_t fixed_ns, uint64_t elapsed_ns);

/* The next deadline after the one that was due, on the absolute grid: it never drifts with the time a sample takes. Deadlines
 * that have passed already are skipped and counted in *ret_missed. */
uint64_t schedule_next(uint64_t fixed_ns, uint64_t due_ns, uint64_t now_ns, uint64_t *ret_missed);

/* What samples cost of late, and what the events between them do. */
struct schedule_cost {
    uint64_t spent_ns;   /* CPU time of all samples */
    uint64_t sample_ns;  /* of one */
    uint64_t events_ppm; /* of the time in between */
};

/* Another sample took sample_ns of CPU time, and events took events_ns in the passed_ns before it. */
void schedule_note(struct schedule_cost *c, uint64_t sample_ns, uint64_t events_ns, uint64_t passed_ns);

/* Auto gives way to the overhead budget (ppm; 0: none), a fixed interval does not: the deadline next_ns after the one that was due waits until the last sample is paid for out of
 * what events leave of the share, up to eight intervals in all, or a second. The first samples of a recording, 10 ms of CPU time, come as they are due. */
uint64_t schedule_wait(const struct schedule_cost *c, uint64_t ppm, uint64_t due_ns, uint64_t next_ns);

#endif
