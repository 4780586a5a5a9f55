/* SPDX-License-Identifier: Apache-2.0 */
/* The limit of bytes for all tapes together. The oldest tapes of jobs that have ended are removed first, then the first
 * segments of the largest tapes. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "recorder/observe/state.h"

#define CHECK_NS (10 * NS_PER_SEC)

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static uint64_t bytes_of(int dir_fd, const char *name)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    uint64_t bytes = fd < 0 ? 0 : segments_bytes(fd);
    fd_close(fd);
    return bytes;
}

/* Removes the oldest tapes (names begin with a time), except those that are being written. */
static uint64_t remove_tapes(struct left_tapes *all, int dir_fd, uint64_t bytes, uint64_t most)
{
    if (all->n)
        qsort(all->at, all->n, sizeof(*all->at), by_name);
    for (size_t i = 0; i < all->n && bytes > most; i++) {
        uint64_t its = bytes_of(dir_fd, all->at[i]);
        if (segments_remove(dir_fd, all->at[i], false) == 0)
            bytes -= its < bytes ? its : bytes;
    }
    return bytes;
}

static uint64_t remove_segments(const struct jobs *j, uint64_t bytes, uint64_t most)
{
    while (bytes > most) {
        struct job_entry *largest = NULL;
        for (size_t i = 0; i < j->n; i++) {
            struct segments_writer *w = &j->at[i]->segments;
            if (w->list.n > 1 && (!largest || w->bytes > largest->segments.bytes))
                largest = j->at[i];
        }
        uint64_t its = largest ? segments_drop_first(&largest->segments) : 0;
        if (!its)
            return bytes;
        bytes -= its < bytes ? its : bytes;
    }
    return bytes;
}

void total_check(struct jobs *j)
{
    const struct jobs_options *o = j->options;
    uint64_t now = clock_monotonic_ns(), bytes = 0;
    struct left_tapes all;
    if (!o->total_bytes || now < j->total_due_ns)
        return;
    j->total_due_ns = now + CHECK_NS;
    left_list(&all, o->dir_fd);
    for (size_t i = 0; i < all.n; i++)
        bytes += bytes_of(o->dir_fd, all.at[i]);
    bytes = remove_tapes(&all, o->dir_fd, bytes, o->total_bytes);
    bytes = remove_segments(j, bytes, o->total_bytes);
    left_done(&all);
    if (bytes <= o->total_bytes || j->total_reported)
        return;
    j->total_reported = true;
    o->say(o->context, "the tapes take more than --total: each has one segment only, which is still written");
}
