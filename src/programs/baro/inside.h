/* SPDX-License-Identifier: Apache-2.0 */
/* A command within a recording (phase, run --task): the wrapper of `baro run` runs it, without a recorder. Its signals,
 * stops, terminal and end are the command's. */
#ifndef PROGRAMS_BARO_INSIDE_H
#define PROGRAMS_BARO_INSIDE_H

#include "base/buf.h"
#include "programs/common/cli.h"
#include "recorder/wrapper/run.h"

/* Adds the identity of this process: members "pid" and "start_ticks" of a line of $BARO_EVENTS. */
void inside_put_process(struct buf *line);

/* Runs the command and ends as it ended. ended is called before that if the command was run; NULL: not called. Returns
 * only if this program failed, with the exit status. */
int inside_run(struct cli *cli, char **argv, void (*ended)(void *context, const struct run_result *result),
               void *context);

#endif
