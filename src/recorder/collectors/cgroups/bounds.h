/* SPDX-License-Identifier: Apache-2.0 */
/* The tightest limits of a control group and its ancestors. */
#ifndef RECORDER_COLLECTORS_CGROUPS_BOUNDS_H
#define RECORDER_COLLECTORS_CGROUPS_BOUNDS_H

#include "kernel/cgroup/discover.h"

/* The tightest limit of the group and its ancestors, and its source: "cgroup /a memory.max". CGROUP_NO_LIMIT and "" if
 * there is none. */
struct cgroup_bound {
    uint64_t value;
    char source[128];
    int unseen; /* a negative code if an ancestor that is not visible may have a tighter limit; else 0 */
};
struct cgroup_bounds {
    struct cgroup_bound memory; /* bytes */
    struct cgroup_bound quota;  /* millionths of a core */
    struct cgroup_bound cpus;
    struct cgroup_bound pids;
};
void cgroup_bounds_read(int root_fd, const struct cgroup_hierarchies *p, struct cgroup_bounds *ret);
/* The same while a command is waiting: does not read v1's memory.stat, which may take seconds. That file is only needed
 * for ancestors that are not visible; they stay unseen. */
void cgroup_bounds_read_quickly(int root_fd, const struct cgroup_hierarchies *p, struct cgroup_bounds *ret);

#endif
