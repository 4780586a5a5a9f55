/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder: one loop that handles messages of the wrapper and of the event sources, takes samples on an absolute
 * schedule, and writes the tape. It never signals the job, but for a limit of --limit that was reached, never slows it,
 * and never outlives it unless asked to; if the recorder fails, the job goes on.
 */
#ifndef RECORDER_LOOP_RECORD_H
#define RECORDER_LOOP_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/error.h"
#include "libbaro/sample/sample.h"
#include "recorder/loop/enforce.h"

struct link_end;
struct select_options;

/* Callbacks, each called when something is put onto the tape; NULL members are not called. */
struct record_observer {
    void (*header)(void *context, const struct baro_header *h);
    void (*sample)(void *context, const struct baro_sample *s);
    void (*exit)(void *context, const struct baro_exit *e);
    void (*event)(void *context, const struct baro_event *e);
    void (*limits)(void *context, const struct baro_limits *l, uint64_t t_ns);
    void *context;
};

/* Another recorder has recorded the same job before: this recording is the next part of the same tape. */
struct record_before {
    char id[33];      /* the tape's id */
    uint32_t segment; /* the number of the segment that tape_fd is */
    uint64_t gap_ns;  /* since the last sample of the part before */
};

struct record_pace {
    uint64_t interval_ns;  /* 0: auto */
    uint64_t overhead_ppm; /* 0: no limit */
};

/* What is recorded beside the ledger. Lists are borrowed. */
struct record_scope {
    uint64_t wanted; /* mask of process metrics */
    bool cmdline, children;
    bool host;                      /* the machine, too */
    const char *const *directories; /* --du: paths; one that is not absolute is below run.cwd */
    size_t n_directories;
    uint64_t directories_every_ns;              /* --du-every; 0: not given */
    const char *gpu;                            /* --gpu; NULL: off */
    void (*become)(char *program, char **argv); /* replaces a process by a program of libexec; NULL: there are none */
    const char *no_helpers;                     /* why no helper is started, a warning on the tape; NULL: they are */
};

/* For record_run(). */
struct record_command {
    bool adopts;       /* the wrapper is a subreaper */
    char *const *argv; /* the command as given; redacted before it reaches the tape */
    const char *cwd;   /* the directory in which the command starts */
    uint64_t start_ns; /* CLOCK_MONOTONIC of the start of the tape, before the command starts; 0: now */
    bool wait_all;     /* the job ends with the last process, not with the command */
    const char *task;  /* the whole job is a task of this name; NULL: none */
    /* the command's own control group (recorder/wrapper/own_cgroup.h), removed at the end; NULL or empty: none */
    const struct own_group *own_group;
    int events_fd;                 /* from record_listen(); closed by the recorder */
    struct namespaces *namespaces; /* from record_note_namespaces(), taken over; NULL: none */
    struct record_limits limits;   /* --limit */
};

/* For record_attach(). */
struct record_subject {
    const int32_t *targets;
    size_t n_targets;
    bool host_alone;         /* no targets, only the machine */
    bool all;                /* all processes of the machine are the targets */
    struct baro_key starter; /* the process that started this one, and is no member; pid 0: none */
    int32_t under;           /* host_alone: ends with this process; 0: with none */
    uint64_t for_ns;         /* the longest duration; 0: until the last target ends */
    bool until_all;          /* until the last descendant ends, too */
    const char *cgroup;      /* a control group instead of targets */
    /* where the names of that group come from: its path and the files of engines, the path alone, or nowhere */
    enum record_names { RECORD_NAMES_AUTO, RECORD_NAMES_PATH, RECORD_NAMES_OFF } names;
    const struct select_options *select; /* tasks of selected processes instead; NULL: none */
    /* tasks of processes that are named by pid instead (begin.c), and the file that names them, for errors; NULL:
     * none. Borrowed until the recording has begun. */
    const struct select_options *pinned;
    const char *task_file;
    const struct record_before *before; /* an observer: the part of the tape before this one; NULL: none */
};

/* A tape in segments; next is NULL for others. */
struct record_segments {
    uint64_t keep_ns, keep_bytes; /* for the header; 0: no limit */
    /* After each sample: bytes is how long the current segment is. Returns a descriptor to go on in, which the recorder
     * takes, or a negative code. If nothing could be written to it, no callback is called. */
    int (*next)(void *context, uint64_t t_ns, uint64_t bytes);
    void (*none)(void *context);
    /* The file system is full: makes room if it can. */
    void (*full)(void *context);
    /* Returns how many segments were removed since the last call because the file system is nearly full. */
    unsigned (*given_up)(void *context);
};

/* Called with the context of the observer; NULL members are not called. */
struct record_calls {
    void (*error)(void *context, const char *line); /* one line for people */
    void (*accepted)(void *context);                /* there is something to record; nothing of it was read yet */
    void (*begun)(void *context);                   /* the header is on the tape */
    /* The observer has got everything. The last sample and the footer are not on the tape yet, and writing them can
     * take long, so text for people is printed here. */
    void (*summed_up)(void *context);
    void (*finished)(void *context, bool recorded); /* everything is on the tape; only closing is left */
};

struct record_options {
    int tape_fd;             /* closed by the recorder */
    const char *name;        /* of the recording; NULL: none, or that of its tasks */
    const char *const *tags; /* of the recording: n_tags texts KEY=VALUE */
    size_t n_tags;
    const char *task_rules;     /* for readers, in the header; NULL: none */
    struct clock_before before; /* of the process that the user executed: this one or the wrapper */
    struct record_pace pace;
    struct record_scope scope;
    struct record_command run;
    struct record_subject attach;
    struct record_segments segments;
    /* Lines that the job appends are marks and phases (recorder/marks/marks_file.h). NULL or without a descriptor:
     * none. The recorder removes it if the wrapper was killed. */
    const struct marks_file *marks;
    bool no_events; /* only scan, for tests and for users who ask for it */
    struct record_observer observer;
    struct record_calls on;
};

/* Call before the command is started, and pass the options to record_run(): subscribes to process events, so that the
 * first one is not missed. Sets run.events_fd; -1: there is no such event source. */
void record_listen(struct record_options *options);
/* Before the command is started: notes which network namespaces there are, if the metrics need it. What one that the
 * command makes has counted is then the job's, however late the recorder begins. */
void record_note_namespaces(struct record_options *options, struct namespaces *ret);

/* Records the command that the wrapper started until the wrapper sends LINK_ENDED or, if the wrapper is lost, until the
 * last member ends. Returns 1, 0 if nothing was started, or a negative code if nothing could be recorded. */
int record_run(const struct record_options *options, const struct link_end *link, struct baro_error *err);

struct record_end {
    bool status_known;
    int status;    /* wait status of the first target */
    bool detached; /* stopped by a signal or after for_ns; the targets live */
};

/* Records the targets and their descendants until the last target ends (until_all: the last of them all), INT, TERM or
 * HUP arrives, or for_ns is over; without targets, only the machine. */
int record_attach(const struct record_options *options, struct record_end *ret, struct baro_error *err);

#endif
