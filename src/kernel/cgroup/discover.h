/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the directories of a process's control groups, and walks from a group up to its ancestors.
 *
 * A machine has v1 hierarchies (each with some controllers), one v2 hierarchy, or both; each controller is in exactly
 * one of them. /proc/PID/cgroup has the path in each hierarchy, relative to this process's control group namespace;
 * mountinfo has the mount point of each hierarchy and which directory of it is mounted. In a container the path may be
 * that of a directory that is not visible inside.
 */
#ifndef KERNEL_CGROUP_DISCOVER_H
#define KERNEL_CGROUP_DISCOVER_H

#include "kernel/cgroup/cgroup.h"

enum cgroup_controller {
    CGROUP_AT_CPU,
    CGROUP_AT_CPUACCT,
    CGROUP_AT_CPUSET,
    CGROUP_AT_MEMORY,
    CGROUP_AT_IO,
    CGROUP_AT_PIDS,
    CGROUP_AT_HUGETLB,
    CGROUP_AT_UNIFIED, /* what every v2 group has without a controller: CPU time, pressure */
    CGROUP_AT_MAX
};

#define CGROUP_PATH_MAX 1024u
#define CGROUP_DIR_MAX (CGROUP_PATH_MAX + 256u)

/* A group in one hierarchy. */
struct cgroup_location {
    bool v2;
    bool root;                  /* it is the root of the hierarchy, whose values are the whole machine's */
    bool whole;                 /* all its ancestors up to the root of the hierarchy are visible */
    size_t mount_len;           /* length of the mount point in dir */
    char dir[CGROUP_DIR_MAX];   /* relative to the root descriptor: "sys/fs/cgroup/memory/a/b" */
    char path[CGROUP_PATH_MAX]; /* as in /proc/PID/cgroup: "/a/b" */
};

struct cgroup_hierarchies {
    size_t n;
    int8_t of[CGROUP_AT_MAX]; /* index into at[]; -1: no visible hierarchy has this controller */
    uint32_t hidden;          /* bit per controller: the process is in a group whose directory is not visible */
    struct cgroup_location at[CGROUP_AT_MAX];
};

/* Fills *ret (some 16 KB) with what is found, which may be nothing. pid 0: this process. root_fd is a descriptor of
 * "/". Returns 0, or -errno if /proc can't be read. */
int cgroup_find(int root_fd, int32_t pid, struct cgroup_hierarchies *ret);

/* Finds the group with this path in every hierarchy that has it. The path is absolute below a mount
 * ("/sys/fs/cgroup/a") or as in /proc/PID/cgroup ("/a"). Returns the number of hierarchies. */
int cgroup_find_path(int root_fd, const char *path, struct cgroup_hierarchies *ret);

/* Finds the group that a user named, by its path below /sys/fs/cgroup or as in /proc/PID/cgroup. at[0] becomes the
 * hierarchy from which its processes are listed. Returns 0; or a negative code if there is no such group, or if it
 * is the root, which is the whole machine. */
int cgroup_target(int root_fd, const char *path, struct cgroup_hierarchies *ret, struct baro_error *err);

/* The length of the first component of a path if a hierarchy is mounted there, below /sys/fs/cgroup: 6 of "memory/a";
 * else 0. root_fd may be AT_FDCWD. */
size_t cgroup_hierarchy_length(int root_fd, const char *path);

/* Reduces the directories that a path names to those that are one group, that is, have the same processes. at[0]
 * becomes the one from which members are listed: the one that counts CPU time (v2, else cpuacct) if a process is in it
 * or below it, else the first that has a process. Each of the others stays if one of these processes is in it as well,
 * and is dropped if it has no process. If it has only other processes, at[0] and at[*ret_other] are two groups with the
 * same path, and the result is -EINVAL. Otherwise 0. Example: v1 memory and v2 both have /a, with pid 10 in one and pid
 * 11 in the other: -EINVAL. */
int cgroup_agree(int root_fd, struct cgroup_hierarchies *p, size_t *ret_other);

/* Is a process with this text of /proc/PID/cgroup in the group p->at[i], or in one below it? */
bool cgroup_holds(const struct cgroup_hierarchies *p, size_t i, struct span membership);

/* Is the controller (not CGROUP_AT_UNIFIED) in a list of /proc/PID/cgroup? */
bool cgroup_lists(struct span controllers, enum cgroup_controller c);

const struct cgroup_location *cgroup_location_of(const struct cgroup_hierarchies *p, enum cgroup_controller c);

/* Calls fn for the group and for each ancestor up to the mount point, but never for the root of the hierarchy. dir_fd
 * is valid only during the call. Stops if fn returns false. */
typedef bool cgroup_level_fn(void *context, int dir_fd, const char *dir, const char *path);
void cgroup_each_level(int root_fd, const struct cgroup_location *p, cgroup_level_fn *fn, void *context);

/* Reads a file with one value. Returns 0 or a negative code. */
int cgroup_read_value(int dir_fd, const char *name, uint64_t *ret);
/* Reads the CPU quota in millionths of a core. Returns 0 or a negative code. */
int cgroup_read_quota(int dir_fd, bool v2, uint64_t *ret_ppm);

/* Before 5.11, v1 groups could count only their own processes (memory.use_hierarchy is 0): their limit does not apply
 * to groups below, and their usage does not include them. */
bool cgroup_memory_alone(int dir_fd);

/* left: how many more processes and threads the groups of a process allow; most: the limit from which that follows.
 * CGROUP_NO_LIMIT: no limit was found. mount_fd: /sys/fs/cgroup; membership: text of /proc/PID/cgroup. */
struct cgroup_room {
    uint64_t left, most;
};
struct cgroup_room cgroup_pids_room(int mount_fd, struct span membership);

/* Does this group itself set a limit on memory, CPU time or threads? */
bool cgroup_sets_limit(int dir_fd, bool v2);

#endif
