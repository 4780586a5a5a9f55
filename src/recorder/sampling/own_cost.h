/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of barograph itself: of its processes and of the collectors' helpers. Fills the sample's recorder values and
 * charges the budget. */
#ifndef RECORDER_SAMPLING_OWN_COST_H
#define RECORDER_SAMPLING_OWN_COST_H

#include "recorder/sampling/sampling.h"

struct own_cost {
    struct sampling *sampling;
    uint64_t rss, rss_peak, memory_read_ns;
    uint8_t rss_absent;
    uint64_t missed, left_out; /* counts of samples that came too late, and that the budget did not allow */
    uint64_t sample_time_ns, sample_cpu_ns;
    uint64_t began_cpu_ns;               /* CPU time of this process when the last tick began */
    uint64_t own_cpu_ns, helpers_cpu_ns; /* CPU time of this process and of helpers, as read last */
    uint64_t cpu_ns;                     /* CPU time of all processes of barograph */
    uint64_t unbudgeted_ns;              /* CPU time of programs of the user */
    uint64_t charged_rest_ns;            /* CPU time of the other processes that was charged to the budget so far */
    uint64_t share_ns, shared_seen_ns;   /* observer: this recording's share of shared costs; shared costs so far */
    uint64_t refused;                    /* refused forks of helpers */
    uint64_t refused_here;               /* how many of them were in a control group that the job is in, too */
    uint64_t refused_noted;              /* refused_here when the groups were last read */
};

void own_cost_init(struct own_cost *o, struct sampling *sampling);

/* Call these before and after a tick. own_cost_end() fills the sample, with the counts of process samples and of lossy
 * intervals. */
void own_cost_begin(struct own_cost *o);
void own_cost_end(struct own_cost *o, uint64_t process_samples, uint64_t lossy);

/* Charges the budget with the CPU time since the last call. sampled: it includes a tick. */
void own_cost_charge(struct own_cost *o, bool sampled);

void own_cost_missed(struct own_cost *o, uint64_t n);
void own_cost_left_out(struct own_cost *o, uint64_t n);

/* Call it when the control groups are read: their counts include the refused forks of helpers so far. */
void own_cost_note_refused(struct own_cost *o);

/* Fills the sample's recorder values: part of own_cost_end(), also used by tests. */
void own_cost_fill(struct own_cost *o);

#endif
