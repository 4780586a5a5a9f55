/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the Thermos observer's JSON says of a job: its last sample, of its tape where the job is not followed any more,
 * and its tasks, which are processes there.
 */
#ifndef PROGRAMS_BARO_SERVE_THERMOS_VIEW_H
#define PROGRAMS_BARO_SERVE_THERMOS_VIEW_H

#include "programs/baro-serve/catalogue.h"

struct request;

#define VIEW_NAMES 256u

/* A task; of a job without tasks the job itself. */
struct named {
    char *name;
    const struct baro_row *task; /* NULL: the job itself */
    bool has_begun, lives;
    bool has_status;
    int code, signal;      /* exit code; the signal that ended it, 0: none */
    double begin_s, end_s; /* since 1970 */
};

/* Processes or entities of a sample, sorted by what they belong to: of each task only its own are looked at. */
struct owned {
    uint64_t owner;   /* the id of a task; of tasks themselves their own */
    size_t place;     /* in the sample */
    const char *path; /* of directories, by which those of one owner are sorted: one is followed by what is in it */
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
    bool no_memory;                                         /* something is not here: the request has failed */
    struct owned_list processes, directories, before_tasks; /* by task; of now, now, and before */
    struct owned_list all_directories;                      /* by path; their owner is 0 */
};

/* What it has is valid until view_done(). */
void view_begin(struct request *q, struct job *job, struct view *v);
void view_done(struct view *v);

/* Those of one owner; NULL: there are none. */
const struct owned *view_owned(const struct owned_list *l, uint64_t owner, size_t *ret_n);

/* "ACTIVE", "SUCCESS", "FAILED", "KILLED", or "LOST": how it ended, or whether it has, is not known. */
const char *view_state(const struct view *v);
/* "WAITING", "RUNNING", "SUCCESS", "FAILED", "KILLED", "LOST". */
const char *view_process_state(const struct view *v, const struct named *p);
double view_end_s(const struct view *v);

#endif
