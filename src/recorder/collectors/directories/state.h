/* SPDX-License-Identifier: Apache-2.0 */
/* What the recorder and its worker share; private to this folder. */
#ifndef RECORDER_COLLECTORS_DIRECTORIES_STATE_H
#define RECORDER_COLLECTORS_DIRECTORIES_STATE_H

#include "recorder/collectors/directories/directory.h"
#include "recorder/collectors/directories/walk.h"
#include "recorder/helper/worker.h"

#define DIRECTORY_TYPE 32
#define DIRECTORY_SOURCE 256
#define DIRECTORY_LAST_MOST 100000000ull /* ns: how long the last walk of all directories is waited for */

/* The result of a walk. Times are of CLOCK_MONOTONIC. */
struct directory_reading {
    uint32_t absent;           /* reason why the sums are absent (enum baro_absent) */
    int32_t error;             /* errno */
    uint64_t begin_ns, end_ns; /* 0: there was none so far */
    uint64_t cpu_ns;
    struct walk_sums sums;
    char type[DIRECTORY_TYPE], source[DIRECTORY_SOURCE]; /* of the mount, as in mountinfo */
};

struct directory_slot {
    _Atomic uint32_t turn;          /* odd while now is written */
    _Atomic uint64_t not_before_ns; /* it hung: it is not walked before this time */
    _Atomic uint64_t found;         /* entries that the current walk has found; 0: no walk */
    struct directory_reading now;
};

struct directories_shared {
    struct worker_shared worker;
    _Atomic bool last;   /* the last walk of all directories was requested */
    _Atomic uint32_t at; /* the directory that is walked, counted from 1; 0: none */
    struct directory_slot slot[DIRECTORIES_MOST];
};

/* The worker's arguments, valid since the fork. */
struct directories_plan {
    struct directories_options options;
    const char *path[DIRECTORIES_MOST];
    size_t n;
};

/* directories_child.c: the worker. Its context is a struct directories_plan. */
void directories_live(const struct worker_child *c);

#endif
