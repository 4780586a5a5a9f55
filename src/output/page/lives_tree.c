/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the parents of processes, and the order of the tree. */
#include <errno.h>
#include <stdlib.h>

#include "output/page/lives.h"

struct key {
    int32_t pid;
    uint32_t i;
    uint64_t start_ticks;
};

static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->start_ticks != y->start_ticks)
        return x->start_ticks < y->start_ticks ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

/* Finds a parent by pid and start time; if the start is not known, the last process with the pid that started before
 * the child. */
static uint32_t find_parent(const struct lives *l, const struct key *keys, uint32_t i)
{
    const struct life *child = &l->at[i];
    uint64_t start = child->parent_start_ticks ? child->parent_start_ticks : child->start_ticks;
    struct key want = {.pid = child->ppid, .start_ticks = start, .i = UINT32_MAX};
    uint32_t low = 0, high = l->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_keys(&keys[middle], &want) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || keys[low - 1].pid != child->ppid || keys[low - 1].i == i ||
        (child->parent_start_ticks && keys[low - 1].start_ticks != start))
        return LIFE_NONE;
    return keys[low - 1].i;
}

struct sibling {
    uint32_t parent, i; /* parent: position + 1; 0: none */
    uint64_t begin_ns;
};

static int by_parent(const void *a, const void *b)
{
    const struct sibling *x = a, *y = b;
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    return x->begin_ns != y->begin_ns ? (x->begin_ns < y->begin_ns ? -1 : 1) : (x->i > y->i) - (x->i < y->i);
}

/* What walk_tree() works on. first[i]: where the children of i - 1 begin in siblings. */
struct walk {
    struct sibling *siblings;
    uint32_t *first, *stack, n;
    bool *seen;
};

/* Writes a process, its children behind it, and so on. */
static void walk_from(struct lives *l, struct walk *w, uint32_t root)
{
    uint32_t top = 0;
    w->stack[top++] = root;
    w->seen[root] = true;
    while (top) {
        uint32_t i = w->stack[--top];
        struct life *life = &l->at[i];
        life->depth = life->parent == LIFE_NONE ? 0 : l->at[life->parent].depth + 1;
        l->order[w->n++] = i;
        for (uint32_t k = w->first[i + 2]; k-- > w->first[i + 1];) {
            uint32_t child = w->siblings[k].i;
            if (!w->seen[child])
                w->stack[top++] = child;
            w->seen[child] = true;
        }
    }
}

/* In a damaged tape processes can be each other's parents: then the first of them gets no parent. */
static void walk_tree(struct lives *l, struct walk *w)
{
    for (uint32_t k = w->first[0]; k < w->first[1]; k++)
        walk_from(l, w, w->siblings[k].i);
    for (uint32_t i = 0; i < l->n; i++) {
        if (!w->seen[i]) {
            l->at[i].parent = LIFE_NONE;
            walk_from(l, w, i);
        }
    }
}

int lives_find_parents(struct lives *l)
{
    struct key *keys = malloc(((size_t)l->n + 1) * sizeof *keys);
    if (!keys)
        return -ENOMEM;
    for (uint32_t i = 0; i < l->n; i++)
        keys[i] = (struct key){.pid = l->at[i].pid, .i = i, .start_ticks = l->at[i].start_ticks};
    qsort(keys, l->n, sizeof *keys, compare_keys);
    for (uint32_t i = 0; i < l->n; i++)
        l->at[i].parent = find_parent(l, keys, i);
    free(keys);
    return 0;
}

static void sort_tree(struct lives *l, struct walk *w)
{
    for (uint32_t i = 0; i < l->n; i++) {
        struct life *life = &l->at[i];
        if (!(life->has & LIFE_ENDED))
            life->end_ns = l->end_ns;
        life->begin_ns = life->begin_ns < life->end_ns ? life->begin_ns : life->end_ns;
        w->siblings[i] = (struct sibling){life->parent == LIFE_NONE ? 0 : life->parent + 1, i, life->begin_ns};
    }
    qsort(w->siblings, l->n, sizeof *w->siblings, by_parent);
    for (uint32_t parent = 0, k = 0; parent <= l->n + 1; parent++) {
        while (k < l->n && w->siblings[k].parent < parent)
            k++;
        w->first[parent] = k;
    }
    walk_tree(l, w);
}

int lives_finish(struct lives *l)
{
    size_t n = (size_t)l->n + 2;
    struct walk w = {.siblings = malloc(n * sizeof *w.siblings),
                     .first = malloc(n * sizeof *w.first),
                     .stack = malloc(n * sizeof *w.stack),
                     .seen = calloc(n, sizeof *w.seen)};
    free(l->order);
    l->order = malloc(n * sizeof *l->order);
    bool ok = w.siblings && w.first && w.stack && w.seen && l->order && !l->failed && lives_find_parents(l) == 0;
    if (ok)
        sort_tree(l, &w);
    free(w.siblings);
    free(w.first);
    free(w.stack);
    free(w.seen);
    return ok ? 0 : -ENOMEM;
}
