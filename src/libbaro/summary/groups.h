/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out which of the control groups on a tape is the job's, and what its values mean for the job. */
#ifndef LIBBARO_SUMMARY_GROUPS_H
#define LIBBARO_SUMMARY_GROUPS_H

#include "libbaro/summary/summary.h"

/* Returns the group that is the job and whose memory is known; NULL if no group is the job, or none of those counts
 * memory. */
const struct fold_group *groups_job(const struct baro_summary *s);
/* groups_oom(): returns the innermost group of this chain (struct fold_group) that counts OOM kills, or may count
 * them. groups_oom_alone(): is the job alone in that group, in all chains? */
const struct fold_group *groups_oom(const struct baro_summary *s, uint32_t chain);
bool groups_oom_alone(const struct baro_summary *s);
/* Returns the most memory that a group held while it was watched. limit: the group's own limit, or 0. */
uint64_t groups_memory(const struct baro_summary *s, const struct fold_group *g, uint64_t limit);

/*
 * What was refused to the job. A group that was made for the job counts from the beginning; a group that existed before
 * counts while it was watched, whichever process caused it. A job that was moved adds up its chains. Each function
 * returns 0 and the value, or enum baro_absent.
 */
/* The time for which a CPU quota throttled the job: of each chain, that of the group of the job, or of a group above
 * it, that was throttled most. */
int summary_throttled(const struct baro_summary *s, uint64_t *ret);
/* OOM kills of processes (of the job or not) and refused forks, as counted by the innermost group of a chain that
 * counts them, without those of the recorder itself. */
int summary_group_oom_kills(const struct baro_summary *s, uint64_t *ret);
int summary_fork_refusals(const struct baro_summary *s, uint64_t *ret);
/* Did the counter of a group fall? Then what was refused is a lower bound: base/growth.h. */
bool groups_fell(const struct baro_summary *s, enum cgroup_metric metric);

#endif
