/* SPDX-License-Identifier: Apache-2.0 */
/* The control group that a user named. */
#include <errno.h>
#include <stdio.h>

#include "kernel/cgroup/discover.h"

#define MOUNTED "/sys/fs/cgroup"

/* A path without a leading slash is below the mount point of the control groups: "memory/a". */
static int find_path(int root_fd, const char *path, struct cgroup_hierarchies *ret)
{
    char whole[CGROUP_DIR_MAX];
    int n = snprintf(whole, sizeof(whole), "%s%s", *path == '/' ? "" : MOUNTED "/", path);
    return n > 0 && (size_t)n < sizeof(whole) ? cgroup_find_path(root_fd, whole, ret) : 0;
}

int cgroup_target(int root_fd, const char *path, struct cgroup_hierarchies *ret, struct baro_error *err)
{
    if (!find_path(root_fd, path, ret))
        return error_set(err, -ENOENT,
                         "%s: no such control group; give its path below " MOUNTED ", or as in /proc/PID/cgroup", path);
    for (size_t i = 0; i < ret->n; i++) {
        if (ret->at[i].root)
            return error_set(err, -EINVAL, "%s is the root of its hierarchy, that is, the whole machine", path);
    }
    size_t other;
    if (cgroup_agree(root_fd, ret, &other) < 0)
        return error_set(err, -EINVAL, "%s is two groups with different processes: give /%s or /%s", path,
                         ret->at[0].dir, ret->at[other].dir);
    return 0;
}
