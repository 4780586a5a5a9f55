/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* The kernel fills a page with lines of such a file before it returns any (seq_read_iter(), fs/seq_file.c), so a read
 * of far less than that is the whole file. */
#define WHOLE_MOST 512u

#define LIMIT_MOST (1u << 20)

ssize_t fd_pread_all(int fd, void *at, size_t cap)
{
    size_t done = 0;
    unsigned tries = 0;
    while (done < cap) {
        ssize_t n = pread(fd, (char *)at + done, cap - done, (off_t)done);
        if (n < 0 && fd_again(&tries))
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        done += (size_t)n;
        if (done < WHOLE_MOST)
            break;
    }
    return (ssize_t)done;
}

ssize_t fd_read_file(int dirfd, const char *path, void *at, size_t cap)
{
    int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    size_t done = 0;
    ssize_t n = 0;
    unsigned tries = 0;
    while (done < cap) {
        n = read(fd, (char *)at + done, cap - done);
        if (n < 0 && fd_again(&tries))
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    int error = errno;
    close(fd);
    return n < 0 ? -error : (ssize_t)done;
}

ssize_t fd_read_record(int dirfd, const char *path, void *at, size_t cap)
{
    int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = read(fd, at, cap);
    int error = errno;
    close(fd);
    return n < 0 ? -error : n;
}

int fd_write_all(int fd, const void *at, size_t len, size_t *ret_done)
{
    size_t done = 0;
    int code = 0;
    unsigned tries = 0;
    while (done < len && code == 0) {
        ssize_t n = write(fd, (const char *)at + done, len - done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0)
            code = -EIO;
        else if (!fd_again(&tries))
            code = -errno;
    }
    if (ret_done)
        *ret_done = done;
    return code;
}

void fd_hold_standard(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        int held;

        if (fcntl(fd, F_GETFD) >= 0)
            continue;
        held = open("/", O_PATH | O_CLOEXEC); /* the lowest free number, which is fd, as all below are open */
        if (held > STDERR_FILENO)
            close(held);
    }
}

void fd_raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    const struct rlimit most = {LIMIT_MOST, limit.rlim_max > LIMIT_MOST ? limit.rlim_max : LIMIT_MOST};
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &most) < 0)
        setrlimit(RLIMIT_NOFILE, &limit);
}

int fd_make_folders(const char *path)
{
    char part[PATH_MAX];
    for (const char *at = path; *at;) {
        at += strspn(at, "/");
        at += strcspn(at, "/");
        size_t n = (size_t)(at - path);
        if (n >= sizeof(part))
            return -ENAMETOOLONG;
        memcpy(part, path, n);
        part[n] = 0;
        if (mkdir(part, 0777) < 0 && errno != EEXIST)
            return -errno;
    }
    return 0;
}
