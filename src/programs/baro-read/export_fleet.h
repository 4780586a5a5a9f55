/* SPDX-License-Identifier: Apache-2.0 */
/* baro export --fleet DIR: rows about whole jobs, added to the Parquet files of a folder. */
#ifndef PROGRAMS_BARO_READ_EXPORT_FLEET_H
#define PROGRAMS_BARO_READ_EXPORT_FLEET_H

#include "programs/common/cli.h"

/* Returns the exit status. */
int export_fleet(struct cli *cli, const struct settings *s, char **operands);

#endif
