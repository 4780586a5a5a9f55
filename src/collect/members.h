/* SPDX-License-Identifier: Apache-2.0 */
/* Members that are read outside of a tick's turn, and members that are found gone. */
#ifndef COLLECT_MEMBERS_H
#define COLLECT_MEMBERS_H

#include "collect/processes.h"

/* Before a member is read for the first time. */
void members_begin(struct processes *p, struct member *m);

/* The member is no longer there: releases what was held for it and calls job_gone(). Members below it that are no
 * longer there go before it. */
void members_gone(struct processes *p, struct member *m, uint64_t t_ns);

/* The same for those below it alone: it had waited for them, or nobody knows. */
void members_gather(struct processes *p, struct member *m, uint64_t t_ns);

/* The pid is no longer there. The wrapper reports what it reaps, with all that the zombie had used, within a moment:
 * returns true if that is to be waited for, false if the member is gone. */
bool members_await_wrapper(struct processes *p, struct member *m);

/* Reads a member's stat. Returns 0, or -ESRCH if it is no longer there; then it is gone or the wrapper is waited for.
 */
int members_look(struct processes *p, struct member *m);

/* Settles the ledger (job_settle) by reading ancestors again. */
void members_settle(struct processes *p);

#endif
