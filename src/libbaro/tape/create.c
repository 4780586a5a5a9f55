/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/tape/create.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "libbaro/tape/folder.h"
#include "libbaro/tape/format.h"

#define STILL_WRITTEN 600 /* seconds */

bool tape_on_network(int fd)
{
    static const uint32_t magic[] = {
        0x6969,     /* NFS */
        0x0bd00bd0, /* Lustre */
        0x47504653, /* GPFS */
        0xff534d42, /* CIFS */
        0xfe534d42, /* SMB2 */
        0x65735546, /* FUSE */
        0x00c36400, /* Ceph */
        0x19830326, /* BeeGFS */
        0x01021997, /* 9p */
    };
    struct statfs fs;
    if (fstatfs(fd, &fs) < 0)
        return false;
    for (size_t i = 0; i < sizeof magic / sizeof *magic; i++)
        if ((uint32_t)fs.f_type == magic[i])
            return true;
    return false;
}

static bool has_end(int fd)
{
    char mark[TAPE_END_MARK_SIZE];
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_size >= TAPE_END_MARK_SIZE &&
           pread(fd, mark, sizeof mark, st.st_size - TAPE_END_MARK_SIZE) == TAPE_END_MARK_SIZE &&
           memcmp(mark, TAPE_END_MARK, sizeof mark) == 0;
}

/* Is a recorder writing the tape? A recorder holds a lock as long as it is alive. On a network file system a lock
 * may be visible on one machine only: there a tape without a footer counts as being written for STILL_WRITTEN
 * seconds after its last write. */
bool tape_in_work(int fd)
{
    struct stat st;
    if (has_end(fd))
        return false;
    if (flock(fd, LOCK_SH | LOCK_NB) == 0)
        flock(fd, LOCK_UN);
    else if (errno == EWOULDBLOCK)
        return true;
    else if (!tape_on_network(fd))
        return false;
    return tape_on_network(fd) && fstat(fd, &st) == 0 &&
           clock_realtime_ns() / (int64_t)NS_PER_SEC - st.st_mtime < STILL_WRITTEN;
}

/* Takes the lock, which processes that inherit the descriptor share. A reader that tests for the lock may hold it for
 * some microseconds. */
static void take_lock(int fd)
{
    for (int i = 0; i < 100 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK; i++)
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

static int create(int dir_fd, const char *name)
{
    int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_APPEND | O_NOCTTY, 0600);
    if (fd < 0)
        return -errno;
    take_lock(fd);
    return fd;
}

static int cant_create(int r, int dir_fd, const char *name, const char *path, struct baro_error *err)
{
    struct stat st;
    if (r == -EEXIST && fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode))
        return error_set(err, r, "%s is there and not a regular file; it is left alone", path);
    if (r == -EEXIST)
        return error_set(err, r, "%s exists; --force replaces it", path);
    return error_set(err, r, "can't create %s: %s", path, strerror(-r));
}

int tape_create(const char *path, struct baro_error *err)
{
    int fd = create(AT_FDCWD, path);
    return fd < 0 ? cant_create(fd, AT_FDCWD, path, path, err) : fd;
}

