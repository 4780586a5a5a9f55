/* SPDX-License-Identifier: Apache-2.0 */
/* The process that selects. Shared by child.c and child_read.c. */
#ifndef RECORDER_SELECT_CHILD_H
#define RECORDER_SELECT_CHILD_H

#include "kernel/events/events.h"
#include "recorder/select/job_wire.h"

#define CHILD_ANCESTORS_MOST 64

struct child {
    const struct select_child *of;
    const struct select_setup *setup;
    int fd;
    struct watch watch;
    struct select_job **jobs;
    struct watch_fit *fits; /* the tasks that fit the process that was read last */
    size_t n_jobs, cap_jobs, n_new;
    bool needs_cmdline, needs_exe, needs_user; /* a job has a rule for it */
    struct exits_source *events;               /* NULL: there is none, and /proc is scanned */
    bool lost;                                 /* events were lost: all processes must be matched again */
    struct pins_reading pins;
    uint64_t pins_due_ns; /* when pins are read again; UINT64_MAX: never */
    size_t n_read_pins;
    uint64_t new_due_ns;               /* before this time no processes are matched for new jobs */
    int32_t own[CHILD_ANCESTORS_MOST]; /* the recorder and its ancestors: never members */
    size_t n_own;
    int64_t account_ns; /* CPU time that may be used; if it is negative, the process waits */
    uint64_t paid_ns, paid_cpu_ns;
    char cmdline[COMMAND_MOST + 1], exe[4096], text[2048], script[256];
};

/* ---- child_read.c ---- */

/* Finds the recorder and its ancestors. */
void child_find_own(struct child *c, int32_t recorder);
/* Reads a process and matches it for all jobs that are wanted: a function of struct watch. */
bool child_read_process(void *context, int32_t pid, struct watch_reading *ret);
/* Did a read of this process hang before? */
bool child_is_barred(const struct select_child *of, int32_t pid, uint64_t start);

/* ---- child.c ---- */

void child_report_change(void *context, const struct watch_change *change);

#endif
