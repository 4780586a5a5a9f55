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
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/min_max.h"
#include "libbaro/tape/create.h"
#include "libbaro/tape/folder.h"
#include "libbaro/tape/segments.h"

#define RESERVE_MOST 1000000000u
#define BYTES_LEAST (64u << 10) /* a segment has more, so that its header and first sample are a small part of it */

static uint64_t share_bytes(uint64_t of)
{
    uint64_t share = of / SEGMENTS_SHARE;
    return share > BYTES_LEAST ? share : BYTES_LEAST;
}

/* A segment is thinned as a whole, so it is short beside the time after which it is. */
static uint64_t share_ns(const struct segments_writer *w)
{
    uint64_t of_keep = w->keep.ns / SEGMENTS_SHARE, of_thin = w->keep.thin_ns / (SEGMENTS_SHARE / 2);
    return !of_thin || (of_keep && of_keep < of_thin) ? of_keep : of_thin;
}

bool segments_due(const struct segments_writer *w, uint64_t t_ns, uint64_t bytes)
{
    if (w->dir_fd < 0)
        return false;
    return (share_ns(w) && t_ns - w->began_ns >= share_ns(w)) ||
           (w->keep.bytes && bytes >= share_bytes(w->keep.bytes)) || (w->capacity && bytes >= share_bytes(w->capacity));
}

/* Only the owner of a file may do this, and a group can read it only if this succeeds. */
static void let_group_read(const struct segments_writer *w, int fd, mode_t mode)
{
    if (w->keep.gid == SEGMENTS_NO_GROUP || fchown(fd, (uid_t)-1, w->keep.gid) == 0)
        fchmod(fd, mode);
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
    if (w->keep.is_shared)
        let_group_read(w, fd, 0640);
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
    if (ret->dir_fd >= 0 && keep.is_shared)
        let_group_read(ret, ret->dir_fd, 0750);
    r = ret->dir_fd < 0 ? error_set(err, -errno, "can't open %s: %s", path, strerror(errno))
                        : create_segment(ret, 1, path, err);
    if (r < 0) {
        unlinkat(parent_fd, name, AT_REMOVEDIR);
        segments_writer_done(ret);
    }
    return r;
}

