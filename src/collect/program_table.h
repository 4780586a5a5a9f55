/* SPDX-License-Identifier: Apache-2.0 */
/* The kind of a collector program: columns and rows that grow out of its readings. */
#ifndef COLLECT_PROGRAM_TABLE_H
#define COLLECT_PROGRAM_TABLE_H

#include "reading/reading.h"
#include "sample/sample.h"

#define PROGRAM_COLUMNS 128u      /* of a kind on the tape */
#define PROGRAM_WEIGHT (1u << 18) /* rows times (columns + 4): what a tape takes of all declared kinds together */

/* The start time of a process; 0: it is not known. */
typedef uint64_t program_start_fn(void *context, int32_t pid);

struct program_table {
    struct baro_declared kind; /* borrows name */
    struct baro_metric *metric[PROGRAM_COLUMNS];
    struct program_entity **row;
    size_t cap, cap_columns;
    uint16_t column_of[READING_COLUMNS]; /* the kind's column + 1 of a column of the reading; 0: none */
    uint16_t *slot;                      /* hash table of the rows' keys; 0: free, else index + 1 */
    uint64_t cut;                        /* columns, rows and values that had no room, or did not fit the unit */
};

void program_table_init(struct program_table *t, const char *name);
void program_table_done(struct program_table *t);

/* Makes the kind's rows those of the reading. ids: the last id that an entity was given. Returns 0, or -ENOMEM: then
 * some of it is missing. */
int program_table_take(struct program_table *t, const struct reading *r, uint32_t *ids, uint64_t t_ns,
                       program_start_fn *start_of, void *context);
/* The program failed: nothing is known any more. */
void program_table_clear(struct program_table *t, uint64_t t_ns);

#endif
