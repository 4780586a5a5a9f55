/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of jobs, one for each tape in a folder. The catalogue's thread finds them, reads those that have ended once,
 * and follows those that are running. Other threads read what it has found, and open cursors of their own.
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
    char *shown; /* the id as JSON and clients have it: control characters and invalid UTF-8 are \xNN */
    dev_t device;
    ino_t inode;

    /* protected by the lock of the catalogue */
    unsigned holders;
    enum job_state state;
    uint64_t bytes;
    int64_t start_ns; /* since 1970 */
    int64_t end_ns;   /* the same; INT64_MAX: it is running */
    uint64_t version; /* version of the catalogue when the row was changed last */
    uint64_t turned;  /* the same, for changes of its state or of is_summed */
    char *row;        /* its row in the list of jobs: a JSON object */
    char *title;      /* its command */
    bool is_machine;  /* a recording of the machine only */
    bool is_private;  /* it has the processes of all users, or its header was not read yet (sight.h) */
    bool is_summed;   /* the row has values of the whole tape */

    /* used by the catalogue's thread only */
    uint64_t listing;  /* number of the last listing that had it */
    uint64_t check_ns; /* CLOCK_MONOTONIC: when it is read next, unless it is written before */
    int watch;         /* its watch (touched.h); negative: none */

    /* protected by its own lock: for a job that is running, or has ended recently */
    pthread_mutex_t lock;
    _Atomic bool hangs; /* needs no lock: job_lock() has timed out */
    struct baro_tape *tape;
    struct baro_fold *fold;      /* its summary and verdicts; NULL: it is not followed */
    struct baro_sample *now;     /* the last sample; NULL: there is none */
    int64_t now_ns, host_ns;     /* wall-clock times of that sample and of its read of the machine; 0: not known */
    struct baro_sample *before;  /* a sample that is at least half a second older, for rates; NULL: there is none */
    struct baro_sample *between; /* the one that becomes `before` next; may be `now` itself */
    bool is_unjudged;            /* records were added since the rules of the verdicts were applied */
    uint64_t judged_ns;          /* CLOCK_MONOTONIC: when that was */
    uint64_t grown_ns, ended_ns; /* CLOCK_MONOTONIC */
    struct baro_tape_end end;
};

struct catalogue;

/* Which announced runs are listed, too: none, those of the server's user, or those of all users. */
enum catalogue_announced { ANNOUNCED_NONE, ANNOUNCED_OWN, ANNOUNCED_ALL };

/* Lists a folder; NULL: the kept runs. Returns 0, or a negative code if the folder cannot be listed. */
int catalogue_open(struct catalogue **ret, const char *folder, struct baro_error *err);
/* Starts the thread, and waits until it has listed the folder, but not long if the file system is slow. */
int catalogue_start(struct catalogue *c, enum catalogue_announced announced, struct baro_error *err);
void catalogue_stop(struct catalogue *c);

const char *catalogue_folder(const struct catalogue *c);
/* Gets the error of the last attempt to list the folder, or which read hangs; "": none. */
void catalogue_error(struct catalogue *c, char *ret, size_t size);

/* Finds a job by its `shown` id. It stays valid until job_release(). Returns NULL if there is none. */
struct job *catalogue_find(struct catalogue *c, const char *id);
void job_release(struct catalogue *c, struct job *job);

struct job_filter {
    int state;                    /* enum job_state; -1: any */
    const char *search;           /* a part of the command or the id; NULL: any */
    uint64_t since, turned_since; /* `version` and `turned` of the job are above these */
    bool is_over;                 /* only jobs that are not running */
    bool no_private;              /* only jobs that each client may see */
    bool no_machine;              /* without recordings of the machine only */
};
struct job_list {
    struct job **at; /* the newest first; valid until job_list_done() */
    size_t n;
    uint64_t total;   /* how many jobs fit the filter */
    uint64_t version; /* version of the catalogue */
};
/* Lists at most `limit` jobs from offset on. Returns 0 or -ENOMEM. */
int catalogue_list(struct catalogue *c, const struct job_filter *filter, uint64_t offset, uint64_t limit,
                   struct job_list *ret);
void job_list_done(struct catalogue *c, struct job_list *l);
/* Counts the jobs in each state. */
void catalogue_count(struct catalogue *c, size_t ret[JOB_STATES]);
/* Gets the ids of the jobs that were removed after a version, each terminated by NUL. Returns false if they are not
 * known any more. */
bool catalogue_removed(struct catalogue *c, uint64_t since, struct buf *ret);

const char *job_id(const struct job *job);
const char *job_state_name(enum job_state state);
/* Copies the row. */
void job_row(struct catalogue *c, struct job *job, struct buf *ret);
/* Returns its command, to be freed, and gets the time of its start. NULL: not known. */
char *job_title(struct catalogue *c, struct job *job, int64_t *ret_start_ns);
/* Returns its state, and gets the size of the tape: one that has ended and has another size is another tape. */
enum job_state job_version(struct catalogue *c, struct job *job, uint64_t *ret_bytes);
bool job_is_private(struct catalogue *c, const struct job *job);
/* Is it a recording of the machine, alone or with all processes? It need not be: gets when the recording began and
 * ended, since 1970; INT64_MAX: it is running. */
bool job_is_machine(struct catalogue *c, struct job *job, int64_t *ret_start_ns, int64_t *ret_end_ns);
/* Takes the lock of the job, for a thread that answers a request. Returns false on timeout: the catalogue's thread has
 * the lock and waits for a file system. As long as that lasts, later calls return false at once. */
bool job_lock(struct job *job);
/* Returns the wall-clock time at which the machine was read for the last sample; 0: the tape has no values of the
 * machine, or no sample. */
int64_t job_host_ns(struct job *job);
/* Opens a cursor for the calling thread, which may spend that much CPU time on it. Returns NULL on error. */
struct baro_tape *job_open(struct job *job, uint64_t cpu_ns, struct baro_error *err);

#endif