/* A segment of the part before began when the one before it was written last, in the time of this part: below 0. */
static void set_ages(struct segments_writer *w)
{
    int64_t now_ns = clock_realtime_ns(), age_ns = 0;
    for (size_t i = w->list.n; i-- > 0;) {
        const struct timespec *last = i ? &w->list.at[i - 1].file.st_mtim : &w->list.at[i].file.st_mtim;
        int64_t since_ns = now_ns - (last->tv_sec * (int64_t)NS_PER_SEC + last->tv_nsec);
        age_ns = since_ns > age_ns ? since_ns : age_ns; /* the clock may have been set */
        w->list.at[i].first_ns = 0 - (uint64_t)age_ns;
        w->bytes += (uint64_t)w->list.at[i].file.st_size;
    }
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
    set_ages(ret);
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

/* The thinner puts other files in the place of segments. */
static void read_again(struct segments_writer *w, size_t n)
{
    for (size_t i = 0; i < n && i + 1 < w->list.n; i++) {
        char name[SEGMENT_NAME_SIZE];
        struct stat st;
        segment_name(w->list.at[i].number, name);
        if (fstatat(w->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
            continue;
        w->bytes -= (uint64_t)(w->list.at[i].file.st_size - st.st_size);
        w->list.at[i].file = st;
    }
}

static int remove_at(struct segments_writer *w, size_t i)
{
    char name[SEGMENT_NAME_SIZE];
    segment_name(w->list.at[i].number, name);
    if (w->keep.thin_ns)
        read_again(w, i + 1);
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
    remove_at(w, 0);
    uint64_t bytes = (uint64_t)w->list.at[0].file.st_size;
    w->bytes -= bytes;
    memmove(w->list.at, w->list.at + 1, --w->list.n * sizeof *w->list.at);
    return bytes;
}

static uint64_t age_of_end(const struct segments_writer *w, size_t i, uint64_t t_ns)
{
    return t_ns - w->list.at[i + 1].first_ns;
}

void segments_drop_old(struct segments_writer *w, uint64_t t_ns, uint64_t bytes)
{
    while (w->dir_fd >= 0 && w->list.n > 1) {
        bool old = w->keep.ns && age_of_end(w, 0, t_ns) >= w->keep.ns;
        bool large = w->keep.bytes && w->bytes + bytes > w->keep.bytes;
        if (large && w->keep.thin_ns) {
            read_again(w, w->list.n);
            large = w->bytes + bytes > w->keep.bytes;
        }
        if (!old && !large)
            return;
        segments_drop_first(w);
    }
}

/* ---- thinning ---- */

/* The thinner may have put a segment back that was removed meanwhile. */
static void remove_returned(const struct segments_writer *w)
{
    struct segments there = {0};
    if (segments_list(w->dir_fd, &there) > 0)
        for (size_t i = 0; i < there.n && there.at[i].number < w->list.at[0].number; i++) {
            char name[SEGMENT_NAME_SIZE];
            segment_name(there.at[i].number, name);
            folder_remove(w->dir_fd, name, &there.at[i].file);
        }
    segments_done(&there);
}

/* Starts the thinner if a segment has become old. It takes all old ones, so one that it has failed to thin is thinned
 * the next time. */
static void thin_old(struct segments_writer *w, uint64_t t_ns)
{
    size_t n = 0;
    while (n + 1 < w->list.n && age_of_end(w, n, t_ns) >= w->keep.thin_ns)
        n++;
    if (!n || w->list.at[n - 1].number <= w->thinned)
        return;
    read_again(w, n);
    remove_returned(w);
    w->thinned = w->list.at[n - 1].number;
    segments_start_thinning(w->dir_fd, &w->keep);
}

/* ---- a full file system ---- */

/* However little room there is, so much of the newest segments stays: they are what somebody needs who wants to know
 * what has filled it. */
static uint64_t kept_anyway(uint64_t size)
{
    const uint64_t most = 16u << 20;
    return size / 64 < most ? size / 64 : most;
}

/* Removes the first segments while less than the reserve is free. Example: of a file system of 10 GB 300 MB are free,
 * 200 MB less than the 5 % that are to be: segments go until these are free, or until 16 MB of the newest are left. */
static void keep_reserve(struct segments_writer *w, uint64_t bytes)
{
    struct statvfs fs;
    if (!w->keep.reserve || fstatvfs(w->dir_fd, &fs) < 0 || !fs.f_blocks)
        return;
    uint64_t size = (uint64_t)fs.f_blocks * fs.f_frsize, room = (uint64_t)fs.f_bavail * fs.f_frsize;
    uint64_t reserve = w->keep.reserve == SEGMENTS_RESERVE_AUTO ? min_u64(size / 20, RESERVE_MOST) : w->keep.reserve;
    while (room < reserve && w->list.n > 1 &&
           w->bytes + bytes - (uint64_t)w->list.at[0].file.st_size >= kept_anyway(size)) {
        room += segments_drop_first(w);
        w->given_up++;
    }
    w->capacity = w->bytes + bytes + (room > reserve ? room - reserve : 0);
}

void segments_make_room(struct segments_writer *w)
{
    w->given_up += segments_drop_first(w) > 0;
}

unsigned segments_given_up(struct segments_writer *w)
{
    unsigned n = w->given_up;
    w->given_up = 0;
    return n;
}

/* ---- all of it ---- */

int segments_roll(struct segments_writer *w, uint64_t t_ns, uint64_t bytes)
{
    segments_drop_old(w, t_ns, bytes);
    if (w->dir_fd >= 0 && t_ns >= w->room_ns) {
        w->room_ns = t_ns + NS_PER_SEC;
        keep_reserve(w, bytes);
        if (w->keep.thin_ns)
            thin_old(w, t_ns);
    }
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
