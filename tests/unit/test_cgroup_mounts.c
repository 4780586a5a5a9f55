/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts of control groups on top of one another: a path shows what the last mount on its mount point shows. */
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
#include "recorder/collectors/cgroups/bounds.h"

#define WHOLE "31 23 0:31 / /cg/memory rw - cgroup cgroup rw,memory\n"
#define PART "32 31 0:31 /g/in /cg/memory rw - cgroup cgroup rw,memory\n"
#define NO_GROUPS "33 31 0:40 / /cg/memory rw - tmpfs none rw\n"

static int world_new(char *dir, const char *mounts, const char *membership)
{
    files_make(dir);
    files_put(dir, "proc/self/mountinfo", mounts);
    files_put(dir, "proc/7/cgroup", membership);
    files_put(dir, "cg/memory/cgroup.procs", "7\n");
    return open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* mount --bind /cg/memory/g/in /cg/memory: the group is visible there, with its limit. */
static void a_part_over_the_whole(void **state)
{
    char dir[sizeof(FILES_NAME)];
    struct cgroup_hierarchies p;
    struct cgroup_bounds b;
    int fd = world_new(dir, WHOLE PART, "4:memory:/g/in\n");
    files_put(dir, "cg/memory/memory.limit_in_bytes", "60000000\n");
    assert_int_equal(cgroup_find(fd, 7, &p), 0);
    const struct cgroup_location *at = cgroup_location_of(&p, CGROUP_AT_MEMORY);
    assert_non_null(at);
    assert_string_equal(at->dir, "cg/memory");
    assert_string_equal(at->path, "/g/in");
    assert_false(at->root || at->whole || p.hidden);
    cgroup_bounds_read(fd, &p, &b);
    assert_int_equal(b.memory.value, 60000000);
    assert_true(b.memory.unseen); /* the groups above it are no longer visible */
    assert_int_equal(cgroup_find_path(fd, "/cg/memory", &p), 1);
    assert_string_equal(cgroup_location_of(&p, CGROUP_AT_MEMORY)->path, "/g/in");
    close(fd);
    files_remove(dir);
}

/* The whole hierarchy over a part: as if there were no other mount. */
static void the_whole_over_a_part(void **state)
{
    char dir[sizeof(FILES_NAME)];
    struct cgroup_hierarchies p;
    int fd = world_new(dir, PART WHOLE, "4:memory:/g/in\n");
    files_put(dir, "cg/memory/g/in/memory.limit_in_bytes", "60000000\n");
    assert_int_equal(cgroup_find(fd, 7, &p), 0);
    assert_non_null(cgroup_location_of(&p, CGROUP_AT_MEMORY));
    assert_string_equal(cgroup_location_of(&p, CGROUP_AT_MEMORY)->dir, "cg/memory/g/in");
    close(fd);
    files_remove(dir);
}

/* Another mount on top of it does not show this group, or no group at all: its limit is then not known. */
static void not_visible(void **state)
{
    static const char *const over[] = {WHOLE NO_GROUPS,
                                       WHOLE "32 31 0:31 /other /cg/memory rw - cgroup cgroup rw,memory\n"};
    for (int i = 0; i < 2; i++) {
        char dir[sizeof(FILES_NAME)];
        struct cgroup_hierarchies p;
        struct cgroup_bounds b;
        int fd = world_new(dir, over[i], "4:memory:/g\n");
        files_put(dir, "cg/memory/cgroup.procs", "9\n");
        files_put(dir, "cg/memory/g/cgroup.procs", "9\n"); /* of the same name, and another one */
        files_put(dir, "cg/memory/g/memory.limit_in_bytes", "1\n");
        assert_int_equal(cgroup_find(fd, 7, &p), 0);
        assert_null(cgroup_location_of(&p, CGROUP_AT_MEMORY));
        assert_true(p.hidden >> CGROUP_AT_MEMORY & 1);
        cgroup_bounds_read(fd, &p, &b);
        assert_true(b.memory.value == CGROUP_NO_LIMIT && b.memory.unseen);
        close(fd);
        files_remove(dir);
    }
}

/* The same mount at another place is as good. */
static void visible_elsewhere(void **state)
{
    char dir[sizeof(FILES_NAME)];
    struct cgroup_hierarchies p;
    int fd = world_new(dir, WHOLE NO_GROUPS "34 23 0:31 / /else rw - cgroup cgroup rw,memory\n", "4:memory:/g\n");
    files_put(dir, "else/g/cgroup.procs", "7\n");
    assert_int_equal(cgroup_find(fd, 7, &p), 0);
    assert_non_null(cgroup_location_of(&p, CGROUP_AT_MEMORY));
    assert_string_equal(cgroup_location_of(&p, CGROUP_AT_MEMORY)->dir, "else/g");
    close(fd);
    files_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_over_the_whole),
        cmocka_unit_test(the_whole_over_a_part),
        cmocka_unit_test(not_visible),
        cmocka_unit_test(visible_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
