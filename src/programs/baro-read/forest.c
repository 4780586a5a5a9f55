/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-read/forest.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#define NONE SIZE_MAX
#define DEPTH_SHOWN 12u

struct link {
    int32_t pid;
    size_t index; /* in the sample */
};

struct kin {
    size_t parent, first, last, next; /* indices in the sample */
};

static int compare_links(const void *a, const void *b)
{
    int32_t x = ((const struct link *)a)->pid, y = ((const struct link *)b)->pid;
    return (x > y) - (x < y);
}

static void join(struct kin *kin, size_t n, const struct baro_sample *s, const struct link *links)
{
    for (size_t i = 0; i < n; i++) {
        struct link key = {baro_row_ppid(baro_sample_row(s, BARO_KIND_PROCESS, i)), 0};
        const struct link *up = bsearch(&key, links, n, sizeof(*links), compare_links);
        /* A tape may contain anything: only an earlier process can be a parent, so there are no circles. */
        size_t parent = up && up->index < i ? up->index : NONE;
        kin[i].parent = parent;
        if (parent == NONE)
            continue;
        if (kin[parent].first == NONE)
            kin[parent].first = i;
        else
            kin[kin[parent].last].next = i;
        kin[parent].last = i;
    }
}

static void descend(struct forest *f, const struct kin *kin, size_t *place, const struct baro_sample *s, size_t root)
{
    size_t i = root;
    for (;;) {
        size_t parent = kin[i].parent;
        f->at[f->n] = (struct forest_node){
            .process = baro_sample_row(s, BARO_KIND_PROCESS, i),
            .depth = parent == NONE ? 0 : f->at[place[parent]].depth + 1,
            .last = kin[i].next == NONE,
            .parent = parent == NONE ? NONE : place[parent],
        };
        place[i] = f->n++;
        if (kin[i].first != NONE) {
            i = kin[i].first;
            continue;
        }
        while (i != root && kin[i].next == NONE)
            i = kin[i].parent;
        if (i == root)
            return;
        i = kin[i].next;
    }
}

int forest_make(struct forest *f, const struct baro_sample *s)
{
    size_t n = baro_sample_rows(s, BARO_KIND_PROCESS);
    *f = (struct forest){.at = calloc(n + 1, sizeof(*f->at))};
    struct link *links = calloc(n + 1, sizeof(*links));
    struct kin *kin = calloc(n + 1, sizeof(*kin));
    size_t *place = calloc(n + 1, sizeof(*place));
    int code = f->at && links && kin && place ? 0 : -ENOMEM;
    for (size_t i = 0; code == 0 && i < n; i++) {
        links[i] = (struct link){baro_row_pid(baro_sample_row(s, BARO_KIND_PROCESS, i)), i};
        kin[i] = (struct kin){NONE, NONE, NONE, NONE};
    }
    if (code == 0) {
        qsort(links, n, sizeof(*links), compare_links);
        join(kin, n, s, links);
        for (size_t i = 0; i < n; i++) {
            if (kin[i].parent == NONE)
                descend(f, kin, place, s, i);
        }
    }
    free(links);
    free(kin);
    free(place);
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
