/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records many jobs in one process, each onto a tape of its own. They share one loop, one event source and one budget:
 * while the budget does not allow all samples that are due, the job that has waited longest is sampled next.
 */
#ifndef RECORDER_OBSERVE_OBSERVER_H
#define RECORDER_OBSERVE_OBSERVER_H

#include "recorder/loop/record.h"

struct observer;
struct recorder;
struct worker;

struct observe_options {
    uint64_t overhead_ppm; /* for all jobs together; 0: no limit */
    bool no_events;
    uint64_t turn_ns;
    /* Called at once and then each turn_ns: looks for jobs to begin and to end. Returns whether it has more to do,
     * which it does after the samples that are due. */
    bool (*turn)(void *context, struct observer *o);
    struct worker *worker;                        /* of the caller: its CPU time is part of the cost; NULL: none */
    void (*say)(void *context, const char *line); /* one line for people, about no job in particular */
    /* A job is over, and everything is on its tape. job: the context of its record_options.observer, which can be freed
     * now. */
    void (*ended)(void *context, void *job);
    void *context;
};

/* Records until INT, TERM or HUP arrives. The tapes of jobs that live then have no end, so that another observer can go
 * on with them. Returns 0, or a negative code if nothing can be recorded. */
int observe_run(const struct observe_options *options, struct baro_error *err);

/* Begins a job, as record_attach() does; its options are borrowed until it has ended, and its tape is closed. For
 * turn(). */
int observe_begin(struct observer *o, const struct record_options *job, struct recorder **ret, struct baro_error *err);
/* Ends the recording of a job, whose processes may live. For turn(). */
void observe_end(struct observer *o, struct recorder *job);

#endif
