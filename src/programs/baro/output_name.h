/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a tape after -o: what it says of the job and the rank (%j, %r, ...) is put in. */
#ifndef PROGRAMS_BARO_OUTPUT_NAME_H
#define PROGRAMS_BARO_OUTPUT_NAME_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * Writes the path that a pattern stands for, NUL-terminated. host: the name of this machine. If this is one of several
 * ranks and the pattern does not say which, "-rN" is added before ".baro": a name for all of them would be that of the
 * first. ret_is_rank: it is one of several ranks. Returns 0 or a negative code.
 */
int output_name(const char *pattern, char *(*get)(const char *name), const char *host, struct buf *ret,
                bool *ret_is_rank, struct baro_error *err);

/* Is the folder made that a pattern names? It is if there is a conversion. */
bool output_makes_folder(const char *pattern);

#endif
