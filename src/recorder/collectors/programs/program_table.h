/* SPDX-License-Identifier: Apache-2.0 */
/* The kind of a collector program: columns and rows that are made from its readings. */
#ifndef RECORDER_COLLECTORS_PROGRAMS_PROGRAM_TABLE_H
#define RECORDER_COLLECTORS_PROGRAMS_PROGRAM_TABLE_H

#include "base/map.h"
#include "libbaro/sample/sample.h"
#include "recorder/collectors/programs/reading.h"

#define PROGRAM_COLUMNS 128u /* most columns of a kind on the tape */
/* rows times (columns + 4): the most that a tape takes for all declared kinds together */
#define PROGRAM_WEIGHT (1u << 18)

/* Returns the start time of a process; 0: not known. */
typedef uint64_t program_start_fn(void *context, int32_t pid);

/* What did not fit. */
struct program_left_out {
    uint32_t columns, rows;          /* of the reading that had the most of them */
    uint64_t values;                 /* of all readings: not of their unit, such as -5 bytes */
    char first_column[READING_NAME]; /* the first column that was left out */
};

struct program_table {
    struct baro_declared kind; /* borrows name */
    struct baro_metric *metric[PROGRAM_COLUMNS];
    struct program_entity **row;
    size_t cap, cap_columns;
    uint16_t column_of[READING_COLUMNS]; /* the kind's column + 1 of a column of the reading; 0: none */
    struct map by_key;                   /* rows by the hash of their keys */
    struct program_left_out left_out;
};

void program_table_init(struct program_table *t, const char *name);
void program_table_done(struct program_table *t);

/* Replaces the kind's rows by those of the reading. ids: the last id that an entity was given. Returns 0, or -ENOMEM:
 * then some rows or values are missing. */
int program_table_take(struct program_table *t, const struct reading *r, uint32_t *ids, uint64_t t_ns,
                       program_start_fn *start_of, void *context);
/* The program failed: removes all rows. */
void program_table_clear(struct program_table *t, uint64_t t_ns);

#endif
