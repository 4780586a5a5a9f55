/* SPDX-License-Identifier: Apache-2.0 */
/* How many processes the control groups allow beside those that there are. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "files.h"
#include "kernel/cgroup/discover.h"

static void expect(const char *dir, const char *membership, uint64_t left, uint64_t most)
{
    int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct cgroup_room room = cgroup_pids_room(fd, span_str(membership));
    assert_int_equal(room.left, left);
    assert_int_equal(room.most, most);
    close(fd);
}

/* The job's group allows 8, and has 3; the one above it allows 20, and has 18: there may be 2 more. */
static void the_fewest_of_all_levels(void **state)
{
    char dir[sizeof(FILES_NAME)];
    files_make(dir);
    files_put(dir, "pids/a/b/pids.max", "8\n");
    files_put(dir, "pids/a/b/pids.current", "3\n");
    expect(dir, "4:pids:/a/b\n", 5, 8);
    files_put(dir, "pids/a/pids.max", "20\n");
    files_put(dir, "pids/a/pids.current", "18\n");
    expect(dir, "2:cpu,cpuacct:/x\n4:pids:/a/b\n0::/\n", 2, 20);
    files_put(dir, "pids/a/b/pids.max", "2\n"); /* fewer than there are */
    expect(dir, "4:pids:/a/b\n", 0, 2);
    expect(dir, "4:memory:/a/b\n", CGROUP_NO_LIMIT, CGROUP_NO_LIMIT);
    expect(dir, "4:pids:/other\n", CGROUP_NO_LIMIT, CGROUP_NO_LIMIT);
    files_put(dir, "pids/a/pids.max", "max\n");
    files_put(dir, "pids/a/b/pids.max", "max\n");
    expect(dir, "4:pids:/a/b\n", CGROUP_NO_LIMIT, CGROUP_NO_LIMIT);
    files_remove(dir);
}

/* v2 alone, v2 beside v1, and a container, whose path is not visible, but its own limit at the mount point is. */
static void other_places(void **state)
{
    static const char *const folders[] = {"a/", "unified/a/", ""};
    char dir[sizeof(FILES_NAME)], path[64];
    for (size_t i = 0; i < 3; i++) {
        files_make(dir);
        snprintf(path, sizeof(path), "%spids.max", folders[i]);
        files_put(dir, path, "6\n");
        snprintf(path, sizeof(path), "%spids.current", folders[i]);
        files_put(dir, path, "1\n");
        expect(dir, "0::/a\n", 5, 6);
        files_remove(dir);
    }
    files_make(dir);
    files_put(dir, "pids/pids.max", "4\n");
    expect(dir, "4:pids:/docker/1f\n", CGROUP_NO_LIMIT, CGROUP_NO_LIMIT); /* it does not say how many there are */
    files_put(dir, "pids/pids.current", "1\n");
    expect(dir, "4:pids:/docker/1f\n", 3, 4);
    files_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fewest_of_all_levels),
        cmocka_unit_test(other_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
