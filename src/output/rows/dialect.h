/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows as other programs write them, with their columns, units and quoting, for programs that read their output.
 * docs/dialects.md says where each column comes from, and how it differs from the original.
 */
#ifndef OUTPUT_ROWS_DIALECT_H
#define OUTPUT_ROWS_DIALECT_H

#include "baro/tape.h"
#include "base/buf.h"
#include "base/error.h"

struct dialect; /* the state of one conversion, with the values of the previous row */

#define DIALECT_ANY (-3)
/* kind: the kind of the rows (output/rows/row.h); DIALECT_ANY: that of the dialect. Returns 0; BARO_E_SYNTAX with
 * the reason in err; or -ENOMEM. The header must outlive the dialect. */
int dialect_new(struct dialect **ret, const char *name, int kind, const struct baro_header *header,
                struct baro_error *err);
void dialect_free(struct dialect *d); /* NULL allowed */

/* Makes wall-clock times those of baro_tape_realtime_ns(), instead of those of the header alone. */
void dialect_tape(struct dialect *d, struct baro_tape *tape);
/* Rounds values of GPUs as nvidia-smi does: to whole percents and whole MiB. */
void dialect_as_smi(struct dialect *d);
void dialect_header(const struct dialect *d, struct buf *ret);
/* Takes a record, in the order of the tape, and adds a row if there is one. */
void dialect_record(struct dialect *d, const struct baro_record *record, struct buf *ret);
/* Call it after the last record: adds the rows that are left. */
void dialect_end(struct dialect *d, struct buf *ret);
enum baro_kind dialect_kind(const struct dialect *d);
/* Was no row written so far? */
bool dialect_silent(const struct dialect *d);
/* Returns in how many samples so far the pss or uss was stale or not known for some process, if the rows have these:
 * a dialect has no place for a mark. */
uint64_t dialect_vague_samples(const struct dialect *d);

extern const char *const dialect_names[]; /* ended by NULL */

#endif
