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
    const char *const *patterns;                              /* patterns of control groups */
    size_t n_patterns;
    const char *tasks_dir; /* the folder of task files; NULL: none */
    /* Starts the program that reads a task file as a child process. Its lines (libbaro/rules/task_lines.h) come from
     * ret_fd. Returns its pid or a negative code. */
    int (*read_tasks)(const char *path, int *ret_fd);
    bool host;                    /* the machine is a job, too */
    struct record_options record; /* options of each job */
    struct segments_keep keep;    /* how much of each tape is kept */
    uint64_t total_bytes;         /* size of all tapes together; 0: no limit */
    uint64_t overhead_ppm;        /* budget of all jobs together; 0: no limit */
    bool no_events;
    void (*say)(void *context, const char *line);
    void *context;
};

/* Records until INT, TERM or HUP arrives. */
int jobs_run(const struct jobs_options *options, struct baro_error *err);

#endif
