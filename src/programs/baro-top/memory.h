/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job's memory in one sample: the sum of rss, which every sample has. Shared pages count with each process in it.
 * Example: 10,000 children of one process share 10 MB with it. They hold 10 MB, and the sum is 100 GB. What is compared
 * with the limit is therefore something else:
 *
 * - the control group's own count, where the summary takes that for the job's memory too (limits.memory_peak_of);
 * - else the sum of pss, where all members have one: shared pages count once;
 * - else the rss of the only process; of several, nothing.
 */
#ifndef PROGRAMS_BARO_TOP_MEMORY_H
#define PROGRAMS_BARO_TOP_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "baro/baro.h"
#include "programs/baro-top/metrics.h"

struct memory {
    int absent;     /* 0, or enum baro_absent */
    uint64_t bytes; /* the sum of rss */
    unsigned flags; /* enum baro_value_flag */
    bool has_held;
    uint64_t held; /* what is compared with the limit */
};

/* s: NULL if there is no sample. by_group: the summary takes the control group's count for the job's memory. */
struct memory memory_of(const struct baro_sample *s, const struct metrics *m, bool by_group);
/* Returns the value of the control group only. Returns 0 or enum baro_absent. */
int memory_of_group(const struct baro_sample *s, const struct metrics *m, uint64_t *ret);
/* Is pss an estimate: was it read before a process that shares the memory began or ended? */
bool memory_pss_is_stale(const struct baro_sample *s, const struct metrics *m);

#endif
