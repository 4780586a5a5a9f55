/* SPDX-License-Identifier: Apache-2.0 */
#include "base/parents.h"

#include <errno.h>
#include <stdlib.h>

struct key {
    int32_t pid;
    uint32_t i;
    uint64_t start;
};

static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

static uint32_t find_parent(const struct parents_process *at, const struct key *keys, uint32_t n, uint32_t i)
{
    const struct parents_process *child = &at[i];
    uint64_t start = child->parent_start ? child->parent_start : child->start ? child->start : UINT64_MAX;
    struct key want = {.pid = child->ppid, .start = start, .i = UINT32_MAX};
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_keys(&keys[middle], &want) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || keys[low - 1].pid != child->ppid || keys[low - 1].i == i ||
        (child->parent_start && keys[low - 1].start && keys[low - 1].start != start))
        return PARENTS_NONE;
    return keys[low - 1].i;
}

/* A damaged tape can have processes that are each other's parents. seen[i]: the walk that came to i first. */
static void break_circles(uint32_t *parent, uint32_t n, uint32_t *seen)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = i;
        while (k != PARENTS_NONE && !seen[k]) {
            seen[k] = i + 1;
            k = parent[k];
        }
        if (k != PARENTS_NONE && seen[k] == i + 1)
            parent[k] = PARENTS_NONE;
    }
}

int parents_find(const struct parents_process *at, uint32_t n, uint32_t *ret)
{
    struct key *keys = malloc(((size_t)n + 1) * sizeof(*keys));
    uint32_t *seen = calloc((size_t)n + 1, sizeof(*seen));
    for (uint32_t i = 0; keys && i < n; i++)
        keys[i] = (struct key){.pid = at[i].pid, .i = i, .start = at[i].start};
    if (keys && seen) {
        qsort(keys, n, sizeof(*keys), compare_keys);
        for (uint32_t i = 0; i < n; i++)
            ret[i] = find_parent(at, keys, n, i);
        break_circles(ret, n, seen);
    }
    int code = keys && seen ? 0 : -ENOMEM;
    free(keys);
    free(seen);
    return code;
}
