/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the control groups of a process are in the file system, and which limit above it binds.
 *
 * A machine has v1 hierarchies (each with some controllers), or one v2 hierarchy, or both: a controller is at exactly
 * one of them. /proc/PID/cgroup says the path in each, as seen from this process's control group namespace; mountinfo
 * says where each is mounted and which directory of it is. A container may show a path that can't be seen from inside.
 */
#ifndef CGROUPFS_DISCOVER_H
#define CGROUPFS_DISCOVER_H

#include "cgroupfs/cgroup.h"

enum cgroup_controller {
    CGROUP_AT_CPU, CGROUP_AT_CPUACCT, CGROUP_AT_CPUSET, CGROUP_AT_MEMORY, CGROUP_AT_IO, CGROUP_AT_PIDS,
    CGROUP_AT_UNIFIED, /* what every group of v2 has: CPU time, pressure */
    CGROUP_AT_MAX
};

#define CGROUP_PATH_MAX 1024u
#define CGROUP_DIR_MAX (CGROUP_PATH_MAX + 256u)

/* A group in one hierarchy. */
struct cgroup_location {
    bool v2;
    bool root;                  /* of the whole hierarchy: what stands there is the machine's */
    bool whole;                 /* all that is above it, up to the root of the hierarchy, is to be seen */
    size_t mount_len;           /* of dir: this much is where the hierarchy is mounted */
    char dir[CGROUP_DIR_MAX];   /* relative to the root descriptor: "sys/fs/cgroup/memory/a/b" */
    char path[CGROUP_PATH_MAX]; /* as in /proc/PID/cgroup: "/a/b" */
};

struct cgroup_hierarchies {
    size_t n;
    struct cgroup_location at[CGROUP_AT_MAX];
    int8_t of[CGROUP_AT_MAX];   /* index into at[]; -1: this controller is nowhere to be seen */
    uint32_t hidden;            /* a bit for each that the process is in a group of, but not where that is */
};

/* Fills *ret (some 16 KB) with what there is, which may be nothing. pid 0: this process. root_fd is a descriptor of
 * "/". Returns 0, or -errno where /proc itself can't be read. */
int cgroup_find(int root_fd, int32_t pid, struct cgroup_hierarchies *ret);

/* The group with this path: absolute below a mount of a hierarchy ("/sys/fs/cgroup/a"), or as in /proc/PID/cgroup
 * ("/a"), in every hierarchy that has it. Returns how many, 0 if there is none. */
int cgroup_find_path(int root_fd, const char *path, struct cgroup_hierarchies *ret);

/*
 * Of the places that a path names, those that are one group. at[0] becomes the one that says who is in it: where CPU
 * time is counted (v2, else cpuacct), if anybody is in it or below it; else the first with anybody. The others stay if
 * any of these is in there as well, and are dropped if nobody is. Where there are others in one, 0 and *ret_other are
 * two groups of that path, and the answer is -EINVAL. Otherwise 0.
 */
int cgroup_agree(int root_fd, struct cgroup_hierarchies *p, size_t *ret_other);

/* Is the controller (not CGROUP_AT_UNIFIED) in a list as /proc/PID/cgroup has it? */
bool cgroup_lists(struct span controllers, enum cgroup_controller c);

const struct cgroup_location *cgroup_location_of(const struct cgroup_hierarchies *p, enum cgroup_controller c);

/* Calls fn for the group itself and for all above it up to where the hierarchy is mounted, but never for its root.
 * dir_fd is valid during the call alone. Stops if fn returns false. */
typedef bool cgroup_level_fn(void *context, int dir_fd, const char *dir, const char *path);
void cgroup_each_level(int root_fd, const struct cgroup_location *p, cgroup_level_fn *fn, void *context);

/* Reads a file of one value. Returns 0 or negative. */
int cgroup_read_value(int dir_fd, const char *name, uint64_t *ret);

/* The tightest of the chain, and where that is: "cgroup /a memory.max". CGROUP_NO_LIMIT and "" where there is none. */
struct cgroup_bound {
    uint64_t value;
    char source[128];
    int unseen;                 /* a negative code: there may be a tighter one that can't be seen; 0: this is all */
};
struct cgroup_bounds {
    struct cgroup_bound memory; /* bytes */
    struct cgroup_bound quota;  /* millionths of a core */
    struct cgroup_bound cpus;
    struct cgroup_bound pids;
};
void cgroup_bounds_read(int root_fd, const struct cgroup_hierarchies *p, struct cgroup_bounds *ret);
/* While somebody waits: without v1's memory.stat, which may take seconds, and which is read where it alone tells of
 * groups above that can't be seen: these stay unseen. */
void cgroup_bounds_read_quickly(int root_fd, const struct cgroup_hierarchies *p, struct cgroup_bounds *ret);

/* v1 could have groups that count their own processes alone, before 5.11 (memory.use_hierarchy is 0): their limit binds
 * nobody below, and their use leaves out what is below. */
bool cgroup_memory_alone(int dir_fd);

/* Does this one group set a limit on memory, CPU time or threads? */
bool cgroup_sets_limit(int dir_fd, bool v2);

#endif
