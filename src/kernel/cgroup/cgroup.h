/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parsers of the files of control groups; rules as in kernel/proc/procfs.h. v1 and v2 report the same things under
 * different names and in different units: both fill the same struct, in nanoseconds and bytes.
 */
#ifndef KERNEL_CGROUP_CGROUP_H
#define KERNEL_CGROUP_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

#define CGROUP_NO_LIMIT UINT64_MAX
/* v1 writes LONG_MAX rounded down to a page (PAGE_COUNTER_MAX) for no limit; this bound fits pages of any size. */
#define CGROUP_V1_NO_LIMIT ((UINT64_C(1) << 63) - (UINT64_C(1) << 20))

/* cpu.stat of v2 (usage_usec, user_usec, system_usec; with a quota nr_periods, nr_throttled, throttled_usec) and of v1
 * (nr_periods, nr_throttled, throttled_time). */
enum cgroup_cpu_field {
    CGCPU_USAGE,
    CGCPU_USER,
    CGCPU_SYSTEM,
    CGCPU_PERIODS,
    CGCPU_THROTTLED_PERIODS,
    CGCPU_THROTTLED,
    CGCPU_MAX
};
struct cgroup_cpu {
    uint32_t valid; /* bit per enum cgroup_cpu_field */
    uint64_t value[CGCPU_MAX];
};
int cgroup_cpu_stat_parse(struct span text, struct cgroup_cpu *ret);
/* v1 cpuacct.stat: user and system, in ticks of ns_per_tick. */
int cgroup_cpuacct_stat_parse(struct span text, uint64_t ns_per_tick, struct cgroup_cpu *ret);
/* v2 cpu.max, "max 100000" or "50000 100000"; v1 cpu.cfs_quota_us with cpu.cfs_period_us. The result is in millionths
 * of a core, or CGROUP_NO_LIMIT: a quota of 50000 per 100000 is half a core, 500000. */
int cgroup_cpu_max_parse(struct span text, uint64_t *ret_ppm);
int cgroup_cpu_cfs_parse(struct span quota, struct span period, uint64_t *ret_ppm);

/* memory.stat. For v1 the total_ lines, which include the groups below, as all lines of v2 do. */
enum cgroup_memory_field {
    CGMEM_ANON,
    CGMEM_FILE,
    CGMEM_INACTIVE_FILE,
    CGMEM_SHMEM,
    CGMEM_KERNEL,
    CGMEM_SLAB,
    CGMEM_SLAB_RECLAIMABLE,
    CGMEM_SWAP,
    CGMEM_FAULTS,
    CGMEM_FAULTS_MAJOR,
    /* v1: the tightest limit of the group and all its ancestors, even those outside of the mount; or
     * CGROUP_NO_LIMIT. */
    CGMEM_HIERARCHICAL_LIMIT,
    CGMEM_MAX
};
struct cgroup_memory {
    uint32_t valid;
    uint64_t value[CGMEM_MAX];
};
int cgroup_memory_stat_parse(struct span text, bool v1, struct cgroup_memory *ret);

/* v2 memory.events: max, high, oom, oom_kill. v1 memory.oom_control has only oom_kill (4.13+). */
enum cgroup_event_field { CGEVENT_MAX_HITS, CGEVENT_HIGH_HITS, CGEVENT_OOMS, CGEVENT_OOM_KILLS, CGEVENT_MAX };
struct cgroup_events {
    uint32_t valid;
    uint64_t value[CGEVENT_MAX];
};
int cgroup_memory_events_parse(struct span text, struct cgroup_events *ret);

/* pids.events: how often a fork failed because of the limit. */
int cgroup_pids_events_parse(struct span text, uint64_t *ret);

/* io.stat of v2; blkio.throttle.io_service_bytes (bytes is true) and io_serviced of v1. Sums over devices. counts
 * (NULL: all devices) returns whether a device is included: a device on top of others is not, since its I/O is counted
 * at those. A file without lines means 0: nothing was read or written yet. */
enum cgroup_io_field { CGIO_READ_BYTES, CGIO_WRITE_BYTES, CGIO_READS, CGIO_WRITES, CGIO_MAX };
struct cgroup_io {
    uint64_t value[CGIO_MAX];
};
typedef bool cgroup_device_fn(void *context, uint32_t major, uint32_t minor);
int cgroup_io_stat_parse(struct span text, cgroup_device_fn *counts, void *context, struct cgroup_io *ret);
int cgroup_blkio_parse(struct span text, bool bytes, cgroup_device_fn *counts, void *context, struct cgroup_io *ret);

/* A file with one value: a number, "max", or "-1". The number that v1 writes if there is no memory limit becomes
 * CGROUP_NO_LIMIT, too. */
int cgroup_value_parse(struct span text, uint64_t *ret);

/* How many CPUs a list such as "0-3,8" has; 0 for an empty one (in v1: those of the parent). */
int cgroup_cpus_parse(struct span text, uint64_t *ret);

/* /proc/PID/cgroup has one line per hierarchy: "4:memory:/a/b", "1:name=systemd:/", "0::/a". Spans point into the text.
 * The path may contain any byte; the " (deleted)" that the kernel appends for a removed group is taken off. Malformed
 * lines are skipped. Returns false at the end. */
struct cgroup_membership {
    uint64_t hierarchy;      /* 0: v2 */
    struct span controllers; /* separated by commas; empty for v2 */
    struct span path;
    bool deleted;
};
bool cgroup_membership_next(struct span *text, struct cgroup_membership *ret);

/* Does a list that is separated by commas have this word? */
bool cgroup_listed(struct span list, const char *word);

#endif
