/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selecting: a helper process that follows the processes of the machine and reports which of them belong to a task. It
 * reads command lines, which can block, so it is a process of its own.
 *
 * With the process connector it reads the command of each process that executes a program, once; else it scans /proc.
 * It uses at most a share of a core: its CPU time is charged to an account that grows with time. While the account is
 * overdrawn, the process waits, and processes that end meanwhile are never read.
 */
#ifndef RECORDER_SELECT_SELECT_H
#define RECORDER_SELECT_SELECT_H

#include "libbaro/sample/sample.h"
#include "recorder/helper/worker.h"
#include "recorder/select/pin.h"
#include "libbaro/rules/rule.h"
#include "recorder/select/watch.h"

/* A job. */
struct select_options {
    const char *name;          /* of the job, borrowed; NULL or "": the names of its tasks */
    const struct rules *rules; /* borrowed */
    const struct pin *pins;    /* borrowed */
    size_t n_pins;
    int32_t under;                   /* only processes below this one; 0: all */
    const struct sandbox *sandboxes; /* libbaro/rules/task_lines.h: directories of tasks; borrowed */
    size_t n_sandboxes;
    bool ends; /* the recording ends when no process of a task is left */
};

/* What holds for all jobs. */
struct select_setup {
    int proc_fd, root_fd;  /* directory descriptors of /proc and "/"; borrowed */
    uint64_t overhead_ppm; /* share of a core, millionths; 0: no limit */
    uint64_t barred_ns;    /* when a command that hung is read again, the first time; 0: after a minute */
    bool no_events;        /* only scan */
    bool many; /* jobs follow each other: the first scan waits for the jobs that come soon after the first one */
};

struct selector;

/* Makes a selector. It starts the process that selects with the first job. */
int select_new(struct selector **ret, const struct select_setup *setup, struct baro_error *err);
/* Adds a job, which is borrowed until select_remove(); owner is passed with each change of the job. Returns 0; an error
 * of starting the process, which select_turn() tries again; or -ENOMEM without an id. */
int select_add(struct selector *s, const struct select_options *job, void *owner, uint32_t *ret_id,
               struct baro_error *err);
void select_remove(struct selector *s, uint32_t id);
void *select_owner(const struct selector *s, uint32_t id); /* NULL: there is no such job */

/* The process, for what is known of it; NULL allowed. If its socket is readable, select_read() has something. */
struct worker *select_worker(const struct selector *s);
/* Calls fn for each change that was reported so far. owner NULL: it is about all jobs. Returns 0, or -EPIPE if the
 * process has ended: then select_turn() starts another one. */
typedef void select_change_fn(void *context, void *owner, const struct watch_change *c);
int select_read(struct selector *s, select_change_fn *fn, void *context);
/* Can the selecting process have sent this? One that sends anything else is ended. Pure. */
bool select_change_check(const struct watch_change *c);

/* worker_turn() of the process that selects: call it at each tick. It sends orders that could not be sent before. If a
 * process hung, the command or file at which it did is not read for a while (a minute, then two, up to an hour).
 * ret_hung: the process whose command could not be read. If its pid is -1 - i, the PID file of pin i of the job `start`
 * could not be read. */
enum worker_trouble select_turn(struct selector *s, struct baro_key *ret_hung);
bool select_is_stuck(const struct selector *s);                       /* it has read one command for a second */
bool select_is_barred(const struct selector *s, struct baro_key key); /* its command is not read */
uint64_t select_events_lost(const struct selector *s);                /* so far, as events of the connector */
/* Does the process report each program that ended before its command was read? It does not without events, after a loss
 * of events, or after another process had to be started. */
bool select_reports_unread(const struct selector *s);
void select_free(struct selector *s); /* NULL allowed */

/* Memory that both processes see. The counts cover all selecting processes so far. */
struct select_shared {
    struct worker_shared worker; /* it is busy while it reads a command */
    _Atomic uint64_t start;      /* of that process, with its pid */
    _Atomic int32_t pid;
    _Atomic uint64_t events_lost;
    _Atomic bool scans;
};

/* The process reports that it begins to read the command of a process, or the PID file of pin -1 - pid of the job
 * `start`; or that it has read it. */
void select_progress(struct select_shared *shared, int32_t pid, uint64_t start, bool begins);

#define SELECT_BARRED_MOST 64u

/* recorder/select/child.c: the process itself. */
struct select_child {
    const struct select_setup *setup;
    int fd; /* orders (recorder/select/job_wire.h) come from it, and changes go to it */
    pid_t recorder;
    struct select_shared *shared;
    const struct baro_key *barred;
    size_t n_barred;
};
void select_child(const struct select_child *of);

#endif
