/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one job for the catalogue. Only its thread calls these functions, which take the lock of the job. */
#ifndef PROGRAMS_BARO_SERVE_FOLLOW_H
#define PROGRAMS_BARO_SERVE_FOLLOW_H

#include "programs/baro-serve/catalogue.h"

/* What was found out about a job. */
struct found {
    enum job_state state;
    int64_t start_ns, end_ns; /* since 1970 */
    bool is_summed, is_machine, is_private;
    bool no_memory; /* memory ran out: nothing else is valid */
    struct buf row, title;
};

/* Reads the header of the tape and how it ended. */
void follow_head(struct job *job, struct found *ret);
/* Reads the tape to its present end. */
void follow_read(struct job *job, struct found *ret);
/* Reads the new records of a running job's tape. Returns false if there are none. */
bool follow_tick(struct job *job, struct found *ret);
/* Frees the samples of a job that has ended, if that was long ago. Returns false if they are kept. */
bool follow_forget(struct job *job, uint64_t now_ns, bool at_once);
/* Applies the rules of the verdicts, if records were added since the last time. Needs the lock of the job. */
int follow_judge(struct job *job, struct baro_error *err);
void found_done(struct found *f);

#endif
