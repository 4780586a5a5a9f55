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
    uint64_t id; /* tells it from another one of the same name: the inode of a control group */
    struct record_options options;
    /* tape.c */
    struct segments_writer segments;
    uint64_t segment_retry_ns; /* when the next segment is tried again, after one could not be made */
    bool segment_reported, begun;
    char *folder; /* its name in the folder of the tapes */
};

struct jobs {
    const struct jobs_options *options;
    struct job_entry **at; /* by name */
    size_t n, cap;
    size_t n_left; /* jobs that could not be recorded, and are tried again */
};

/* What is there to be recorded. */
struct job_request {
    const char *name;
    uint64_t id;
    const char *cgroup; /* NULL: the machine */
};

/* groups.c: calls fn for each control group that matches and has processes. */
typedef void groups_fn(void *context, const char *path, uint64_t inode);
void groups_each(const char *pattern, groups_fn *fn, void *context);

/* tape.c */
int job_tape_open(struct job_entry *e, struct baro_error *err); /* sets options.tape_fd and what writes the segments */
void job_tape_discard(struct job_entry *e);                     /* nothing was recorded */
void job_tape_close(struct job_entry *e);

#endif
