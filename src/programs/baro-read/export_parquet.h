/* SPDX-License-Identifier: Apache-2.0 */
/* baro export --format parquet: a program in Python gets the rows as Arrow, and writes the file. */
#ifndef PROGRAMS_BARO_READ_EXPORT_PARQUET_H
#define PROGRAMS_BARO_READ_EXPORT_PARQUET_H

#include "programs/baro-read/export_arrow.h"

/* Returns 0, a negative code, or a positive number: the program printed why it failed. */
int export_parquet(struct export_arrow *e, struct output *out, struct baro_error *err);

#endif
