/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes beside a recording that send it elsewhere while it grows: to MLflow, or to where `--push` says. A follower
 * is nobody's child, so what it uses is not the job's, and holds none of the job's descriptors. It waits for nobody,
 * and nobody waits for it.
 *
 * Its parent is called baro-follower: a recording inside of which it runs knows by that that what it starts is no
 * process of the job (recorder/job/other_recorders.c).
 */
#ifndef PROGRAMS_BARO_FOLLOWER_H
#define PROGRAMS_BARO_FOLLOWER_H

#include "programs/common/cli.h"

/* Executes argv in a child, and ends when the child has ended. Returns only if it can't be executed, in the child or,
 * if there can be none, in this process; errno says why. */
void follower_execute(char **argv);

/* Starts argv as a follower, with a variable "NAME=VALUE" each of the environment, ended by NULL. If it can't be
 * started, a note says so, which begins with the option. log: a file for its messages; NULL: they are dropped. */
void follower_start(const struct cli *cli, const char *option, char **argv, char *const *environment, const char *log);

/* Starts baro push for a tape, or a folder of tapes (then `while_pid` is the process that makes them, else 0), if the
 * option --push or $BARO_PUSH says where to. The URL is in no argument, because it may have a password. */
void follower_push(const struct cli *cli, const char *url, const char *tape, int while_pid);

#endif
