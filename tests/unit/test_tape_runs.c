/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define UNIT_EACH set_up, set_up
#include "unit.h"
#include "baro/runs.h"
#include "libbaro/tape/create.h"
#include "libbaro/tape/folder.h"
#include "libbaro/tape/runs.h"
#include "libbaro/writer/writer.h"

static char base[64], dir[128];

static void put_file(const char *name, const char *text, time_t age)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    struct timespec t[2] = {{.tv_sec = time(NULL) - age}, {.tv_sec = time(NULL) - age}};
    assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
}

static bool there(const char *name)
{
    char path[256];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return lstat(path, &st) == 0;
}

static int set_up(void **state)
{
    char command[160];
    snprintf(base, sizeof base, "/tmp/test_tape_runs.%d", (int)getpid());
    snprintf(dir, sizeof dir, "%s/a/b", base);
    snprintf(command, sizeof command, "rm -rf %s", base);
    unsetenv("BARO_KEEP");
    setenv("BARO_DIR", dir, 1);
    return system(command);
}

static void make_dir(void)
{
    struct buf path = {0};
    struct baro_error note, err = BARO_ERROR_INIT;
    assert_int_equal(runs_dir(&path, &note, &err), 0);
    assert_string_equal(note.text, "");
    assert_string_equal((char *)path.at, dir);
    buf_done(&path);
}

TEST(dir)
{
    struct stat st;
    make_dir();
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);

    struct buf path = {0};
    struct baro_error note, err = BARO_ERROR_INIT;
    char expected[200];
    unsetenv("BARO_DIR");
    setenv("XDG_STATE_HOME", base, 1);
    assert_int_equal(runs_dir(&path, &note, &err), 0);
    snprintf(expected, sizeof expected, "%s/barograph", base);
    assert_string_equal((char *)path.at, expected);
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", base, 1);
    assert_int_equal(runs_dir(&path, &note, &err), 0);
    snprintf(expected, sizeof expected, "%s/.local/state/barograph", base);
    assert_string_equal((char *)path.at, expected);
    buf_done(&path);
}

