/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs at a moment, and what processes of the job use of them, as lines of `baro show`. */
#ifndef PROGRAMS_BARO_READ_SHOW_GPUS_H
#define PROGRAMS_BARO_READ_SHOW_GPUS_H

#include "baro/tape.h"
#include "base/buf.h"

/* Keeps the last reading before that of the sample at t_ns, from which rates are computed. *ret is to be freed with
 * baro_sample_free(); NULL if there is none. It moves the cursor. Returns 0 or a negative code. */
int show_gpus_before(struct baro_tape *tape, uint64_t t_ns, struct baro_sample **ret, struct baro_error *err);
/* before: NULL: without rates. */
void show_gpus_text(const struct baro_record *record, const struct baro_sample *before, struct buf *b);
/* Is this kind shown so? */
bool show_is_of_gpus(int kind);

#endif
