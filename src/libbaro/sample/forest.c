/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a sample, each below its parent. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/sorted.h"
#include "libbaro/sample/sample.h"

#define NONE SIZE_MAX

struct link {
    int32_t pid;
    size_t row;
};

/* Links from a row to its first child, last child and next sibling. The parents are in the caller's array. */
struct kin {
    size_t first, last, next;
};

/* Is p the parent? A pid may belong to another process after the parent has ended: then the start times differ. A
 * start time of 0 is not known. */
static bool is_parent(const struct baro_key *of_child, const struct baro_key *p)
{
    return !of_child->start || !p->start || of_child->start == p->start;
}

/* A tape may contain anything: only an earlier row can be a parent, so there are no circles. */
static void find_parents(const struct baro_sample *s, const struct link *links, size_t n, ptrdiff_t *parent)
{
    for (size_t i = 0; i < n; i++) {
        struct link key = {s->processes[i]->parent.pid, 0};
        const struct link *up = bsearch(&key, links, n, sizeof(*links), compare_i32);
        bool fits = up && up->row < i && is_parent(&s->processes[i]->parent, &s->processes[up->row]->key);
        parent[i] = fits ? (ptrdiff_t)up->row : -1;
    }
}

static void find_children(struct kin *kin, size_t n, const ptrdiff_t *parent)
{
    for (size_t i = 0; i < n; i++) {
        struct kin *up = parent[i] < 0 ? NULL : &kin[parent[i]];
        kin[i].first = kin[i].last = kin[i].next = NONE;
        if (!up)
            continue;
        if (up->first == NONE)
            up->first = i;
        else
            kin[up->last].next = i;
        up->last = i;
    }
}

/* Returns how many rows are ordered with those of this tree. */
static size_t descend(const struct kin *kin, const ptrdiff_t *parent, size_t root, size_t *order, size_t done)
{
    size_t i = root;
    for (;;) {
        order[done++] = i;
        if (kin[i].first != NONE) {
            i = kin[i].first;
            continue;
        }
        while (i != root && kin[i].next == NONE)
            i = (size_t)parent[i];
        if (i == root)
            return done;
        i = kin[i].next;
    }
}

int baro_sample_forest(const struct baro_sample *s, size_t *ret_order, ptrdiff_t *ret_parent, struct baro_error *err)
{
    size_t n = s->n, done = 0;
    struct link *links = calloc(n + 1, sizeof(*links));
    struct kin *kin = calloc(n + 1, sizeof(*kin));
    int code = links && kin ? 0 : -ENOMEM;
    for (size_t i = 0; code == 0 && i < n; i++)
        links[i] = (struct link){s->processes[i]->key.pid, i};
    if (code == 0) {
        qsort(links, n, sizeof(*links), compare_i32);
        find_parents(s, links, n, ret_parent);
        find_children(kin, n, ret_parent);
    }
    for (size_t i = 0; code == 0 && i < n; i++)
        done = ret_parent[i] < 0 ? descend(kin, ret_parent, i, ret_order, done) : done;
    free(links);
    free(kin);
    return code < 0 ? error_set(err, code, "out of memory") : 0;
}
