/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs: one for each tape in a folder. A thread of its own finds them, reads those that have ended once, and
 * follows those that run. Everybody else takes what it has written, and opens cursors of their own.
 */
#ifndef PROGRAMS_BARO_SERVE_CATALOGUE_H
#define PROGRAMS_BARO_SERVE_CATALOGUE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "baro/baro.h"
#include "base/buf.h"

enum job_state { JOB_NEW, JOB_RUNNING, JOB_ENDED, JOB_CUT_OFF, JOB_UNREADABLE, JOB_STATES };

struct job {
    /* constant */
    char *id, *path;
    char *shown; /* the id as JSON has it, and as clients give it: control bytes and invalid UTF-8 are \xNN */
    dev_t device;
    ino_t inode;

    /* under the lock of the catalogue */
    unsigned holders;
    enum job_state state;
    uint64_t bytes;
    int64_t start_ns;  /* since 1970 */
    uint64_t version;  /* of the catalogue, when the row was changed last, */
    uint64_t turned;   /* and when more than its figures were: its state, or whether it has them */
    char *row;         /* a JSON object: what the list of jobs has of it */
    char *title;       /* its command */
    bool is_machine;   /* a recording of the machine, without any process */
    uint64_t stuck_ns; /* CLOCK_MONOTONIC: since then a thread waits for its tape, which nobody else reads; 0: none */
    bool is_summed;    /* the row has the figures of the whole tape */

    /* of the catalogue's thread */
    uint64_t listing;  /* the last one that it was in */
    uint64_t check_ns; /* CLOCK_MONOTONIC: when it is read next, if it was not written before */
    int watch;         /* of touched.h; negative: none */

    /* under its own lock: of a job that runs, and of one that ended a moment ago */
    pthread_mutex_t lock;
    _Atomic bool hangs; /* of no lock: job_lock() has waited in vain */
    struct baro_tape *tape;
    struct baro_summary *summary;
    struct baro_verdicts *verdicts;
    struct baro_sample *now;     /* the last sample; NULL: there is none */
    int64_t now_ns, host_ns;     /* the wall clock then, and when the machine was read; 0: not known */
    struct baro_sample *before;  /* an earlier one, half a second or more ago: for rates; NULL: there is none */
    struct baro_sample *between; /* becomes `before` in its turn; may be `now` itself */
    bool is_unjudged;            /* records were added since the rules of the verdicts were applied, */
    uint64_t judged_ns;          /* at this time */
    uint64_t grown_ns, ended_ns; /* CLOCK_MONOTONIC */
    struct baro_tape_end end;
};

struct catalogue;

/* Which of the runs that are announced on this machine are listed, too: those of the server's user, or of all users. */
enum catalogue_announced { ANNOUNCED_NONE, ANNOUNCED_OWN, ANNOUNCED_ALL };

/* folder NULL: the kept runs. Returns 0 or a negative code; an error if the folder can't be listed. */
int catalogue_open(struct catalogue **ret, const char *folder, struct baro_error *err);
/* Starts the thread. When this returns the folder has been listed, unless its file system takes long. */
int catalogue_start(struct catalogue *c, enum catalogue_announced announced, struct baro_error *err);
void catalogue_stop(struct catalogue *c);

const char *catalogue_folder(const struct catalogue *c);
/* The error of the last attempt to list the folder, or what that or reading a tape has waited for; "": none. */
void catalogue_error(struct catalogue *c, char *ret, size_t size);

/* A job by its id as it is shown, held until job_release(); NULL: there is none. */
struct job *catalogue_find(struct catalogue *c, const char *id);
void job_release(struct catalogue *c, struct job *job);

struct job_filter {
    int state;                    /* enum job_state; -1: any */
    const char *search;           /* part of the command or the id; NULL: any */
    uint64_t since, turned_since; /* changed after this version, and more than its figures after that */
    bool is_over;                 /* only those that do not run */
    bool no_machine;              /* no recordings of the machine alone */
};
struct job_list {
    struct job **at; /* held; the newest first */
    size_t n;
    uint64_t total;   /* that fit the filter */
    uint64_t version; /* of the catalogue */
};
/* Takes those from offset on, limit at most. Returns 0 or -ENOMEM. */
int catalogue_list(struct catalogue *c, const struct job_filter *filter, uint64_t offset, uint64_t limit,
                   struct job_list *ret);
void job_list_done(struct catalogue *c, struct job_list *l);
/* How many jobs are in each state. */
void catalogue_count(struct catalogue *c, size_t ret[JOB_STATES]);
/* The ids of jobs that were removed after a version, each ended by NUL. False: they are not known any more. */
bool catalogue_removed(struct catalogue *c, uint64_t since, struct buf *ret);

const char *job_id(const struct job *job);
const char *job_state_name(enum job_state state);
/* Copies the row (and the state) as it is now. */
void job_row(struct catalogue *c, struct job *job, struct buf *ret);
/* Its command for people, to be freed, and when it began; NULL: not known. */
char *job_title(struct catalogue *c, struct job *job, int64_t *ret_start_ns);
enum job_state job_state(struct catalogue *c, struct job *job);
/* The same, with the size of the tape: what has ended is another one where that is another. */
enum job_state job_version(struct catalogue *c, struct job *job, uint64_t *ret_bytes);
/* Takes its own lock, for a thread that answers. False: it was not to be had for some seconds, since the thread of the
 * catalogue waits for a file system; as long as it does, later calls return false at once. */
bool job_lock(struct job *job);
/* When its last sample says that the machine was read, since 1970; 0: it has no values of the machine, or no sample. */
int64_t job_host_ns(struct job *job);
/* A cursor for the calling thread, which may spend that much CPU time on it; NULL and an error. */
struct baro_tape *job_open(struct job *job, uint64_t cpu_ns, struct baro_error *err);

#endif
