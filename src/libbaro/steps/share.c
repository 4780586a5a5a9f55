/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who shares each moment: the leaves, processes that live and have no living descendant. One sweep over all begins and
 * ends: `each` is the time that one leaf got so far, so a leaf has what that grew by while it was one.
 *
 * Example: a lives from 0 to 3 s, b from 2 to 3 s. Until 2 s `each` grows by 2 s, then by 0.5 s: a has 2.5 s, b 0.5 s.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libbaro/steps/steps.h"

#define IDLE_CORES 0.01  /* a process that uses less over its life */
#define IDLE_COVERED 0.9 /* and lives so much of it beside others that work */
#define IDLE_LONG 0.8    /* of the job */
#define WORKS_CORES 0.1  /* a process with children works if it uses more */

struct edge {
    uint64_t t_ns;
    uint32_t i;
    bool is_end;
};

struct sweep {
    struct baro_steps *s;
    uint32_t *below; /* children that live, or have a living descendant */
    bool *lives;     /* it lives, and is not left out */
    bool *left_out;
    double *had; /* `each` when it became a leaf; of one that is left out `covered` when it began */
    double each, covered;
    uint32_t *of_step;  /* leaves of each step */
    uint64_t t_ns, sum; /* sum: of the numbers of the steps that have leaves; of a single one it is its number */
    uint32_t leaves, steps, working;
};

static int compare_edges(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    if (x->t_ns != y->t_ns)
        return x->t_ns < y->t_ns ? -1 : 1;
    if (x->is_end != y->is_end)
        return x->is_end ? 1 : -1;
    return (x->i > y->i) - (x->i < y->i);
}

static bool works(const struct life *l)
{
    return !l->n || !life_used_less(l, WORKS_CORES);
}

static void begin_leaf(struct sweep *w, uint32_t i)
{
    w->had[i] = w->each;
    w->leaves++;
    if (!w->of_step[w->s->life[i].step]++) {
        w->steps++;
        w->sum += w->s->life[i].step;
    }
    w->working += i && works(&w->s->life[i]);
}

static void end_leaf(struct sweep *w, uint32_t i)
{
    w->s->life[i].share_ns += w->each - w->had[i];
    w->leaves--;
    if (!--w->of_step[w->s->life[i].step]) {
        w->steps--;
        w->sum -= w->s->life[i].step;
    }
    w->working -= i && works(&w->s->life[i]);
}

/* Tells the ancestors that something lives below them. It ends at the first that knew, mostly the parent. */
static void begin(struct sweep *w, uint32_t i)
{
    const struct life *life = w->s->life;
    w->lives[i] = true;
    if (!w->below[i])
        begin_leaf(w, i);
    for (bool is_new = !w->below[i]; is_new && life[i].parent != STEPS_NONE;) {
        i = life[i].parent;
        if (!w->below[i] && w->lives[i])
            end_leaf(w, i);
        is_new = !w->below[i]++ && !w->lives[i];
    }
}

static void end(struct sweep *w, uint32_t i)
{
    const struct life *life = w->s->life;
    w->lives[i] = false;
    if (!w->below[i])
        end_leaf(w, i);
    for (bool is_last = !w->below[i]; is_last && life[i].parent != STEPS_NONE;) {
        i = life[i].parent;
        is_last = !--w->below[i] && !w->lives[i];
        if (!w->below[i] && w->lives[i])
            begin_leaf(w, i);
    }
}

static void pass(struct sweep *w, uint64_t t_ns)
{
    double dt = (double)(t_ns - w->t_ns);
    w->t_ns = t_ns;
    if (!w->leaves)
        return;
    w->each += dt / w->leaves;
    w->covered += w->working ? dt : 0;
    if (w->steps == 1)
        w->s->row[w->sum].alone_ns += dt;
}

static void sweep(struct sweep *w, const struct edge *edge, size_t n)
{
    struct baro_steps *s = w->s;
    memset(w->below, 0, s->n * sizeof(*w->below));
    w->each = w->covered = 0;
    w->t_ns = s->from_ns;
    w->sum = w->leaves = w->steps = w->working = 0;
    for (uint32_t i = 0; i < s->n; i++)
        s->life[i].share_ns = 0;
    for (uint32_t k = 0; k < s->n_rows; k++)
        s->row[k].alone_ns = 0;
    for (size_t k = 0; k < n; k++) {
        uint32_t i = edge[k].i;
        pass(w, edge[k].t_ns);
        if (w->left_out[i] && !edge[k].is_end)
            w->had[i] = w->covered;
        else if (w->left_out[i])
            w->had[i] = w->covered - w->had[i];
        else if (edge[k].is_end)
            end(w, i);
        else
            begin(w, i);
    }
}

