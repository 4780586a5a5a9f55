/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records many jobs in one process, each onto its own tape. They share one loop, one event source and one budget. If
 * the budget does not allow all samples that are due, the job that has waited longest is sampled next.
 */
#ifndef RECORDER_OBSERVE_OBSERVER_H
#define RECORDER_OBSERVE_OBSERVER_H

#include "recorder/loop/record.h"

struct observer;
struct recorder;
struct worker;

struct observe_options {
    uint64_t overhead_ppm; /* budget of all jobs together; 0: no limit */
    bool no_events;
    /* Searches for jobs to begin and to end, for some milliseconds. Returns when it is to be called again
     * (CLOCK_MONOTONIC); samples that are due are taken before. */
    uint64_t (*turn)(void *context, struct observer *o);
    int wake_fd;                                  /* turn() is called when it becomes readable; -1: none */
    struct worker *worker;                        /* a process whose CPU time is part of the cost; NULL: none */
    void (*say)(void *context, const char *line); /* reports a line for people that is not about one job */
    /* A job has ended, and everything is on its tape. job: the context of its record_options.observer, which may be
     * freed now. */
    void (*ended)(void *context, void *job);
    void *context;
};

/* Records until SIGINT, SIGTERM or SIGHUP arrives. The tapes of jobs that are alive then get no end, so that another
 * observer can continue them. Returns 0, or a negative code if nothing can be recorded. */
int observe_run(const struct observe_options *options, struct baro_error *err);

/* Begins a job, as record_attach() does. Its options are borrowed until ended(), which comes after its tape is closed.
 * Call it from turn(). */
int observe_begin(struct observer *o, const struct record_options *job, struct recorder **ret, struct baro_error *err);
/* Returns how long to wait after a search that took so much CPU time, so that it takes 1/parts of the budget. Example:
 * with 1 %, a search of 2 ms that may take a fifth is followed by a pause of 1 s. */
uint64_t observe_pause(const struct observer *o, uint64_t cost_ns, unsigned parts);
/* Ends the recording of a job, whose processes may be alive. Call it from turn(). */
void observe_end(struct observer *o, struct recorder *job);

#endif
