/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the tree. */
#include <errno.h>
#include <stdlib.h>

#include "output/page/lives.h"

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
};

/* Writes a process, its children behind it, and so on. */
static void walk_from(struct lives *l, struct walk *w, uint32_t root)
{
    uint32_t top = 0;
    w->stack[top++] = root;
    while (top) {
        uint32_t i = w->stack[--top];
        struct life *life = &l->at[i];
        life->depth = life->parent == LIFE_NONE ? 0 : l->at[life->parent].depth + 1;
        l->order[w->n++] = i;
        for (uint32_t k = w->first[i + 2]; k-- > w->first[i + 1];)
            w->stack[top++] = w->siblings[k].i;
    }
}

static void walk_tree(struct lives *l, struct walk *w)
{
    for (uint32_t k = w->first[0]; k < w->first[1]; k++)
        walk_from(l, w, w->siblings[k].i);
}

static void sort_tree(struct lives *l, struct walk *w)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const struct life *life = &l->at[i];
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

int lives_order(struct lives *l)
{
    size_t n = (size_t)l->n + 2;
    struct walk w = {.siblings = malloc(n * sizeof *w.siblings),
                     .first = malloc(n * sizeof *w.first),
                     .stack = malloc(n * sizeof *w.stack)};
    free(l->order);
    l->order = malloc(n * sizeof *l->order);
    bool ok = w.siblings && w.first && w.stack && l->order;
    if (ok)
        sort_tree(l, &w);
    free(w.siblings);
    free(w.first);
    free(w.stack);
    return ok ? 0 : -ENOMEM;
}
