/* SPDX-License-Identifier: Apache-2.0 */
/* baro run --runs N: the command several times, by baro compare. */
#ifndef PROGRAMS_BARO_REPEAT_H
#define PROGRAMS_BARO_REPEAT_H

#include "programs/common/cli.h"

/* Becomes baro compare. Returns only on failure, with the exit status. */
int repeat_run(struct cli *cli, const struct settings *s, char **argv);

#endif