/* Returns 0 if there is a file that may be replaced, or a negative code. */
static int may_replace(int dir_fd, const char *name, const char *path, struct baro_error *err)
{
    struct stat st;
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return error_set(err, -errno, "can't write %s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return error_set(err, -EEXIST, "%s is there and not a regular file; it is left alone", path);
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool in_work = fd >= 0 && tape_in_work(fd);
    fd_close(fd);
    return in_work ? error_set(err, -EBUSY, "%s is still being written by another recorder; it is left alone", path)
                   : 0;
}

/* Chooses a hidden name with a random suffix; a long name is truncated. */
static void choose_temporary(struct tape_file *f)
{
    snprintf(f->temporary, sizeof f->temporary, ".%.*s.new-%llx", NAME_MAX - 24, f->name,
             (unsigned long long)clock_realtime_ns());
}

/* Creates a file without a name (O_TMPFILE), which disappears if its recorder is killed; else one with a temporary
 * name, because not every file system supports O_TMPFILE. */
static int create_beside(struct tape_file *f)
{
    choose_temporary(f);
    int fd = access("/proc/self/fd", X_OK) < 0
                 ? -1
                 : openat(f->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC | O_APPEND, 0600);
    if (fd < 0)
        return create(f->dir_fd, f->temporary);
    take_lock(fd);
    return fd;
}

int tape_file_create(struct tape_file *ret, int dir_fd, const char *name, const char *path, bool replace,
                     struct baro_error *err)
{
    *ret = (struct tape_file){.dir_fd = dir_fd};
    int fd = -ENAMETOOLONG;
    if (strlen(name) <= NAME_MAX) {
        memcpy(ret->name, name, strlen(name) + 1);
        fd = create(dir_fd, name);
    }
    if (fd == -EEXIST && replace) {
        int r = may_replace(dir_fd, name, path, err);
        fd = r < 0 ? r : create_beside(ret);
        if (r < 0) {
            tape_file_done(ret);
            return r;
        }
    }
    if (fd < 0 || fstat(fd, &ret->file) < 0) {
        int r = cant_create(fd < 0 ? fd : -errno, dir_fd, name, path, err);
        tape_file_done(ret);
        return r;
    }
    return fd;
}

int tape_file_publish(struct tape_file *f, int fd)
{
    char from[40];
    if (f->dir_fd < 0 || !*f->temporary)
        return 0;
    snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    if (!folder_holds(f->dir_fd, f->temporary, &f->file) &&
        linkat(AT_FDCWD, from, f->dir_fd, f->temporary, AT_SYMLINK_FOLLOW) < 0)
        return -errno;
    if (renameat(f->dir_fd, f->temporary, f->dir_fd, f->name) < 0)
        return -errno;
    *f->temporary = 0;
    return 0;
}

bool tape_file_named(const struct tape_file *f)
{
    return f->dir_fd >= 0 && folder_holds(f->dir_fd, f->name, &f->file);
}

void tape_file_remove(const struct tape_file *f)
{
    if (f->dir_fd < 0)
        return;
    folder_remove(f->dir_fd, f->name, &f->file);
    if (*f->temporary)
        folder_remove(f->dir_fd, f->temporary, &f->file);
}

void tape_file_done(struct tape_file *f)
{
    f->dir_fd = fd_close(f->dir_fd);
}

/* "a.baro" becomes "a-2.baro". */
static void name_beside(const char *name, unsigned n, char ret[static NAME_MAX + 1])
{
    static const char end[] = ".baro";
    size_t len = strlen(name), tail = sizeof end - 1;
    bool ends = len > tail && strcmp(name + len - tail, end) == 0;
    int stem = (int)(ends ? len - tail : len);
    snprintf(ret, NAME_MAX + 1, "%.*s-%u%s", stem < NAME_MAX - 10 ? stem : NAME_MAX - 10, name, n, ends ? end : "");
}

static int copy(int from, int to)
{
    enum { COPIED_MOST = 256 << 20 };
    char at[16384];
    off_t done = 0;
    ssize_t n;
    struct stat st;
    if (fstat(from, &st) < 0 || st.st_size > COPIED_MOST)
        return -EFBIG;
    while ((n = pread(from, at, sizeof at, done)) > 0) {
        int r = fd_write_all(to, at, (size_t)n, NULL);
        if (r < 0)
            return r;
        done += n;
    }
    return n < 0 ? -errno : 0;
}

int tape_file_again(struct tape_file *f, int fd)
{
    char name[NAME_MAX + 1];
    memcpy(name, f->name, sizeof name);
    int to = create(f->dir_fd, name);
    for (unsigned n = 2; to == -EEXIST && n < 10; n++) {
        name_beside(f->name, n, name);
        to = create(f->dir_fd, name);
    }
    if (to < 0)
        return to;
    int r = fstat(to, &f->file) < 0 ? -errno : copy(fd, to);
    if (r == 0 && dup3(to, fd, O_CLOEXEC) < 0)
        r = -errno;
    if (r < 0)
        unlinkat(f->dir_fd, name, 0);
    else
        memcpy(f->name, name, sizeof name);
    fd_close(to);
    return r;
}
