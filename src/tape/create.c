/* SPDX-License-Identifier: Apache-2.0 */
#include "tape/create.h"

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
#include "tape/format.h"
#include "tape/writer.h"

#define STILL_WRITTEN 600 /* seconds */

static ssize_t real_write(void *context, int fd, const void *at, size_t len)
{
    (void)context;
    return write(fd, at, len);
}

static int real_truncate(void *context, int fd, off_t len)
{
    (void)context;
    return ftruncate(fd, len);
}

static int real_sync(void *context, int fd)
{
    (void)context;
    return fdatasync(fd);
}

const struct tape_io tape_io_real = {real_write, real_truncate, real_sync, NULL};

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

/* A recorder holds a lock for as long as it lives. Where files lie on a server locks may be of each machine alone: there a tape
 * without its end is held to be written for a while. */
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
    return tape_on_network(fd) && fstat(fd, &st) == 0 && clock_realtime_ns() / (int64_t)NS_PER_SEC - st.st_mtime < STILL_WRITTEN;
}

static int may_replace(const char *path, struct baro_error *err)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? -ENOENT : error_set(err, -errno, "can't write %s: %s", path, error_text(errno));
    if (!S_ISREG(st.st_mode))
        return error_set(err, -EEXIST, "%s is there and not a regular file; it is left alone", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool in_work = fd >= 0 && tape_in_work(fd);
    fd_close(fd);
    return in_work ? error_set(err, -EBUSY, "%s is still being written by another recorder; it is left alone", path) : 0;
}

int tape_put_aside(const char *path, struct buf *ret, struct baro_error *err)
{
    buf_clear(ret);
    int r = may_replace(path, err);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    /* With a mark that no other has; the name is cut where it would become too long. */
    int name = (int)strlen(path), most = NAME_MAX - 22;
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash + 1 - path) : 0;
    buf_printf(ret, "%.*s.old-%llx", name - folder > most ? folder + most : name, path, (unsigned long long)clock_realtime_ns());
    buf_byte(ret, 0);
    if (ret->failed)
        return error_set(err, -ENOMEM, "out of memory");
    if (rename(path, (const char *)ret->at) == 0)
        return 0;
    r = -errno;
    buf_clear(ret);
    return r == -ENOENT ? 0 : error_set(err, r, "can't replace %s: %s", path, error_text(-r));
}

/* Kept by whoever inherits the descriptor. Somebody may be looking whether there is one, which takes him some microseconds. */
static void take_lock(int fd)
{
    for (int i = 0; i < 100 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK; i++)
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

int tape_create(const char *path, struct baro_error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_APPEND | O_NOCTTY, 0600);
    if (fd >= 0) {
        take_lock(fd);
        return fd;
    }
    int r = -errno;
    struct stat st;
    if (r == -EEXIST && lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return error_set(err, r, "%s is there and not a regular file; it is left alone", path);
    if (r == -EEXIST)
        return error_set(err, r, "%s exists; --force replaces it", path);
    return error_set(err, r, "can't create %s: %s", path, error_text(-r));
}
