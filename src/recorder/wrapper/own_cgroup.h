/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A control group for the command alone, below our own. Nothing else changes for the command; the kernel counts the
 * group's CPU time and knows its members. It is one directory of v2; or, with v1, one in each hierarchy that counts CPU
 * time, memory or threads; or both, where v2 is mounted next to v1: then v2 counts CPU time and v1 the rest.
 *
 * If no other process is in our v2 group and that group can delegate the memory controller, memory, pids and io are
 * counted as well. A v2 group with enabled controllers must not have processes of its own, so wrapper and recorder move
 * to a leaf next to the command's group meanwhile. The cpu controller is never enabled, because it changes how CPU time
 * is shared; only v1 mounts it together with what counts CPU time.
 */
#ifndef RECORDER_WRAPPER_OWN_CGROUP_H
#define RECORDER_WRAPPER_OWN_CGROUP_H

#include <stdbool.h>

#include "baro/error.h"
#include "recorder/wrapper/own_cgroup_dir.h"

enum own_mode {
    OWN_AUTO, /* if our group was delegated to us: user.delegate or trusted.delegate is 1 */
    OWN_OWN,  /* wherever it can be made */
    OWN_NONE,
};

#define OWN_MOST 3u /* directories: CPU time, memory, threads */

struct own_group {
    size_t n;                       /* 0: there is none */
    struct own_dir at[OWN_MOST];    /* the first counts CPU time */
    char leaf[CGROUP_DIR_MAX + 64]; /* where wrapper and recorder are; "" if they were not moved */
    size_t memory;                  /* 1 + the index of that with a limit of memory; 0: there is none */
    char controllers[32];           /* enabled by us; in the form that disables them: "-memory -pids -io" */
};

/* Was this directory delegated by whatever manages control groups here (systemd's Delegate=yes)? */
bool own_is_delegated(const char *path);

/* Makes the group, and removes those that killed recorders left there. Returns 0 with or without a group (OWN_AUTO), or
 * a negative code with the reason (OWN_OWN). */
int own_make(struct own_group *g, enum own_mode mode, struct baro_error *err);
/* Limits its memory, without swap. whole: if the kernel kills one of its processes, it kills all (v2; baro is not in
 * it). Returns 0, or a negative code if no directory of it has memory. */
int own_limit(struct own_group *g, uint64_t bytes, bool whole, struct baro_error *err);
void own_unlimit(const struct own_dir *d); /* v1: so that what was killed can end */
/* Removes the group unless a process is in it, disables the controllers and moves the caller back. May be called any
 * number of times, by every process in the leaf; the last one removes the leaf. */
void own_remove(const struct own_group *g);

#endif
