/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROGRAMS_BARO_LOG_ADVISE_H
#define PROGRAMS_BARO_LOG_ADVISE_H

#include "baro/advice.h"
#include "base/buf.h"
#include "programs/common/cli.h"
#include "programs/common/rank_tapes.h"

/* Lines to paste into what starts jobs. system: one of them; NULL: all, each after its name. A number that is not known
 * is left out. is_rank: it is for one of several ranks, so that its memory is not that of a node. */
void advise_lines(const struct baro_advice *a, const char *system, bool is_rank, struct buf *ret);

/* "1.25 core-hours" */
void advise_put_hours(double hours, const char *what, struct buf *ret);
/* A line with a label, wrapped. */
void advise_put_line(const struct cli *cli, const char *label, const struct buf *text, struct buf *ret);

/* Writes what to ask for after the run that these ranks are. Returns 0 or a negative code. */
int advise_ranks(const struct cli *cli, const struct settings *s, const struct rank_tapes *tapes, struct buf *ret,
                 struct baro_error *err);

#endif
