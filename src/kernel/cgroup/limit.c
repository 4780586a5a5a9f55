/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a control group with one value, and the walk from a group up to its ancestors. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/cgroup/discover.h"

int cgroup_read_value(int dir_fd, const char *name, uint64_t *ret)
{
    char text[64];
    ssize_t n = fd_read_file(dir_fd, name, text, sizeof(text));
    return n < 0 ? (int)n : cgroup_value_parse(span_of(text, (size_t)n), ret);
}

static bool call_level(int root_fd, const char *dir, const char *path, bool v2, cgroup_level_fn *fn, void *context)
{
    const char *root_file = v2 ? "cgroup.events" : "release_agent";
    int fd = openat(root_fd, *dir ? dir : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return true; /* removed, or not visible; its parent may be visible */
    bool root = (faccessat(fd, root_file, F_OK, 0) == 0) != v2;
    bool more = root ? false : fn(context, fd, dir, path);
    close(fd);
    return more;
}

void cgroup_each_level(int root_fd, const struct cgroup_location *p, cgroup_level_fn *fn, void *context)
{
    char dir[CGROUP_DIR_MAX], path[CGROUP_PATH_MAX];
    memcpy(dir, p->dir, sizeof(dir));
    memcpy(path, p->path, sizeof(path));
    while (!p->root && call_level(root_fd, dir, path, p->v2, fn, context)) {
        char *up = strrchr(dir, '/'), *name = strrchr(path, '/');
        if (strlen(dir) <= p->mount_len || !up || !name)
            return;
        *up = 0;
        if (name == path) /* the parent is the root of the namespace or of the hierarchy */
            path[1] = 0;
        else
            *name = 0;
    }
}

bool cgroup_memory_alone(int dir_fd)
{
    uint64_t v;
    return cgroup_read_value(dir_fd, "memory.use_hierarchy", &v) == 0 && v == 0;
}

int cgroup_read_quota(int dir_fd, bool v2, uint64_t *ret)
{
    char quota[64], period[64];
    ssize_t n = fd_read_file(dir_fd, v2 ? "cpu.max" : "cpu.cfs_quota_us", quota, sizeof(quota));
    if (n < 0)
        return (int)n;
    if (v2)
        return cgroup_cpu_max_parse(span_of(quota, (size_t)n), ret);
    ssize_t k = fd_read_file(dir_fd, "cpu.cfs_period_us", period, sizeof(period));
    return k < 0 ? (int)k : cgroup_cpu_cfs_parse(span_of(quota, (size_t)n), span_of(period, (size_t)k), ret);
}

bool cgroup_sets_limit(int dir_fd, bool v2)
{
    static const char *const files[2][4] = {{"memory.limit_in_bytes", "pids.max", NULL, NULL},
                                            {"memory.max", "memory.high", "pids.max", "memory.swap.max"}};
    uint64_t v;
    for (size_t i = 0; i < 4; i++) {
        if (files[v2][i] && cgroup_read_value(dir_fd, files[v2][i], &v) == 0 && v != CGROUP_NO_LIMIT)
            return true;
    }
    return cgroup_read_quota(dir_fd, v2, &v) == 0 && v != CGROUP_NO_LIMIT;
}
