/* SPDX-License-Identifier: Apache-2.0 */
/* The collector "job": puts the members and the job's totals into the sample, after all collectors that change them. */
#ifndef RECORDER_COLLECTORS_PROCESSES_JOB_ROW_H
#define RECORDER_COLLECTORS_PROCESSES_JOB_ROW_H

#include "recorder/collectors/processes/group_job.h"
#include "recorder/collectors/processes/pss.h"
#include "recorder/collectors/sockets/socket_row.h"

struct job_row {
    uint64_t changes; /* how often a sample followed one in which brief processes were left out */
    bool left_out;    /* the last one was such */
    struct sampling *sampling;
    const struct memory *memory;
    struct group_job *group;
    const struct socket_row *sockets;
    uint64_t *moved;            /* for the sample: a bit for each row that may have changed */
    size_t cap_moved;           /* words */
    struct baro_process **rows; /* for the sample, if members belong to another recording: those of the others */
    size_t cap_rows;
    uint64_t lossy; /* number of samples with lost events in the interval before them */
    bool lossy_now;
    bool others; /* members have joined or left since the last sample */
};

extern const struct collector job_collector;
void job_row_init(struct job_row *r, struct sampling *sampling, const struct memory *memory, struct group_job *group,
                  const struct socket_row *sockets);

/* Events were lost since the last sample. */
void job_row_lossy(struct job_row *r);

/* Has an event changed a member since the last sample? */
bool job_row_is_stirred(const struct job_row *r);

/* Had any member changed at the last sample? If the job is a group whose CPU time the kernel counts: had any member
 * run? */
bool job_row_any_moved(const struct job_row *r);

/* Returns the last sample again, with time t_ns, if nothing has changed since; NULL if this is not certain. */
const struct baro_sample *job_row_repeat(struct job_row *r, uint64_t t_ns);

#endif
