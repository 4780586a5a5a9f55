/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a group's files and of the metrics that they have; for cgroup.c. */
#ifndef RECORDER_COLLECTORS_CGROUPS_FILES_H
#define RECORDER_COLLECTORS_CGROUPS_FILES_H

#include "recorder/collectors/cgroups/cgroup.h"

#define GROUP_METRICS 9u

/* The arguments of a file's parser. */
struct group_text {
    struct baro_entity *e;
    struct span text;
    bool v2;
    const struct cgroups_options *options;
    uint64_t *period_us;      /* the period that belongs to v1's quota */
    cgroup_device_fn *counts; /* is the I/O of this device counted? */
    void *context;
};

struct group_file {
    const char *v2, *v1; /* names of the file; NULL: that version has none */
    enum cgroup_controller at;
    /* How often the file is read, apart from its cost. COUNTS: like FAST, and always in the last tick, whatever its
     * cost before: it counts what ends a job, and the kernel does not sum up anything for it. SLOW: at most once in
     * SLOW_NS. EXPENSIVE: may take seconds, so the helper reads it (ask_helper.c). */
    enum { FAST, COUNTS, SLOW, EXPENSIVE } pace;
    bool (*take)(const struct group_text *t);
    int8_t metric[GROUP_METRICS]; /* enum cgroup_metric + 1 of its metrics; 0: no more */
};

/* The files in the order in which they are read: a later one overwrites a metric that an earlier one has, too. */
extern const struct group_file group_files[];
extern const size_t group_files_n;
size_t group_file_of(enum cgroup_metric id); /* the index of the first file that has the metric */
#define GROUP_FILES_MAX 29u

#endif
