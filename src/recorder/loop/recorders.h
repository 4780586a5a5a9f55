/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all recorders of a process share: the loop, the event sources, and the account of CPU time. `run` and `record`
 * have one recorder; an observer (observe.h) has one for each job.
 */
#ifndef RECORDER_LOOP_RECORDERS_H
#define RECORDER_LOOP_RECORDERS_H

#include <stddef.h>

#include "kernel/events/events.h"
#include "kernel/events/filter.h"
#include "recorder/job/member_index.h"
#include "recorder/sampler/account.h"

/* Exits that taskstats reported before the process was known as a member: its fork was not read yet, or it was not
 * selected yet, and the process that selects may be a second behind. One for each pid, modulo these. */
#define STASH_MAX 256u
#define STASH_LONG 4096u
#define DEFERRED_EXECS_MAX 64u

struct recorder;
struct selector;
struct unread;

struct stash {
    int32_t pid;
    struct exits_event event;
};

struct recorders {
    struct recorder *only; /* the one recorder of `run` and `record`; NULL: an observer */
    int epoll_fd, signal_fd;
    bool coarse; /* no epoll_pwait2(2) */

    struct exits_source *forks; /* source of forks, execs and exits; NULL: scanning */
    struct exits_source *usage; /* source of what ended processes used; may be the same as forks; NULL: none */
    bool usage_tried;
    bool unpollable;         /* the descriptor of forks can't be added to the epoll */
    bool listening;          /* the epoll reports the next event */
    uint64_t events_ns;      /* absolute: all events until then were read */
    bool reads_sockets;      /* a reading of sockets depends on which forks are known */
    uint64_t drain_due_ns;   /* absolute; 0: nothing to drain */
    uint64_t drain_delay_ns; /* the longest that the buffer allows */
    unsigned foreign;        /* drains in a row without an event of a member */
    struct recorder *active; /* those whose members events were about since the last drain */
    /* Processes that executed a program and are read once they have lived for a while (EXEC_READ_AFTER). */
    struct deferred_exec {
        struct recorder *recorder;
        int32_t pid;
    } deferred_execs[DEFERRED_EXECS_MAX];
    size_t n_deferred_execs;
    struct stash *stash;
    size_t stash_size;
    bool stash_long; /* processes are selected */

    struct exits_filter *filter; /* event_filter.c; NULL: none */
    /* The filter drops foreign events; since the last drain a member was found that the filter did not know. */
    bool filter_tried, filter_holds, filter_behind;
    uint32_t filter_gaps;
    uint64_t filter_found, filter_ended, foreign_forks;

    /* An observer's recorders as a heap; the one whose tick is due first comes first. */
    struct recorder **due;
    size_t n, cap;
    struct directory members;
    struct account account;
    struct recorder *ticking;
    unsigned checks; /* of idle jobs */
    int proc_fd, root_fd;

    struct selector *selector;           /* select.c; NULL: no recorder has tasks of selected processes */
    struct recorder *selecting;          /* those that have */
    uint64_t select_starts, select_lost; /* of its processes, and events that they lost, as reported so far */
    struct unread *unread;               /* unread.c */
    size_t n_unread, cap_unread;
    void (*say)(void *context, const char *line); /* of an observer: a line for people */
    void *say_context;
};

void recorders_init(struct recorders *a, struct recorder *only);
void recorders_done(struct recorders *a);

/* recorders_place(): the time at which its tick is due has changed. */
int recorders_add(struct recorders *a, struct recorder *r); /* 0 or -ENOMEM */
void recorders_place(struct recorders *a, struct recorder *r);
void recorders_remove(struct recorders *a, struct recorder *r);
uint64_t recorders_due_ns(const struct recorder *r); /* of its tick; CLOCK_MONOTONIC */

#endif
