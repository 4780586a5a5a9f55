/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dialects with a row for each process at each sample. A process that ended since the previous sample has its last row
 * at this sample, from its exit. Example: gulpy with pid 7 is in the samples at 1 s and 2 s, and ended at 2.4 s; the
 * sample at 3 s has a row of it with its whole CPU time and no memory.
 */
#ifndef OUTPUT_ROWS_DIALECT_EACH_H
#define OUTPUT_ROWS_DIALECT_EACH_H

#include "baro/baro.h"
#include "base/buf.h"
#include "output/rows/dialect_table.h"

struct dialect_each;

/* NULL: out of memory. */
struct dialect_each *dialect_each_new(const struct dialect_table *table, const struct baro_header *header);
void dialect_each_tape(struct dialect_each *d, struct baro_tape *tape);
void dialect_each_free(struct dialect_each *d); /* NULL allowed */
/* Returns whether rows were made. */
bool dialect_each_record(struct dialect_each *d, const struct baro_record *record, struct buf *ret);
/* Call it after the last record: adds rows of processes that ended after the last sample. */
bool dialect_each_end(struct dialect_each *d, struct buf *ret);

#endif
