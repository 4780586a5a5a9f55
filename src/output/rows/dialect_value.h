/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a sample for the columns of a dialect that has a row for each sample. */
#ifndef OUTPUT_ROWS_DIALECT_VALUE_H
#define OUTPUT_ROWS_DIALECT_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/baro.h"
#include "output/rows/dialect_table.h"

struct dialect_value {
    uint64_t v;
    int absent; /* enum baro_absent */
};

/* Metrics that are added up, and those that are taken away: one but for FROM_HOST and FROM_FS. */
struct dialect_terms {
    int id[DIALECT_TERMS]; /* -1: there is no such metric */
    bool is_minus[DIALECT_TERMS];
    size_t n;
};

struct dialect_source {
    const struct dialect_table *table;
    int32_t pid;                                            /* the process that a row is about; 0: not known yet */
    struct dialect_terms metric[DIALECT_COLUMNS], not_busy; /* of the columns; CPU time that is not busy */
    bool as_smi;                                            /* values of GPUs are rounded as nvidia-smi does */
};

void dialect_source_init(struct dialect_source *d, const struct dialect_table *table, int32_t pid);
struct dialect_value dialect_column_value(const struct dialect_source *d, size_t column, const struct baro_sample *s);
/* All CPU time of the machine: busy, idle, waiting for I/O, stolen. Busy time includes that of guests. */
struct dialect_value dialect_all_cpu(const struct dialect_source *d, const struct baro_sample *s);
/* Returns the kind of entity that a column is read from. */
enum baro_kind dialect_kind_of(enum dialect_from from);
/* Does a dialect with sums leave this entity out: the loopback interface, a mount without a disk, a MIG instance of a
 * device that counts? */
bool dialect_leaves_out(const struct baro_row *e);
/* Does the sample have pss or uss that is old or not known, which other formats mark with pss_stale and lower_bounds?
 */
bool dialect_is_vague(const struct baro_sample *s);

#endif
