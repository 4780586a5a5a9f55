/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a control group and of all groups below it. */
#ifndef KERNEL_CGROUP_WALK_H
#define KERNEL_CGROUP_WALK_H

#include "base/map.h"
#include "kernel/cgroup/discover.h"

struct cgroup_walked {
    int dir_fd, procs_fd; /* the group and its cgroup.procs; stay open; -1: opened for each read */
    /* link count of the directory when it was listed: 2 plus one for each group below; 0: to be listed (again) */
    uint64_t links;
    uint64_t name;        /* hash of the name: two names in one directory have the same with a probability of 2^-64 */
    size_t parent, moved; /* moved: its new index when removed groups are dropped */
    int depth;
    bool seen, gone;
    bool parent_of; /* a group below it is or was known */
};
struct cgroup_walk {
    int root_fd; /* borrowed */
    bool v2;
    char dir[CGROUP_DIR_MAX]; /* below root_fd */
    struct cgroup_walked *at;
    size_t n, cap;
    struct map by_name; /* indexes by parent and name */
    size_t left_now;    /* left out by the current walk */
    /* most: how many groups are walked at most, because each takes descriptors. left_out: how many others there are;
     * a lower bound if some are nested too deep. */
    size_t most, left_out;
};
void cgroup_walk_init(struct cgroup_walk *w, int root_fd, const struct cgroup_location *place);
/* Finds groups that were made or removed; if there are none, it costs an fstat() for each group. Returns 0; -ENOENT
 * if the group itself was removed; or -EMFILE if no descriptor is left for it. */
int cgroup_walk_groups(struct cgroup_walk *w);
/* Calls fn for each process. text is a work buffer. Returns the number of processes, or -ENODEV if the group itself was
 * removed. */
int cgroup_walk_processes(struct cgroup_walk *w, char *text, size_t cap, void (*fn)(void *context, int32_t pid),
                          void *context);
void cgroup_walk_done(struct cgroup_walk *w);

#endif
