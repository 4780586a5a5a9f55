/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding members without events, by listing children. Only a process that ran can have forked, so only members whose
 * CPU clock advanced are read. /proc/PID/task/TID/children has the children of one thread, so it is read for all
 * threads.
 */
#ifndef RECORDER_COLLECTORS_PROCESSES_SCAN_H
#define RECORDER_COLLECTORS_PROCESSES_SCAN_H

#include "recorder/collectors/processes/births.h"
#include "recorder/collectors/processes/threads.h"

struct scan {
    struct sampling *sampling;
    struct threads threads; /* children are listed for each thread, and this has a part of the budget of its own */
    bool always;            /* no event source: each tick lists the children of members that ran */
    /* the next tick lists the children of all members: events were lost, or the last time was a while ago */
    bool once;
    bool no_children_file; /* the kernel has no CONFIG_PROC_CHILDREN */
    bool children_file_known;
    bool nobody_born; /* no process was born since the last tick in our PID namespace */
    struct births births;
    int32_t last_pid;     /* given out in our PID namespace; 0: not known */
    uint64_t born_ns;     /* when the tick began that first saw that pid */
    uint64_t last_pid_ns; /* the last tick that read the last pid */
    uint64_t scanned_ns;  /* the last tick that listed the children of all members */
};

/* Returns the member that is the parent of a process which was read now; NULL: another process has its pid by now. */
struct member *scan_parent(const struct sampling *g, int32_t ppid);
void scan_init(struct scan *n, struct sampling *sampling);
void scan_done(struct scan *n);

void scan_set_always(struct scan *n, bool always);
void scan_request(struct scan *n); /* the next tick lists the children of all members */

/* Call these before and after a tick over all members. */
void scan_begin(struct scan *n);
void scan_end(struct scan *n);
bool scan_is_requested(const struct scan *n);
bool scan_is_due(const struct scan *n, uint64_t now_ns); /* are the children of all members to be listed? */

/* For a member that was just read at this CPU clock: adds its children to the job if there may be new ones. */
void scan_member(struct scan *n, struct member *m, bool known, uint64_t clock_ns);

/* Adds the children of m. Returns false if this was postponed because m has many threads. */
bool scan_children_of(struct scan *n, struct member *m);
void scan_wrapper(struct scan *n); /* adds the wrapper's children: orphans */

#endif
