/* SPDX-License-Identifier: Apache-2.0 */
/* How many more processes the control groups of a process allow: pids.max minus pids.current, of the group or of an
 * ancestor. A command waits for the result, so mountinfo is not read: the usual mount points are assumed, and it
 * takes some microseconds. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "kernel/cgroup/discover.h"

static void read_level(int mount_fd, const char *dir, struct cgroup_room *ret)
{
    uint64_t most, now;
    int fd = openat(mount_fd, dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return; /* another mount point, or a namespace that does not show this group */
    bool is_limit = cgroup_read_value(fd, "pids.max", &most) == 0 && most != CGROUP_NO_LIMIT &&
                    cgroup_read_value(fd, "pids.current", &now) == 0;
    uint64_t left = is_limit && most > now ? most - now : 0;
    fd_close(fd);
    if (is_limit && left < ret->left)
        *ret = (struct cgroup_room){.left = left, .most = most};
}

static void read_levels(int mount_fd, const char *mount, struct span path, struct cgroup_room *ret)
{
    char dir[CGROUP_DIR_MAX];
    size_t least = strlen(mount);
    int n = snprintf(dir, sizeof(dir), "%s%.*s", mount, (int)path.len, path.at);
    if (n < 0 || (size_t)n >= sizeof(dir))
        return;
    for (char *up = dir + n; up; up = strrchr(dir + least, '/')) {
        *up = 0;
        read_level(mount_fd, dir, ret);
    }
}

struct cgroup_room cgroup_pids_room(int mount_fd, struct span membership)
{
    struct cgroup_room room = {.left = CGROUP_NO_LIMIT, .most = CGROUP_NO_LIMIT};
    struct cgroup_membership m;
    while (cgroup_membership_next(&membership, &m)) {
        if (!m.hierarchy) {
            read_levels(mount_fd, ".", m.path, &room);
            read_levels(mount_fd, "unified", m.path, &room);
        } else if (cgroup_listed(m.controllers, "pids")) {
            read_levels(mount_fd, "pids", m.path, &room);
        }
    }
    return room;
}
