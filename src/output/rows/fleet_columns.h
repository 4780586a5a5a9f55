/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of the tables of fleet.h: where each has its value. */
#ifndef OUTPUT_ROWS_FLEET_COLUMNS_H
#define OUTPUT_ROWS_FLEET_COLUMNS_H

#include "base/buf.h"
#include "output/rows/fleet.h"

#define FLEET_MARKS 3

/* The row that is made. */
struct fleet_row {
    const struct fleet_job *job;
    const struct baro_header *header;
    const struct baro_summary *summary;
    const struct baro_timeline *timeline;
    size_t at;                      /* row of the section, item of the timeline, or number of the tag */
    struct buf text;                /* of the value that was read last */
    struct buf marked[FLEET_MARKS]; /* columns that have a mark: lower bounds, upper bounds, estimates */
};

struct fleet_source {
    const char *name; /* of the column */
    void (*read)(struct fleet_row *row, const struct fleet_source *s, int fact, struct baro_value *ret);
    const char *section, *fact; /* section NULL: of the header or a phase, or a value that is computed */
    enum baro_fact_type type;   /* of a value that is computed */
    int what;                   /* which of these */
};

struct fleet_columns {
    const char *name; /* of the table */
    const struct fleet_source *at;
    size_t n;
    size_t (*rows)(const struct fleet_row *row); /* how many a job has, or would have if each were kept */
    bool (*has)(const struct fleet_row *row);    /* is row->at one of them? NULL: always */
};

const struct fleet_columns *fleet_columns(enum fleet_table_id table);

/* Finds the fact of a source, and the type of its column. Returns -1 if the value is computed. */
int fleet_fact(const struct fleet_source *s, enum baro_fact_type *ret);

#endif
