/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampler: at each tick its collectors (collector.h) have their turns, and what they filled is a sample. This
 * header is what they do together, for recorder/loop and the tests. Each part has its own state in its own header,
 * which only its own file changes; what concerns one part alone is asked of that part.
 */
#ifndef RECORDER_COLLECTORS_SAMPLER_H
#define RECORDER_COLLECTORS_SAMPLER_H

#include "recorder/collectors/cgroups/cgroup_row.h"
#include "recorder/collectors/directories/directory_row.h"
#include "recorder/collectors/gpu/gpu_row.h"
#include "recorder/collectors/host/host_row.h"
#include "recorder/collectors/machine/machine.h"
#include "recorder/collectors/processes/job_row.h"
#include "recorder/collectors/processes/members.h"
#include "recorder/collectors/processes/process.h"
#include "recorder/collectors/processes/processes.h"
#include "recorder/collectors/processes/task_row.h"
#include "recorder/collectors/sockets/socket_row.h"
#include "recorder/sampling/own_cost.h"

struct sampler {
    struct sampling sampling;
    struct processes processes;
    struct memory memory;
    struct group_job group;
    struct socket_row sockets;
    struct job_row job;
    struct host_row host;
    struct cgroup_row cgroups;
    struct task_row tasks;
    struct directory_row directories;
    struct machine machine;
    struct gpu_row gpu;
    struct own_cost own;
    struct account *account; /* NULL: it is shared */
};

/* The sampler may not be moved in memory afterwards. */
int sampler_init(struct sampler *s, struct job *job, const struct sampler_options *options, struct baro_error *err);
void sampler_done(struct sampler *s);

/* Adds a collector, which is borrowed; only before the first tick. Its turn comes after those of the others. Returns 0,
 * or -ENOSPC. */
int sampler_add(struct sampler *s, const struct collector *is, void *state);

/* Adds a directory whose size is recorded; only before the first tick: directory_row_add(). */
int sampler_add_directory(struct sampler *s, const char *path, uint64_t every_ns, struct baro_entity_owner owner,
                          struct baro_error *err);

void sampler_end_helpers(struct sampler *s); /* the part of sampler_done() that is needed if this process ends now */

/* ---- ticks ---- */

/* Takes a sample. The result is valid until the next call. */
const struct baro_sample *sampler_tick(struct sampler *s);

/* Starts helpers, finds the descendants of the targets, and sets the base of all members to what they have used so far.
 * To be called before the first tick. */
void sampler_discover(struct sampler *s);

uint64_t sampler_now(const struct sampler *s);     /* the current time, since the recording began */
uint64_t sampler_tick_ns(const struct sampler *s); /* the time of the last tick or sampler_advance() */

/* Reads the clocks: sampler_tick_ns() becomes the current time. */
void sampler_advance(struct sampler *s);

/* A cheap check that takes no sample: no member has run since the last tick, no event has changed one, and nothing is
 * due. */
bool sampler_is_quiet(struct sampler *s);

/* Has an event changed a member since the last tick? */
bool sampler_is_stirred(const struct sampler *s);

/* The last sample again, with time t_ns, if nothing has changed since. NULL if that is not certain. */
const struct baro_sample *sampler_repeat(struct sampler *s, uint64_t t_ns);

/* ---- budget and own cost ---- */

/* Charges the budget with what was spent since the last call. sampled: the time includes a tick. */
void sampler_charge(struct sampler *s, bool sampled);

/* The time at which the budget allows the next sample, which is planned for next_ns: budget_wait(). */
uint64_t sampler_wait(struct sampler *s, uint64_t now_ns, uint64_t next_ns, uint64_t interval_ns);

/* The same at the edge of a phase: budget_wait_edge(). */
uint64_t sampler_wait_edge(struct sampler *s, uint64_t now_ns);

/* ---- members ---- */

/* Adds a process that the user named, and reads it at once. Returns the member, or NULL with err. */
struct member *sampler_add_target(struct sampler *s, int32_t pid, struct baro_error *err);

/* Reads a member outside of a tick: after an exec, after an exit event, for the ledger. Calls job_gone() if it is no
 * longer there. Returns 0, or -ESRCH. */
int sampler_read_member(struct sampler *s, struct member *m);
/* The same, and what it has used so far is not the job's. */
int sampler_rebase_member(struct sampler *s, struct member *m);

/* The member is no longer there: releases what was held for it and calls job_gone(), which no other function does. Does
 * the same first for members below it that are no longer there. */
void sampler_gone(struct sampler *s, struct member *m, uint64_t t_ns);

/* Settles the ledger (job_settle()); reads the ancestors of gone members again for that. */
void sampler_settle(struct sampler *s);

/* Reads the sockets for the last time, before the last exits are reported. */
void sampler_close_sockets(struct sampler *s);

/* Finding members by listing children (scan.h). always: there is no event source, so each tick lists the children of
 * all members that ran. lost_events: events were lost; if forks may be among them, the next tick lists the children of
 * all members. children, wrapper: at once, for one member or the wrapper. */
/* New members are found by the pids that the kernel gives out (recorder/collectors/processes/births.h). */
void sampler_count_pids(struct sampler *s, int32_t pid);
void sampler_poll(struct sampler *s);
uint64_t sampler_poll_due_ns(const struct sampler *s); /* UINT64_MAX: with the next tick */

void sampler_scan_always(struct sampler *s, bool always);
void sampler_lost_events(struct sampler *s, bool forks);
void sampler_scan_children(struct sampler *s, struct member *m);
void sampler_scan_wrapper(struct sampler *s);

/* ---- control groups ---- */

/* The job is now this one of options.groups, with all groups below it. If since_now, the CPU time used before is not
 * counted for the job. Returns 0, or -ENOENT. */
int sampler_groups_begin(struct sampler *s, const struct cgroup_location *place, bool since_now);

/* Does the kernel count the CPU time of that group? ret_before_ns: what it had used before the recording. */
bool sampler_group_counts(const struct sampler *s, uint64_t *ret_before_ns);

/* Reads the counters of the job's group at once, because it may be removed before the next tick. */
void sampler_groups_read_end(struct sampler *s);

/* The CPU time that the group had used before the recording. */
void sampler_group_base(const struct sampler *s, uint64_t *ret_user_ns, uint64_t *ret_system_ns);

/* Adds the processes of that group that are not members yet. Returns the number of processes in it. */
size_t sampler_groups_find_members(struct sampler *s);

/* Sets the groups that the job is in: they were found later than at the start, or have changed. Borrowed. */
void sampler_groups_renew(struct sampler *s, const struct cgroup_hierarchies *groups);

/* Reads the groups before the machine is sampled for the first time, so that limits that are hit at once are counted.
 * The next tick has the values. */
void sampler_groups_early(struct sampler *s);

/* The wrapper is gone: its descriptor no longer ends waits for the helper. */
void sampler_forget_wake(struct sampler *s);

#endif
