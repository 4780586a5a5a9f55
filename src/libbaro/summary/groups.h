/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the control groups on a tape is the job, and what they say of it. */
#ifndef LIBBARO_SUMMARY_GROUPS_H
#define LIBBARO_SUMMARY_GROUPS_H

#include "libbaro/summary/summary.h"

/* The one that is the job and whose memory is known; NULL where the job is none, or none of it counts memory. */
const struct machine_group *groups_job(const struct baro_summary *s);
/* The innermost group at this place that counts OOM kills, or might; and does it hold the job alone, at all places? */
const struct machine_group *groups_oom(const struct baro_summary *s, uint32_t place);
bool groups_oom_alone(const struct baro_summary *s);
/* The kernel's own mark of a group that was made for the job is known: groups_memory() has all of it. */
bool groups_memory_is_exact(const struct baro_summary *s, const struct machine_group *g);
/* The most that a group held while it was watched; limit: its own, if that is known, else 0. */
uint64_t groups_memory(const struct baro_summary *s, const struct machine_group *g, uint64_t limit);

/*
 * What was refused to the job: in a group that was made for it from the beginning on, in one that was there before
 * while it was watched, whichever process caused it. A job that was moved had it in one place after the other, so each
 * adds up over its places. Each returns 0 and the value, or enum baro_absent.
 */
/* For how long a CPU quota held back the group that it held back most: of those that the job was in at a place, and
 * those above. */
int summary_throttled(const struct baro_summary *s, uint64_t *ret);
/* Processes OOM-killed, of the job or not, and forks refused: of the innermost group at a place that counts it. Those
 * that the recorder was refused there itself are left out. */
int summary_group_oom_kills(const struct baro_summary *s, uint64_t *ret);
int summary_fork_refusals(const struct baro_summary *s, uint64_t *ret);

#endif
