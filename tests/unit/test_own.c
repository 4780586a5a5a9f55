/* SPDX-License-Identifier: Apache-2.0 */
/* Which groups a recording removes: in any file system, as locks and names are the same there. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"
#include "files.h"
#include "recorder/wrapper/own_cgroup_dir.h"

static void folder(const char *dir, const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

static bool there(const char *dir, const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static int hold(const char *dir, const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_SH | LOCK_NB), 0);
    return fd;
}

/* The pid in the name proves nothing: 1 lives in every namespace, and a group that it left is removed. */
TEST(by_name)
{
    static const char *const ours[] = {"baro-1-0123abcd", "baro-4194304-ffffffff", "baro-1-self", "baro-0-00000000"};
    /* clang-format off */
    static const char *const others[] = {"baro-1-0123abc", "baro-1-0123abcde", "baro-1-0123abcg", "baro-1-0123ABCD",
                                         "baro--0123abcd", "baro-x-0123abcd", "baro-1", "baro-1-selfish", "baro",
                                         "job", "baro-1-", "baro-99999999999999999999-0123abcd"};
    /* clang-format on */
    char dir[sizeof(FILES_NAME)];
    files_make(dir);
    for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
        folder(dir, ours[i]);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        folder(dir, others[i]);
    own_dir_sweep(dir);
    for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
        assert_false(there(dir, ours[i]));
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        assert_true(there(dir, others[i]));
    own_dir_sweep("/no/such/folder");
    files_remove(dir);
}

/* Wrapper and recorder hold one lock together: it is held until the last of them is gone, however it ended. */
TEST(by_lock)
{
    char dir[sizeof(FILES_NAME)];
    files_make(dir);
    folder(dir, "baro-7-00000001");
    int fd = hold(dir, "baro-7-00000001");
    pid_t recorder = fork();
    if (recorder == 0) {
        pause();
        _exit(0);
    }
    own_dir_sweep(dir);
    assert_true(there(dir, "baro-7-00000001"));
    close(fd);
    own_dir_sweep(dir);
    assert_true(there(dir, "baro-7-00000001"));
    assert_int_equal(kill(recorder, SIGKILL), 0);
    assert_int_equal(waitpid(recorder, NULL, 0), recorder);
    own_dir_sweep(dir);
    assert_false(there(dir, "baro-7-00000001"));
    files_remove(dir);
}

/* A folder that can't be locked, or is no control group, is not taken for one that baro made. */
TEST(not_made_by_baro)
{
    char dir[sizeof(FILES_NAME)], taken[128];
    struct own_dir d = {.v2 = true};
    files_make(dir);
    snprintf(d.parent, sizeof(d.parent), "%s", dir);
    assert_int_equal(own_dir_make(&d, "baro-7-00000001"),
                     -EAGAIN); /* no cgroup.procs: as of one that was removed meanwhile */
    assert_false(there(dir, "baro-7-00000001"));
    assert_string_equal(d.path, "");
    folder(dir, "baro-7-00000002");
    assert_int_equal(own_dir_make(&d, "baro-7-00000002"), -EAGAIN);
    assert_true(there(dir, "baro-7-00000002"));
    snprintf(d.parent, sizeof(d.parent), "%s/none", dir);
    assert_int_equal(own_dir_make(&d, "baro-7-00000003"), -ENOENT);
    snprintf(taken, sizeof(taken), "%s/baro-7-00000002", dir);
    own_dir_remove(taken);
    assert_false(there(dir, "baro-7-00000002"));
    files_remove(dir);
}
