/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a sample in the order of a printed tree. */
#ifndef PROGRAMS_BARO_READ_FOREST_H
#define PROGRAMS_BARO_READ_FOREST_H

#include <stddef.h>

#include "baro/tape.h"
#include "base/buf.h"

struct forest_node {
    const struct baro_row *process;
    unsigned depth;
    bool last;         /* the last of its siblings */
    size_t parent;     /* index of its parent's node; SIZE_MAX: none */
    size_t last_child; /* index of that node; 0: none */
};

struct forest {
    struct forest_node *at;
    size_t n;
};

int forest_make(struct forest *f, const struct baro_sample *s);
void forest_done(struct forest *f);
/* Writes the lines that lead to a node: "│  └─ ". Beyond a depth that no terminal shows they stop growing. */
void forest_branch(const struct forest *f, size_t i, bool utf8, struct buf *ret);

#endif
