/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro/room.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/cgroup/discover.h"

#define ROOM_LEAST 3u /* recorder, command, a child of it */
#define ROOM_WHOLE 5u /* two helpers as well */

enum room room_check(struct baro_error *ret_why)
{
    char text[4096];
    ssize_t n = fd_read_file(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text));
    int fd = n > 0 ? open("/sys/fs/cgroup", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0)
        return ROOM_ENOUGH;
    const struct cgroup_room r = cgroup_pids_room(fd, span_of(text, (size_t)n));
    fd_close(fd);
    if (r.left >= ROOM_WHOLE)
        return ROOM_ENOUGH;
    unsigned long long most = r.most, taken = r.most - r.left;
    if (r.left >= ROOM_LEAST) {
        error_set(ret_why, -EAGAIN,
                  "no helper was started: pids.max of the control group is %llu; with %llu it would be", most,
                  taken + ROOM_WHOLE);
        return ROOM_NO_HELPERS;
    }
    error_set(ret_why, -EAGAIN, "pids.max of the control group is %llu, and recording takes %llu processes", most,
              taken + ROOM_LEAST);
    return ROOM_NONE;
}
