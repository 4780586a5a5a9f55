/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROGRAMS_BARO_TOP_RANKS_LIVE_H
#define PROGRAMS_BARO_TOP_RANKS_LIVE_H

#include "programs/common/cli.h"

/* Shows the ranks of one job until all have ended; once, if standard output is no terminal. Returns the exit status; -1
 * if the operands are no ranks. */
int ranks_live(struct cli *cli, const struct settings *s, char **argv);

#endif
