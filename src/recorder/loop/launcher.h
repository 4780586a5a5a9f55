/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a batch system or a launcher (srun, mpirun, torchrun, ...) says of this process in its environment: of which job
 * and step it is, and which of the job's ranks.
 */
#ifndef RECORDER_LAUNCHER_H
#define RECORDER_LAUNCHER_H

#include <stdint.h>

/* Text that is not known is "", a number that is not known 0. Borrowed from the environment. */
struct launched {
    const char *job, *step;
    const char *rank;       /* a number from 0 on */
    const char *local_rank; /* among those of this machine, from 0 on */
    const char *node;       /* what the batch system calls this machine */
    uint32_t ranks;         /* how many there are */
    uint32_t local_ranks;   /* how many there are on this machine */
    uint32_t attempt;       /* how often the job was started before; 0 also where that is not known */
};

/* get: getenv(3), or the like for a test. */
struct launched launcher_read(char *(*get)(const char *name));

#endif
