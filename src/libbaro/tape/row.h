/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows: the values of one process, exit or entity, written as the differences to an earlier row. A bit for each column
 * says which have changed; of these the differences follow, as varints.
 */
#ifndef LIBBARO_TAPE_ROW_H
#define LIBBARO_TAPE_ROW_H

#include "base/buf.h"
#include "base/span.h"
#include "libbaro/metric/ids.h"

enum { COLUMNS_MAX = 128 };

__extension__ typedef unsigned __int128 column_mask;

struct tape_column {
    uint8_t scale; /* differences are mostly multiples of 1 << scale, or of ten to the power of scale - 64 */
    /* 0, or 1 + the number of a column before this one: its change is what is expected here, or added to that its
     * opposite. Example: cpu_system is with cpu and without cpu_user. */
    uint8_t with, without;
};

struct tape_columns {
    unsigned n;
    bool related; /* one has a column that it is with or without */
    struct tape_column at[COLUMNS_MAX];
};

/* The values before a row, which it is written as differences to; and after it, its own. */
struct row {
    uint64_t value[COLUMNS_MAX]; /* 0 where absent */
    uint8_t absent[COLUMNS_MAX];
};

/* What a row says besides its values. */
enum row_flag {
    ROW_REASONS = 1, /* reasons changed */
    ROW_EXACT = 2,   /* differences are not divided by their columns' units */
    ROW_READ = 4,    /* read_ns is not the time of the sample */
    ROW_INFO = 8,    /* info follows: a new process or entity, or a changed one */
    ROW_FLAGS_BITS = 4
};

/* Binary for memory, decimal for times: the kernel counts in pages and in clock ticks. */
enum { SCALE_SHIFT_MAX = 32, SCALE_DECIMAL = 64, SCALE_DECIMAL_MAX = SCALE_DECIMAL + 19 };

static inline bool scale_valid(unsigned scale)
{
    return scale <= SCALE_SHIFT_MAX || (scale >= SCALE_DECIMAL && scale <= SCALE_DECIMAL_MAX);
}

/* The columns that this library writes for a kind: one per metric, in the order of their ids. */
void columns_of_kind(enum baro_kind kind, struct tape_columns *ret);

/* flags: ROW_READ and ROW_INFO, for what the caller writes behind the row. */
void row_write(struct buf *out, const struct tape_columns *c, const uint64_t *old_value, const uint8_t *old_absent,
               const uint64_t *value, const uint8_t *absent, unsigned flags);

/* value and absent hold the old row and become the new one. */
bool row_scan(struct span *in, const struct tape_columns *c, uint64_t *value, uint8_t *absent, unsigned *ret_flags);

#endif
