/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job in the process that selects, and its encoding for the socket. Both processes run the same program, so numbers
 * are sent as they are in memory; a job that can't be decoded is a defect.
 */
#ifndef RECORDER_SELECT_JOB_WIRE_H
#define RECORDER_SELECT_JOB_WIRE_H

#include "base/buf.h"
#include "recorder/select/select.h"

/* A message of the recorder; a new job comes with a descriptor of a file that has its bytes. */
struct select_order {
    uint32_t job;
    bool is_over; /* the job is over */
};

struct select_job {
    struct watch_job watch;
    struct rules rules;
    struct pins pins;
    struct pin *pin;
    struct cgroup_location *places; /* until pins_init() */
    char *text;                     /* the text that rules and pins point to */
    size_t text_len;
};

/* Appends the encoding of a job. */
void select_job_encode(struct buf *ret, const struct select_options *o);
/* The caller frees *ret with select_job_free(). Returns 0, or a negative code. */
int select_job_decode(struct select_job **ret, uint32_t id, struct span bytes);
void select_job_free(struct select_job *j); /* NULL allowed */

#endif
