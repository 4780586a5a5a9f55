/* SPDX-License-Identifier: Apache-2.0 */
/* baro export --format sqlite: executes the program baro-sqlite, which links libsqlite3. */
#ifndef PROGRAMS_BARO_READ_EXPORT_SQLITE_H
#define PROGRAMS_BARO_READ_EXPORT_SQLITE_H

#include "programs/common/cli.h"

/* Becomes that program. name: the tape, as the user named it; NULL: @last. Returns the status of a failure. */
int export_sqlite(const struct cli *cli, const struct settings *s, const char *name);

#endif