/* A process without work that nobody waited for: it outlived its parent, was killed, was there at the end, or all the
 * time. Nor has anything below it worked. */
static bool may_be_idle(const struct baro_steps *s, const struct life *l)
{
    const struct life *parent = &s->life[l->parent];
    double length = (double)life_length(l), job = (double)(s->to_ns - s->from_ns);
    if (l->is_driver || !l->has_cpu || (double)l->below_cpu_ns >= IDLE_CORES * length)
        return false;
    bool is_orphan = l->parent && parent->has_ended && parent->end_ns + STEPS_GRAIN_NS < l->to_ns;
    bool is_killed = l->has_status && (l->status & 0x7f);
    return is_orphan || is_killed || !l->has_ended || l->end_ns > s->to_ns || length >= IDLE_LONG * job ||
           s->life[l->parent].is_idle;
}

/* Sleeping alone is what the job waited for. So those that may be idle are so if others worked beside them. */
static void find_idle(struct sweep *w, const struct edge *edge, size_t n)
{
    struct baro_steps *s = w->s;
    for (uint32_t k = 0; k < s->n; k++) {
        uint32_t i = s->order[k];
        s->life[i].is_idle = i && may_be_idle(s, &s->life[i]);
        w->left_out[i] = s->life[i].is_idle;
    }
    sweep(w, edge, n);
    for (uint32_t k = 1; k < s->n; k++) {
        struct life *l = &s->life[s->order[k]];
        double beside = w->left_out[s->order[k]] ? w->had[s->order[k]] : 0;
        bool is_below = s->life[l->parent].is_idle && w->left_out[s->order[k]];
        l->is_idle = l->is_idle && (is_below || beside >= IDLE_COVERED * (double)life_length(l));
    }
    for (uint32_t i = 0; i < s->n; i++)
        w->left_out[i] = s->life[i].is_idle;
}

/* Of the children of each life, as many as lived just before one of them ended. */
static void count_at_once(struct baro_steps *s)
{
    for (uint32_t p = 0; p < s->n; p++) {
        struct life *l = &s->life[p];
        uint32_t begun = 0, idle = 0, ended = 0;
        l->most = 0;
        for (uint32_t k = 0; k < l->n; k++) {
            struct life *child = &s->life[s->by_end[l->first + k]];
            for (; begun < l->n && s->life[s->by_begin[l->first + begun]].from_ns < child->to_ns; begun++)
                idle += s->life[s->by_begin[l->first + begun]].is_idle;
            child->at_once = begun > idle + ended ? begun - idle - ended : 0;
            ended += !child->is_idle;
            l->most = child->at_once > l->most ? child->at_once : l->most;
        }
    }
}

static void add_shares(struct baro_steps *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        struct step_row *r = &s->row[s->life[i].step];
        r->share_ns += s->life[i].share_ns;
        r->is.is_idle |= r->top == i && s->life[i].is_idle;
    }
}

int steps_share(struct baro_steps *s)
{
    size_t n = s->n, n_edges = 0;
    struct edge *edge = malloc(2 * n * sizeof(*edge));
    struct sweep w = {.s = s,
                      .below = malloc(n * sizeof(*w.below)),
                      .lives = calloc(n, sizeof(*w.lives)),
                      .left_out = calloc(n, sizeof(*w.left_out)),
                      .had = calloc(n, sizeof(*w.had)),
                      .of_step = calloc(n, sizeof(*w.of_step))};
    bool ok = edge && w.below && w.lives && w.left_out && w.had && w.of_step;
    if (ok) {
        for (uint32_t i = 0; i < n; i++) {
            edge[n_edges++] = (struct edge){s->life[i].from_ns, i, false};
            edge[n_edges++] = (struct edge){s->life[i].to_ns, i, true};
        }
        qsort(edge, n_edges, sizeof(*edge), compare_edges);
        find_idle(&w, edge, n_edges);
        sweep(&w, edge, n_edges);
        count_at_once(s);
        add_shares(s);
    }
    free(edge);
    free(w.below);
    free(w.lives);
    free(w.left_out);
    free(w.had);
    free(w.of_step);
    return ok ? 0 : -ENOMEM;
}
