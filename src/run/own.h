/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A control group for the command alone: a v2 group below our own, without any controller, so that nothing changes for the command but that the kernel counts its CPU time
 * and knows who belongs to it.
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
};

/* Makes the group, and removes those that recorders which were killed left behind there. Returns 0 with or without one (OWN_AUTO), or a negative code and why not (OWN_OWN). */
int own_make(struct own_group *ret, enum own_mode mode, struct baro_error *err);
/* Removes it unless somebody is in it. Any number of times, from any process. */
void own_remove(const char *path);

#endif
