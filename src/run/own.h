/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A control group for the command alone: a v2 group below our own, so that nothing changes for the command but that the kernel counts its CPU time and knows who belongs to it.
 * Where nobody but us is in our group and it has the memory controller for those below, memory, pids and io are counted as well. The kernel lets no process be in a
 * group whose controllers are handed on, so we sit in a leaf beside the command's meanwhile. Never the cpu controller: that changes how CPU time is shared.
 */
#ifndef RUN_OWN_H
#define RUN_OWN_H

#include <stdbool.h>

#include "baro/error.h"
#include "cgroupfs/discover.h"

enum own_mode {
    OWN_AUTO, /* where whoever manages control groups here has handed over ours: user.delegate or trusted.delegate is 1 */
    OWN_OWN,  /* where it can be had */
    OWN_NONE,
};

struct own_group {
    int fd;                   /* of the group, for clone3(2); -1: none */
    int procs_fd;             /* its cgroup.procs, to write to where clone3 can't */
    char path[CGROUP_DIR_MAX + 64]; /* absolute; "" if there is none */
    char parent[CGROUP_DIR_MAX + 2]; /* of it: where we were */
    char leaf[CGROUP_DIR_MAX + 64]; /* where we are; "" if we stayed */
    char controllers[32];       /* handed on by us: "-memory -pids -io" takes that back */
};

/* Did whoever manages control groups here hand over the one in this folder? */
bool own_handed_over(const char *path);

/* Makes the group, and removes those that recorders which were killed left behind there. Returns 0 with or without one (OWN_AUTO), or a negative code and why not (OWN_OWN). */
int own_make(struct own_group *ret, enum own_mode mode, struct baro_error *err);
/* Removes it unless somebody is in it, takes controllers back and goes where we came from. Any number of times, by all that went into the leaf; the last removes that as well. */
void own_remove(const struct own_group *g);

#endif
