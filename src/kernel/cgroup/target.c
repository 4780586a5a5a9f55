/* SPDX-License-Identifier: Apache-2.0 */
/* The control group that a user named. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernel/cgroup/discover.h"

#define MOUNTED "/sys/fs/cgroup"

static bool has_file(int root_fd, const char *folder, size_t len, const char *name)
{
    char file[CGROUP_DIR_MAX];
    int n = snprintf(file, sizeof(file), MOUNTED "/%.*s/%s", (int)len, folder, name);
    return n < (int)sizeof(file) && faccessat(root_fd, root_fd < 0 ? file : file + 1, F_OK, 0) == 0;
}

/* The root alone has release_agent in v1, and no cgroup.events in v2. */
size_t cgroup_hierarchy_length(int root_fd, const char *path)
{
    size_t n = strcspn(path, "/");
    bool is_root =
        n && (has_file(root_fd, path, n, "release_agent") ||
              (has_file(root_fd, path, n, "cgroup.controllers") && !has_file(root_fd, path, n, "cgroup.events")));
    return is_root ? n : 0;
}

static int find_below(int root_fd, const char *before, const char *path, struct cgroup_hierarchies *ret)
{
    char whole[CGROUP_DIR_MAX];
    int n = snprintf(whole, sizeof(whole), "%s%s", before, path);
    return n > 0 && (size_t)n < sizeof(whole) ? cgroup_find_path(root_fd, whole, ret) : 0;
}

/* A path without a leading slash is below the mount point of the control groups, "memory/a", or as in /proc/PID/cgroup:
 * "a". A hierarchy without controllers is only a name for the group: "systemd/a" is "a". */
static int find_path(int root_fd, const char *path, struct cgroup_hierarchies *ret)
{
    if (*path == '/')
        return find_below(root_fd, "", path, ret);
    size_t hierarchy = cgroup_hierarchy_length(root_fd, path);
    int n = find_below(root_fd, MOUNTED "/", path, ret);
    return n ? n : find_below(root_fd, hierarchy ? "" : "/", path + hierarchy, ret);
}

/* A path that names one hierarchy of v1 stands for the group in all of them, unless another group has that path there.
 */
static void find_others(int root_fd, struct cgroup_hierarchies *p)
{
    struct cgroup_hierarchies all;
    size_t other;
    if (p->n == 1 && !p->at[0].v2 && cgroup_find_path(root_fd, p->at[0].path, &all) > 1 &&
        cgroup_agree(root_fd, &all, &other) == 0)
        *p = all;
}

int cgroup_target(int root_fd, const char *path, struct cgroup_hierarchies *ret, struct baro_error *err)
{
    if (!find_path(root_fd, path, ret))
        return error_set(err, -ENOENT,
                         "%s: no such control group; give its path below " MOUNTED ", or as in /proc/PID/cgroup", path);
    for (size_t i = 0; i < ret->n; i++) {
        if (ret->at[i].root)
            return error_set(err, -EINVAL,
                             "%s is the root of its hierarchy, that is, the whole machine: record that with --all",
                             path);
    }
    find_others(root_fd, ret);
    size_t other;
    if (cgroup_agree(root_fd, ret, &other) < 0)
        return error_set(err, -EINVAL, "%s is two groups with different processes: give /%s or /%s", path,
                         ret->at[0].dir, ret->at[other].dir);
    return 0;
}
