/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all recorders of a process share: the loop, the event sources, and the account of CPU time. `run` and `record`
 * have one recorder; an observer (recorder/observe) has one for each job.
 */
#ifndef RECORDER_LOOP_RECORDERS_H
#define RECORDER_LOOP_RECORDERS_H

#include <stddef.h>

#include "recorder/job/member_index.h"
#include "recorder/loop/event.h"
#include "recorder/loop/tasks.h"
#include "recorder/sampling/account.h"

struct recorder;

struct recorders {
    struct recorder *only; /* the one recorder of `run` and `record`; NULL: an observer */
    int epoll_fd, signal_fd;
    bool coarse;         /* no epoll_pwait2(2) */
    bool is_interrupted; /* the last wait was */

    struct event_sources events;
    struct event_filter filter;
    bool reads_sockets; /* a reading of sockets depends on which forks are known */

    /* An observer's recorders as a heap; the one whose tick is due first comes first. ns: recorders_due_ns() when it
     * was placed, so that no recorder is touched to move another one. */
    struct recorder_due {
        uint64_t ns;
        struct recorder *recorder;
    } * due;
    size_t n, cap;
    struct member_index members;
    struct account account;
    struct recorder *ticking;
    uint64_t empty_due_ns; /* CLOCK_MONOTONIC: when a control group has been empty for long enough; UINT64_MAX: none */
    unsigned checks;       /* of idle jobs */
    int proc_fd, root_fd;

    struct selecting select;
    void (*say)(void *context, const char *line); /* of an observer: a line for people */
    void *say_context;
};

void recorders_init(struct recorders *a, struct recorder *only);
void recorders_done(struct recorders *a);

/* Call recorders_place() when the time has changed at which the recorder's tick is due. */
int recorders_add(struct recorders *a, struct recorder *r); /* 0 or -ENOMEM */
void recorders_place(struct recorders *a, struct recorder *r);
void recorders_remove(struct recorders *a, struct recorder *r);
uint64_t recorders_due_ns(const struct recorder *r); /* of its tick; CLOCK_MONOTONIC */

#endif
