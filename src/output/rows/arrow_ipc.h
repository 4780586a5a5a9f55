/* SPDX-License-Identifier: Apache-2.0 */
/* Writes Arrow arrays as messages of Arrow's streaming format (IPC, version 5), which any Arrow library reads. The
 * arrays are those of baro_tape_arrow(): a struct of columns without children, some with a dictionary of texts. */
#ifndef OUTPUT_ROWS_ARROW_IPC_H
#define OUTPUT_ROWS_ARROW_IPC_H

#include "baro/arrow.h"
#include "base/buf.h"

void arrow_ipc_schema(const struct ArrowSchema *schema, struct buf *ret);
/* Writes the dictionaries of the batch, which replace the previous ones, and the batch. */
void arrow_ipc_batch(const struct ArrowSchema *schema, const struct ArrowArray *array, struct buf *ret);
void arrow_ipc_end(struct buf *ret);

#endif
