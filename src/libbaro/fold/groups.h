/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control groups that a job is in, while they were watched: a cell for each metric of each, what they needed of
 * memory, and running sums over groups that are above each other.
 */
#ifndef LIBBARO_FOLD_GROUPS_H
#define LIBBARO_FOLD_GROUPS_H

#include <stddef.h>

#include "libbaro/fold/cell.h"
#include "libbaro/metric/ids.h"

struct baro_entity;
struct baro_sample;

/* The readings between which a counter rose. */
struct fold_rise {
    uint64_t from_ns, to_ns, by;
};

#define FOLD_RISES 8
#define FOLD_GROUPS 32 /* usually about five; more if the job was moved. Further ones are not watched */

struct fold_group {
    uint32_t id;
    uint32_t chain; /* number of the chain of groups that the job was in: its innermost groups and those above them. It
                     * is in another one each time it was moved */
    size_t length;  /* length of its path */
    char end[128];  /* the end of the path, or the whole path: as much as a truncated source keeps */
    char last[32];  /* the beginning of the last component of the path */
    char label[64]; /* which hierarchies see the job there, as on the tape */
    struct fold_cell cell[CGROUP_MAX];
    uint64_t before[CGROUP_MAX];           /* growth of each up to the reading before the last one */
    struct fold_rise oom_rise[FOLD_RISES]; /* growth of oom_kills; the last element stands for all that follow */
    size_t n_oom_rises;
    struct fold_cell self_refusals; /* refusals that hit the recorder, by the same readings */
    /* Under the present memory limit: */
    bool outlived_limit;         /* an earlier limit held while the group existed: its peak may be from then, */
    bool reading_is_due;         /* and so may be the growth up to the next reading */
    struct fold_cell memory;     /* what it held: readings, and the kernel's peak where it rose */
    struct fold_cell limit_hits; /* the metric memory_limit_hits */
    struct fold_cell needed;     /* anonymous and shared memory, and what the kernel can't give back */
    bool needed_has_kernel;      /* the latter is known */
    uint64_t needed_shared, needed_cache; /* shared memory and page cache when it needed the most */
    /* What can't be dropped, in the reading with the most of it; 0: not known. */
    struct fold_held {
        uint64_t anon, shmem, kernel;
    } held;
};

struct fold_groups {
    struct fold_group *at; /* in the order in which they were found */
    size_t n;
    uint32_t chains;
    uint64_t read_ns; /* the last reading */
    /* Time for which the job was throttled: at each reading, of groups that are above each other, that of the group
     * that was throttled most. */
    uint64_t throttled_ns;
    uint8_t throttled_absent;
    bool throttled_fell, pressure_fell[2]; /* the counter of a group fell at the last reading */
    uint64_t pressure_ns[2];               /* growth of I/O and memory pressure of the innermost group that has them */
    uint8_t pressure_absent[2];
    uint32_t pressure_group;
};

/* Adds a reading. Returns false if out of memory. */
bool fold_groups_add(struct fold_groups *all, const struct baro_sample *s);
/* The memory limit has changed: the peak of the groups so far, and how often they hit the limit, belong to the old
 * limit. */
void fold_groups_limit_changed(struct fold_groups *all);
/* How much a counter of a group grew in the last reading. */
uint64_t fold_group_rose(const struct fold_group *g, enum cgroup_metric metric);
void fold_groups_done(struct fold_groups *all);

#endif
