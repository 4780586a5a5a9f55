/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executes the programs of commands that this program does not have, as git does. `baro summary` executes baro-read
 * with the same words (the table of commands has the program of each command); `baro foo` executes baro-foo. Programs
 * are searched for in the libexec/barograph that was installed with this program, in this program's folder (a build
 * tree), and along PATH.
 */
#ifndef PROGRAMS_BARO_PROGRAMS_H
#define PROGRAMS_BARO_PROGRAMS_H

#include <limits.h>

#include "programs/common/cli.h"

/* Executes the program that has cli->command. argv is that of main(). Returns only on failure, with the exit status. */
int programs_execute(struct cli *cli, char **argv);

/* Finds a program of libexec. Returns false if it is not installed. */
bool programs_path(const char *program, char ret[PATH_MAX]);

/* Becomes a program of libexec; argv[0] is set to its name. Returns only if that failed, with errno set. */
void programs_become(char *program, char **argv);

/* The program baro-NAME. Returns false if there is none; else it has reported why it cannot be executed, and *ret is
 * the exit status. */
bool programs_other(struct cli *cli, const char *name, char **argv, int *ret);

#endif
