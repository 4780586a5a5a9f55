/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables about whole jobs, for stores that have the jobs of many machines (docs/fleet.md): a row for each job, and for
 * each of its commands, phases, GPUs and tags. Columns are only ever added, and then FLEET_SCHEMA grows.
 */
#ifndef OUTPUT_ROWS_FLEET_H
#define OUTPUT_ROWS_FLEET_H

#include "baro/arrow.h"
#include "baro/fold.h"

#define FLEET_SCHEMA 1

enum fleet_table_id { FLEET_JOB, FLEET_COMMAND, FLEET_PHASE, FLEET_DEVICE, FLEET_TAG, FLEET_TABLES };

struct fleet_job {
    const struct baro_tape *tape;
    const char *path;             /* of the tape */
    const struct baro_fold *fold; /* finished with BARO_FOLD_TIMELINE */
    const char *user;             /* NULL: the uid has no name */
};

struct fleet; /* the tables */

int fleet_new(struct fleet **ret, struct baro_error *err);
void fleet_free(struct fleet *f);
/* Adds the rows of a job. Returns 0 or -ENOMEM. */
int fleet_add(struct fleet *f, const struct fleet_job *job, struct baro_error *err);
/* Makes a stream of a table, as baro_arrow_table() does. */
int fleet_stream(const struct fleet *f, enum fleet_table_id table, struct ArrowArrayStream *ret,
                 struct baro_error *err);
/* Removes all rows, and keeps the memory. */
void fleet_clear(struct fleet *f);

#endif
