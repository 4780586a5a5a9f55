/* SPDX-License-Identifier: Apache-2.0 */
/* What barograph itself costs: its processes, and the helpers of the collectors. Fills the sample's recorder values and
 * tells the budget. */
#ifndef COLLECT_OWN_COST_H
#define COLLECT_OWN_COST_H

#include "collect/sampling.h"

struct own_cost {
    struct sampling *sampling;
    uint64_t rss, rss_peak, memory_read_ns;
    uint8_t rss_absent;
    uint64_t missed, left_out; /* samples that came too late; samples that the budget did not allow */
    uint64_t sample_time_ns, sample_cpu_ns;
    uint64_t began_cpu_ns;                    /* CPU time of this process as the last tick began */
    uint64_t own_cpu_ns, helpers_cpu_ns;      /* of this process and of helpers, as they were last read */
    uint64_t cpu_ns;                          /* of all */
    uint64_t unbudgeted_ns;                   /* of programs that the user asked for */
    uint64_t charged_own_ns, charged_rest_ns; /* what the budget was told of: of this process, of all others */
    uint64_t refused;                         /* forks of helpers */
    uint64_t refused_here;  /* of them, those that a control group counts which the job is in as well */
    uint64_t refused_noted; /* the latter, when the groups were last read */
};

void own_cost_init(struct own_cost *o, struct sampling *sampling);

/* Around a tick. end: fills the sample, but for what others count: samples of processes and lossy intervals. */
void own_cost_begin(struct own_cost *o);
void own_cost_end(struct own_cost *o, uint64_t process_samples, uint64_t lossy);

/* Tells the budget what was spent since the last call. sampled: with a tick. */
void own_cost_charge(struct own_cost *o, bool sampled);

void own_cost_missed(struct own_cost *o, uint64_t n);
void own_cost_left_out(struct own_cost *o, uint64_t n);

/* The control groups are read now: forks of helpers that were refused until now are in their counts. */
void own_cost_note_refused(struct own_cost *o);

/* Recomputes the memory values that the sample has: the part of own_cost_end() that tests use alone. */
void own_cost_fill(struct own_cost *o);

#endif
