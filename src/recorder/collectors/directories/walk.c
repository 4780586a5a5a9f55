/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/directories/walk.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/dir.h"
#include "base/fd.h"
#include "recorder/collectors/directories/links.h"

#define NAMES_MOST (32u << 20) /* bytes of names of directories that are still to be entered */
#define LEVELS_MOST 65536u
#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | O_NOATIME)
#define BLOCK 512u /* unit of stx_blocks */

#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x1000u /* Linux 5.8 */
#endif

/* A directory that was read, and whose directories are entered one after the other. */
struct level {
    int fd;
    size_t names; /* its names begin here */
};

struct walking {
    const struct walk_options *o;
    struct walk_sums *sums;
    struct links links;
    struct buf names; /* of directories, each with a NUL and its length, so that the last one can be taken */
    struct level *level;
    size_t n_levels, cap_levels;
    int fd; /* the directory that is read */
    struct statx root;
    bool cancelled;
};

/* O_NOATIME is refused for directories of others. */
static int open_directory(int parent, const char *path, int flags)
{
    int fd = openat(parent, path, OPEN_DIRECTORY | flags);
    if (fd < 0 && errno == EPERM)
        fd = openat(parent, path, (OPEN_DIRECTORY | flags) & ~O_NOATIME);
    return fd < 0 ? -errno : fd;
}

static bool is_vanished(int error)
{
    return error == ENOENT;
}

static bool has_mount(const struct statx *st)
{
    return st->stx_mask & STATX_MNT_ID;
}

/* stx_mnt_id, which the struct of musl has no name for. */
static uint64_t mount_of(const struct statx *st)
{
    uint64_t id;
    static_assert(sizeof(*st) == 256, "as the kernel has it");
    memcpy(&id, (const char *)st + 0x90, sizeof(id));
    return id;
}

/* What is mounted there is not part of the directory. A file of an overlay may have another device than its directory
 * has. */
static bool is_elsewhere(const struct walking *w, const struct statx *st)
{
    if (has_mount(st) && has_mount(&w->root) && mount_of(st) != mount_of(&w->root))
        return true;
    return S_ISDIR(st->stx_mode) &&
           (st->stx_dev_major != w->root.stx_dev_major || st->stx_dev_minor != w->root.stx_dev_minor);
}

static void count_file(struct walking *w, const struct statx *st)
{
    if (st->stx_nlink > 1) {
        uint64_t device = (uint64_t)st->stx_dev_major << 32 | st->stx_dev_minor;
        enum links_answer answer = links_add(&w->links, device, st->stx_ino);
        w->sums->unread += answer == LINKS_FULL;
        if (answer != LINKS_NEW)
            return;
    }
    w->sums->files++;
    w->sums->used += st->stx_blocks * BLOCK;
    if (S_ISREG(st->stx_mode) || S_ISLNK(st->stx_mode))
        w->sums->apparent += st->stx_size;
}

static void push_name(struct walking *w, const char *name, size_t len)
{
    uint16_t length = (uint16_t)len;
    if (len > UINT16_MAX || w->names.len + len + sizeof(length) + 1 > NAMES_MOST) {
        w->sums->unread++;
        return;
    }
    size_t before = w->names.len;
    buf_add(&w->names, name, len);
    buf_byte(&w->names, 0);
    buf_add(&w->names, &length, sizeof(length));
    if (!w->names.failed)
        return;
    w->names.len = before;
    w->names.failed = false;
    w->sums->unread++;
}

/* The last name of the level; it is valid until another one is added. */
static const char *pop_name(struct walking *w)
{
    uint16_t length;
    w->names.len -= sizeof(length);
    memcpy(&length, w->names.at + w->names.len, sizeof(length));
    w->names.len -= (size_t)length + 1;
    return (const char *)w->names.at + w->names.len;
}

static bool walk_step(struct walking *w)
{
    w->cancelled = w->cancelled || !w->o->step(w->o->context, w->sums);
    return !w->cancelled;
}

static bool on_name(void *context, const char *name, size_t len)
{
    struct walking *w = context;
    struct statx st;
    if (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')))
        return true;
    if (statx(w->fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BASIC_STATS | STATX_MNT_ID, &st) < 0)
        w->sums->unread += !is_vanished(errno);
    else if (is_elsewhere(w, &st))
        return walk_step(w);
    else if (S_ISDIR(st.stx_mode))
        push_name(w, name, len);
    else
        count_file(w, &st);
    return walk_step(w);
}

static bool push_level(struct walking *w, int fd, size_t names)
{
    struct level *at =
        w->n_levels < LEVELS_MOST ? array_room(w->level, w->n_levels, &w->cap_levels, sizeof(*at)) : NULL;
    if (!at)
        return false;
    w->level = at;
    w->level[w->n_levels++] = (struct level){fd, names};
    return true;
}

/* Counts a directory and reads it; takes its descriptor. */
static void read_directory(struct walking *w, int fd, const struct statx *st)
{
    size_t names = w->names.len;
    w->sums->directories++;
    w->sums->used += st->stx_blocks * BLOCK;
    w->fd = fd;
    int code = dir_each(fd, on_name, w);
    w->sums->unread += code < 0 && !is_vanished(-code);
    if (w->names.len > names && push_level(w, fd, names))
        return;
    w->sums->unread += w->names.len > names;
    w->names.len = names;
    fd_close(fd);
}

/* Enters a directory that was found. Others may have put something else there since. */
static void enter(struct walking *w, int parent, const char *name)
{
    struct statx st;
    int fd = open_directory(parent, name, O_NOFOLLOW);
    if (fd < 0) {
        bool there = statx(parent, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &st) == 0;
        if (there && S_ISDIR(st.stx_mode)) { /* a directory that may not be read still counts as one */
            w->sums->directories++;
            w->sums->used += st.stx_blocks * BLOCK;
        }
        w->sums->unread += !is_vanished(-fd);
        return;
    }
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_MNT_ID, &st) == 0 && !is_elsewhere(w, &st))
        read_directory(w, fd, &st);
    else
        fd_close(fd);
}

static void descend(struct walking *w)
{
    while (w->n_levels && walk_step(w)) {
        struct level *l = &w->level[w->n_levels - 1];
        int parent = l->fd;
        const char *name = pop_name(w);
        bool last = w->names.len == l->names;
        w->n_levels -= last;
        enter(w, parent, name);
        if (last)
            fd_close(parent);
    }
    while (w->n_levels)
        fd_close(w->level[--w->n_levels].fd);
}

int walk(const struct walk_options *options, struct walk_sums *ret)
{
    struct walking w = {.o = options, .sums = ret};
    *ret = (struct walk_sums){0};
    int fd = open_directory(AT_FDCWD, options->path, 0);
    if (fd < 0)
        return fd;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_MNT_ID, &w.root) < 0) {
        int error = errno;
        fd_close(fd);
        return -error;
    }
    ret->mount = has_mount(&w.root) ? mount_of(&w.root) : 0;
    ret->major = w.root.stx_dev_major;
    ret->minor = w.root.stx_dev_minor;
    read_directory(&w, fd, &w.root);
    descend(&w);
    links_done(&w.links);
    buf_done(&w.names);
    free(w.level);
    return w.cancelled ? -ECANCELED : 0;
}
