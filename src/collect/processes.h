/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector "processes": finds the members of the job and reads those that have changed.
 *
 * The gate (struct gate): a process whose CPU clock has not moved since it was last read has run no instruction, so its
 * own counters have not changed. State R is always read (the clock of another core moves with the kernel's tick only),
 * and so is D (the parent of a vfork child shares its memory). Values that can change from outside (reclaim, renice, a
 * process that shared memory ends) are read again in turn, every 30 to 120 s.
 */
#ifndef COLLECT_PROCESSES_H
#define COLLECT_PROCESSES_H

#include "collect/fd_cache.h"
#include "collect/group_job.h"
#include "collect/memory.h"
#include "collect/scan.h"

struct processes {
    struct sampling *sampling;
    struct memory *memory; /* is told which member's memory moved */
    struct group_job *group;
    struct fd_cache cache;
    struct threads threads;
    struct scan scan;
    uint64_t samples; /* members that ticks have asked for their CPU clock */
};

extern const struct collector processes_collector;
int processes_init(struct processes *p, struct sampling *sampling, struct memory *memory, struct group_job *group);

/* A tick before the first one: finds the descendants of the targets and marks what all have used so far as not this
 * recording's. */
void processes_discover(struct processes *p);

#endif
