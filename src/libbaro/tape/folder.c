/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/tape/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"

enum { LINKS_MOST = 40 }; /* as in path_resolution(7) */
#define PROC_MAGIC 0x9fa0

struct walk {
    int fd;                  /* the folder that was reached */
    char rest[2 * PATH_MAX]; /* the rest of the path */
    uid_t owner[LINKS_MOST]; /* owners of the links of other users that were followed */
    unsigned links, foreign;
};

static int go_on(struct walk *w, int fd)
{
    if (fd < 0)
        return -errno;
    fd_close(w->fd);
    w->fd = fd;
    return 0;
}

/* Takes the next component of the path. Returns false at its end. */
static bool next_part(struct walk *w, char name[static NAME_MAX + 1])
{
    size_t skip = strspn(w->rest, "/"), n = strcspn(w->rest + skip, "/");
    if (n == 0 || n > NAME_MAX)
        return false;
    memcpy(name, w->rest + skip, n);
    name[n] = 0;
    memmove(w->rest, w->rest + skip + n, strlen(w->rest + skip + n) + 1);
    return true;
}

/* Is this in /proc? The text of a link there is not a path that can be followed. */
static bool in_proc(int fd)
{
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_MAGIC;
}

static int follow(struct walk *w, int link_fd, const char *name, uid_t owner)
{
    char target[PATH_MAX], rest[2 * PATH_MAX];
    if (w->links++ == LINKS_MOST)
        return -ELOOP;
    if (owner != 0 && owner != geteuid())
        w->owner[w->foreign++] = owner;
    if (in_proc(w->fd))
        return go_on(w, openat(w->fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC));
    ssize_t n = readlinkat(link_fd, "", target, sizeof(target) - 1);
    if (n < 0)
        return -errno;
    target[n] = 0;
    if ((size_t)snprintf(rest, sizeof(rest), "%s/%s", target, w->rest) >= sizeof(rest))
        return -ENAMETOOLONG;
    memcpy(w->rest, rest, strlen(rest) + 1);
    return *target == '/' ? go_on(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) : 0;
}

static int step(struct walk *w, const char *name, bool make)
{
    struct stat st;
    int fd = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && make) {
        if (mkdirat(w->fd, name, 0700) < 0 && errno != EEXIST)
            return -errno;
        fd = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    }
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        return go_on(w, fd);
    int r = S_ISLNK(st.st_mode) ? follow(w, fd, name, st.st_uid) : -ENOTDIR;
    fd_close(fd);
    return r;
}

/* May root use the folder that was reached? Through a link of another user it may use only folders of that user. */
static int trusted(const struct walk *w)
{
    struct stat st;
    if (geteuid() != 0 || w->foreign == 0)
        return 0;
    if (fstat(w->fd, &st) < 0)
        return -errno;
    for (unsigned i = 0; i < w->foreign; i++)
        if (w->owner[i] != st.st_uid)
            return -EPERM;
    return 0;
}

int folder_open(const char *path, bool make, struct baro_error *err)
{
    struct walk w = {.fd = -1};
    char name[NAME_MAX + 1];
    if (strlen(path) >= PATH_MAX)
        return error_set(err, -ENAMETOOLONG, "%.100s...: %s", path, strerror(ENAMETOOLONG));
    memcpy(w.rest, path, strlen(path) + 1);
    int r = go_on(&w, open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    while (r == 0 && next_part(&w, name))
        r = step(&w, name, make);
    if (r == 0 && w.rest[strspn(w.rest, "/")])
        r = -ENAMETOOLONG;
    if (r == 0)
        r = trusted(&w);
    if (r == 0)
        return w.fd;
    fd_close(w.fd);
    if (r == -EPERM && w.foreign)
        return error_set(
            err, r, "%.180s: a link of another user leads out of that user's folders; root does not follow it", path);
    return error_set(err, r, "can't use %.180s: %s", path, strerror(-r));
}

int folder_of(const char *path, const char **ret_name, struct baro_error *err)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash + 1 - path) : 0;
    if (n >= sizeof(folder))
        return error_set(err, -ENAMETOOLONG, "%.100s...: %s", path, strerror(ENAMETOOLONG));
    memcpy(folder, path, n);
    folder[n] = 0;
    *ret_name = path + n;
    return folder_open(n ? folder : ".", false, err);
}

bool folder_holds(int dir_fd, const char *name, const struct stat *file)
{
    struct stat st;
    return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev == file->st_dev &&
           st.st_ino == file->st_ino;
}

int folder_remove(int dir_fd, const char *name, const struct stat *file)
{
    struct stat st;
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (st.st_dev != file->st_dev || st.st_ino != file->st_ino)
        return -ESTALE;
    return unlinkat(dir_fd, name, 0) < 0 ? -errno : 0;
}
