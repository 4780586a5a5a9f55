/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's CPU time of a group, which includes all processes that were ever in it: from cpu.stat, or for v1 from
 * cpuacct.usage, split by cpuacct.stat. */
#ifndef KERNEL_CGROUP_METER_H
#define KERNEL_CGROUP_METER_H

#include "kernel/cgroup/discover.h"

struct cgroup_meter {
    int fd, split_fd; /* -1: none */
    bool v2;
    uint64_t ns_per_tick;
};
struct cgroup_reading {
    uint64_t user_ns, system_ns; /* their sum is exact */
};
/* Returns 0, or -ENOENT if none of these hierarchies counts CPU time. */
int cgroup_meter_open(struct cgroup_meter *m, int root_fd, const struct cgroup_hierarchies *places,
                      uint64_t ns_per_tick);
/* Returns 0, or -ENODEV once the group is gone. */
int cgroup_meter_read(const struct cgroup_meter *m, struct cgroup_reading *ret);
/* Takes a newer reading. The split between user and system time is an estimate of the kernel, and a part of it may
 * decrease. Here no part decreases, and the sum stays exact. Example: after 30 + 10 ms, 35 + 8 counts as 33 + 10. */
void cgroup_reading_advance(struct cgroup_reading *last, const struct cgroup_reading *now);
void cgroup_meter_close(struct cgroup_meter *m);

#endif
