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
#ifndef CGROUP_CGROUP_H
#define CGROUP_CGROUP_H

#include "cgroupfs/discover.h"
#include "entity/entity.h"

struct cgroups;
struct helper;

struct cgroups_options {
    int root_fd;                /* directory descriptor of "/"; borrowed */
    uint64_t ns_per_tick;       /* the unit of v1's cpuacct.stat */
    uint64_t memory_total;      /* of the machine; a limit at or above it is no limit; 0: not known */
    bool helper;                /* a helper reads what may take seconds (cgroups_use()); false: it is read here */
    bool patient;               /* the first and the last tick may wait some milliseconds for the helper */
    uint32_t *ids;              /* the last id that was given to an entity of any kind; borrowed */
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
/* OOM kills in the first group since it was first read. NULL is allowed. */
uint64_t cgroups_oom_kills(const struct cgroups *g);
void cgroups_free(struct cgroups *g);

/* Returns the hierarchy that a metric is read from: one whose version has a file for it, if there is one; else any with
 * the metric's controller; NULL: none. */
const struct cgroup_location *cgroups_location_of(const struct cgroup_hierarchies *places, enum cgroup_metric id);

/* Returns the controller of the first file that a metric is read from: CGROUP_AT_IO of io_read, CGROUP_AT_UNIFIED of
 * pressure, and CGROUP_AT_CPUACCT of cpu, a controller of v1. CGROUP_AT_MAX: it is in no file. */
enum cgroup_controller cgroups_controller_of(enum cgroup_metric id);

/* Finds the group that a user named, by its path below /sys/fs/cgroup or as in /proc/PID/cgroup: at[0] is where its
 * processes are listed. Returns 0, or a negative code: there is none, or it is the whole machine. */
int cgroup_target(int root_fd, const char *path, struct cgroup_hierarchies *ret, struct baro_error *err);

/* The kernel's CPU time of a group, which includes all processes that were ever in it: from cpu.stat, or for v1 from
 * cpuacct.usage, split by cpuacct.stat. */
struct cgroup_meter {
    int fd, split_fd;           /* -1: none */
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
/* Takes a newer reading. The split between user and system is an estimate of the kernel's and may go back: neither part
 * falls, and the sum stays exact. Example: after 30 + 10 ms, 35 + 8 counts as 33 + 10. */
void cgroup_reading_advance(struct cgroup_reading *last, const struct cgroup_reading *now);
void cgroup_meter_close(struct cgroup_meter *m);

/* The processes of a group and of all groups below it. */
struct cgroup_walked {
    int dir_fd, procs_fd; /* of a group and of its cgroup.procs; stay open; -1: opened for each read */
    /* link count of the directory when it was listed: 2 plus one for each group below; 0: to be listed (again) */
    uint64_t links;
    uint64_t name;        /* hash of the name */
    size_t parent, moved; /* moved: its new index when removed groups are dropped */
    int depth;
    bool seen, gone;
    bool parent_of; /* a group below it is or was known */
};
struct cgroup_walk {
    int root_fd;                /* borrowed */
    bool v2;
    char dir[CGROUP_DIR_MAX]; /* below root_fd */
    struct cgroup_walked *at;
    size_t n, cap;
    /* hash table of 2 * cap: index + 1 of a group, by parent and name; 0: empty */
    uint32_t *slot;
    size_t left_now; /* left out by the current walk */
    /* most: the most groups to walk, as each takes descriptors. left_out: further groups, which are not walked; a lower
     * bound if some are nested too deep. */
    size_t most, left_out;
};
void cgroup_walk_init(struct cgroup_walk *w, int root_fd, const struct cgroup_location *place);
/* Finds groups that were made or removed; if there are none, it costs an fstat() for each group. Returns 0, or -ENOENT
 * if the group itself was removed. */
int cgroup_walk_groups(struct cgroup_walk *w);
/* Calls fn for each process. text is a work buffer. Returns the number of processes, or -ENODEV if the group itself was
 * removed. */
int cgroup_walk_processes(struct cgroup_walk *w, char *text, size_t cap, void (*fn)(void *context, int32_t pid),
                          void *context);
void cgroup_walk_done(struct cgroup_walk *w);

#endif
