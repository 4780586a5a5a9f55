/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One folder of a command's own control group: made, removed, and swept when left behind.
 *
 * Whoever records in there holds a shared flock(2) on the folder, wrapper and recorder alike, and so long nobody sweeps
 * it. A pid in the name could not say that: in another PID namespace it is another's, and the same folder is to be seen
 * from there. The kernel drops the lock of whom it kills, and has one for all who see the folder.
 */
#ifndef RUN_OWN_DIR_H
#define RUN_OWN_DIR_H

#include <stdbool.h>
#include <stddef.h>

#include "cgroupfs/discover.h"

struct own_dir {
    bool v2;
    int fd;                          /* of the folder, with the lock: for clone3(2) */
    int procs_fd;                    /* its cgroup.procs, to write to where clone3 can't */
    char parent[CGROUP_DIR_MAX + 2]; /* where we were; absolute */
    char path[CGROUP_DIR_MAX + 64];  /* "" if there is none */
};

/* "baro-PID-RANDOM" below d->parent, locked. Returns 0, or -errno; -EAGAIN: another name is to be tried. */
int own_dir_make(struct own_dir *d, const char *name);
/* With the groups that were made in there. All is left as it is where somebody is in any of them. */
void own_dir_remove(const char *path);
/* Removes what recorders that are no longer there left in parent. */
void own_dir_sweep(const char *parent);

/* Files of a control group. */
int own_write(const char *dir, const char *file, const char *text);
struct span own_read(const char *dir, const char *file, char *text, size_t cap);

#endif
