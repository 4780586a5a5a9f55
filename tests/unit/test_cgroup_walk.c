/* SPDX-License-Identifier: Apache-2.0 */
/* Processes in a group and below it, while groups come and go. Any file system will do: a folder has one link for each
 * folder in it there as well. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "files.h"
#include "kernel/cgroup/walk.h"
#include "recorder/collectors/cgroups/cgroup.h"

struct world {
    char dir[sizeof(FILES_NAME)];
    int root_fd;
    struct cgroup_walk walk;
    uint64_t pids, sum;
};

static void take(void *context, int32_t pid)
{
    struct world *w = context;
    w->pids++;
    w->sum += (uint64_t)pid;
}

/* The number of processes, and the sum of their pids. */
static void expect(struct world *w, uint64_t pids, uint64_t sum)
{
    char text[64]; /* smaller than most lists here */
    w->pids = w->sum = 0;
    assert_int_equal(cgroup_walk_groups(&w->walk), 0);
    assert_int_equal(cgroup_walk_processes(&w->walk, text, sizeof(text), take, w), pids);
    assert_int_equal(w->pids, pids);
    assert_int_equal(w->sum, sum);
}

static void world_new(struct world *w)
{
    struct cgroup_location place = {.v2 = true, .dir = "cg/a"};
    struct stat st;
    files_make(w->dir);
    files_put(w->dir, "cg/a/cgroup.procs", "1\n");
    w->root_fd = open(w->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fstat(w->root_fd, &st) != 0 || st.st_nlink != 3)
        skip(); /* btrfs says 1 */
    cgroup_walk_init(&w->walk, w->root_fd, &place);
}

static void world_done(struct world *w)
{
    cgroup_walk_done(&w->walk);
    close(w->root_fd);
    files_remove(w->dir);
}

static void gone(const struct world *w, const char *path)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s/%s", w->dir, path);
    assert_int_equal(system(command), 0);
}

static void remove_group(const struct world *w, const char *path)
{
    char whole[128];
    snprintf(whole, sizeof(whole), "%s/%s/cgroup.procs", w->dir, path);
    assert_int_equal(unlink(whole), 0);
    *strrchr(whole, '/') = 0;
    assert_int_equal(rmdir(whole), 0);
}

static size_t fds(void)
{
    size_t n = 0;
    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void come_and_go(void **state)
{
    struct world w;
    world_new(&w);
    size_t before = fds();
    expect(&w, 1, 1);
    files_put(w.dir, "cg/a/x/cgroup.procs", "10\n20\n");
    files_put(w.dir, "cg/a/x/y/cgroup.procs", "100\n");
    files_put(w.dir, "cg/a/x/y/z/cgroup.procs", "1000\n");
    files_put(w.dir, "cg/a/v/cgroup.procs", "3\n");
    expect(&w, 6, 1134);
    int held = w.walk.at[1].dir_fd;
    expect(&w, 6, 1134);
    gone(&w, "cg/a/x/y"); /* with its processes */
    expect(&w, 4, 34);
    files_put(w.dir, "cg/a/w/cgroup.procs", "5\n");
    files_put(w.dir, "cg/a/x/y/cgroup.procs", "7\n");
    expect(&w, 6, 46);
    assert_int_equal(w.walk.at[1].dir_fd, held); /* groups that still exist are not opened again */
    assert_int_equal(fds(), before + 2 * w.walk.n);
    gone(&w, "cg/a/x");
    gone(&w, "cg/a/v");
    gone(&w, "cg/a/w");
    expect(&w, 1, 1);
    assert_int_equal(fds(), before + 2);
    world_done(&w);
}

/* More groups than are read, and then fewer. */
static void very_many(void **state)
{
    struct world w;
    char path[64];
    world_new(&w);
    w.walk.most = 101;
    for (int i = 0; i < 1200; i++) {
        snprintf(path, sizeof(path), "cg/a/group%d/cgroup.procs", i);
        files_put(w.dir, path, "2\n");
    }
    expect(&w, 101, 201);
    assert_int_equal(w.walk.left_out, 1100);
    for (int i = 0; i < 1150; i++) {
        snprintf(path, sizeof(path), "cg/a/group%d", i);
        remove_group(&w, path);
    }
    assert_int_equal(cgroup_walk_groups(&w.walk), 0); /* whose slot was taken is found at the next walk */
    expect(&w, 51, 101);
    assert_int_equal(w.walk.left_out, 1100); /* so many there were */
    world_done(&w);
}

/* As they come and go each is found again, in whatever order: by its parent and its name, which other groups have as
 * well. */
static void the_same_names(void **state)
{
    struct world w;
    char path[64];
    world_new(&w);
    for (int i = 0; i < 60; i++) {
        snprintf(path, sizeof(path), "cg/a/%d/%d/cgroup.procs", i % 6, i / 6);
        files_put(w.dir, path, "10\n");
        snprintf(path, sizeof(path), "cg/a/%d/cgroup.procs", i % 6);
        files_put(w.dir, path, "1\n");
    }
    expect(&w, 67, 607);
    for (int i = 0; i < 60; i += 7) {
        snprintf(path, sizeof(path), "cg/a/%d/%d", i % 6, i / 6);
        remove_group(&w, path);
    }
    expect(&w, 58, 517);
    files_put(w.dir, "cg/a/5/new/cgroup.procs", "100\n");
    expect(&w, 59, 617);
    size_t before = fds();
    files_put(w.dir, "cg/a/0/0/cgroup.procs", "20\n");
    expect(&w, 60, 637);
    assert_int_equal(fds(), before + 2); /* none was opened twice */
    assert_int_equal(w.walk.n, 60);
    world_done(&w);
}

static void more_than_a_thousand(void **state)
{
    struct world w;
    struct rlimit limit, more;
    char path[64];
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    more = limit;
    more.rlim_cur = more.rlim_max;
    if (limit.rlim_max < 16000)
        skip();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &more), 0);
    world_new(&w);
    for (int i = 0; i < 1500; i++) {
        snprintf(path, sizeof(path), "cg/a/group%d/cgroup.procs", i);
        files_put(w.dir, path, "2\n");
    }
    expect(&w, 1501, 3001);
    remove_group(&w, "cg/a/group7");
    expect(&w, 1500, 2999);
    world_done(&w);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* As many as are allowed: two descriptors each, for a quarter of the limit. */
