/* SPDX-License-Identifier: Apache-2.0 */
/* The registry's rows that a tape was written with, as a frame, and how they meet the registry of whoever reads. */
#ifndef TAPE_SCHEMA_H
#define TAPE_SCHEMA_H

#include "base/buf.h"
#include "base/span.h"
#include "sample/sample.h"
#include "tape/row.h"

/* Numbers of kinds in records: below SCHEMA_KINDS the schema's, from there on those that are declared in blocks. */
enum { SCHEMA_KINDS = 64, DECLARED_MAX = 64, TAPE_KINDS_MAX = KIND_COUNT + SCHEMA_KINDS + DECLARED_MAX };

/* One kind as read: the tape's columns and the metrics that they are. */
struct tape_kind {
    char *name;                  /* NULL: of the registry */
    struct columns columns;
    uint8_t metric[COLUMNS_MAX]; /* column -> id; ids from n_own on are extra */
    /* How many values an entity of it has: the registry's metrics; of a kind that only the tape has the columns, which
     * may be more in later blocks. */
    unsigned n_own;
    unsigned n_more; /* metrics that only the tape has: beside the registry's, or all that were read so far */
    const struct baro_metric *more[COLUMNS_MAX];
    bool other_order; /* a column is not the metric of its own number: rows have to be converted */
};

/* Kinds have the numbers of this library's registry; from KIND_COUNT on those that only the tape has. */
struct schema {
    struct tape_kind *kind[TAPE_KINDS_MAX];
    unsigned n_kinds;
    int16_t kind_of[SCHEMA_KINDS]; /* by the tape's numbers; -1: none */
    unsigned first_declared;       /* the kind that is declared first */
};

/* How many of an entity's values stand apart from the registry's (struct baro_extra). */
static inline unsigned kind_extras(const struct tape_kind *k)
{
    return k->name ? 0 : k->n_more;
}

void schema_write(struct buf *out);
/* A column as the schema and a declaration have it. texts: with help and file, which readers don't have. */
void column_write(struct buf *out, const struct baro_metric *m, const struct column *c, bool texts);
/* The columns of a declared kind. */
void columns_of_metrics(const struct baro_metric *const *metric, size_t n, struct columns *ret);

/* The same as one zstd frame. At each start of a recorder it would take longer to compress it than all else that the
 * tape needs. */
extern const uint8_t schema_packed[];
extern const size_t schema_packed_len;

/* Returns 0, BARO_E_CORRUPT or -ENOMEM; what was made so far goes with schema_done(). */
int schema_scan(struct span in, struct schema *ret);
/* Reads a declaration (tag 8). *ret_kind: the kind. *ret_changed: its columns are others than before. */
int schema_declare(struct span in, struct schema *s, unsigned *ret_kind, bool *ret_changed);
/* Takes over the kinds and columns that another cursor of the same tape has read. */
int schema_learn(struct schema *s, const struct schema *from);
void schema_done(struct schema *s);

#endif
