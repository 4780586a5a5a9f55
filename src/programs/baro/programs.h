/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs behind commands that this one does not have, as git has them. `baro summary` executes baro-read with the
 * same words (the table of commands says which program has a command); `baro foo` executes baro-foo. They are searched
 * for in libexec/barograph as it was installed beside this program's folder, in that folder itself (a build tree), and
 * along PATH.
 */
#ifndef PROGRAMS_BARO_PROGRAMS_H
#define PROGRAMS_BARO_PROGRAMS_H

#include "programs/common/cli.h"

/* Executes the program that has cli->command. argv is that of main(). Returns only on failure, with the exit status. */
int programs_execute(struct cli *cli, char **argv);

/* Becomes a program of libexec; argv[0] is set to its name. Returns only if that failed, with errno set. */
void programs_become(char *program, char **argv);

/* The program baro-NAME. Returns false if there is none; else it has reported why it cannot be executed, and *ret is
 * the exit status. */
bool programs_other(struct cli *cli, const char *name, char **argv, int *ret);

#endif