TEST(fallback)
{
    struct buf path = {0};
    struct baro_error note, err = BARO_ERROR_INIT;
    char expected[200];
    struct stat st;
    make_dir();
    put_file("file", "", 0);
    snprintf(expected, sizeof expected, "%s/file/under", dir);
    setenv("BARO_DIR", expected, 1);
    setenv("TMPDIR", base, 1);
    assert_int_equal(runs_dir(&path, &note, &err), 0);
    snprintf(expected, sizeof expected, "%s/barograph-%u", base, (unsigned)geteuid());
    assert_string_equal((char *)path.at, expected);
    assert_non_null(strstr(note.text, "Not a directory"));
    assert_non_null(strstr(note.text, expected));
    assert_int_equal(stat(expected, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    /* Another user could have put it there. */
    assert_int_equal(chmod(expected, 0777), 0);
    assert_int_equal(runs_dir(&path, &note, &err), -EPERM);
    assert_int_equal(rmdir(expected), 0);
    assert_int_equal(symlink("/tmp", expected), 0);
    assert_int_equal(runs_dir(&path, &note, &err), -EPERM);
    unsetenv("TMPDIR");
    buf_done(&path);
}

TEST(new_path)
{
    struct buf a = {0}, b = {0};
    assert_int_equal(runs_new_path("/d", "/usr/bin/ma\nke it", &a, NULL), 0);
    char expected[64];
    snprintf(expected, sizeof expected, "Z-makeit-%d.baro", (int)getpid());
    assert_int_equal(strncmp((char *)a.at, "/d/20", 5), 0);
    assert_string_equal(strchr((char *)a.at, 'Z'), expected);
    assert_int_equal(strlen((char *)a.at) - strlen(expected), strlen("/d/20261121T043450.123456"));
    usleep(2);
    assert_int_equal(runs_new_path("/d", "\xff/../", &b, NULL), 0);
    assert_non_null(strstr((char *)b.at, "Z-run-"));
    assert_true(strcmp((char *)a.at, (char *)b.at) < 0);
    buf_done(&a);
    buf_done(&b);
}

static void expect_resolved(const char *name, const char *expected)
{
    struct buf path = {0};
    assert_int_equal(runs_resolve(name, &path, NULL), 0);
    const char *at = (char *)path.at;
    size_t skip = strncmp(at, dir, strlen(dir)) == 0 ? strlen(dir) + 1 : 0;
    assert_string_equal(at + skip, expected);
    buf_done(&path);
}

TEST(list_and_resolve)
{
    struct buf path = {0};
    struct runs_list l;
    make_dir();
    assert_int_equal(runs_resolve(NULL, &path, NULL), -ENOENT);
    put_file("20261121T043450.000001Z-make-7.baro", "123", 0);
    put_file("20261121T043450.000003Z-make-6.baro", "1234", 0);
    put_file("20261121T043450.000002Z-make-8.baro", "1", 0);
    put_file("20261121T043450.000009Z-make-8.baro", "", 0); /* no tape is in it: no run */
    put_file("20991121T043450.000009Z-make-8.baro", "planted", 0);
    put_file(".20261121T043450.000009Z-make-8.baro", "", 0);
    put_file("20261121T043450.000009Z-make-8.csv", "", 0);
    put_file("zebra.baro", "", 0);
    assert_gives(runs_list(dir, 0, &l, NULL), l.n, 4);
    assert_true(l.at[3].untimely);
    assert_string_equal(l.at[0].name, "20261121T043450.000003Z-make-6.baro");
    assert_int_equal(l.at[0].bytes, 4);
    assert_string_equal(l.at[2].name, "20261121T043450.000001Z-make-7.baro");
    runs_list_done(&l);
    expect_resolved(NULL, "20261121T043450.000003Z-make-6.baro");
    expect_resolved("@last", "20261121T043450.000003Z-make-6.baro");
    expect_resolved("@1", "20261121T043450.000003Z-make-6.baro");
    expect_resolved("@3", "20261121T043450.000001Z-make-7.baro");
    expect_resolved("some/tape.baro", "some/tape.baro");
    assert_int_equal(runs_resolve("@5", &path, NULL), -ENOENT);
    assert_int_equal(runs_resolve("@0", &path, NULL), BARO_E_SYNTAX);
    assert_int_equal(runs_resolve("@2x", &path, NULL), BARO_E_SYNTAX);
    assert_int_equal(runs_resolve("@", &path, NULL), BARO_E_SYNTAX);
    buf_done(&path);
}

/* Tapes with a name of the user's are listed behind the kept runs, whose numbers stay; a planted name in the future has
 * the last number. */
TEST(list_with_other_names)
{
    struct baro_runs *runs;
    make_dir();
    put_file("20261121T043450.000001Z-make-7.baro", "123", 5);
    put_file("20261121T043450.000003Z-make-6.baro", "1234", 7);
    put_file("20991121T043450.000009Z-make-8.baro", "planted", 0);
    put_file("aaa.baro", "1", 0);
    put_file("zebra.baro", "1", 0);
    assert_gives(baro_runs_list(&runs, BARO_RUNS_ANY_NAME, NULL), baro_runs_count(runs), 5);
    static const size_t numbers[] = {1, 2, 3, 0, 0, 0};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(baro_runs_number(runs, i), numbers[i]);
    assert_string_equal(baro_runs_name(runs, 2), "20991121T043450.000009Z-make-8.baro");
    struct stat st;
    assert_int_equal(stat(baro_runs_path(runs, 1), &st), 0);
    assert_int_equal(baro_runs_inode(runs, 1), st.st_ino);
    assert_int_equal(baro_runs_changed_ns(runs, 1), st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
    assert_int_equal(baro_runs_inode(runs, 5), 0);
    assert_int_equal(baro_runs_changed_ns(runs, 5), 0);
    baro_runs_free(runs);
    assert_int_equal(baro_runs_list_folder(&runs, dir, NULL), 0);
    assert_int_equal(baro_runs_number(runs, 0), 0);
    baro_runs_free(runs);
}

static int prune(struct baro_error *err)
{
    int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    int removed = runs_prune(fd, err);
    close(fd);
    return removed;
}

TEST(prune)
{
    struct baro_error err = BARO_ERROR_INIT;
    make_dir();
    put_file("20261121T000001.000000Z-a-1.baro", "0123456789", 3600);       /* old, torn */
    put_file("20261121T000002.000000Z-a-1.baro", "0123456789", 5);          /* being written */
    put_file("20261121T000003.000000Z-a-1.baro", "0123456BAROEND\n", 5);    /* finished */
    put_file("20261121T000004.000000Z-a-1.baro", "0123456BAROEND\n", 3600); /* finished */
    put_file("20261121T000005.000000Z-a-1.baro", "0123456BAROEND\n", 3600); /* newest */
    put_file("notes.txt", "0123456789", 3600);
    char path[256];
    snprintf(path, sizeof path, "%s/20261121T000002.000000Z-a-1.baro", dir);
    int writer = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(writer, LOCK_EX), 0);
    assert_int_equal(prune(&err), 0);
    setenv("BARO_KEEP", "4 runs , 1kB", 1);
    assert_int_equal(prune(&err), 1);
    assert_false(there("20261121T000001.000000Z-a-1.baro"));
    setenv("BARO_KEEP", "3", 1);
    assert_int_equal(prune(&err), 1);
    assert_true(there("20261121T000002.000000Z-a-1.baro"));
    assert_false(there("20261121T000003.000000Z-a-1.baro"));
    setenv("BARO_KEEP", "1B", 1);
    assert_int_equal(prune(&err), 1);
    assert_true(there("20261121T000002.000000Z-a-1.baro"));
    struct tape_file file;
    const char *name;
    int folder = folder_of(path, &name, &err);
    assert_int_equal(tape_file_create(&file, folder, name, path, true, &err), -EBUSY); /* nor is it replaced */
    close(writer); /* its recorder is gone, however recent the tape */
    assert_int_equal(prune(&err), 1);
    assert_false(there("20261121T000002.000000Z-a-1.baro"));
    assert_true(there("20261121T000005.000000Z-a-1.baro"));
    assert_true(there("notes.txt"));
    setenv("BARO_KEEP", "lots", 1);
    assert_int_equal(prune(&err), BARO_E_SYNTAX);
    assert_non_null(strstr(err.text, "lots"));
    unsetenv("BARO_KEEP");
}
