/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampler: at each tick its collectors (collector.h) have their turns, and what they filled is a sample. This
 * header is what record/ and tests use of the whole folder; each part has its own state in its own header, which only
 * its own file changes.
 */
#ifndef COLLECT_SAMPLER_H
#define COLLECT_SAMPLER_H

#include "collect/cgroup_row.h"
#include "collect/host_row.h"
#include "collect/job_row.h"
#include "collect/own_cost.h"
#include "collect/process.h"
#include "collect/processes.h"
#include "collect/program_row.h"

struct sampler {
    struct sampling sampling;
    struct processes processes;
    struct memory memory;
    struct group_job group;
    struct job_row job;
    struct host_row host;
    struct cgroup_row cgroups;
    struct own_cost own;
};

/* The sampler may not be moved in memory afterwards. */
int sampler_init(struct sampler *s, struct job *job, const struct sampler_options *options, struct baro_error *err);
void sampler_done(struct sampler *s);

/* Another collector, before the first tick: its turn comes after those that are there. Borrowed. Returns 0, or
 * -ENOSPC. */
int sampler_add(struct sampler *s, const struct collector *is, void *state);

/* A collector of this program's readings. Before the first tick. */
int sampler_add_program(struct sampler *s, const struct program_request *request, struct baro_error *err);
/* A line for each program that something went wrong with. */
void sampler_program_trouble(struct sampler *s, void (*say)(void *context, const char *line), void *context);

void sampler_kill_helpers(struct sampler *s); /* after the last sample: they end while the tape is finished */
void sampler_end_helpers(struct sampler *s);  /* of all that sampler_done() does: this process ends now */

/* ---- ticks ---- */

/* Takes a sample as of now. The result is valid until the next call. */
const struct baro_sample *sampler_tick(struct sampler *s);

/* Starts helpers, finds the descendants of the targets and marks what all have used so far as not this recording's. To
 * be called before the first tick. */
void sampler_discover(struct sampler *s);

uint64_t sampler_now(const struct sampler *s);     /* the present, since the recording began */
uint64_t sampler_tick_ns(const struct sampler *s); /* the time of the last tick, or of the last sampler_advance() */

/* Reads the clocks: sampler_tick_ns() is the present. */
void sampler_advance(struct sampler *s);

/* A cheap look, which is no sample: no member has run since the last tick, no event has changed one, and nothing is
 * due. */
bool sampler_is_quiet(struct sampler *s);

/* Has an event changed a member since the last tick? */
bool sampler_is_stirred(const struct sampler *s);

/* Did the last tick find anything that had changed? */
bool sampler_any_moved(const struct sampler *s);

/* The last sample once more, as of t_ns: nothing has changed in between. NULL if that is not certain. */
const struct baro_sample *sampler_repeat(struct sampler *s, uint64_t t_ns);

/* ---- budget and own cost ---- */

/* Tells the budget what was spent since the last call. sampled: with a tick. */
void sampler_charge(struct sampler *s, bool sampled);

/* When the next sample, planned for next_ns, can be paid for: budget_wait(). */
uint64_t sampler_wait(struct sampler *s, uint64_t now_ns, uint64_t next_ns, uint64_t interval_ns);

void sampler_missed(struct sampler *s, uint64_t n);   /* samples that came too late */
void sampler_left_out(struct sampler *s, uint64_t n); /* samples that the budget did not allow */

/* ---- members ---- */

/* Adds a process that the user named. Reads it at once. Returns the member or NULL with err. */
struct member *sampler_add_target(struct sampler *s, int32_t pid, struct baro_error *err);

/* Reads a member outside a tick: after an exec, an exit event, for the ledger. Calls job_gone() if it is no longer
 * there. Returns 0, or -ESRCH. */
int sampler_look(struct sampler *s, struct member *m);

/* Members below this one that are no longer there: it had waited for them before it ended, or nobody knows. */
void sampler_gather(struct sampler *s, struct member *m, uint64_t t_ns);

/* The member is no longer there: releases what was held for it and calls job_gone(), which nobody else does. Those
 * below it go before it. */
void sampler_gone(struct sampler *s, struct member *m, uint64_t t_ns);

/* What the wrapper read of a zombie, into its row. */
void sampler_take_zombie(struct sampler *s, struct member *m, const struct process_zombie *z);

/* Settles the ledger (job_settle) by reading ancestors again. */
void sampler_settle(struct sampler *s);

/* Finding members: no event source, so all that ran are asked for children at every tick; events were lost, and where
 * forks may be among them all members are asked in the next tick; now, of one member or of the wrapper. */
void sampler_scan_always(struct sampler *s, bool always);
void sampler_lost_events(struct sampler *s, bool forks);
void sampler_scan_children(struct sampler *s, struct member *m);
void sampler_scan_wrapper(struct sampler *s);

/* ---- control groups ---- */

/* From now on all that is in this one of options.groups and below it is the job. What it had used before is not the
 * job's if since_now. Returns 0, or -ENOENT. */
int sampler_groups_begin(struct sampler *s, const struct cgroup_location *place, bool since_now);

/* Does the kernel count the CPU time of that group, and how much had it used before? */
bool sampler_group_counts(const struct sampler *s, uint64_t *ret_before_ns);

/* Adds processes in that group that are no members yet. Returns how many processes are in it. */
size_t sampler_groups_find_members(struct sampler *s);

/* The groups that the job is in, found later than at the start, or others than before. Borrowed. */
void sampler_groups_renew(struct sampler *s, const struct cgroup_hierarchies *groups);

/* Reads them before the machine is sampled for the first time: limits that are hit at once are counted from here on.
 * The next tick has the values. */
void sampler_groups_early(struct sampler *s);

uint64_t sampler_oom_kills(const struct sampler *s); /* in the job's own group, since it was first read */

/* The wrapper is gone: waits for the helper don't end early any more. */
void sampler_forget_wake(struct sampler *s);

#endif
