/* SPDX-License-Identifier: Apache-2.0 */
/* baro export --format arrow: rows as a stream of Arrow IPC messages. */
#ifndef PROGRAMS_BARO_READ_EXPORT_ARROW_H
#define PROGRAMS_BARO_READ_EXPORT_ARROW_H

#include "baro/arrow.h"
#include "programs/common/output.h"

struct export_arrow {
    const struct baro_tape *tape;
    int rows;
    const char *columns;
    const char *(*user)(void *context, uint32_t uid);
    void *user_context;
    uint64_t damage; /* bytes that were left out */
};

/* Writes all arrays of a stream, and the end of the messages. Returns 0 or a negative code. */
int export_stream(struct ArrowArrayStream *stream, struct output *out, struct baro_error *err);

/* Returns 0 or a negative code. */
int export_arrow(struct export_arrow *e, struct output *out, struct baro_error *err);

#endif
