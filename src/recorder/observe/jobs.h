/* SPDX-License-Identifier: Apache-2.0 */
/* The jobs that `baro observe` records. */
#ifndef RECORDER_OBSERVE_JOBS_H
#define RECORDER_OBSERVE_JOBS_H

#include "libbaro/tape/segments.h"
#include "recorder/observe/observer.h"

struct jobs_options {
    int dir_fd;                                               /* the folder of the tapes; borrowed */
    const char *dir;                                          /* its path */
    int (*open_dir)(const char *dir, struct baro_error *err); /* makes, opens and locks it */
    const char *const *patterns;                              /* of control groups */
    size_t n_patterns;
    const char *tasks_dir; /* of task files; NULL: none */
    /* Starts the program that reads a task file, whose lines (recorder/select/task_file.h) come from ret_fd, as a child
     * process. Returns its pid or a negative code. */
    int (*read_tasks)(const char *path, int *ret_fd);
    bool host;                    /* the machine is a job as well */
    struct record_options record; /* what holds for each job */
    struct segments_keep keep;    /* of each tape */
    uint64_t total_bytes;         /* of all tapes together; 0: no limit */
    uint64_t overhead_ppm;        /* for all jobs together; 0: no limit */
    bool no_events;
    void (*say)(void *context, const char *line);
    void *context;
};

/* Records until INT, TERM or HUP arrives. */
int jobs_run(const struct jobs_options *options, struct baro_error *err);

#endif
