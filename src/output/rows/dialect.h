/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows as other programs write them: their columns, units and quoting, so that what reads those reads these.
 * docs/dialects.md says of each column where it comes from, and what of the original was corrected.
 */
#ifndef OUTPUT_ROWS_DIALECT_H
#define OUTPUT_ROWS_DIALECT_H

#include "baro/tape.h"
#include "base/buf.h"
#include "base/error.h"

struct dialect; /* with the values of the previous row */

#define DIALECT_ANY (-3)
/* kind: of the rows (output/rows/row.h); DIALECT_ANY: the one that the dialect is of. Returns 0, BARO_E_SYNTAX with the
 * reason in err, or -ENOMEM. The header must outlive it. */
int dialect_new(struct dialect **ret, const char *name, int kind, const struct baro_header *header,
                struct baro_error *err);
void dialect_free(struct dialect *d); /* NULL allowed */

/* Wall-clock times are those of baro_tape_realtime_ns(), not those of the header alone. */
void dialect_tape(struct dialect *d, struct baro_tape *tape);
/* Values of GPUs are rounded as nvidia-smi does: whole percents, whole MiB. */
void dialect_as_smi(struct dialect *d);
void dialect_header(const struct dialect *d, struct buf *ret);
/* Takes each record, in the order of the tape, and adds a row where it makes one. */
void dialect_record(struct dialect *d, const struct baro_record *record, struct buf *ret);
/* Behind the last record. */
void dialect_end(struct dialect *d, struct buf *ret);
enum baro_kind dialect_kind(const struct dialect *d);
/* No row was made so far. */
bool dialect_silent(const struct dialect *d);
/* In how many samples so far pss or uss was old or not read of each process, where the rows have these; a dialect has
 * no place for a mark. */
uint64_t dialect_vague_samples(const struct dialect *d);

extern const char *const dialect_names[]; /* ended by NULL */

#endif
