/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which segments a recorder makes and which it removes. Example: `--keep 1h` begins a segment each 3 min 45 s and
 * removes the first one once the second one began an hour ago, so the tape has at least the last hour and at most
 * 3 min 45 s more. `--keep 512MB` begins one after each 32 MB, and removes the first one once all take more than
 * 512 MB.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "libbaro/tape/create.h"
#include "libbaro/tape/folder.h"
#include "libbaro/tape/segments.h"

#define BYTES_LEAST (64u << 10) /* a segment has more, so that its header and first sample are a small part of it */

static uint64_t share_bytes(const struct segments_writer *w)
{
    uint64_t share = w->keep.bytes / SEGMENTS_SHARE;
    return share > BYTES_LEAST ? share : BYTES_LEAST;
}

bool segments_due(const struct segments_writer *w, uint64_t t_ns, uint64_t bytes)
{
    if (w->dir_fd < 0)
        return false;
    return (w->keep.ns && t_ns >= w->began_ns + w->keep.ns / SEGMENTS_SHARE) ||
           (w->keep.bytes && bytes >= share_bytes(w));
}

static int create_segment(struct segments_writer *w, uint32_t number, const char *path, struct baro_error *err)
{
    char name[SEGMENT_NAME_SIZE];
    struct tape_file file;
    segment_name(number, name);
    int dir = fcntl(w->dir_fd, F_DUPFD_CLOEXEC, 0);
    int fd = dir < 0 ? -errno : tape_file_create(&file, dir, name, path, false, err);
    if (fd < 0)
        return fd;
    int r = segments_add(&w->list, number, &file.file);
    if (r < 0) {
        tape_file_remove(&file);
        fd = fd_close(fd);
    }
    tape_file_done(&file);
    return r < 0 ? error_set(err, r, "out of memory") : fd;
}

/* Makes the folder of a tape. If it exists, it has the segments of another recording; replace: these are removed. */
static int make_folder(int parent_fd, const char *name, const char *path, bool replace, struct baro_error *err)
{
    int r = mkdirat(parent_fd, name, 0700) < 0 ? -errno : 0;
    if (r == -EEXIST && replace) {
        r = segments_remove(parent_fd, name, false);
        if (r == -EBUSY)
            return error_set(err, r, "%s is still being written by another recorder; it is left alone", path);
        if (r < 0)
            return error_set(err, -EEXIST, "%s is there and not a tape in segments; it is left alone", path);
        r = mkdirat(parent_fd, name, 0700) < 0 ? -errno : 0;
    }
    if (r == -EEXIST)
        return error_set(err, r, "%s exists; --force replaces it", path);
    return r < 0 ? error_set(err, r, "can't make %s: %s", path, strerror(-r)) : 0;
}

int segments_create(struct segments_writer *ret, int parent_fd, const char *name, const char *path, bool replace,
                    struct segments_keep keep, struct baro_error *err)
{
    *ret = (struct segments_writer){.dir_fd = -1, .keep = keep};
    int r = make_folder(parent_fd, name, path, replace, err);
    if (r < 0)
        return r;
    ret->dir_fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    r = ret->dir_fd < 0 ? error_set(err, -errno, "can't open %s: %s", path, strerror(errno))
                        : create_segment(ret, 1, path, err);
    if (r < 0) {
        unlinkat(parent_fd, name, AT_REMOVEDIR);
        segments_writer_done(ret);
    }
    return r;
}

int segments_continue(struct segments_writer *ret, int parent_fd, const char *name, struct segments_keep keep,
                      struct baro_error *err)
{
    *ret = (struct segments_writer){.keep = keep};
    ret->dir_fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r = ret->dir_fd < 0 ? -errno : segments_list(ret->dir_fd, &ret->list);
    if (r == 0)
        r = -ENOENT;
    if (r > 0 && segments_in_work(ret->dir_fd))
        r = -EBUSY;
    /* All begin at 0, the latest that it can be in the time of this part, so that none is removed too early. */
    ret->n_left = ret->list.n;
    for (size_t i = 0; i < ret->list.n; i++)
        ret->bytes += (uint64_t)ret->list.at[i].file.st_size;
    r = r < 0 ? error_set(err, r, "can't go on in %s: %s", name, strerror(-r))
              : create_segment(ret, ret->list.at[ret->list.n - 1].number + 1, name, err);
    if (r < 0)
        segments_writer_done(ret);
    return r;
}

int segments_next(struct segments_writer *w, uint64_t t_ns, uint64_t bytes)
{
    int fd = create_segment(w, w->list.at[w->list.n - 1].number + 1, "", NULL);
    if (fd < 0)
        return fd;
    struct segment *last = &w->list.at[w->list.n - 1];
    last->first_ns = t_ns;
    last[-1].file.st_size = (off_t)bytes;
    w->bytes += bytes;
    w->began_ns = t_ns;
    return fd;
}

static int remove_at(const struct segments_writer *w, size_t i)
{
    char name[SEGMENT_NAME_SIZE];
    segment_name(w->list.at[i].number, name);
    return folder_remove(w->dir_fd, name, &w->list.at[i].file);
}

void segments_take_back(struct segments_writer *w)
{
    remove_at(w, --w->list.n);
    struct segment *last = &w->list.at[w->list.n - 1];
    w->bytes -= (uint64_t)last->file.st_size;
    w->began_ns = last->first_ns;
}

uint64_t segments_drop_first(struct segments_writer *w)
{
    if (w->list.n < 2)
        return 0;
    uint64_t bytes = (uint64_t)w->list.at[0].file.st_size;
    remove_at(w, 0);
    w->bytes -= bytes;
    w->n_left -= w->n_left > 0;
    memmove(w->list.at, w->list.at + 1, --w->list.n * sizeof *w->list.at);
    return bytes;
}

/* Was a segment of a recorder before this one written last so long ago? Of a machine that is started again once a week
 * nothing would be removed otherwise. */
static bool is_outdated(const struct segments_writer *w)
{
    uint64_t now_s = (uint64_t)clock_realtime_ns() / NS_PER_SEC;
    return w->keep.ns && w->n_left && (uint64_t)w->list.at[0].file.st_mtime + w->keep.ns / NS_PER_SEC < now_s;
}

void segments_thin(struct segments_writer *w, uint64_t t_ns, uint64_t bytes)
{
    while (w->dir_fd >= 0 && w->list.n > 1) {
        bool old = is_outdated(w) || (w->keep.ns && w->list.at[1].first_ns + w->keep.ns <= t_ns);
        bool large = w->keep.bytes && w->bytes + bytes > w->keep.bytes;
        if (!old && !large)
            return;
        segments_drop_first(w);
    }
}

int segments_roll(struct segments_writer *w, uint64_t t_ns, uint64_t bytes)
{
    segments_thin(w, t_ns, bytes);
    if (t_ns < w->retry_ns || !segments_due(w, t_ns, bytes))
        return -EAGAIN;
    int fd = segments_next(w, t_ns, bytes);
    if (fd < 0)
        w->retry_ns = t_ns + NS_PER_SEC;
    return fd;
}

void segments_writer_done(struct segments_writer *w)
{
    w->dir_fd = fd_close(w->dir_fd);
    segments_done(&w->list);
}
