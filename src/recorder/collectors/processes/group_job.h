/* SPDX-License-Identifier: Apache-2.0 */
/* A job that is a control group: the processes in it and in the groups below it, and the CPU time that the kernel
 * counts for it, which includes processes that no sample contains. */
#ifndef RECORDER_COLLECTORS_PROCESSES_GROUP_JOB_H
#define RECORDER_COLLECTORS_PROCESSES_GROUP_JOB_H

#include "kernel/cgroup/meter.h"
#include "kernel/cgroup/walk.h"
#include "recorder/sampling/sampling.h"

struct group_job {
    struct sampling *sampling;
    bool is_on;     /* false: the job is no control group, and the other fields are not used */
    bool is_target; /* the user named the group, so a process that leaves it leaves the job; false: the group was made
                       for the command */
    bool is_large;  /* it has more groups than are walked: /proc/PID/cgroup of all processes says who is in it */
    bool any_left;  /* for group_job_next_left() */
    struct cgroup_meter meter;
    struct cgroup_reading base; /* CPU time that the group had used before the recording */
    uint64_t counted_ns;        /* the kernel's CPU time at the last sample */
    bool grew;                  /* the count was lower at the sample before that */
    struct cgroup_walk walk;
    uint64_t walked_ns;
    uint64_t free_ns;            /* when the last walk is paid from the budget */
    uint64_t read_ns, before_ns; /* when its processes were listed last, and the time before that */
    int walk_error;
    size_t members;
};

void group_job_init(struct group_job *w, struct sampling *sampling);
void group_job_done(struct group_job *w);

/* The job is now this one of options.groups, with all groups below it. If since_now, the CPU time used before is not
 * counted for the job. Returns 0, or -ENOENT. */
int group_job_begin(struct group_job *w, const struct cgroup_location *place, bool since_now);

/* Adds the processes of the group that are not members yet. Returns the number of processes in it. */
size_t group_job_find(struct group_job *w);
/* The next member that has moved to another group. *i: 0 at first. */
struct member *group_job_next_left(const struct group_job *w, size_t *i);
/* Did a member whose stat was just read for the first time run elsewhere before it was moved into the group? */
bool group_job_has_come(const struct group_job *w, const struct member *m);
/* needed because moving a process into the group causes no event */
void group_job_find_if_due(struct group_job *w, bool at_once);

/* Reads the kernel's CPU time of the group into job->group. */
void group_job_count(struct group_job *w);

/* Does the kernel count the group's CPU time? If so, and the count stays the same, no process in the group has run, not
 * even one that was moved into it. */
bool group_job_is_counted(const struct group_job *w);
/* Is the group's CPU time the same as at the last sample? */
bool group_job_is_quiet(const struct group_job *w);

#endif
