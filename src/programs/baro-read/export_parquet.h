/* SPDX-License-Identifier: Apache-2.0 */
/* baro export --format parquet: a program in Python gets the rows as Arrow, and writes the file. */
#ifndef PROGRAMS_BARO_READ_EXPORT_PARQUET_H
#define PROGRAMS_BARO_READ_EXPORT_PARQUET_H

#include <sys/types.h>

#include "programs/baro-read/export_arrow.h"

/* The program that encodes Parquet. */
struct parquet_writer {
    pid_t pid;
    struct output rows; /* what it reads */
};

/* folder NULL: it writes the rows of one stream to `out`; else those of many jobs into files in the folder (fleet.h).
 * Returns 0 or a negative code. */
int parquet_writer_start(struct parquet_writer *w, const char *folder, int out, struct baro_error *err);
/* Ends it; r < 0: writing to it has failed with that code. Returns as export_parquet(). */
int parquet_writer_end(struct parquet_writer *w, int r, struct baro_error *err);

/* Returns 0, a negative code, or a positive number: the program printed why it failed. */
int export_parquet(struct export_arrow *e, struct output *out, struct baro_error *err);

#endif
