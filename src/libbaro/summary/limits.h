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

/* What counts against the memory limit. summary_memory_most() reads the most of it that the job held. */
enum memory_measure {
    MEMORY_CGROUP, /* memory of the control group that is the job: its limit includes page cache */
    MEMORY_PSS,
    MEMORY_RSS,
    MEMORY_PROCESS,       /* largest mark of one process, if it exceeds the sum of all processes in any sample */
    MEMORY_ADDRESS_SPACE, /* largest address space of one process in any sample: RLIMIT_AS limits it */
};
int summary_memory_most(const struct baro_summary *s, uint64_t *ret, enum memory_measure *ret_measure);
/* Reads an upper bound of that memory, which includes peaks between samples as far as high-water marks allow them. */
int summary_memory_at_most(const struct baro_summary *s, uint64_t *ret);
const char *summary_memory_measure_name(enum memory_measure measure);

/* Each returns 0 and the value, or enum baro_absent. */
int summary_memory_peak_ratio(const struct baro_summary *s, double *ret);
int summary_cores_peak_ratio(const struct baro_summary *s, double *ret);
/* The most that the control group with the memory limit held, also for other processes, as a share of its limit. */
int summary_memory_group_ratio(const struct baro_summary *s, double *ret);

/* The machine. */
int summary_machine_cpus(const struct baro_summary *s, uint64_t *ret);
int summary_machine_memory(const struct baro_summary *s, uint64_t *ret);
int summary_machine_grown(const struct baro_summary *s, enum machine_counter counter, uint64_t *ret);
int summary_machine_gauge(const struct baro_summary *s, enum machine_gauge gauge, uint64_t *ret);
int summary_machine_cores_mean(const struct baro_summary *s, double *ret);
int summary_machine_cores_peak(const struct baro_summary *s, double *ret);
int summary_machine_others(const struct baro_summary *s,
                           double *ret); /* cores that neither the job nor the recorder kept busy */
/* The share of all CPU time of the machine. */
int summary_machine_share(const struct baro_summary *s, enum machine_counter counter, double *ret);
uint64_t summary_machine_watched_ns(const struct baro_summary *s);

#endif
