/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/segments/next_part.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "libbaro/tape/tail.h"

int segments_newest(int dir_fd, struct baro_tape **ret)
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

bool header_is_of_this_boot(const struct baro_header *h)
{
    char id[sizeof(h->boot_id)];
    ssize_t n = fd_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", id, sizeof(id) - 1);
    id[n > 0 ? n : 0] = 0;
    id[strcspn(id, "\n")] = 0;
    return n > 0 && strcmp(id, h->boot_id) == 0;
}

/* The wall clock alone goes on when the machine is started again. */
static uint64_t gap_since(const struct baro_header *h, uint64_t last_ns)
{
    bool same = header_is_of_this_boot(h);
    int64_t now = same ? (int64_t)clock_boottime_ns() : clock_realtime_ns();
    int64_t last = (same ? (int64_t)h->start_boottime_ns : h->start_realtime_ns) + (int64_t)last_ns;
    return now > last ? (uint64_t)(now - last) : 0;
}

int segments_next_part(struct segments_writer *w, int parent_fd, const char *name, const struct baro_header *h,
                       uint64_t last_ns, struct segments_keep keep, struct record_before *ret, struct baro_error *err)
{
    int fd = segments_continue(w, parent_fd, name, keep, err);
    if (fd < 0)
        return fd;
    *ret = (struct record_before){.segment = w->list.at[w->list.n - 1].number, .gap_ns = gap_since(h, last_ns)};
    memcpy(ret->id, h->id, sizeof(h->id));
    return fd;
}
