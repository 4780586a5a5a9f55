/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding members without events. Only a process that ran can have forked, so only those whose CPU clock has moved are
 * asked, and all their threads: /proc/PID/task/TID/children lists the children of one thread alone.
 */
#ifndef COLLECT_SCAN_H
#define COLLECT_SCAN_H

#include "collect/threads.h"

struct scan {
    struct sampling *sampling;
    struct threads *threads;
    bool always;           /* no event source: members that ran are asked for children at every tick */
    bool once;             /* in the next tick all are asked: events were lost, or the last time was a while ago */
    bool no_children_file; /* kernel without CONFIG_PROC_CHILDREN */
    bool children_file_known;
    bool last_pid_tried;
    bool nobody_born;           /* since the last tick, in the whole of our PID namespace */
    int last_pid_fd;            /* /proc/loadavg, which ends with the last pid that was given; -1: it does not */
    uint64_t last_pid, born_ns; /* it; the tick that first saw it */
    uint64_t last_pid_ns;       /* the last tick that read it */
    uint64_t scanned_ns;        /* the last tick in which all were asked */
};

void scan_init(struct scan *n, struct sampling *sampling, struct threads *threads);
void scan_done(struct scan *n);

void scan_set_always(struct scan *n, bool always);
void scan_request(struct scan *n); /* all members are asked in the next tick */

/* Around a tick over all members. */
void scan_begin(struct scan *n);
void scan_end(struct scan *n);
bool scan_is_due(const struct scan *n, uint64_t now_ns); /* are all members to be asked? */

/* A member that was just read at this CPU clock: adds its children to the job if it may have new ones. */
void scan_member(struct scan *n, struct member *m, bool known, uint64_t clock_ns);

/* Returns false if that was put off because there are many threads. */
bool scan_children_of(struct scan *n, struct member *m);
void scan_wrapper(struct scan *n); /* orphans become children of the wrapper */

#endif
