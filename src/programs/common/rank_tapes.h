/* SPDX-License-Identifier: Apache-2.0 */
/* Tapes that are the ranks of one job (srun, mpirun, torchrun): found by their headers. */
#ifndef PROGRAMS_COMMON_RANK_TAPES_H
#define PROGRAMS_COMMON_RANK_TAPES_H

#include "baro/fold.h"
#include "output/ranks/ranks.h"
#include "programs/common/tape_list.h"

struct rank_tapes {
    struct rank_tape {
        const char *path; /* of the list */
        uint32_t rank, attempt;
        int64_t start_ns;
    } * at; /* in the order of their ranks; of several tapes of a rank the newest attempt, the latest of these */
    size_t n;
    uint32_t ranks;   /* how many the job has; 0: not known */
    struct buf notes; /* escaped lines: the other tapes of a rank, and those that can't be read; if the tapes are ranks
                       * of several jobs, one line that says so */
};

/* Returns 1 if the list has two tapes or more, and all that can be read are ranks of the same job and step; 0 if not; a
 * negative code with its text in err. alone: also 1 for a single tape, of a rank or not. To be freed in any case. */
int rank_tapes_find(const struct tape_list *list, bool alone, struct rank_tapes *ret, struct baro_error *err);
void rank_tapes_done(struct rank_tapes *t);

/* Reads all of them, one after the other. most: BARO_FOLD_TIMELINE, or BARO_FOLD_VERDICTS for what each needed. */
int rank_tapes_read(const struct rank_tapes *t, enum baro_fold_part most, struct ranks *ret, struct baro_error *err);

#endif
