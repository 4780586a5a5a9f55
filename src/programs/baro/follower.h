/* SPDX-License-Identifier: Apache-2.0 */
/* The process that is the parent of a follower of MLflow, and is called baro-follower: a recording inside of which it
 * runs knows by that that what it starts is no process of the job (recorder/job/other_recorders.c). */
#ifndef PROGRAMS_BARO_FOLLOWER_H
#define PROGRAMS_BARO_FOLLOWER_H

#include "programs/common/cli.h"

/* Executes argv in a child, and ends when the child has ended. Returns only if it can't be executed, in the child or,
 * if there can be none, in this process; errno says why. */
void follower_execute(char **argv);

#endif
