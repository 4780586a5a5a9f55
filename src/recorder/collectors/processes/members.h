/* SPDX-License-Identifier: Apache-2.0 */
/* Members that are read outside of a tick's turn, and members that are found gone. */
#ifndef RECORDER_COLLECTORS_PROCESSES_MEMBERS_H
#define RECORDER_COLLECTORS_PROCESSES_MEMBERS_H

#include "recorder/collectors/processes/processes.h"

/* Prepares a member. Call it before the member is read for the first time. */
void members_begin(struct processes *p, struct member *m);

/* The member is no longer there: releases what was held for it and calls job_gone(). Does the same first for members
 * below it that are no longer there. */
void members_gone(struct processes *p, struct member *m, uint64_t t_ns);

/* Does the same only for the descendants of the member that are no longer there: the member reaped them, or it is not
 * known which process did. */
void members_gather(struct processes *p, struct member *m, uint64_t t_ns);

/* Makes a living process leave the job, unless it turns out to have ended. */
void members_leave(struct processes *p, struct member *m);

/* The pid does not exist any more. The wrapper reports each process that it reaps, with the zombie's counters, within a
 * moment. Returns true if the caller must wait for that report, false if the member is gone. */
bool members_await_wrapper(struct processes *p, struct member *m);

/* Reads a member's stat. Returns 0, or -ESRCH if the process is no longer there: then the member is gone, or the
 * wrapper's report is waited for. */
int members_look(struct processes *p, struct member *m);
/* Reads a member's stat, too, and sets its base: what the process has used so far does not count for the job. */
int members_rebase(struct processes *p, struct member *m);

/* Settles the ledger (job_settle()); reads the ancestors of gone members again for that. */
void members_settle(struct processes *p);

#endif
