/* SPDX-License-Identifier: Apache-2.0 */
/* How much of its limits and of the machine the job used: figures of a finished summary. */
#ifndef LIBBARO_SUMMARY_LIMITS_H
#define LIBBARO_SUMMARY_LIMITS_H

#include "libbaro/summary/summary.h"

#define LIMIT_ADDRESS_SPACE "RLIMIT_AS"
#define LIMIT_DATA "RLIMIT_DATA"
#define LIMIT_MACHINE "machine" /* the source, if no limit is below what the machine has */

/* Each returns the tightest limit that is known, which may be the machine's own amount, and its source; 0 if none is
 * known. It is the limit that holds, unless summary_..._unknown() returns a reason why a tighter one may exist. */
uint64_t summary_memory_limit(const struct baro_summary *s, const char **ret_source);
double summary_cores_limit(const struct baro_summary *s, const char **ret_source);
uint64_t summary_pids_limit(const struct baro_summary *s, const char **ret_source);
int summary_memory_unknown(const struct baro_summary *s);
int summary_cores_unknown(const struct baro_summary *s);
int summary_pids_unknown(const struct baro_summary *s);

/* What summary_memory() is. */
enum memory_measure {
    MEMORY_CGROUP,        /* parts of the memory of the control group that is the job, without page cache */
    MEMORY_PROCESSES,     /* of all processes, and of files in memory */
    MEMORY_PROCESS,       /* of one process between two samples, by its high-water mark */
    MEMORY_ADDRESS_SPACE, /* largest address space of one process in any sample: RLIMIT_AS limits it */
};

/* The most memory that the job needed at one time (needed.h) under its present limits. */
struct summary_memory {
    uint64_t bytes;
    int absent; /* enum baro_absent */
    enum memory_measure measure;
    uint64_t shared;         /* shared memory in it, also as files in tmpfs */
    uint64_t cache;          /* page cache of the job's control group at that time; 0: none, or not known */
    uint64_t at_most;        /* what it may have needed */
    bool is_open;            /* it may have been more than that */
    bool is_bound;           /* it may have been more than `bytes` by over 2 % */
    enum needed_doubt doubt; /* then, why */
    uint64_t doubt_bytes;    /* how much of it is that */
};
void summary_memory(const struct baro_summary *s, struct summary_memory *ret);
bool summary_memory_is_at_most(const struct baro_summary *s); /* may it be less? */
const char *summary_needed_doubt_name(enum needed_doubt doubt);
const char *summary_memory_measure_name(enum memory_measure measure);

/* Each returns 0 and the value, or enum baro_absent. */
int summary_memory_peak_ratio(const struct baro_summary *s, double *ret);
int summary_cores_peak_ratio(const struct baro_summary *s, double *ret);
/* The most that the control group with the memory limit held, also for other processes, as a share of its limit. */
int summary_memory_group_ratio(const struct baro_summary *s, double *ret);

/* The machine. */
int summary_machine_cpus(const struct baro_summary *s, uint64_t *ret);
int summary_machine_memory(const struct baro_summary *s, uint64_t *ret);
int summary_machine_grown(const struct baro_summary *s, enum fold_term counter, uint64_t *ret);
int summary_machine_cores_mean(const struct baro_summary *s, double *ret);
int summary_machine_cores_peak(const struct baro_summary *s, double *ret);
int summary_machine_others(const struct baro_summary *s,
                           double *ret); /* cores that neither the job nor the recorder kept busy */
/* The share of all CPU time of the machine. */
int summary_machine_share(const struct baro_summary *s, enum fold_term counter, double *ret);
uint64_t summary_machine_watched_ns(const struct baro_summary *s);

#endif
