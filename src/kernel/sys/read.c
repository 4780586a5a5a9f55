/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "baro/error.h"
#include "base/dir.h"
#include "base/fd.h"
#include "kernel/sys/sysfs.h"

ssize_t sys_text(int dir_fd, const char *path, char *to, size_t cap)
{
    ssize_t n = fd_read_file(dir_fd, path, to, cap - 1);
    if (n < 0)
        return n;
    while (n && (to[n - 1] == '\n' || to[n - 1] == ' '))
        n--;
    to[n] = 0;
    return (ssize_t)strlen(to);
}

int sys_signed(int dir_fd, const char *path, int64_t *ret)
{
    char text[32];
    ssize_t n = sys_text(dir_fd, path, text, sizeof(text));
    if (n < 0)
        return (int)n;
    struct span s = span_of(text, (size_t)n);
    int64_t v;
    if (!scan_i64(&s, &v) || s.len)
        return BARO_E_SYNTAX;
    *ret = v;
    return 0;
}

int sys_number(int dir_fd, const char *path, uint64_t *ret)
{
    char text[32];
    ssize_t n = sys_text(dir_fd, path, text, sizeof(text));
    if (n < 0)
        return (int)n;
    struct span s = span_of(text, (size_t)n);
    uint64_t v;
    if (!scan_u64(&s, &v) || s.len)
        return BARO_E_SYNTAX;
    *ret = v;
    return 0;
}

bool sys_exists(int dir_fd, const char *path)
{
    return faccessat(dir_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

struct each {
    bool (*fn)(void *context, const char *name, size_t len);
    void *context;
};

static bool shown(void *context, const char *name, size_t len)
{
    struct each *e = context;
    return !len || *name == '.' || e->fn(e->context, name, len);
}

int sys_each(int dir_fd, const char *path, bool (*fn)(void *context, const char *name, size_t len), void *context)
{
    struct each e = {fn, context};
    int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = dir_each(fd, shown, &e);
    close(fd);
    return r;
}
