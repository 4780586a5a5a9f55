/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROGRAMS_BARO_PUSH_STATUS_H
#define PROGRAMS_BARO_PUSH_STATUS_H

#include "programs/common/cli.h"

/* baro push --status: how far each tape has been sent to each destination. Returns the exit status. */
int status_print(struct cli *cli, const struct settings *s, char **operands);

#endif
