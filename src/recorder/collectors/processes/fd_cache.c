/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/processes/fd_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/fd.h"

#define DESCRIPTORS 315u /* 63 processes with five files each, 157 with two */
#define JOBS_MANY 1024u  /* jobs of an observer for which descriptors are to be enough */
#define OTHER_FILES 14u  /* of one of them: its tape, its control groups */
#define JOB_MOST 20u     /* of one of them: an open file takes 4 KB of the kernel's memory */
#define WORTH_IT 2u      /* ticks in a row in which a process must have run before its files stay open */

static unsigned files_wanted(unsigned need)
{
    return 1 + !!(need & (BARO_SOURCE_STATUS | BARO_SOURCE_TASKS)) + !!(need & BARO_SOURCE_IO) +
           !!(need & BARO_SOURCE_SCHEDSTAT) + !!(need & BARO_SOURCE_FD);
}

int fd_cache_init(struct fd_cache *c, struct sampling *sampling)
{
    struct rlimit limit;
    uint64_t fds = DESCRIPTORS;
    *c = (struct fd_cache){.sampling = sampling};
    bool limited = getrlimit(RLIMIT_NOFILE, &limit) == 0;
    if (limited && limit.rlim_cur / 4 < fds)
        fds = limit.rlim_cur / 4;
    if (limited && sampling_is_shared(sampling)) {
        uint64_t share = limit.rlim_cur / JOBS_MANY, most = share > OTHER_FILES ? share - OTHER_FILES : 0;
        most = most < JOB_MOST ? most : JOB_MOST;
        fds = most < fds ? most : fds;
    }
    c->n = fds / files_wanted(sampling->need);
    if (!c->n)
        return 0;
    c->slots = calloc(c->n, sizeof(*c->slots));
    if (!c->slots)
        return -ENOMEM;
    for (size_t i = 0; i < c->n; i++)
        memset(c->slots[i].fd, -1, sizeof(c->slots[i].fd));
    return 0;
}

static void slot_clear(struct fd_slot *slot)
{
    for (size_t i = 0; i < FD_CACHE_FILES; i++)
        slot->fd[i] = fd_close(slot->fd[i]);
    if (slot->owner)
        slot->owner->reading.fds_at = 0;
    slot->owner = NULL;
}

void fd_cache_done(struct fd_cache *c)
{
    for (size_t i = 0; i < c->n; i++)
        slot_clear(&c->slots[i]);
    free(c->slots);
    c->slots = NULL;
    c->n = 0;
}

void fd_cache_drop(struct fd_cache *c, struct member *m)
{
    if (m->reading.fds_at)
        slot_clear(&c->slots[m->reading.fds_at - 1]);
}

static struct fd_slot *slot_for(struct fd_cache *c, struct member *m)
{
    if (m->reading.fds_at)
        return &c->slots[m->reading.fds_at - 1];
    if (m->reading.reads < WORTH_IT)
        return NULL;
    struct fd_slot *oldest = NULL;
    for (size_t i = 0; i < c->n; i++) {
        struct fd_slot *slot = &c->slots[i];
        if (!slot->owner) {
            oldest = slot;
            break;
        }
        if (slot->used_ns != c->sampling->now_ns && (!oldest || slot->used_ns < oldest->used_ns))
            oldest = slot;
    }
    if (!oldest)
        return NULL;
    slot_clear(oldest);
    oldest->owner = m;
    m->reading.fds_at = (uint32_t)(oldest - c->slots) + 1;
    return oldest;
}

ssize_t fd_cache_read(struct fd_cache *c, struct member *m, int which, const char *name, size_t cap)
{
    bool by_thread = m->reading.stand_in && which != FD_CACHE_STAT;
    struct fd_slot *slot = by_thread ? NULL : slot_for(c, m);
    if (!slot)
        return proc_read_record(c->sampling->options.proc_fd, by_thread ? m->reading.stand_in : m->row.key.pid, name,
                                c->sampling->text, cap);
    slot->used_ns = c->sampling->now_ns;
    if (slot->fd[which] < 0) {
        int fd = proc_open(c->sampling->options.proc_fd, m->row.key.pid, name, 0);
        if (fd < 0)
            return fd;
        slot->fd[which] = fd;
    }
    ssize_t n = pread(slot->fd[which], c->sampling->text, cap, 0);
    return n < 0 ? -errno : n;
}

int64_t fd_cache_count(struct fd_cache *c, struct member *m)
{
    if (m->reading.stand_in)
        return proc_count_fds(c->sampling->options.proc_fd, m->reading.stand_in);
    struct fd_slot *slot = slot_for(c, m);
    if (slot && slot->fd[FD_CACHE_FD] < 0)
        slot->fd[FD_CACHE_FD] = proc_open(c->sampling->options.proc_fd, m->row.key.pid, "fd", O_PATH | O_DIRECTORY);
    int64_t n = slot && slot->fd[FD_CACHE_FD] >= 0 ? proc_count_held_fds(slot->fd[FD_CACHE_FD]) : 0;
    return n > 0 ? n : proc_count_fds(c->sampling->options.proc_fd, m->row.key.pid);
}
