/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the JSON of the Thermos observer needs of a job: its last sample, which is read from the tape if the job is not
 * followed any more, and its tasks, which the observer calls processes.
 */
#ifndef PROGRAMS_BARO_SERVE_THERMOS_VIEW_H
#define PROGRAMS_BARO_SERVE_THERMOS_VIEW_H

#include "programs/baro-serve/catalogue.h"

struct request;

#define VIEW_NAMES 256u

/* A task, or a job without tasks. */
struct named {
    char *name;
    const struct baro_row *task; /* NULL: the job itself */
    bool has_begun, lives;
    bool has_status;
    int code, signal;      /* exit code; the signal that killed it, 0: none */
    double begin_s, end_s; /* since 1970 */
};

/* A process or entity of a sample. Lists of them are sorted by owner, so that those of a task are found quickly. */
struct owned {
    uint64_t owner;   /* the id of a task */
    size_t place;     /* its row in the sample */
    const char *path; /* path of a directory: those of one owner are sorted by it, so that subdirectories follow */
};

struct owned_list {
    struct owned *at;
    size_t n;
};

struct view {
    struct job *job;
    enum job_state state;
    struct baro_tape_end end;
    char *title, *user;               /* NULL: not known */
    int64_t start_ns;                 /* since 1970 */
    struct baro_sample *now, *before; /* the last one, and one that is half a second older; NULL: there is none */
    struct named named[VIEW_NAMES];
    size_t n;
    bool no_memory;                                         /* something is missing: the request has failed */
    struct owned_list processes, directories, before_tasks; /* by task; the last one from the sample `before` */
    struct owned_list all_directories;                      /* by path; their owner is 0 */
};

/* Fills the view, which is valid until view_done(). */
void view_begin(struct request *q, struct job *job, struct view *v);
void view_done(struct view *v);

/* Returns the elements of one owner; NULL: there are none. */
const struct owned *view_owned(const struct owned_list *l, uint64_t owner, size_t *ret_n);

/* Returns "ACTIVE", "SUCCESS", "FAILED", "KILLED", or "LOST" (it is not known whether or how the job ended). */
const char *view_state(const struct view *v);
/* Returns "WAITING", "RUNNING", "SUCCESS", "FAILED", "KILLED" or "LOST". */
const char *view_process_state(const struct view *v, const struct named *p);
double view_end_s(const struct view *v);

#endif
