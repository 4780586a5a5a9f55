/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of GPUs as nvidia-smi writes them, one for each device at each reading. */
#ifndef OUTPUT_ROWS_DIALECT_GPU_H
#define OUTPUT_ROWS_DIALECT_GPU_H

#include "baro/tape.h"
#include "base/buf.h"
#include "output/rows/dialect_table.h"

struct dialect_gpu; /* with the values of the reading before */

struct dialect_gpu *dialect_gpu_new(enum dialect_gpu_rows rows, const struct baro_header *header); /* NULL: no memory */
void dialect_gpu_tape(struct dialect_gpu *d, struct baro_tape *tape);
void dialect_gpu_free(struct dialect_gpu *d);
void dialect_gpu_header(const struct dialect_gpu *d, struct buf *ret);
/* Returns whether it added a row. */
bool dialect_gpu_sample(struct dialect_gpu *d, const struct baro_sample *s, struct buf *ret);

#endif
