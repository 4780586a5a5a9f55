/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job's control groups: its own, and ancestors of it that set a limit. An entity is a path; if both v1 and v2
 * hierarchies have the path, the entity has the values of all hierarchies in which the job is at or below it.
 * Descriptors stay open, and a tick allocates nothing.
 *
 * Files that the kernel sums up over a tree of groups (memory.stat, cpu.stat, io.stat) can be expensive, up to seconds
 * on some machines. Each file is read only as often as its own cost allows, and a helper process reads memory.stat, the
 * most expensive one.
 */
#ifndef RECORDER_COLLECTORS_CGROUPS_CGROUP_H
#define RECORDER_COLLECTORS_CGROUPS_CGROUP_H

#include "kernel/cgroup/discover.h"
#include "recorder/sampling/entity.h"

struct cgroups;
struct helper;

struct cgroups_options {
    int root_fd;           /* directory descriptor of "/"; borrowed */
    uint64_t ns_per_tick;  /* the unit of v1's cpuacct.stat */
    uint64_t memory_total; /* of the machine; a limit at or above it is no limit; 0: not known */
    bool helper;           /* a helper reads what may take seconds (cgroups_use()); false: it is read here */
    bool patient;          /* the first and the last tick may wait some milliseconds for the helper */
    uint32_t *ids;         /* the last id that was given to an entity of any kind; borrowed */
};

/* Opens these groups, as far as they exist. If none does, *ret is NULL, which is no error. Returns 0 or -ENOMEM. */
int cgroups_new(struct cgroups **ret, const struct cgroups_options *options, const struct cgroup_hierarchies *places);
/* Sets the helper to use, which may be shared: then call helper_forget(helper, g) before g is freed. Borrowed until the
 * end. NULL: none. */
void cgroups_use(struct cgroups *g, struct helper *helper);
bool cgroups_need_helper(const struct cgroups *g); /* does a helper have to read something? NULL is allowed */
/* Takes the helper's replies, and hands on those for others. */
void cgroups_collect(struct cgroups *g);
/* Reads what is due and puts the entities into the sample. last: no other tick follows. NULL is allowed. */
void cgroups_tick(struct cgroups *g, uint64_t now_ns, bool last, struct baro_sample *ret);
/* Reads how much memory the groups with a limit hold, and nothing else. Returns true if a group has come to nine tenths
 * of its limit: again only after it was below eight. ret_near_ns: when the first group will be there, at its growth
 * since the last call; UINT64_MAX: none grows. Example: 40 MB at 1.0 s and 60 MB at 1.1 s, with a limit of 100 MB: at
 * 1.25 s. NULL is allowed. */
bool cgroups_watch(struct cgroups *g, uint64_t now_ns, uint64_t *ret_near_ns);
/* Reads the counters at once: no process of the job is alive, and the groups may be removed before the next tick. What
 * was read stays if the next tick finds that they were. NULL is allowed. */
void cgroups_read_end(struct cgroups *g);
/* OOM kills in the first group since it was first read. NULL is allowed. */
uint64_t cgroups_oom_kills(const struct cgroups *g);
void cgroups_free(struct cgroups *g);

/* Returns the hierarchy that a metric is read from: one whose version has a file for it, if there is one; else any with
 * the metric's controller; NULL: none. */
const struct cgroup_location *cgroups_location_of(const struct cgroup_hierarchies *places, enum cgroup_metric id);

/* Returns the controller of the first file that a metric is read from: CGROUP_AT_IO of io_read, CGROUP_AT_UNIFIED of
 * pressure, and CGROUP_AT_CPUACCT of cpu, a controller of v1. CGROUP_AT_MAX: it is in no file. */
enum cgroup_controller cgroups_controller_of(enum cgroup_metric id);

#endif
