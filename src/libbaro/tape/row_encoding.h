/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows: the values of one process, exit or entity, written as differences to an earlier row. A bit for each column says
 * which have changed; the differences of these follow as varints.
 */
#ifndef LIBBARO_TAPE_ROW_ENCODING_H
#define LIBBARO_TAPE_ROW_ENCODING_H

#include "base/buf.h"
#include "base/span.h"
#include "libbaro/metric/ids.h"

enum { COLUMNS_MAX = 128 };

__extension__ typedef unsigned __int128 column_mask;

struct tape_column {
    uint8_t scale; /* differences are mostly multiples of 2^scale, or if scale is at least 64, of 10^(scale - 64) */
    /* 0, or 1 + the number of an earlier column. The column is expected to change by as much as column `with` minus
     * column `without`. Example: cpu_system has `with` cpu and `without` cpu_user. */
    uint8_t with, without;
};

struct tape_columns {
    unsigned n;
    bool related; /* a column has `with` or `without` */
    struct tape_column at[COLUMNS_MAX];
};

/* The values of the last row, to which the next one is written as differences. */
struct row {
    uint64_t value[COLUMNS_MAX]; /* 0 where absent */
    uint8_t absent[COLUMNS_MAX];
};

/* What a row has besides its values. */
enum row_flag {
    ROW_REASONS = 1, /* reasons changed */
    ROW_EXACT = 2,   /* differences are not divided by the scales of their columns */
    ROW_READ = 4,    /* read_ns follows: it is not the time of the sample */
    ROW_INFO = 8,    /* info follows: the process or entity is new or has changed */
    ROW_FLAGS_BITS = 4
};

/* Scales are binary for memory, which the kernel counts in pages, and decimal for times, which it counts in ticks. */
enum { SCALE_SHIFT_MAX = 32, SCALE_DECIMAL = 64, SCALE_DECIMAL_MAX = SCALE_DECIMAL + 19 };

static inline bool scale_valid(unsigned scale)
{
    return scale <= SCALE_SHIFT_MAX || (scale >= SCALE_DECIMAL && scale <= SCALE_DECIMAL_MAX);
}

/* The columns that this library writes for a kind: one per metric, in the order of their ids. */
void columns_of_kind(enum baro_kind kind, struct tape_columns *ret);

/* flags: ROW_READ and ROW_INFO, if the caller writes read_ns and info after the row. */
void row_write(struct buf *out, const struct tape_columns *c, const uint64_t *old_value, const uint8_t *old_absent,
               const uint64_t *value, const uint8_t *absent, unsigned flags);

/* value and absent: the old row, which the new one replaces. */
bool row_scan(struct span *in, const struct tape_columns *c, uint64_t *value, uint8_t *absent, unsigned *ret_flags);

#endif
