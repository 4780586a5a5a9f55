/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Held descriptors of what runs. Reading a held file of /proc/PID costs half of opening it anew, and answers ESRCH once
 * its process is gone. Each holds 5 kB of kernel memory that is charged to the recorder's cgroup, often the job's own:
 * hence the small number.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/fd.h"
#include "collect/sampler.h"

#define CACHE_FDS 315u /* 63 processes with five files each, 157 with two */
#define WORTH_IT 2u    /* ticks in a row in which a process ran */

static unsigned files_wanted(unsigned need)
{
    return 1 + !!(need & (BARO_SOURCE_STATUS | BARO_SOURCE_TASKS)) + !!(need & BARO_SOURCE_IO) +
           !!(need & BARO_SOURCE_SCHEDSTAT) + !!(need & BARO_SOURCE_FD);
}

int cache_init(struct sampler *s)
{
    struct rlimit limit;
    uint64_t fds = CACHE_FDS;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 4 < fds)
        fds = limit.rlim_cur / 4;
    s->n_slots = fds / files_wanted(s->need);
    if (!s->n_slots)
        return 0;
    s->slots = calloc(s->n_slots, sizeof(*s->slots));
    if (!s->slots)
        return -ENOMEM;
    for (size_t i = 0; i < s->n_slots; i++)
        memset(s->slots[i].fd, -1, sizeof(s->slots[i].fd));
    return 0;
}

static void slot_clear(struct fd_slot *slot)
{
    for (size_t i = 0; i < CACHE_FILES; i++)
        slot->fd[i] = fd_close(slot->fd[i]);
    if (slot->owner)
        slot->owner->note.fds_at = 0;
    slot->owner = NULL;
}

void cache_done(struct sampler *s)
{
    for (size_t i = 0; i < s->n_slots; i++)
        slot_clear(&s->slots[i]);
    free(s->slots);
    s->slots = NULL;
    s->n_slots = 0;
}

void cache_drop(struct sampler *s, struct member *m)
{
    if (m->note.fds_at)
        slot_clear(&s->slots[m->note.fds_at - 1]);
}

static struct fd_slot *slot_for(struct sampler *s, struct member *m)
{
    if (m->note.fds_at)
        return &s->slots[m->note.fds_at - 1];
    if (m->note.reads < WORTH_IT)
        return NULL;
    struct fd_slot *oldest = NULL;
    for (size_t i = 0; i < s->n_slots; i++) {
        struct fd_slot *slot = &s->slots[i];
        if (!slot->owner) {
            oldest = slot;
            break;
        }
        if (slot->used_ns != s->now_ns && (!oldest || slot->used_ns < oldest->used_ns))
            oldest = slot;
    }
    if (!oldest)
        return NULL;
    slot_clear(oldest);
    oldest->owner = m;
    m->note.fds_at = (uint32_t)(oldest - s->slots) + 1;
    return oldest;
}

ssize_t cache_read(struct sampler *s, struct member *m, int which, const char *name, size_t cap)
{
    struct fd_slot *slot = slot_for(s, m);
    if (!slot)
        return proc_read_record(s->options.proc_fd, m->row.key.pid, name, s->text, cap);
    slot->used_ns = s->now_ns;
    if (slot->fd[which] < 0) {
        int fd = proc_open(s->options.proc_fd, m->row.key.pid, name, 0);
        if (fd < 0)
            return fd;
        slot->fd[which] = fd;
    }
    ssize_t n = pread(slot->fd[which], s->text, cap, 0);
    return n < 0 ? -errno : n;
}

int64_t cache_count_fds(struct sampler *s, struct member *m)
{
    struct fd_slot *slot = slot_for(s, m);
    if (slot && slot->fd[CACHE_FD] < 0)
        slot->fd[CACHE_FD] = proc_open(s->options.proc_fd, m->row.key.pid, "fd", O_PATH | O_DIRECTORY);
    int64_t n = slot && slot->fd[CACHE_FD] >= 0 ? proc_count_held_fds(slot->fd[CACHE_FD]) : 0;
    return n > 0 ? n : proc_count_fds(s->options.proc_fd, m->row.key.pid);
}
