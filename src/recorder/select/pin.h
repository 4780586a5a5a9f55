/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pins: processes that belong to a task because they were named, by pid, PID file or control group, whatever their
 * commands are. Their descendants belong to the task as well.
 *
 * A PID file is read again and again: when it appears, or another process writes its pid to it, that process joins. A
 * process that started after the file was written is another process, which has the pid of one that has ended.
 */
#ifndef RECORDER_SELECT_PIN_H
#define RECORDER_SELECT_PIN_H

#include "kernel/cgroup/walk.h"
#include "libbaro/rules/task_lines.h"
#include "recorder/select/watch.h"

struct select_shared;

/* targets_there.c: are the processes and control groups there that are named? Notes the start times of processes, so
 * that none is taken for another one. goes_on: another recorder has recorded the job before, so a process may have
 * ended since. Returns 0 or a negative code. */
int task_file_find(struct task_file *f, const char *path, bool goes_on, struct baro_error *err);
/* Drops processes that were not found, and those that began after the recording, which did at begin_ns of
 * CLOCK_BOOTTIME: they have the pid of one that has ended. */
void task_file_keep(struct task_file *f, uint64_t begin_ns, uint32_t clk_tck);
/* The same of one process or control group. */
bool task_file_is_there(const struct pin *pin);

/* The state of the selecting process for the pins of all jobs. */
struct pins_reading {
    struct watch *watch;
    int proc_fd, root_fd; /* directory descriptors of /proc and "/" */
    struct select_shared *shared;
    uint64_t now_ns;
    char text[4096];
};

/* The state of the pins of one job. The caller sets the first part. */
struct pins {
    const struct pin *pin;
    size_t n;
    struct watch_job *job;
    bool is_read; /* it has files or groups, which are read again and again */
    struct pin_state {
        int32_t pid; /* PIN_FILE: the process that joined last */
        uint64_t start;
        bool is_barred;           /* reading the file hung before */
        struct cgroup_walk *walk; /* PIN_GROUP */
    } * state;
};

/* Returns 0 or -ENOMEM. */
int pins_init(struct pins *p, int root_fd);
void pins_done(struct pins *p);
/* Pins processes, and reads files and groups. first: also those that are named by pid. After this has been called for
 * some jobs: watch_pins_unseen(). */
void pins_turn(struct pins *p, struct pins_reading *r, bool first);

#endif
