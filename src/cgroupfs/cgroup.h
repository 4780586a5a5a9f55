/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parsers of the files of control groups; rules as in procfs/procfs.h. v1 and v2 say the same things under other names
 * and in other units: what comes out is one struct, in nanoseconds and bytes.
 */
#ifndef CGROUPFS_CGROUP_H
#define CGROUPFS_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

#define CGROUP_NO_LIMIT UINT64_MAX
/* What v1 writes for none: LONG_MAX cut down to a page, whatever its size (PAGE_COUNTER_MAX). */
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
/* v2 cpu.max, "max 100000" or "50000 100000"; and of v1 cpu.cfs_quota_us with cpu.cfs_period_us. Millionths of a core,
 * or CGROUP_NO_LIMIT. */
int cgroup_cpu_max_parse(struct span text, uint64_t *ret_ppm);
int cgroup_cpu_cfs_parse(struct span quota, struct span period, uint64_t *ret_ppm);

/* memory.stat. Of v1 the total_ lines, which have the groups below it as well, as v2 always does. */
enum cgroup_memory_field {
    CGMEM_ANON,
    CGMEM_FILE,
    CGMEM_INACTIVE_FILE,
    CGMEM_SHMEM,
    CGMEM_KERNEL,
    CGMEM_SLAB,
    CGMEM_SWAP,
    CGMEM_FAULTS,
    CGMEM_FAULTS_MAJOR,
    CGMEM_HIERARCHICAL_LIMIT, /* v1: the tightest of it and all above it, also those that can't be seen from here; or
                                 CGROUP_NO_LIMIT */
    CGMEM_MAX
};
struct cgroup_memory {
    uint32_t valid;
    uint64_t value[CGMEM_MAX];
};
int cgroup_memory_stat_parse(struct span text, bool v1, struct cgroup_memory *ret);

/* v2 memory.events: max, high, oom, oom_kill. v1 memory.oom_control has oom_kill alone (4.13+). */
enum cgroup_event_field { CGEVENT_MAX_HITS, CGEVENT_HIGH_HITS, CGEVENT_OOMS, CGEVENT_OOM_KILLS, CGEVENT_MAX };
struct cgroup_events {
    uint32_t valid;
    uint64_t value[CGEVENT_MAX];
};
int cgroup_memory_events_parse(struct span text, struct cgroup_events *ret);

/* pids.events: how often max was run into. */
int cgroup_pids_events_parse(struct span text, uint64_t *ret);

/* io.stat of v2; blkio.throttle.io_service_bytes and io_serviced of v1 (bytes says which). Sums over devices; counts
 * (NULL: all do) says whether a device is to be counted: one that stands on others is counted there. No line at all is
 * 0: nothing was read or written yet. */
enum cgroup_io_field { CGIO_READ_BYTES, CGIO_WRITE_BYTES, CGIO_READS, CGIO_WRITES, CGIO_MAX };
struct cgroup_io {
    uint64_t value[CGIO_MAX];
};
typedef bool cgroup_device_fn(void *context, uint32_t major, uint32_t minor);
int cgroup_io_stat_parse(struct span text, cgroup_device_fn *counts, void *context, struct cgroup_io *ret);
int cgroup_blkio_parse(struct span text, bool bytes, cgroup_device_fn *counts, void *context, struct cgroup_io *ret);

/* A file of one value: a number, "max", or "-1". What v1 writes for no memory limit (the largest multiple of a page
 * below 2^63) is CGROUP_NO_LIMIT as well. */
int cgroup_value_parse(struct span text, uint64_t *ret);

/* How many CPUs a list such as "0-3,8" names; 0 for an empty one (v1: the parent's). */
int cgroup_cpus_parse(struct span text, uint64_t *ret);

/* /proc/PID/cgroup, a line a hierarchy: "4:memory:/a/b", "1:name=systemd:/", "0::/a". Spans are borrowed; the path may
 * have any byte, and ends without the " (deleted)" that the kernel adds to the name of one that was removed. Lines that
 * are none are passed over; false at the end. */
struct cgroup_membership {
    uint64_t hierarchy;      /* 0: v2 */
    struct span controllers; /* joined by commas; of v2 none */
    struct span path;
    bool deleted;
};
bool cgroup_membership_next(struct span *text, struct cgroup_membership *ret);

/* Is word one of a list that is joined by commas? */
bool cgroup_listed(struct span list, const char *word);

#endif
