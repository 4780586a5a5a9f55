/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk through a directory and all below it, which adds up what its files take. What has several names is counted
 * once, other mounts are left out, and what vanishes meanwhile is not counted. It takes bounded memory: 32 MiB for
 * files with several names, 32 MiB for the names of directories that are still to be entered, and a descriptor for each
 * level of them. What does not fit, or can't be read, is counted in `unread`.
 */
#ifndef RECORDER_COLLECTORS_DIRECTORIES_WALK_H
#define RECORDER_COLLECTORS_DIRECTORIES_WALK_H

#include <stdbool.h>
#include <stdint.h>

struct walk_sums {
    uint64_t used, apparent;     /* bytes: allocated, directories included; size of regular files and symbolic links */
    uint64_t files, directories; /* files: all but directories */
    uint64_t unread;             /* entries that could not be read or were not counted: the others are lower bounds */
    uint64_t mount;              /* the mount that the directory is on: its id in mountinfo; 0: not known */
    uint32_t major, minor;       /* the device of its filesystem */
};

struct walk_options {
    const char *path;
    /* Called after each step, which is one or a few system calls; the walk goes on when it returns true. */
    bool (*step)(void *context, const struct walk_sums *so_far);
    void *context;
};

/* Returns 0, -errno of the directory itself, or -ECANCELED. */
int walk(const struct walk_options *options, struct walk_sums *ret);

#endif
