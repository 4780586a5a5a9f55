/* SPDX-License-Identifier: Apache-2.0 */
/* The collector "directories": the sizes of directories that the user named (--du). */
#ifndef RECORDER_COLLECTORS_DIRECTORIES_DIRECTORY_ROW_H
#define RECORDER_COLLECTORS_DIRECTORIES_DIRECTORY_ROW_H

#include "base/buf.h"
#include "recorder/collectors/directories/directory.h"
#include "recorder/sampling/sampling.h"

struct directory_row {
    struct sampling *sampling;
    struct directories *directories; /* NULL: none was named */
};

extern const struct collector directory_collector;
void directory_row_init(struct directory_row *r, struct sampling *sampling);

/* path: absolute. every_ns: 0: not given; the value of the first directory applies to all. Returns 0 or a negative
 * code. */
int directory_row_add(struct directory_row *r, const char *path, uint64_t every_ns, struct baro_entity_owner owner,
                      struct baro_error *err);

#endif
