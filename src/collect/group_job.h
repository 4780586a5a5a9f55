/* SPDX-License-Identifier: Apache-2.0 */
/* A job that is a control group: who is in it and in the groups below it, and the CPU time that the kernel counts for
 * it, also of processes that no sample saw. */
#ifndef COLLECT_GROUP_JOB_H
#define COLLECT_GROUP_JOB_H

#include "collect/sampling.h"

struct group_job {
    struct sampling *sampling;
    bool is_on; /* else the job is no control group, and the rest is not used */
    bool left_out_told;
    struct cgroup_meter meter;
    struct cgroup_reading base; /* what it had used before the recording */
    struct cgroup_walk walk;
    uint64_t walked_ns;
    int walk_error;
    size_t members;
};

void group_job_init(struct group_job *w, struct sampling *sampling);
void group_job_done(struct group_job *w);

/* From now on all that is in this one of options.groups and below it is the job. What it had used before is not the
 * job's if since_now. Returns 0, or -ENOENT. */
int group_job_begin(struct group_job *w, const struct cgroup_location *place, bool since_now);

/* Adds processes in that group that are no members yet. Returns how many processes are in it. */
size_t group_job_find(struct group_job *w);
void group_job_find_if_due(struct group_job *w, bool at_once); /* a process that is moved into it causes no event */

/* Reads what the kernel counts for it into job->group. */
void group_job_count(struct group_job *w);

#endif
