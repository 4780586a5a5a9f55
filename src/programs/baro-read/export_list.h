/* SPDX-License-Identifier: Apache-2.0 */
/* baro export --list: formats, dialects and kinds, each with a line of what it is. */
#ifndef PROGRAMS_BARO_READ_EXPORT_LIST_H
#define PROGRAMS_BARO_READ_EXPORT_LIST_H

#include "baro/tape.h"
#include "base/buf.h"

/* tape: also the kinds that it alone has; NULL: none. */
void export_list(const struct baro_tape *tape, struct buf *ret);

#endif
