/* SPDX-License-Identifier: Apache-2.0 */
/* baro export --list: formats, dialects and kinds, each with a line that describes it. */
#ifndef PROGRAMS_BARO_READ_EXPORT_LIST_H
#define PROGRAMS_BARO_READ_EXPORT_LIST_H

#include "baro/tape.h"
#include "base/buf.h"

/* tape: also lists the kinds that only it has; NULL: none. */
void export_list(const struct baro_tape *tape, struct buf *ret);

#endif
