/* SPDX-License-Identifier: Apache-2.0 */
/* The window of the job, and the tree of lives in it. */
#include <errno.h>
#include <stdlib.h>

#include "base/min_max.h"
#include "libbaro/steps/steps.h"

/* As the wall time of a summary: from the start of the command to its end. */
static void find_window(struct baro_steps *s)
{
    s->from_ns = s->has_started ? s->start_ns : 0;
    s->to_ns = s->has_ended && !(s->is_detached && s->end_ns < s->last_ns) ? s->end_ns : s->last_ns;
    s->to_ns = max_u64(s->from_ns, s->to_ns);
    for (uint32_t i = 0; i < s->n; i++) {
        struct life *l = &s->life[i];
        uint64_t end = l->has_ended ? l->end_ns : s->last_ns, begin = i ? l->begin_ns : 0;
        l->from_ns = min_u64(max_u64(begin, s->from_ns), s->to_ns);
        l->to_ns = i ? max_u64(min_u64(end, s->to_ns), l->from_ns) : s->to_ns;
    }
}

/* A parent lives when its child begins. Where the tape says otherwise, the pid is that of another process. */
static bool can_be_parent(const struct life *parent, const struct life *child)
{
    return !parent->has_ended || child->begin_ns <= parent->end_ns + child->begin_error_ns;
}

static int find_parents(struct baro_steps *s)
{
    uint32_t n = s->n - 1, *found = malloc(((size_t)n + 1) * sizeof(*found));
    struct parents_process *all = malloc(((size_t)n + 1) * sizeof(*all));
    for (uint32_t i = 0; all && i < n; i++)
        all[i] = s->life[i + 1].is;
    int code = all && found ? parents_find(all, n, found) : -ENOMEM;
    s->life[0].parent = STEPS_NONE;
    for (uint32_t i = 0; code == 0 && i < n; i++) {
        uint32_t parent = found[i] == PARENTS_NONE ? 0 : found[i] + 1;
        s->life[i + 1].parent = can_be_parent(&s->life[parent], &s->life[i + 1]) ? parent : 0;
    }
    free(all);
    free(found);
    return code;
}

struct place {
    uint64_t t_ns;
    uint32_t parent, i;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    if (x->t_ns != y->t_ns)
        return x->t_ns < y->t_ns ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

/* Writes all lives but the first into ret: the children of each together, by begin or by end. */
static void sort_children(struct baro_steps *s, struct place *room, bool by_end, uint32_t *ret)
{
    for (uint32_t i = 1; i < s->n; i++)
        room[i - 1] = (struct place){by_end ? s->life[i].to_ns : s->life[i].from_ns, s->life[i].parent, i};
    qsort(room, s->n - 1, sizeof(*room), compare_places);
    for (uint32_t k = 0; k < s->n - 1; k++)
        ret[k] = room[k].i;
}

/* The children of a life follow each other in both lists, and the order is that of levels. */
static void order_tree(struct baro_steps *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++)
        s->life[i].first = s->life[i].n = 0;
    for (uint32_t k = 0; k < s->n - 1; k++) {
        struct life *parent = &s->life[s->life[s->by_begin[k]].parent];
        if (!parent->n++)
            parent->first = k;
    }
    s->order[n++] = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct life *l = &s->life[s->order[i]];
        for (uint32_t k = 0; k < l->n; k++)
            s->order[n++] = s->by_begin[l->first + k];
    }
    for (uint32_t i = 0; i < n; i++)
        s->life[i].below_cpu_ns = s->life[i].cpu_ns;
    for (uint32_t k = n; k-- > 1;)
        s->life[s->life[s->order[k]].parent].below_cpu_ns += s->life[s->order[k]].below_cpu_ns;
}

int steps_make_tree(struct baro_steps *s)
{
    size_t n = s->n;
    uint32_t *order = realloc(s->order, n * sizeof(*order));
    s->order = order ? order : s->order;
    uint32_t *by_begin = realloc(s->by_begin, n * sizeof(*by_begin));
    s->by_begin = by_begin ? by_begin : s->by_begin;
    uint32_t *by_end = realloc(s->by_end, n * sizeof(*by_end));
    s->by_end = by_end ? by_end : s->by_end;
    struct place *room = malloc(n * sizeof(*room));
    find_window(s);
    bool ok = order && by_begin && by_end && room && find_parents(s) == 0;
    if (ok) {
        sort_children(s, room, false, s->by_begin);
        sort_children(s, room, true, s->by_end);
        order_tree(s);
    }
    free(room);
    return ok ? 0 : -ENOMEM;
}
