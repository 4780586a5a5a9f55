/* SPDX-License-Identifier: Apache-2.0 */
/* Walking a directory: what is counted, once, and what vanishes or can't be read. */
#define UNIT_EACH empty, gone
#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/collectors/directories/links.h"
#include "recorder/collectors/directories/walk.h"

static char root[] = "/tmp/baro-walk-XXXXXX";

static const char *path(const char *name)
{
    static char text[4096];
    snprintf(text, sizeof(text), "%s/%s", root, name);
    return text;
}

static void make_file(const char *name, size_t len)
{
    int fd = open(path(name), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    assert_true(fd >= 0);
    for (size_t i = 0; i < len; i++)
        assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
}

static bool on(void *context, const struct walk_sums *so_far)
{
    return true;
}

static int walked(struct walk_sums *ret)
{
    return walk(&(struct walk_options){root, on, NULL}, ret);
}

static uint64_t blocks(const char *name)
{
    struct stat st;
    assert_int_equal(lstat(path(name), &st), 0);
    return (uint64_t)st.st_blocks * 512;
}

static int empty(void **state)
{
    strcpy(root + sizeof(root) - 7, "XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int gone(void **state)
{
    char command[64];
    snprintf(command, sizeof(command), "rm -rf %s", root);
    return system(command);
}

TEST(counts)
{
    struct walk_sums s;
    make_file("a", 3000);
    mkdir(path("d"), 0700);
    mkdir(path("d/e"), 0700);
    make_file("d/e/b", 10);
    assert_int_equal(symlink("no such file", path("d/l")), 0);
    assert_int_equal(mkfifo(path("d/p"), 0600), 0);
    assert_gives(walked(&s), s.files, 4);
    assert_int_equal(s.directories, 3);
    assert_int_equal(s.apparent, 3000 + 10 + 12);
    assert_int_equal(s.unread, 0);
    assert_int_equal(s.used, blocks("") + blocks("a") + blocks("d") + blocks("d/e") + blocks("d/e/b") + blocks("d/l") +
                                 blocks("d/p"));
}

TEST(hard_links_count_once)
{
    struct walk_sums s;
    char from[4096];
    make_file("a", 5000);
    snprintf(from, sizeof(from), "%s", path("a"));
    for (int i = 0; i < 100; i++) {
        char name[16];
        snprintf(name, sizeof(name), "l%d", i);
        assert_int_equal(link(from, path(name)), 0);
    }
    assert_gives(walked(&s), s.files, 1);
    assert_int_equal(s.apparent, 5000);
    assert_int_equal(s.used, blocks("") + blocks("a"));
}

TEST(sparse_as_allocated)
{
    struct walk_sums s;
    make_file("a", 0);
    assert_int_equal(truncate(path("a"), 1 << 30), 0);
    assert_gives(walked(&s), s.apparent, 1 << 30);
    assert_int_equal(s.used, blocks("") + blocks("a"));
    assert_true(s.used < 1 << 20);
}

/* Wide and deep: many directories beside each other, and each of many levels below another. */
TEST(wide_and_deep)
{
    struct walk_sums s;
    char name[32];
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof(name), "w%d", i);
        assert_int_equal(mkdir(path(name), 0700), 0);
        snprintf(name, sizeof(name), "w%d/f", i);
        make_file(name, 1);
    }
    int fd = open(root, O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 3000; i++) { /* longer than PATH_MAX */
        assert_int_equal(mkdirat(fd, "dd", 0700), 0);
        int next = openat(fd, "dd", O_RDONLY | O_DIRECTORY);
        assert_true(next >= 0);
        close(fd);
        fd = next;
    }
    close(fd);
    assert_gives(walked(&s), s.directories, 1 + 500 + 3000);
    assert_int_equal(s.files, 500);
    assert_int_equal(s.unread, 0);
}

TEST(no_directory)
{
    struct walk_sums s;
    char name[4096];
    make_file("a", 1);
    snprintf(name, sizeof(name), "%s", path("a"));
    assert_int_equal(walk(&(struct walk_options){name, on, NULL}, &s), -ENOTDIR);
    snprintf(name, sizeof(name), "%s", path("b"));
    assert_int_equal(walk(&(struct walk_options){name, on, NULL}, &s), -ENOENT);
}

/* Between two steps others remove what is still to be read, and put a symbolic link in place of a directory. */
static bool on_vanish(void *context, const struct walk_sums *so_far)
{
    int *steps = context;
    if (++*steps == 4) {
        for (int i = 0; i < 40; i++) {
            char name[16];
            snprintf(name, sizeof(name), "f%d", i);
            unlink(path(name));
            snprintf(name, sizeof(name), "d%d", i);
            rmdir(path(name));
        }
        rmdir(path("k"));
        assert_int_equal(symlink("/usr", path("k")), 0);
    }
    return true;
}

TEST(what_vanishes_is_not_counted)
{
    struct walk_sums s;
    char name[16];
    int steps = 0;
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        make_file(name, 1);
        snprintf(name, sizeof(name), "d%d", i);
        mkdir(path(name), 0700);
    }
    mkdir(path("k"), 0700);
    assert_then(walk(&(struct walk_options){root, on_vanish, &steps}, &s), s.files + s.directories <= 7);
    assert_true(s.unread <= 1); /* the directory that is a link now */
}

static bool on_cancel(void *context, const struct walk_sums *so_far)
{
    return so_far->files < 2;
}

TEST(cancelled)
{
    struct walk_sums s;
    make_file("a", 1);
    make_file("b", 1);
    make_file("c", 1);
    assert_int_equal(walk(&(struct walk_options){root, on_cancel, NULL}, &s), -ECANCELED);
    assert_int_equal(s.files, 2);
}

TEST(many_links)
{
    struct links l = {0};
    for (uint64_t i = 1; i <= LINKS_MOST; i++)
        assert_int_equal(links_add(&l, i & 1, i << 20), LINKS_NEW);
    for (uint64_t i = 1; i <= LINKS_MOST; i += 1000)
        assert_int_equal(links_add(&l, i & 1, i << 20), LINKS_KNOWN);
    assert_int_equal(links_add(&l, 0, 1 << 20), LINKS_FULL); /* another device */
    assert_int_equal(l.size, 2 * LINKS_MOST);
    links_done(&l);
}
