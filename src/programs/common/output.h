/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that exists complete or not at all: it is written without a name, and gets its name at the end. An existing
 * file is not touched unless forced, and then it is replaced in one step.
 */
#ifndef PROGRAMS_COMMON_OUTPUT_H
#define PROGRAMS_COMMON_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

struct output {
    int fd;
    const char *path;     /* NULL: standard output */
    bool force, named;    /* named: the file has its final name already */
    char temporary[4096]; /* its name until then; "" if it has none (/proc/self/fd/N) */
};

/* path NULL is standard output. streamed: readers want to see it grow, so it has its name from the start. */
int output_open(struct output *o, const char *path, bool force, bool streamed, struct baro_error *err);
int output_write(struct output *o, const void *at, size_t len, struct baro_error *err);
/* Puts it in place. */
int output_commit(struct output *o, struct baro_error *err);
/* Closes it; what was not committed is lost. */
void output_done(struct output *o);
/* Writes a whole file. path: NULL or "-" is standard output. */
int output_text(const char *path, const struct buf *text, bool force, struct baro_error *err);

#endif
