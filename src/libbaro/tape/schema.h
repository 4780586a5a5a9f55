/* SPDX-License-Identifier: Apache-2.0 */
/* The schema: a frame of the tape with the registry of the library that wrote it; and the mapping of its kinds and
 * columns to the registry of the library that reads it. */
#ifndef LIBBARO_TAPE_SCHEMA_H
#define LIBBARO_TAPE_SCHEMA_H

#include "base/buf.h"
#include "base/span.h"
#include "libbaro/sample/sample.h"
#include "libbaro/tape/row_encoding.h"

/* Numbers of kinds in records: those below SCHEMA_KINDS are from the schema, the others are declared in blocks. */
enum { SCHEMA_KINDS = 64, DECLARED_MAX = 64, TAPE_KINDS_MAX = KIND_COUNT + SCHEMA_KINDS + DECLARED_MAX };

/* A kind as read: the tape's columns, and the metric of each. */
struct tape_kind {
    char *name; /* NULL: it is a kind of the registry */
    struct tape_columns columns;
    uint8_t metric[COLUMNS_MAX]; /* id of the metric of each column; ids from n_own on are in struct baro_extra */
    /* How many values an entity has: the number of metrics in the registry; for a kind that only the tape has, the
     * number of columns, which may grow in later blocks. */
    unsigned n_own;
    unsigned n_more; /* metrics that only the tape has and that were read so far */
    const struct baro_metric *more[COLUMNS_MAX];
    bool other_order; /* the number of a column is not the id of its metric: rows have to be converted */
};

/* Kinds have the numbers of this library's registry; those that only the tape has follow from KIND_COUNT on. */
struct schema {
    struct tape_kind *kind[TAPE_KINDS_MAX];
    unsigned n_kinds;
    int16_t kind_of[SCHEMA_KINDS]; /* by the tape's numbers; -1: none */
    unsigned first_declared;       /* number of the first kind that was declared in a block */
};

/* Returns how many values an entity has in struct baro_extra: those of metrics that the registry does not have. */
static inline unsigned kind_extras(const struct tape_kind *k)
{
    return k->name ? 0 : k->n_more;
}

void schema_write(struct buf *out);
/* Writes a column of a schema or declaration. texts: with help and file, which readers do not have. */
void column_write(struct buf *out, const struct baro_metric *m, const struct tape_column *c, bool texts);
/* Makes the columns of a declared kind. */
void columns_of_metrics(const struct baro_metric *const *metric, size_t n, struct tape_columns *ret);

/* The schema that this library writes, as one zstd frame. It is compressed when the library is built: to compress it
 * when a recorder starts would take longer than everything else that a new tape needs. */
extern const uint8_t schema_packed[];
extern const size_t schema_packed_len;

/* Returns 0, BARO_E_CORRUPT or -ENOMEM. Free with schema_done() in any case. */
int schema_scan(struct span in, struct schema *ret);
/* Reads a declaration (tag 7). *ret_kind: the kind. *ret_changed: its number of columns has changed. */
int schema_declare(struct span in, struct schema *s, unsigned *ret_kind, bool *ret_changed);
/* Copies the kinds and columns that another cursor of the same tape has read. */
int schema_learn(struct schema *s, const struct schema *from);
void schema_done(struct schema *s);

#endif
