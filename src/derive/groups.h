/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the control groups on a tape is the job, and what they say of it: for limits.c. */
#ifndef DERIVE_GROUPS_H
#define DERIVE_GROUPS_H

#include "derive/summary.h"

/* The one that is the job and whose memory is known; NULL where the job is none, or none of it counts memory. */
const struct machine_group *groups_job(const struct summary *s);
/* The most that a group held while it was watched; limit: its own, if that is known, else 0. */
uint64_t groups_memory(const struct summary *s, const struct machine_group *g, uint64_t limit);

#endif
