/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder: one loop that follows what the wrapper and the event sources tell, takes samples on an absolute
 * schedule, and writes the tape. It never signals, slows or outlives the job without being told to; if it can't go on,
 * the job does.
 */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "sample/sample.h"

struct link_end;

/* Who wants to see what goes onto the tape as it happens; NULL members are left out. */
struct record_observer {
    void (*header)(void *context, const struct baro_header *h);
    void (*sample)(void *context, const struct baro_sample *s);
    void (*exit)(void *context, const struct baro_exit *e);
    void (*event)(void *context, const struct baro_event *e);
    void (*limits)(void *context, const struct baro_limits *l, uint64_t t_ns);
    void *context;
};

struct record_options {
    int tape_fd;             /* taken over */
    uint64_t wanted;         /* mask of process metrics */
    uint64_t interval_ns;    /* 0: auto */
    uint64_t overhead_ppm;   /* 0: no limit */
    bool cmdline, children;
    bool adopts;             /* run: the wrapper is a subreaper */
    char *const *argv;       /* run: the command as given; redacted before it reaches the tape */
    const char *cwd;         /* run: where it was started */
    uint64_t start_ns;       /* run: CLOCK_MONOTONIC when the tape begins, before the command does; 0: now */
    const int32_t *targets;  /* attach */
    size_t n_targets;
    bool host;               /* the machine is recorded, too */
    bool host_alone;         /* attach: there are no targets, only the machine */
    uint64_t for_ns;         /* attach: for so long; 0: until it is over */
    const char *cgroup;      /* attach: a control group in place of targets */
    const struct own_group
        *own_group; /* run: the command's own control group (run/own.h), removed at the end; NULL or empty: none */
    bool no_events;          /* scanning alone, for tests and for those who want it */
    int events_fd;           /* run: of record_listen(); taken over */
    struct record_observer observer;
    void (*on_error)(void *context, const char *line); /* one line for people */
    void (*begun)(void *context);                      /* the tape has its header */
    /* The observer has seen everything; the last sample and the footer are not on the tape yet, and writing them can
     * take long: text for people is printed first. */
    void (*summed_up)(void *context);
    void (*finished)(void *context, bool recorded);    /* all is on the tape; what remains is to tear down */
};

/* For record_run(), before the command is started: listens for the events of processes, so that not the first one of
 * them is missed. Returns the descriptor that the recorder needs, or -1 if there is no such source. */
int record_listen(const struct record_options *options);

/* Records what a wrapper started, until it says LINK_ENDED or, if it is lost, until the last member ended. Returns 1,
 * or 0 if nothing was started, or a negative code if nothing could be recorded. */
int record_run(const struct record_options *options, const struct link_end *link, struct baro_error *err);

struct record_end {
    bool status_known;
    int status;     /* wait status of the first target */
    bool detached;  /* ended by INT or TERM, the targets live */
};

/* Records the targets and their descendants until the last target ended, or INT, TERM or HUP came, or the time is up;
 * without targets, the machine alone. */
int record_attach(const struct record_options *options, struct record_end *ret, struct baro_error *err);

#endif
