/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-read/forest.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#define NONE SIZE_MAX
#define DEPTH_SHOWN 12u

static void fill_nodes(struct forest *f, const struct baro_sample *s, const size_t *order, const size_t *parent,
                       size_t *place)
{
    for (size_t k = 0; k < f->n; k++) {
        size_t i = order[k], up = parent[i] == NONE ? NONE : place[parent[i]];
        place[i] = k;
        f->at[k] = (struct forest_node){.process = baro_sample_row(s, BARO_KIND_PROCESS, i),
                                        .depth = up == NONE ? 0 : f->at[up].depth + 1,
                                        .last = true,
                                        .parent = up};
        if (up == NONE)
            continue;
        if (f->at[up].last_child)
            f->at[f->at[up].last_child].last = false;
        f->at[up].last_child = k;
    }
}

int forest_make(struct forest *f, const struct baro_sample *s)
{
    size_t n = baro_sample_rows(s, BARO_KIND_PROCESS);
    *f = (struct forest){.at = calloc(n + 1, sizeof(*f->at)), .n = n};
    size_t *order = calloc(3 * n + 1, sizeof(*order)), *parent = order + n, *place = parent + n;
    int code = f->at && order ? baro_sample_forest(s, order, parent, NULL) : -ENOMEM;
    if (code == 0)
        fill_nodes(f, s, order, parent, place);
    free(order);
    return code;
}

void forest_done(struct forest *f)
{
    free(f->at);
    *f = (struct forest){0};
}

void forest_branch(const struct forest *f, size_t i, bool utf8, struct buf *ret)
{
    const struct forest_node *path[DEPTH_SHOWN];
    unsigned n = 0;
    for (size_t at = i; at != NONE && f->at[at].depth > 0 && n < DEPTH_SHOWN; at = f->at[at].parent)
        path[n++] = &f->at[at];
    while (n-- > 1)
        buf_str(ret, path[n]->last ? "   " : utf8 ? "│  " : "|  ");
    if (f->at[i].depth > 0)
        buf_str(ret, path[0]->last ? (utf8 ? "└─ " : "`- ") : (utf8 ? "├─ " : "|- "));
}
