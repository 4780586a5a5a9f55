/* SPDX-License-Identifier: Apache-2.0 */
/* The schema: the registry of the library that wrote a tape, as a frame of that tape; and how a reader maps its
 * kinds and columns to the registry of its own library. */
#ifndef LIBBARO_TAPE_SCHEMA_H
#define LIBBARO_TAPE_SCHEMA_H

#include "base/buf.h"
#include "base/span.h"
#include "libbaro/sample/sample.h"
#include "libbaro/tape/row.h"

/* Numbers of kinds in records: below SCHEMA_KINDS the schema's, from there on those that are declared in blocks. */
enum { SCHEMA_KINDS = 64, DECLARED_MAX = 64, TAPE_KINDS_MAX = KIND_COUNT + SCHEMA_KINDS + DECLARED_MAX };

/* A kind as read: the tape's columns, and the metric of each. */
struct tape_kind {
    char *name; /* NULL: of the registry */
    struct tape_columns columns;
    uint8_t metric[COLUMNS_MAX]; /* id of the metric of each column; ids from n_own on are in struct baro_extra */
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

/* Returns how many values an entity has in struct baro_extra: those of metrics that the registry does not have. */
static inline unsigned kind_extras(const struct tape_kind *k)
{
    return k->name ? 0 : k->n_more;
}

void schema_write(struct buf *out);
/* A column as the schema and a declaration have it. texts: with help and file, which readers don't have. */
void column_write(struct buf *out, const struct baro_metric *m, const struct tape_column *c, bool texts);
/* The columns of a declared kind. */
void columns_of_metrics(const struct baro_metric *const *metric, size_t n, struct tape_columns *ret);

/* The schema that this library writes, as one zstd frame. It is compressed when the library is built: at each start
 * of a recorder that would take longer than everything else that a new tape needs. */
extern const uint8_t schema_packed[];
extern const size_t schema_packed_len;

/* Returns 0, BARO_E_CORRUPT or -ENOMEM; what was made so far goes with schema_done(). */
int schema_scan(struct span in, struct schema *ret);
/* Reads a declaration (tag 7). *ret_kind: the kind. *ret_changed: its number of columns is another than before. */
int schema_declare(struct span in, struct schema *s, unsigned *ret_kind, bool *ret_changed);
/* Takes over the kinds and columns that another cursor of the same tape has read. */
int schema_learn(struct schema *s, const struct schema *from);
void schema_done(struct schema *s);

#endif
