/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the job may have: the tightest of its control groups, affinity, ulimits and what a batch system or Kubernetes
 * says in the environment. What is no tighter than the machine is no limit. Where there may be one that can't be seen,
 * what is found is only an upper bound, and the limit is absent.
 */
#ifndef CGROUP_LIMITS_H
#define CGROUP_LIMITS_H

#include "cgroupfs/discover.h"
#include "procfs/procfs.h"
#include "sample/sample.h"

struct limits_place {
    int root_fd;                        /* directory descriptor of "/" */
    int32_t pid;                        /* whose; 0: of this process */
    uint32_t cpus;                      /* of the machine, online */
    uint32_t affinity;                  /* CPUs that the scheduler allows; 0: what /proc/PID/status says */
    const struct pid_limits
        *ulimits; /* its, and then uid is its real user; NULL: what /proc/PID/limits and status say */
    uint32_t uid;
    uint64_t memory_total;              /* of the machine, bytes; 0: not known */
    const struct cgroup_hierarchies *groups; /* the job's; NULL: they could not be found */
    int groups_error;                   /* then a negative code: why; 0: nobody knows */
    const struct cgroup_bounds *bounds; /* what they say, if that was read; NULL: it is read */
    const char *(*env)(void *context, const char *name); /* of the job; NULL: not known */
    void *context;
};

void limits_read(const struct limits_place *place, struct baro_limits *ret);
/* Of the groups alone: for a job that is one. */
void limits_read_groups(const struct limits_place *place, struct baro_limits *ret);

#endif
