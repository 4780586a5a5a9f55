/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share. */
#ifndef OBSERVE_STATE_H
#define OBSERVE_STATE_H

#include "base/buf.h"
#include "observe/jobs.h"

struct jobs;

/* A job that is recorded. */
struct job_entry {
    struct jobs *jobs;
    struct recorder *recorder;
    char *name;  /* what it is known by: the path of a control group */
    uint64_t id; /* the inode of its control group: another group may have had the same name */
    struct record_options options;
    /* tape.c */
    struct segments_writer segments;
    bool segment_reported, begun;
    char *folder; /* its name in the folder of the tapes */
    /* left.c: what another observer has recorded; until the job has begun */
    struct baro_tape *before;
    struct baro_sample *last;
    struct record_resume resume;
};

/* Names of tapes that may have no end. */
struct left_tapes {
    char **at;
    size_t n;
};

struct jobs {
    const struct jobs_options *options;
    struct job_entry **at; /* by name */
    size_t n, cap;
    size_t n_failed; /* jobs that could not be recorded, and are tried again */
    struct left_tapes left;
    uint64_t total_due_ns; /* CLOCK_MONOTONIC */
    bool total_reported;
};

/* What is there to be recorded. */
struct job_request {
    const char *name;
    uint64_t id;
    const char *cgroup; /* NULL: the machine */
};

/* groups.c: calls fn for each control group that matches and has processes, unless it is known. */
typedef bool groups_known_fn(void *context, const char *path, uint64_t inode);
typedef void groups_fn(void *context, const char *path, uint64_t inode);
struct groups_search {
    groups_known_fn *known;
    groups_fn *fn;
    void *context;
};
void groups_each(const char *pattern, const struct groups_search *s);

/* left.c */
void left_list(struct left_tapes *l, int dir_fd); /* all tapes of the folder */
void left_done(struct left_tapes *l);
/* Goes on with the tape whose name ends like this. Returns the descriptor of its next segment, or -ENOENT: there is
 * none. left_release() when the job has begun. */
int left_continue(struct left_tapes *l, struct job_entry *e, const char *ending);
void left_release(struct job_entry *e);
void left_give_back(struct left_tapes *l, struct job_entry *e); /* it could not begin */
void left_close_one(struct left_tapes *l, int dir_fd); /* one whose job is over */

/* total.c */
void total_check(struct jobs *j);

/* tape.c */
int job_tape_open(struct job_entry *e, struct baro_error *err); /* sets options.tape_fd and what writes the segments */
void job_tape_discard(struct job_entry *e);                     /* nothing was recorded */
void job_tape_close(struct job_entry *e);

#endif
