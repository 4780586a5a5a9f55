/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts and phases for the summary at the end of `run` and `record`. They need the history of the job. Before the
 * job is a second old or has begun a phase, nothing is kept for them; then the records so far are read from the tape,
 * and later ones are added as they are written. So the verdicts are those of `baro summary`, and short commands pay
 * nothing for them.
 */
#ifndef PROGRAMS_BARO_JUDGE_H
#define PROGRAMS_BARO_JUDGE_H

#include <stdbool.h>

#include "baro/timeline.h"
#include "baro/verdict.h"

struct judge {
    struct baro_verdicts *verdicts; /* NULL: none yet, or gave_up */
    bool has_phases;
    bool has_ended; /* the command */
    bool gave_up;   /* it would take too much memory, or the tape cannot be read */
};

/* Takes a record that was passed to the tape. If it is a sample, it is on the tape, unless the command has ended. */
void judge_add(struct judge *j, const struct baro_record *record, int tape_fd);
/* The same from a complete tape, if nothing was added to the verdicts so far. */
void judge_tape(struct judge *j, int tape_fd);
/* Returns 0 if there are verdicts, which can be read then; a negative code if there are none. */
int judge_finish(struct judge *j, const struct baro_summary *summary);
/* The phases, after judge_finish(); NULL: none. Borrowed. */
const struct baro_timeline *judge_timeline(const struct judge *j);
void judge_done(struct judge *j);

#endif
