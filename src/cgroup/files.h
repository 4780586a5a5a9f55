/* SPDX-License-Identifier: Apache-2.0 */
/* Which files of a group are read, and into which metrics; for cgroup.c. */
#ifndef CGROUP_FILES_H
#define CGROUP_FILES_H

#include "cgroup/cgroup.h"

#define GROUP_METRICS 9u

/* What a parser of a file is given. */
struct group_text {
    struct baro_entity *e;
    struct span text;
    bool v2;
    const struct cgroups_options *options;
    uint64_t *period_us;  /* of v1's quota */
    cgroup_device_fn *counts; /* is this device to be counted? */
    void *context;
};

struct group_file {
    const char *v2, *v1;             /* NULL: there is none */
    enum cgroup_controller at;
    /* COUNTS: as FAST, and at the last look whatever it cost before: it counts what ends a job, and the kernel sums up
     * nothing for it. SLOW: not more than once in SLOW_NS. EXPENSIVE: it may take seconds: left to the helper, see
     * cgroup_helper.c */
    enum { FAST, COUNTS, SLOW, EXPENSIVE } pace;
    bool (*take)(const struct group_text *t);
    int8_t metric[GROUP_METRICS];    /* enum cgroup_metric of what it holds, + 1; 0: no more */
};

/* In this order: what two files hold, the later one that is there decides. */
extern const struct group_file group_files[];
extern const size_t group_files_n;
#define GROUP_FILES_MAX 28u

#endif
