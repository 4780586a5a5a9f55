/* SPDX-License-Identifier: Apache-2.0 */
/* A path that is a group in several hierarchies: processes and numbers come from the same group. */
#include <errno.h>
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

#include "base/fd.h"
#include "files.h"
#include "kernel/cgroup/discover.h"

static struct {
    char dir[sizeof(FILES_NAME)];
    int root_fd;
    struct cgroup_hierarchies places;
    size_t other;
} w;

static int world_new(void **state)
{
    files_make(w.dir);
    files_put(w.dir, "proc/self/mountinfo",
              "31 23 0:31 / /cg/memory rw - cgroup cgroup rw,memory\n"
              "32 23 0:32 / /cg/cpuacct rw - cgroup cgroup rw,cpuacct\n"
              "33 23 0:33 / /cg/unified rw - cgroup2 cgroup2 rw\n");
    w.root_fd = open(w.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(w.root_fd >= 0);
    return 0;
}

static int world_done(void **state)
{
    close(w.root_fd);
    files_remove(w.dir);
    return 0;
}

/* A group, and its processes. */
static void group(const char *hierarchy, const char *name, const char *pids)
{
    char path[128];
    snprintf(path, sizeof(path), "cg/%s%s/cgroup.procs", hierarchy, name);
    files_put(w.dir, path, pids);
    snprintf(path, sizeof(path), "cg/%s%s/cgroup.events", hierarchy, name);
    if (strcmp(hierarchy, "unified") == 0)
        files_put(w.dir, path, "populated 1\n");
}

static void process(int pid, const char *memory, const char *cpuacct, const char *unified)
{
    char path[64], text[256];
    snprintf(path, sizeof(path), "proc/%d/cgroup", pid);
    snprintf(text, sizeof(text), "5:name=systemd:/x\n4:memory:%s\n2:cpuacct:%s\n0::%s\n", memory, cpuacct, unified);
    files_put(w.dir, path, text);
}

static int find(const char *path)
{
    w.other = 99;
    assert_true(cgroup_find_path(w.root_fd, path, &w.places) > 0);
    return cgroup_agree(w.root_fd, &w.places, &w.other);
}

static const char *dir_of(enum cgroup_controller c)
{
    const struct cgroup_location *p = cgroup_location_of(&w.places, c);
    return p ? p->dir : "";
}

/* All three have the same processes: v2 is taken, though it is mounted last. */
static void one_group(void **state)
{
    group("memory", "/a", "7\n8\n");
    group("cpuacct", "/a", "7\n8\n");
    group("unified", "/a", "7\n8\n");
    process(7, "/a", "/a", "/a");
    process(8, "/a", "/a", "/a");
    assert_int_equal(find("/a"), 0);
    assert_int_equal(w.places.n, 3);
    assert_string_equal(w.places.at[0].dir, "cg/unified/a");
    assert_string_equal(dir_of(CGROUP_AT_UNIFIED), "cg/unified/a");
    assert_string_equal(dir_of(CGROUP_AT_MEMORY), "cg/memory/a");
    assert_string_equal(dir_of(CGROUP_AT_CPUACCT), "cg/cpuacct/a");
}

/* v2 has an empty group of that name, as container managers leave on hybrid machines. */
static void no_process_is_dropped(void **state)
{
    group("memory", "/a", "7\n");
    group("cpuacct", "/a/below/deeper", "7\n"); /* no process in /a itself */
    group("cpuacct", "/a", "");
    group("unified", "/a", "");
    process(7, "/a", "/a/below/deeper", "/");
    assert_int_equal(find("/a"), 0);
    assert_int_equal(w.places.n, 2);
    assert_string_equal(w.places.at[0].dir, "cg/cpuacct/a");
    assert_string_equal(dir_of(CGROUP_AT_UNIFIED), "");
    assert_string_equal(dir_of(CGROUP_AT_PIDS), ""); /* would have been v2's */
    assert_string_equal(dir_of(CGROUP_AT_MEMORY), "cg/memory/a");
}

static void two_groups(void **state)
{
    group("memory", "/a", "7\n");
    group("unified", "/a", "8\n");
    process(7, "/a", "/", "/");
    process(8, "/ab", "/", "/a");
    assert_int_equal(find("/a"), -EINVAL);
    assert_string_equal(w.places.at[0].dir, "cg/unified/a");
    assert_string_equal(w.places.at[w.other].dir, "cg/memory/a");
    /* Given by its path in the file system it is unambiguous. */
    assert_int_equal(find("/cg/memory/a"), 0);
    assert_int_equal(w.places.n, 1);
}

/* Some have ended before they are read, and for some v1 says "/" because they have: one process that is in both is
 * enough. 0 is no process. */
static void processes_come_and_go(void **state)
{
    group("memory", "/a", "9\n");
    group("unified", "/a", "0\n7\n8\n9\n");
    process(8, "/", "/", "/a");
    process(9, "/a/x", "/", "/a");
    assert_int_equal(find("/a"), 0);
    assert_int_equal(w.places.n, 2);
    assert_string_equal(w.places.at[0].dir, "cg/unified/a");
    group("memory", "/a", "0\n");
    group("unified", "/a", "0\n");
    assert_int_equal(find("/a"), 0); /* no process at all: the caller has to decide */
    assert_int_equal(w.places.n, 2);
}

/* Only a part of the hierarchy is mounted: the path is the whole one, as in /proc/PID/cgroup. */
static void part_is_mounted(void **state)
{
    files_put(w.dir, "proc/self/mountinfo",
              "31 23 0:31 /docker/c1 /cg/memory rw - cgroup cgroup rw,memory\n"
              "32 23 0:32 /docker/c1 /cg/cpuacct rw - cgroup cgroup rw,cpuacct\n");
    group("memory", "/a", "7\n");
    group("cpuacct", "/a", "7\n");
    process(7, "/docker/c1/a", "/docker/c1/a", "/");
    assert_int_equal(find("/docker/c1/a"), 0);
    assert_int_equal(w.places.n, 2);
    assert_string_equal(w.places.at[0].dir, "cg/cpuacct/a");
    assert_string_equal(w.places.at[0].path, "/docker/c1/a");
}

/* The whole machine: processes in one hierarchy's root, or in any group below it. */
static void the_root(void **state)
{
    group("memory", "", "9\n");
    group("cpuacct", "", "9\n");
    group("unified", "/init.scope", "7\n");
    group("unified", "", "");
    process(7, "/system.slice", "/", "/init.scope");
    process(9, "/", "/", "/x");
    assert_int_equal(find("/"), 0);
    assert_int_equal(w.places.n, 3);
    assert_string_equal(w.places.at[0].path, "/");
    assert_string_equal(dir_of(CGROUP_AT_MEMORY), "cg/memory");
}

/* /a of memory, and what is below it; /ab and /a of other hierarchies are others. */
static void who_is_in_it(void **state)
{
    group("memory", "/a", "9\n");
    process(9, "/a", "/a", "/");
    assert_int_equal(find("/a"), 0);
    assert_true(cgroup_holds(&w.places, 0, span_str("4:memory:/a\n0::/\n")));
    assert_true(cgroup_holds(&w.places, 0, span_str("2:cpuacct:/\n4:memory:/a/b\n")));
    assert_false(cgroup_holds(&w.places, 0, span_str("4:memory:/ab\n2:cpuacct:/a\n0::/a\n")));
}

#define WORLD(name) cmocka_unit_test_setup_teardown(name, world_new, world_done)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD(one_group),       WORLD(no_process_is_dropped),
        WORLD(two_groups),      WORLD(processes_come_and_go),
        WORLD(part_is_mounted), WORLD(the_root),
        WORLD(who_is_in_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