static void few_descriptors(void **state)
{
    struct world w;
    struct rlimit limit, few;
    char path[64];
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = limit;
    few.rlim_cur = 64;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    world_new(&w);
    for (int i = 0; i < 40; i++) {
        snprintf(path, sizeof(path), "cg/a/group%d/cgroup.procs", i);
        files_put(w.dir, path, "2\n");
    }
    expect(&w, 8, 15);
    assert_int_equal(w.walk.left_out, 33);
    /* And where other files have taken even these. */
    cgroup_walk_done(&w.walk);
    int taken[64], n = 0;
    while (n < 64 && (taken[n] = dup(w.root_fd)) >= 0)
        n++;
    for (int i = 0; i < 5; i++)
        close(taken[--n]);
    const struct cgroup_location place = {.v2 = true, .dir = "cg/a"};
    cgroup_walk_init(&w.walk, w.root_fd, &place);
    expect(&w, 2, 3);
    assert_true(w.walk.left_out > 0);
    while (n)
        close(taken[--n]);
    world_done(&w);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* However deep the groups are below the ones that are read, the walk does not run out of stack. */
static void very_deep(void **state)
{
    struct world w;
    char path[256] = "cg/a";
    world_new(&w);
    for (int i = 0; i < 20; i++) {
        char procs[300];
        strcat(path, "/d");
        snprintf(procs, sizeof(procs), "%s/cgroup.procs", path);
        files_put(w.dir, procs, "2\n");
    }
    expect(&w, 17, 33);
    assert_int_equal(w.walk.left_out, 1); /* and what is below that one */
    expect(&w, 17, 33);
    assert_int_equal(w.walk.left_out, 1);
    world_done(&w);
}

/* The file of v1 is opened each time, and takes one descriptor less. */
static void of_v1(void **state)
{
    struct world w;
    const struct cgroup_location place = {.dir = "cg/a"};
    world_new(&w);
    cgroup_walk_init(&w.walk, w.root_fd, &place);
    size_t before = fds();
    files_put(w.dir, "cg/a/x/cgroup.procs", "10\n");
    expect(&w, 2, 11);
    assert_int_equal(fds(), before + 2);
    gone(&w, "cg/a/cgroup.procs"); /* another file, as a list that was made again is another one */
    files_put(w.dir, "cg/a/cgroup.procs", "2\n3\n");
    expect(&w, 3, 15);
    remove_group(&w, "cg/a/x");
    expect(&w, 2, 5);
    world_done(&w);
}

static void the_group_is_gone(void **state)
{
    struct world w;
    struct cgroup_location place = {.dir = "cg/none"};
    world_new(&w);
    struct cgroup_walk other;
    cgroup_walk_init(&other, w.root_fd, &place);
    assert_int_equal(cgroup_walk_groups(&other), -ENOENT);
    assert_int_equal(cgroup_walk_processes(&other, (char[64]){0}, 64, take, &w), -ENODEV);
    cgroup_walk_done(&other);
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(come_and_go),       cmocka_unit_test(very_many),      cmocka_unit_test(more_than_a_thousand),
        cmocka_unit_test(few_descriptors),   cmocka_unit_test(very_deep),      cmocka_unit_test(of_v1),
        cmocka_unit_test(the_group_is_gone), cmocka_unit_test(the_same_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
