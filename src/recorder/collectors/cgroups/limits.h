/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job's limits: the tightest of its control groups, its affinity, its ulimits, and what a batch system or
 * Kubernetes set in the environment. A value that is not below the machine's is no limit. If a limit may exist that is
 * not visible, the value found is only an upper bound, and the limit is absent.
 */
#ifndef RECORDER_COLLECTORS_CGROUPS_LIMITS_H
#define RECORDER_COLLECTORS_CGROUPS_LIMITS_H

#include "kernel/cgroup/discover.h"
#include "kernel/proc/procfs.h"
#include "libbaro/sample/sample.h"
#include "recorder/collectors/cgroups/bounds.h"

struct limits_place {
    int root_fd;       /* directory descriptor of "/" */
    int32_t pid;       /* the process; 0: this one */
    uint32_t cpus;     /* of the machine, online */
    uint32_t affinity; /* CPUs that the scheduler allows; 0: read from /proc/PID/status */
    /* Its ulimits and its real uid; NULL: read from /proc/PID/limits and status. */
    const struct pid_limits *ulimits;
    uint32_t uid;
    uint64_t memory_total;                   /* of the machine, bytes; 0: not known */
    const struct cgroup_hierarchies *groups; /* the job's; NULL: they could not be found */
    int groups_error;                        /* if groups is NULL: the negative code; 0: the reason is not known */
    const struct cgroup_bounds *bounds;      /* the groups' limits, if they were read before; NULL: read them */
    const char *(*env)(void *context, const char *name); /* environment of the job; NULL: not known */
    void *context;
};

void limits_read(const struct limits_place *place, struct baro_limits *ret);
/* Only the limits of the groups: for a job that is a control group. */
void limits_read_groups(const struct limits_place *place, struct baro_limits *ret);

#endif
