/* SPDX-License-Identifier: Apache-2.0 */
/* The registry's rows that a tape was written with, as a frame, and how they meet the registry of whoever reads. */
#ifndef TAPE_SCHEMA_H
#define TAPE_SCHEMA_H

#include "base/buf.h"
#include "base/span.h"
#include "tape/row.h"

enum { SCHEMA_KINDS = 64 }; /* what has a number above is not known */

/* As read: the tape's columns and the metrics that they are. */
struct schema {
    struct columns columns[BARO_KIND_MAX];
    uint8_t metric[BARO_KIND_MAX][COLUMNS_MAX]; /* column -> id; ids from baro_metric_count() on are extra */
    /* By the tape's numbers; -1: none of this library's, or behind such a one: how many bits of a machine's record are
     * that one's is not known. */
    int8_t kind_of[SCHEMA_KINDS];
    unsigned n_extra[BARO_KIND_MAX];
    struct baro_metric *extra[BARO_KIND_MAX];   /* what only the tape's writer knew */
};

void schema_write(struct buf *out);

/* The same as one zstd frame. At each start of a recorder it would take longer to compress it than all else that the
 * tape needs. */
extern const uint8_t schema_packed[];
extern const size_t schema_packed_len;

/* Returns 0, BARO_E_CORRUPT or -ENOMEM; what was made so far goes with schema_done(). */
int schema_scan(struct span in, struct schema *ret);
void schema_done(struct schema *s);

#endif
