/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/wrapper/own_cgroup_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "libbaro/sample/sample.h"

#define RANDOM_DIGITS 8u
#define DEPTH_MOST 32
#define SWEPT_MOST 256 /* before the command begins; a later sweep removes the rest */

int own_write(const char *dir, const char *file, const char *text)
{
    char path[CGROUP_DIR_MAX + 96];
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int code = write(fd, text, strlen(text)) < 0 ? -errno : 0;
    close(fd);
    return code;
}

struct span own_read(const char *dir, const char *file, char *text, size_t cap)
{
    char path[CGROUP_DIR_MAX + 96];
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    ssize_t n = fd_read_file(AT_FDCWD, path, text, cap);
    return span_of(text, n > 0 ? (size_t)n : 0);
}

/* ---- removing ---- */

static int open_folder(int parent_fd, const char *name)
{
    return openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

/* Calls fn for each directory in fd until fn returns true; then returns true, too. Closes fd. */
static bool any_below(int fd, int depth, bool (*fn)(int parent_fd, const char *name, int depth))
{
    DIR *d = depth < DEPTH_MOST ? fdopendir(fd) : NULL;
    const struct dirent *e;
    bool found = false;
    if (!d) {
        fd_close(fd);
        return false;
    }
    while (!found && (e = readdir(d)))
        found = e->d_type == DT_DIR && *e->d_name != '.' && fn(fd, e->d_name, depth + 1);
    closedir(d);
    return found;
}

/* In v2 cgroup.events covers the groups below as well; v1 has no such file. If it can't be read, the group may be in
 * use. */
static bool in_use(int parent_fd, const char *name, int depth)
{
    char text[256];
    int fd = open_folder(parent_fd, name);
    if (fd < 0)
        return errno != ENOENT;
    ssize_t n = fd_read_file(fd, "cgroup.events", text, sizeof(text));
    if (n > 0) {
        close(fd);
        return !memmem(text, (size_t)n, "populated 0", 11);
    }
    if (fd_read_file(fd, "cgroup.procs", text, sizeof(text)) != 0) {
        close(fd);
        return true;
    }
    return any_below(fd, depth, in_use);
}

/* Removes the deepest first. rmdir(2) removes no group that has a process in it. */
static bool remove_tree(int parent_fd, const char *name, int depth)
{
    if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno != EBUSY)
        return false;
    int fd = open_folder(parent_fd, name);
    if (fd >= 0)
        any_below(fd, depth, remove_tree);
    unlinkat(parent_fd, name, AT_REMOVEDIR);
    return false;
}

/* A process that outlived the command may be about to use an empty group that it made, so none is removed then. */
static void remove_unless_used(int parent_fd, const char *name)
{
    if (unlinkat(parent_fd, name, AT_REMOVEDIR) < 0 && errno == EBUSY && !in_use(parent_fd, name, 0))
        remove_tree(parent_fd, name, 0);
}

void own_dir_remove(const char *path)
{
    remove_unless_used(AT_FDCWD, path);
}

/* ---- sweeping ---- */

/* "baro-PID-RANDOM", "baro-PID-self" */
static bool is_ours(const char *folder)
{
    struct span name = span_str(folder);
    uint64_t pid;
    size_t digits = 0;
    if (!span_starts(name, BARO_GROUP_PREFIX))
        return false;
    name = span_of(name.at + sizeof(BARO_GROUP_PREFIX) - 1, name.len - (sizeof(BARO_GROUP_PREFIX) - 1));
    if (!scan_u64(&name, &pid) || !scan_char(&name, '-'))
        return false;
    while (digits < name.len && strchr("0123456789abcdef", name.at[digits]))
        digits++;
    return span_equal(name, "self") || (digits == RANDOM_DIGITS && name.len == RANDOM_DIGITS);
}

void own_dir_sweep(const char *parent)
{
    DIR *d = opendir(parent);
    const struct dirent *e;
    int swept = 0;
    while (d && swept < SWEPT_MOST && (e = readdir(d))) {
        int fd = is_ours(e->d_name) ? open_folder(dirfd(d), e->d_name) : -1;
        swept += fd >= 0;
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
            remove_unless_used(dirfd(d), e->d_name);
        fd_close(fd);
    }
    if (d)
        closedir(d);
}

/* ---- making ---- */

/* A sweep by another recorder may find the directory before it is locked, and remove it. */
static int lock(struct own_dir *d)
{
    if (flock(d->fd, LOCK_SH | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? -EAGAIN : -errno;
    d->procs_fd = openat(d->fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    if (d->procs_fd < 0)
        return errno == ENOENT || errno == ENODEV ? -EAGAIN : -errno;
    return 0;
}

int own_dir_make(struct own_dir *d, const char *name)
{
    int n = snprintf(d->path, sizeof(d->path), "%s/%s", d->parent, name), code = 0;
    d->fd = d->procs_fd = -1;
    if (n < 0 || (size_t)n >= sizeof(d->path))
        code = -ENAMETOOLONG;
    else if (mkdir(d->path, 0755) < 0)
        code = errno == EEXIST ? -EAGAIN : -errno;
    if (code < 0) {
        *d->path = 0;
        return code;
    }
    d->fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    code = d->fd >= 0 ? lock(d) : errno == ENOENT ? -EAGAIN : -errno;
    if (code == 0)
        return 0;
    d->fd = fd_close(d->fd);
    rmdir(d->path);
    *d->path = 0;
    return code;
}
