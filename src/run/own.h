/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A control group for the command alone, below our own, so that nothing changes for the command but that the kernel
 * counts its CPU time and knows who belongs to it. It is one folder of v2; or of v1 one in each hierarchy that counts
 * CPU time, memory or threads; or both, where v2 is mounted beside v1: then CPU time is v2's and the rest v1's. Where
 * nobody but us is in our group of v2 and it has the memory controller for those below, memory, pids and io are counted
 * as well. The kernel lets no process be in a group whose controllers are handed on, so we sit in a leaf beside the
 * command's meanwhile. Never the cpu controller, which changes how CPU time is shared: but for v1 alone, where it is
 * mounted together with what counts CPU time.
 */
#ifndef RUN_OWN_H
#define RUN_OWN_H

#include <stdbool.h>

#include "baro/error.h"
#include "run/own_dir.h"

enum own_mode {
    OWN_AUTO, /* where whoever manages control groups here has handed over ours: user.delegate or trusted.delegate is 1
               */
    OWN_OWN,  /* where it can be had */
    OWN_NONE,
};

#define OWN_MOST 3u /* what counts CPU time, memory, threads */

struct own_group {
    size_t n;                       /* 0: there is none */
    struct own_dir at[OWN_MOST];    /* the first counts CPU time */
    char leaf[CGROUP_DIR_MAX + 64]; /* where we are; "" if we stayed */
    char controllers[32];           /* handed on by us: "-memory -pids -io" takes that back */
};

/* Did whoever manages control groups here hand over the one in this folder? */
bool own_handed_over(const char *path);

/* Makes the group, and removes those that recorders which were killed left behind there. Returns 0 with or without one
 * (OWN_AUTO), or a negative code and why not (OWN_OWN). */
int own_make(struct own_group *g, enum own_mode mode, struct baro_error *err);
/* Removes it unless somebody is in it, takes controllers back and goes where we came from. Any number of times, by all
 * that went into the leaf; the last removes that as well. */
void own_remove(const struct own_group *g);

#endif
