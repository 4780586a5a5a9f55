/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job's memory in one sample, by the best measure that the sample has:
 *
 * - the control group's own count, where the summary takes that for the job's memory too (limits.memory_peak_of);
 * - else the sum of pss, where all members have one: shared pages count once;
 * - else the sum of rss, in which shared pages count with each process. Example: 10,000 children of one process share
 *   10 MB with it. They hold 10 MB, and the sum is 100 GB. Such a sum says nothing about a limit.
 */
#ifndef PROGRAMS_BARO_TOP_MEMORY_H
#define PROGRAMS_BARO_TOP_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "baro/baro.h"
#include "programs/baro-top/metrics.h"

enum top_memory { MEASURE_RSS, MEASURE_PSS, MEASURE_GROUP, MEASURES };

struct memory {
    int absent; /* 0, or enum baro_absent */
    enum top_memory measure;
    uint64_t bytes;
    unsigned flags;     /* enum baro_value_flag */
    bool counts_shared; /* shared pages may count several times: a sum of rss over more than one process */
};

/* s: NULL if there is no sample. by_group: the summary takes the control group's count for the job's memory. */
struct memory memory_of(const struct baro_sample *s, const struct metrics *m, bool by_group);
/* Returns the value of the control group only. Returns 0 or enum baro_absent. */
int memory_of_group(const struct baro_sample *s, const struct metrics *m, uint64_t *ret);
/* Is pss an estimate: was it read before a process that shares the memory began or ended? */
bool memory_pss_is_stale(const struct baro_sample *s, const struct metrics *m);

#endif
