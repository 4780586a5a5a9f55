/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow arrays as the messages of Arrow's streaming format (IPC, version 5), as files that any Arrow library reads.
 * What is written is what baro_tape_arrow() gives: a struct of columns without children, some with a dictionary of
 * texts. */
#ifndef OUTPUT_ROWS_ARROW_IPC_H
#define OUTPUT_ROWS_ARROW_IPC_H

#include "baro/arrow.h"
#include "base/buf.h"

void arrow_ipc_schema(const struct ArrowSchema *schema, struct buf *ret);
/* The dictionaries of the batch, which replace those before, and the batch. */
void arrow_ipc_batch(const struct ArrowSchema *schema, const struct ArrowArray *array, struct buf *ret);
void arrow_ipc_end(struct buf *ret);

#endif
