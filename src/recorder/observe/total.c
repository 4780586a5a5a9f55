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

/* Returns whether all were counted. */
static bool count_tapes(struct total *t, int dir_fd, uint64_t until_ns)
{
    if (!t->is_listed)
        left_list(&t->all, dir_fd);
    t->is_listed = true;
    while (t->n < t->all.n && clock_monotonic_ns() < until_ns)
        t->bytes += bytes_of(dir_fd, t->all.at[t->n++]);
    if (t->n < t->all.n)
        return false;
    if (t->all.n)
        qsort(t->all.at, t->all.n, sizeof(*t->all.at), by_name);
    t->n = 0;
    return true;
}

/* Removes the oldest tapes (names begin with a time), except those that are being written. Returns whether it is
 * through. */
static bool remove_tapes(struct total *t, int dir_fd, uint64_t most, uint64_t until_ns)
{
    while (t->n < t->all.n && t->bytes > most && clock_monotonic_ns() < until_ns) {
        const char *name = t->all.at[t->n++];
        uint64_t its = bytes_of(dir_fd, name);
        if (segments_remove(dir_fd, name, false) == 0)
            t->bytes -= its < t->bytes ? its : t->bytes;
    }
    return t->n == t->all.n || t->bytes <= most;
}

static uint64_t remove_segments(const struct jobs *j, uint64_t bytes, uint64_t most)
{
    while (bytes > most) {
        struct job_entry *largest = NULL;
        for (size_t i = 0; i < j->n; i++) {
            struct segments_writer *w = &j->at[i].entry->segments;
            if (w->list.n > 1 && (!largest || w->bytes > largest->segments.bytes))
                largest = j->at[i].entry;
        }
        uint64_t its = largest ? segments_drop_first(&largest->segments) : 0;
        if (!its)
            return bytes;
        bytes -= its < bytes ? its : bytes;
    }
    return bytes;
}

uint64_t total_check(struct jobs *j, uint64_t until_ns)
{
    const struct jobs_options *o = j->options;
    struct total *t = &j->total;
    if (!o->total_bytes)
        return CHECK_NS;
    t->is_counted = t->is_counted || count_tapes(t, o->dir_fd, until_ns);
    if (!t->is_counted || !remove_tapes(t, o->dir_fd, o->total_bytes, until_ns))
        return 0;
    uint64_t bytes = remove_segments(j, t->bytes, o->total_bytes);
    bool was_said = t->said;
    left_done(&t->all);
    *t = (struct total){.said = was_said || bytes > o->total_bytes};
    if (bytes > o->total_bytes && !was_said)
        o->say(o->context, "the tapes take more than --total: each has one segment only, which is still written");
    return CHECK_NS;
}
