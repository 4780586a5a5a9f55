/* SPDX-License-Identifier: Apache-2.0 */
/* What the files share that settle the ledger: the members that are gone, and their successors. */
#ifndef RECORDER_JOB_SETTLING_H
#define RECORDER_JOB_SETTLING_H

#include "recorder/job/counters.h"

/* The nearest ancestor that is not gone: the successor that has the member's counters. NULL: there is none. */
static inline struct member *nearest_living(const struct member *m)
{
    struct member *up = m->account.successor;
    while (up && member_is_gone(up))
        up = up->account.successor;
    return up;
}

/* Has neither the member's parent reaped it nor, so far, the wrapper? */
static inline bool is_unreaped(const struct member *m)
{
    return m->account.parent_reaped_none && !member_is_final(m);
}

/* unsettled.c: gone members that cannot be settled yet. */

/* Does a gone child wait until the successor is read or reported? If so, what the successor has gained from that child
 * is settled later. Example: the command is a zombie, and its counters include 70 ms of its child. The child waits for
 * the wrapper's report of the command. If the 70 ms counted as settled now, they would seem to be missing when the
 * report comes, and would be added again. */
bool gone_wait_for(const struct job *j, const struct member *successor);
/* Takes the members out of the list of gone ones that have to wait, and returns them. A member waits
 *   - if its successor's counters are not final: the successor is REAP_PENDING, could not be read, or the wrapper's
 *     report of it is due;
 *   - if the successor's gain cannot be attributed, because the end event of another child is outstanding; or
 *   - if the wrapper may still report the member. */
struct member *gone_hold_back(struct job *j, uint64_t now_ns);
void gone_give_back(struct job *j, struct member *later);

/* remainder.c: CPU time that was counted and that no process was seen to use. */

/* The CPU time that the teardown of the member is expected to take; 0: its CPU time is known. */
uint64_t teardown_expected(const struct member *m);
/* The same and the CPU time that it is expected to have used since its CPU clock was polled. */
uint64_t remainder_expected(const struct member *m);
/* How much of the gain of a successor is shared out among its children. */
void remainder_plan(const struct job *j, struct settlement *e, uint64_t gained_ns);
/* Shares out the gains; shares: the sum of what was planned. */
void remainder_share_out(struct job *j, uint64_t shares);

#endif
