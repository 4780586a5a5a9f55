/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows: the values of one entity, written as differences to an earlier row. Each column is predicted from the old row
 * and from other columns of the new row; a row says which predictions were wrong, and by how much (the residual).
 * Columns with PREDICT_SAME are decoded first, then the others from left to right, so that a prediction can use the
 * columns before it. Example: rss_peak was 40 MB and is predicted as 40 MB, or as the new rss_anon + rss_file +
 * rss_shmem if that is more.
 */
#ifndef LIBBARO_TAPE_ROW_H
#define LIBBARO_TAPE_ROW_H

#include "base/buf.h"
#include "base/span.h"
#include "libbaro/metric/ids.h"
#include "libbaro/tape/bits.h"

enum { COLUMNS_MAX = 128, COLUMN_TERMS = 3 };

__extension__ typedef unsigned __int128 column_mask;

static inline unsigned mask_count(column_mask m)
{
    return (unsigned)(__builtin_popcountll((uint64_t)m) + __builtin_popcountll((uint64_t)(m >> 64)));
}

/* m is not 0 */
static inline unsigned mask_lowest(column_mask m)
{
    uint64_t low = (uint64_t)m;
    return (unsigned)(low ? __builtin_ctzll(low) : 64 + __builtin_ctzll((uint64_t)(m >> 64)));
}

enum predictor {
    PREDICT_SAME,  /* the old value */
    PREDICT_SUM,   /* the old value, plus or minus the growth of the terms */
    PREDICT_SHARE, /* the old value * the new term / the old term */
    PREDICT_PEAK,  /* the old value or the sum of the terms, whichever is more */
    PREDICT_TIME,  /* the time of the record that the row is in */
    PREDICT_MAX
};

struct tape_column {
    uint8_t predictor; /* enum predictor */
    uint8_t scale;     /* differences are mostly multiples of 1 << scale, or of ten to the power of scale - 64 */
    bool falls;        /* differences are of both signs; else they are mostly positive */
    uint8_t n_terms;
    uint8_t term[COLUMN_TERMS]; /* columns, all decoded before this one */
    bool minus[COLUMN_TERMS];
};

struct tape_columns {
    unsigned n;
    struct tape_column at[COLUMNS_MAX];
};

struct row_values {
    const uint64_t *value; /* 0 where absent */
    const uint8_t *absent;
};

/* What a row says besides its values. */
enum row_flag {
    ROW_ABSENT = 1, /* reasons changed */
    ROW_READ = 2,   /* read_ns is not the time of the sample */
    ROW_INFO = 4,   /* info follows: a new process or a changed one */
    ROW_FLAGS = 7
};

/* A shape is which columns a row changes. Many rows have the same: the shapes seen last have numbers, the latest the
 * lowest. */
enum { SHAPES_MAX = 120, SIZE_SETS = 4, SHAPE_NEW = 1, SHAPE_RUN = 2, SHAPE_FIRST = 3 };

struct shapes {
    column_mask mask[SHAPES_MAX];
    uint8_t flags[SHAPES_MAX];
    unsigned n;
    uint16_t number_size; /* as size, for the numbers of shapes */
    /* How many bits a column's residuals have of late, times 16; 0: none so far. Apart by how much of a row changes:
     * what just wakes up and what works hard differ in all their sizes. */
    uint16_t size[SIZE_SETS][COLUMNS_MAX];
};

/* A row while it is written or read. */
struct tape_row {
    column_mask mask; /* columns that the prediction missed */
    unsigned flags;
    uint64_t residual[COLUMNS_MAX];
};

/* Binary for memory, decimal for times: the kernel counts in pages and in clock ticks. */
enum { SCALE_SHIFT_MAX = 32, SCALE_DECIMAL = 64, SCALE_DECIMAL_MAX = SCALE_DECIMAL + 19 };

static inline bool scale_valid(unsigned scale)
{
    return scale <= SCALE_SHIFT_MAX || (scale >= SCALE_DECIMAL && scale <= SCALE_DECIMAL_MAX);
}

/* The columns that this library writes for a kind: one per metric, in the order of their ids. */
void columns_of_kind(enum baro_kind kind, struct tape_columns *ret);

/* A number of at least 1. It takes few bits if it has about as many bits as the numbers before it. */
void number_write(struct bits *bits, uint16_t *size, uint64_t v);
bool number_scan(struct bits_in *bits, uint16_t *size, uint64_t *ret);

/* Are all n values and reasons the same? */
bool row_same(struct row_values a, struct row_values b, size_t n);

void row_compare(const struct tape_columns *c, struct row_values old, struct row_values new, struct tape_row *ret);
void row_write(struct buf *out, struct bits *bits, const struct tape_columns *c, struct shapes *s,
               const struct tape_row *row, struct row_values old, struct row_values new);

/* Reads the shape. *ret_run: what follows is not a row but a run of processes that were read and had not changed. */
bool row_scan_shape(struct span *in, struct bits_in *bits, const struct tape_columns *c, struct shapes *s,
                    struct tape_row *ret, bool *ret_run);
/* Reads reasons and residuals; value and absent hold the old row and become the new one. */
bool row_scan_values(struct span *in, struct bits_in *bits, const struct tape_columns *c, struct shapes *s,
                     const struct tape_row *row, uint64_t *value, uint8_t *absent);

#endif
