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
    uint64_t turn_ns;
    /* Called at once and then each turn_ns: searches for jobs to begin and to end. Returns whether it has more to do;
     * then it is called again after the samples that are due. */
    bool (*turn)(void *context, struct observer *o);
    struct hanging *hanging;                      /* reports that the folder of the tapes hangs; NULL: not reported */
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
/* Ends the recording of a job, whose processes may be alive. Call it from turn(). */
void observe_end(struct observer *o, struct recorder *job);

#endif
