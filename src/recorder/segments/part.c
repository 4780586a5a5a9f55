/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/segments/part.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "baro/runs.h"
#include "base/clock.h"
#include "base/fd.h"
#include "libbaro/tape/tail.h"

int part_open_newest(int dir_fd, struct baro_tape **ret)
{
    struct segments list = {0};
    int code = segments_list(dir_fd, &list);
    code = code < 0 ? code : BARO_E_EMPTY;
    for (size_t i = list.n; code == BARO_E_EMPTY && i-- > 0;) {
        char name[SEGMENT_NAME_SIZE];
        segment_name(list.at[i].number, name);
        int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        code = fd < 0 ? -errno : tape_open_fd(ret, fd, name, 0, NULL);
    }
    segments_done(&list);
    return code;
}

bool part_is_of_this_boot(const struct baro_header *h)
{
    char id[sizeof(h->boot_id)];
    ssize_t n = fd_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", id, sizeof(id) - 1);
    id[n > 0 ? n : 0] = 0;
    id[strcspn(id, "\n")] = 0;
    return n > 0 && strcmp(id, h->boot_id) == 0;
}

/* After another boot the wall clock alone says how much time has passed. */
void part_after(struct record_before *ret, const struct baro_tape *newest, uint64_t last_ns, uint32_t number)
{
    const struct baro_header *h = baro_tape_header(newest);
    uint64_t last = last_ns + (part_is_of_this_boot(h) ? h->start_boottime_ns : (uint64_t)h->start_realtime_ns);
    uint64_t now = part_is_of_this_boot(h) ? clock_boottime_ns() : (uint64_t)clock_realtime_ns();
    *ret = (struct record_before){.segment = number, .gap_ns = now > last ? now - last : 0};
    memcpy(ret->id, h->id, sizeof(h->id));
}

/* Others could put segments there, and root would write beside them. */
static int check_owner(int parent_fd, const char *name, const char *path, struct baro_error *err)
{
    struct stat st;
    if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (!S_ISDIR(st.st_mode))
        return error_set(err, -EEXIST, "%s is there and not a folder of segments; it is left alone", path);
    if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
        return error_set(err, -EPERM, "%s belongs to another user, or others may write to it; it is left alone", path);
    return 0;
}

static int read_before(int dir_fd, const struct segments_writer *w, struct record_before *ret)
{
    struct baro_tape_end end = {.size = sizeof(end)};
    struct baro_tape *newest;
    int code = part_open_newest(dir_fd, &newest);
    if (code < 0)
        return code;
    code = baro_tape_read_end(newest, &end, NULL);
    if (code >= 0)
        part_after(ret, newest, end.last_ns, w->list.at[w->list.n - 1].number);
    baro_tape_close(newest);
    return code;
}

int part_begin(struct segments_writer *ret, struct record_before *ret_before, int parent_fd, const char *name,
               const char *path, const struct segments_keep *keep, struct baro_error *err)
{
    int code = check_owner(parent_fd, name, path, err);
    if (code < 0)
        return code;
    int fd = segments_continue(ret, parent_fd, name, *keep, err);
    if (fd < 0)
        return fd;
    /* The segment that was just made is empty, so the newest that can be read is that of the part before. */
    code = read_before(ret->dir_fd, ret, ret_before);
    if (code >= 0)
        return fd;
    segments_take_back(ret);
    segments_writer_done(ret);
    fd_close(fd);
    return error_set(err, code, "can't go on in %s: its newest segment can't be read", path);
}
