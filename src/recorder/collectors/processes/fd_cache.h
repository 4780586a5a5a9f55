/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open descriptors of files of /proc/PID, for processes that run often. Reading an open file costs half of opening it
 * each time, and fails with ESRCH once its process has ended. Each descriptor holds 5 kB of kernel memory, which is
 * charged to the recorder's control group, often the job's own: so there are few of them.
 */
#ifndef RECORDER_COLLECTORS_PROCESSES_FD_CACHE_H
#define RECORDER_COLLECTORS_PROCESSES_FD_CACHE_H

#include "recorder/sampling/sampling.h"

enum { FD_CACHE_STAT, FD_CACHE_STATUS, FD_CACHE_IO, FD_CACHE_SCHEDSTAT, FD_CACHE_FD, FD_CACHE_FILES };

struct fd_slot {
    struct member *owner;
    uint64_t used_ns;
    int fd[FD_CACHE_FILES];
};

struct fd_cache {
    struct sampling *sampling;
    struct fd_slot *slots;
    size_t n;
};

int fd_cache_init(struct fd_cache *c, struct sampling *sampling);
void fd_cache_done(struct fd_cache *c);
void fd_cache_drop(struct fd_cache *c, struct member *m);

/* Reads a file of /proc/PID into sampling->text. Returns its length or -errno. */
ssize_t fd_cache_read(struct fd_cache *c, struct member *m, int which, const char *name, size_t cap);

/* Returns the number of open descriptors of the process, or -errno. */
int64_t fd_cache_count(struct fd_cache *c, struct member *m);

#endif
