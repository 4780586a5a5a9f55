/* SPDX-License-Identifier: Apache-2.0 */
/* Which tapes were written: files and folders of segments. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNIT_OWN_MAIN
#include "unit.h"
#include "base/fd.h"
#include "programs/baro-serve/touched.h"

static char folder[] = "/tmp/baro-touched-XXXXXX";

static const char *in(const char *name)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static int append(const char *name, int fd)
{
    fd = fd >= 0 ? fd : open(in(name), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "x", 1), 1);
    return fd;
}

static int begin(void **state)
{
    return mkdtemp(folder) ? 0 : -1;
}

static int end(void **state)
{
    unlink(in("a"));
    unlink(in("s/1"));
    unlink(in("s/2"));
    rmdir(in("s"));
    return rmdir(folder);
}

TEST(what_was_written)
{
    struct touched t;
    int a = -1, s = -1;
    touched_init(&t);
    if (t.fd < 0)
        skip(); /* this user has no instance of inotify left */
    int file = append("a", -1);
    assert_int_equal(mkdir(in("s"), 0700), 0);
    int segment = append("s/1", -1);
    touched_add(&t, in("a"), &a);
    touched_add(&t, in("s"), &s);
    assert_true(a >= 0 && s >= 0 && a != s);
    touched_read(&t);
    assert_false(touched_has(&t, a) || touched_has(&t, s));

    append("a", file);
    append("a", file);
    touched_read(&t);
    assert_true(touched_has(&t, a) && !touched_has(&t, s));
    touched_read(&t);
    assert_false(touched_has(&t, a) || touched_has(&t, s));

    append("s/1", segment);
    touched_read(&t);
    assert_true(!touched_has(&t, a) && touched_has(&t, s));
    fd_close(append("s/2", -1)); /* the next segment */
    touched_read(&t);
    assert_true(!touched_has(&t, a) && touched_has(&t, s));
    fd_close(file); /* its recorder has ended, or was killed */
    touched_read(&t);
    assert_true(touched_has(&t, a) && !touched_has(&t, s));

    int first = a;
    touched_add(&t, in("a"), &a);
    assert_int_equal(a, first);
    touched_remove(&t, &s);
    assert_int_equal(s, -1);
    append("s/1", segment);
    touched_read(&t);
    assert_false(touched_has(&t, a));
    fd_close(segment);
    touched_done(&t);
}

TEST(what_can_not_be_watched_counts_as_written)
{
    struct touched t;
    int none = -1;
    touched_init(&t);
    touched_add(&t, in("nothing"), &none);
    assert_int_equal(none, -1);
    touched_remove(&t, &none);
    touched_read(&t);
    assert_true(touched_has(&t, none));
    touched_done(&t);
    touched_read(&t);
    assert_true(touched_has(&t, -1));
}

int main(void)
{
    return cmocka_run_group_tests(unit_tests, begin, end);
}
