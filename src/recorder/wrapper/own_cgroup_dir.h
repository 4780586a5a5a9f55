/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One directory of a command's own control group: made, removed, and swept when it was left behind.
 *
 * Wrapper and recorder both hold a shared flock(2) on the directory, and no other recording removes it meanwhile. The
 * pid in its name can't say whether it is in use: it is another process's in another PID namespace, from which the same
 * directory may be visible. The kernel drops the lock when it kills a process, and the lock is visible to all that see
 * the directory.
 */
#ifndef RECORDER_WRAPPER_OWN_CGROUP_DIR_H
#define RECORDER_WRAPPER_OWN_CGROUP_DIR_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/cgroup/discover.h"

struct own_dir {
    bool v2;
    int fd;                          /* of the directory, with the lock; for clone3(2) */
    int procs_fd;                    /* its cgroup.procs, if clone3 can't be used */
    char parent[CGROUP_DIR_MAX + 2]; /* the wrapper's group at the start; absolute */
    char path[CGROUP_DIR_MAX + 64];  /* "" if there is none */
};

/* Makes "baro-PID-RANDOM" below d->parent and locks it. Returns 0 or -errno; -EAGAIN: try another name. */
int own_dir_make(struct own_dir *d, const char *name);
/* Removes it with the groups that were made in it. If a process is in any of them, nothing is removed. */
void own_dir_remove(const char *path);
/* Removes directories in parent whose recorders have ended. */
void own_dir_sweep(const char *parent);

/* Files of a control group. */
int own_write(const char *dir, const char *file, const char *text);
struct span own_read(const char *dir, const char *file, char *text, size_t cap);

#endif
