/* SPDX-License-Identifier: Apache-2.0 */
#include "output/page/lives.h"

#include <stdlib.h>
#include <string.h>

void lives_done(struct lives *l)
{
    free(l->at);
    free(l->order);
    names_done(&l->names);
    *l = (struct lives){0};
}

bool life_has_failed(const struct life *life)
{
    return (life->has & LIFE_STATUS) && life->status;
}

/* ---- which ones, if there are too many ---- */

struct rank {
    uint64_t v;
    uint32_t i;
};

static int higher(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    return x->v != y->v ? (x->v < y->v ? 1 : -1) : (x->i > y->i) - (x->i < y->i);
}

static uint64_t cpu_of(const struct baro_steps_process *p)
{
    return p->cpu_ns.u64;
}

static uint64_t rss_of(const struct baro_steps_process *p)
{
    return p->rss_peak_bytes.u64;
}

static uint64_t lived_of(const struct baro_steps_process *p)
{
    return p->end_ns - p->begin_ns;
}

static void keep_highest(struct baro_steps *s, struct rank *rank, uint64_t (*of)(const struct baro_steps_process *),
                         uint32_t most, bool *keep)
{
    uint32_t n = (uint32_t)baro_steps_processes(s);
    for (uint32_t i = 0; i < n; i++)
        rank[i] = (struct rank){of(baro_steps_process(s, i)), i};
    qsort(rank, n, sizeof *rank, higher);
    for (uint32_t i = 0; i < n && i < most; i++)
        keep[rank[i].i] = true;
}

/* Also keeps those that have not ended, the first that failed, and the parents of all that are kept. */
static void choose_kept(struct baro_steps *s, struct rank *rank, bool *keep)
{
    size_t n = baro_steps_processes(s);
    uint32_t failed = 0;
    keep_highest(s, rank, cpu_of, LIVES_BY_CPU, keep);
    keep_highest(s, rank, rss_of, LIVES_BY_OTHER, keep);
    keep_highest(s, rank, lived_of, LIVES_BY_OTHER, keep);
    for (size_t i = 0; i < n; i++) {
        const struct baro_steps_process *p = baro_steps_process(s, i);
        bool is_shown = p->has_status && p->status && failed++ < LIVES_FAILED;
        keep[i] = keep[i] || is_shown || !p->has_ended;
    }
    for (size_t i = 0; i < n; i++) {
        for (ptrdiff_t k = keep[i] ? baro_steps_process(s, i)->parent : -1; k >= 0 && !keep[k];
             k = baro_steps_process(s, (size_t)k)->parent)
            keep[k] = true;
    }
}

/* ---- taking them ---- */

static uint64_t take_value(struct life *life, const struct baro_value *v, unsigned has, unsigned is_bound)
{
    life->has |= v->absent ? 0 : has;
    life->has |= v->flags & BARO_VALUE_LOWER_BOUND ? is_bound : 0;
    return v->u64;
}

static bool take_life(struct lives *l, const struct baro_steps_process *p, const uint32_t *to)
{
    struct life *life = &l->at[l->n++];
    *life = (struct life){.name = names_add(&l->names, p->name, strlen(p->name)),
                          .cmdline = NAMES_NONE,
                          .label = NAMES_NONE,
                          .pid = p->pid,
                          .status = p->status,
                          .parent = p->parent < 0 ? LIFE_NONE : to[p->parent],
                          .has = (p->has_ended ? LIFE_ENDED : 0) | (p->has_status ? LIFE_STATUS : 0),
                          .begin_ns = p->begin_ns,
                          .end_ns = p->end_ns};
    if (p->cmdline) {
        life->cmdline = names_add(&l->names, p->cmdline, strnlen(p->cmdline, LIVES_CMDLINE));
        life->has |= LIFE_CMDLINE;
    }
    life->cpu_ns = take_value(life, &p->cpu_ns, LIFE_CPU, 0);
    /* What one that has not ended used so far is exact. */
    life->rss_peak_bytes = take_value(life, &p->rss_peak_bytes, LIFE_RSS, p->has_ended ? LIFE_RSS_IS_BOUND : 0);
    life->read_bytes = take_value(life, &p->io_read_bytes, LIFE_READ, LIFE_IO_IS_BOUND);
    life->write_bytes = take_value(life, &p->io_write_bytes, LIFE_WRITE, LIFE_IO_IS_BOUND);
    return life->name != NAMES_NONE && (!p->cmdline || life->cmdline != NAMES_NONE);
}

/* Writes each process after its parent, siblings by begin. child: the first one of each process; [n]: of none. */
static void put_in_order(struct lives *l, struct rank *rank, uint32_t *child, uint32_t *next)
{
    uint32_t n = l->n, done = 0;
    for (uint32_t i = 0; i < n; i++)
        rank[i] = (struct rank){UINT64_MAX - l->at[i].begin_ns, i};
    qsort(rank, n, sizeof *rank, higher);
    memset(child, 0xff, ((size_t)n + 1) * sizeof *child);
    for (uint32_t k = n; k-- > 0;) {
        uint32_t i = rank[k].i, *at = &child[l->at[i].parent == LIFE_NONE ? n : l->at[i].parent];
        next[i] = *at;
        *at = i;
    }
    for (uint32_t i = child[n]; i != LIFE_NONE;) {
        struct life *life = &l->at[i];
        life->depth = life->parent == LIFE_NONE ? 0 : l->at[life->parent].depth + 1;
        l->order[done++] = i;
        if (child[i] != LIFE_NONE) {
            i = child[i];
            continue;
        }
        while (next[i] == LIFE_NONE && l->at[i].parent != LIFE_NONE)
            i = l->at[i].parent;
        i = next[i];
    }
}

uint32_t *lives_take(struct lives *l, struct baro_steps *steps, bool *keep)
{
    uint32_t n = (uint32_t)baro_steps_processes(steps), kept = 0;
    struct rank *rank = malloc(((size_t)n + 1) * sizeof *rank);
    uint32_t *to = malloc(((size_t)n + 1) * sizeof *to), *links = malloc(((size_t)n + 1) * 2 * sizeof *links);
    if (rank && n > LIVES_THIN)
        choose_kept(steps, rank, keep);
    for (uint32_t i = 0; to && i < n; i++)
        to[i] = n <= LIVES_THIN || keep[i] ? kept++ : LIFE_NONE;
    l->at = malloc(((size_t)kept + 1) * sizeof *l->at);
    l->order = malloc(((size_t)kept + 1) * sizeof *l->order);
    l->left_out = baro_steps_left_out(steps);
    bool ok = rank && to && links && l->at && l->order;
    for (uint32_t i = 0; ok && i < n; i++) {
        const struct baro_steps_process *p = baro_steps_process(steps, i);
        l->left_out += to[i] == LIFE_NONE;
        l->left_out_cpu_ns += to[i] == LIFE_NONE ? p->cpu_ns.u64 : 0;
        l->left_out_failed += to[i] == LIFE_NONE && p->has_status && p->status;
        ok = to[i] == LIFE_NONE || take_life(l, p, to);
    }
    if (ok)
        put_in_order(l, rank, links, links + n + 1);
    free(rank);
    free(links);
    if (ok)
        return to;
    free(to);
    return NULL;
}
