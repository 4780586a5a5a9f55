/* SPDX-License-Identifier: Apache-2.0 */
/* Reads forks, execs and exits from the event sources, and applies them to the members. */
#ifndef RECORDER_LOOP_EVENT_H
#define RECORDER_LOOP_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/events/events.h"
#include "kernel/events/filter.h"

struct member;
struct recorder;
struct recorders;

/* Exits that taskstats reported before the process was known as a member: its fork was not read yet, or it was not
 * selected yet, and the process that selects may be a second behind. The slot of an exit is its pid modulo STASH_MAX.
 */
#define STASH_MAX 256u
#define STASH_LONG 4096u
#define DEFERRED_EXECS_MAX 64u

struct stash {
    int32_t pid;
    struct exits_event event;
};

/* The event sources of a process: shared by all its recorders. */
struct event_sources {
    struct exits_source *forks; /* source of forks, execs and exits; NULL: scanning */
    struct exits_source *usage; /* source of what ended processes used; may be the same as forks; NULL: none */
    bool usage_tried;
    bool unpollable;         /* the descriptor of forks can't be added to the epoll */
    bool listening;          /* the epoll reports the next event */
    uint64_t read_until_ns;  /* absolute: all events until then were read */
    uint64_t drain_due_ns;   /* absolute; 0: nothing to drain */
    uint64_t drain_delay_ns; /* the longest that the buffer allows */
    unsigned foreign_drains; /* drains in a row without an event of a member */
    struct recorder *active; /* a list of the recorders with members that events since the last drain were about */
    /* Processes that executed a program and are read once they have lived for a while (EXEC_READ_AFTER). */
    struct deferred_exec {
        struct recorder *recorder;
        int32_t pid;
    } deferred_execs[DEFERRED_EXECS_MAX];
    size_t n_deferred_execs;
    struct stash *stash;
    size_t stash_size;
    bool stash_long; /* processes are selected */
};

/* event_filter.c: the kernel drops foreign events. */
struct event_filter {
    struct exits_filter *in_kernel; /* NULL: none */
    /* tried: the filter is not attached any more, because that was tried, or no event may be dropped; holds: the filter
     * drops foreign events; is_behind: since the last drain, a member was found that the filter did not know */
    bool tried, holds, is_behind;
    uint32_t gaps;
    uint64_t found, ended, foreign_forks;
};

/* The events of one recorder. */
struct recorder_events {
    struct member *touched, *touched_last; /* an event was about them since the last drain */
    struct recorder *next_active;          /* the next one with such members */
    bool is_active;
    uint64_t perf_due_ns; /* when taskstats or perf is opened, so that the command does not wait; 0: never, or done */
    size_t n_attached;    /* processes that perf is attached to */
    uint64_t attached_ns; /* when it was attached to the last one */
    bool perf_is_partial; /* perf could not be attached to some member */
    int library_fd;       /* of struct library_watch; 0: none */
    bool library_listens; /* the epoll reports its events */
    int perf_code;        /* why it could not be attached to the last such member */
    uint64_t forks;       /* members added because of a fork event */
    uint64_t found;       /* members added otherwise, at the last check */
};

/* event_route.c: which recorders an event is about */
int event_read(struct recorders *a); /* reads all queued events; returns how many */

/* event_apply.c: applies events to the members */
void event_apply(struct recorder *r, const struct exits_event *e);
void event_apply_usage(struct recorder *r, const struct exits_event *e); /* from the source of usage */
void event_lost_usage(struct recorder *r, uint64_t times);
void event_stash(struct recorders *a, const struct exits_event *e); /* usage of a process that is not known yet */
void event_lost(struct recorder *r, uint64_t times);
void event_touch(struct recorder *r, struct member *m); /* after the drain, this member is read */
/* Returns the exit that was reported of a process that is no member, or NULL. */
const struct exits_event *event_find_stashed(const struct recorders *a, int32_t pid, uint64_t begin_ns);
void event_take_stashed(struct recorder *r, struct member *m); /* usage that was reported before its fork was read */

/* event_exec.c: a member has executed another program; the event is reported when its name is known */
void exec_note(struct member *m, uint64_t t_ns);
void exec_report(struct recorder *r, struct member *m);

/* event_sources.c: opens and reads the event sources */
void event_open(struct recorder *r);
void event_open_all(struct recorders *a);               /* of an observer, before its first job */
void event_open_usage(struct recorder *r);              /* after the first fork: an exit will follow */
void event_count_pids(struct recorder *r, int32_t pid); /* before the job can fork unobserved; 0: processes are there */
void event_drain(struct recorders *a);
void event_poll(struct recorder *r);             /* looks for processes that began or ended, without an event source */
bool event_is_silent(const struct recorders *a); /* no event is queued: one would have woken the recorder */
void event_ready(struct recorders *a);
void event_activate(struct recorder *r); /* the current drain has an event of this recorder */
void event_catch_up(void *recorder);     /* reads events within a tick; for struct sampler_options */
void event_close(struct recorders *a);
void event_use(struct recorder *r, struct exits_source *source); /* `source` is the source of forks from now on */

/* event_filter.c: lets the kernel drop foreign events */
void event_filter(struct recorder *r, int events);       /* after a drain that returned so many events */
void event_filter_fork(struct recorder *r, int32_t pid); /* the fork of a member was read */
void event_filter_usage(struct recorders *a);            /* a source of usage was opened */

/* event_perf.c: perf, which has to be attached to each member */
void event_open_late(struct recorder *r);
void event_verify(struct recorder *r);          /* after members were found otherwise: had perf reported their forks? */
void event_check_survivors(struct recorder *r); /* at the end: may living members have forked unobserved? */

#endif
