/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the control groups on a tape is the job's, and what its values say. */
#ifndef LIBBARO_SUMMARY_GROUPS_H
#define LIBBARO_SUMMARY_GROUPS_H

#include "libbaro/summary/summary.h"

/* Returns the group that is the job and whose memory is known; NULL if no group is the job, or none of those counts
 * memory. */
const struct machine_group *groups_job(const struct baro_summary *s);
/* Returns the innermost group of this chain (struct machine_group) that counts OOM kills, or may count them.
 * groups_oom_alone(): does it hold only the job, in all chains? */
const struct machine_group *groups_oom(const struct baro_summary *s, uint32_t chain);
bool groups_oom_alone(const struct baro_summary *s);
/* Is the kernel's own mark known for a group that was made for the job? Then groups_memory() covers all of its life. */
bool groups_memory_is_exact(const struct baro_summary *s, const struct machine_group *g);
/* Returns the most that a group held while it was watched. limit: the group's own limit, or 0. */
uint64_t groups_memory(const struct baro_summary *s, const struct machine_group *g, uint64_t limit);

/*
 * What was refused to the job. A group that was made for the job counts from the beginning; a group that existed before
 * counts while it was watched, whichever process caused it. A job that was moved adds up its chains. Each function
 * returns 0 and the value, or enum baro_absent.
 */
/* How long a CPU quota held back the group that it held back most: among the groups of a chain. */
int summary_throttled(const struct baro_summary *s, uint64_t *ret);
/* Processes that were OOM-killed (of the job or not) and forks that were refused, by the innermost group of a chain
 * that counts them, less what was refused to the recorder itself there. */
int summary_group_oom_kills(const struct baro_summary *s, uint64_t *ret);
int summary_fork_refusals(const struct baro_summary *s, uint64_t *ret);

#endif
