/* SPDX-License-Identifier: Apache-2.0 */
/* An SQLite database with a table for each kind of rows. */
#ifndef PROGRAMS_BARO_SQLITE_DATABASE_H
#define PROGRAMS_BARO_SQLITE_DATABASE_H

#include "baro/arrow.h"

struct database;

/* The file exists and is empty. Returns 0 or a negative code. */
int database_open(struct database **ret, const char *path, struct baro_error *err);
/* Adds a table with all rows of the stream. It has the name of the kind, if SQLite can have such a table. */
int database_add(struct database *d, const char *kind, struct ArrowArrayStream *rows, struct baro_error *err);
/* Adds the facts about the tape as a whole: the table `tape`. */
int database_describe(struct database *d, const struct baro_tape *tape, struct baro_error *err);
/* Writes all that was not written yet. */
int database_finish(struct database *d, struct baro_error *err);
void database_close(struct database *d); /* NULL is allowed */

#endif
