/* SPDX-License-Identifier: Apache-2.0 */
/* baro summary --by phase: what the job used in each of its phases. */
#ifndef PROGRAMS_BARO_READ_SUMMARY_PHASES_H
#define PROGRAMS_BARO_READ_SUMMARY_PHASES_H

#include "programs/common/tape_args.h"

/* Returns the exit status. */
int summary_phases(struct cli *cli, const struct settings *s, struct baro_tape *tape, const char *path);

#endif
