/* SPDX-License-Identifier: Apache-2.0 */
#include "page/lives.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "baro/interval.h"

static int metric(int kind, const char *name)
{
    return baro_metric_find(kind, name, strlen(name));
}

void lives_init(struct lives *l, const struct baro_header *header)
{
    *l = (struct lives){.header = header};
    l->metric.process_cpu = metric(BARO_KIND_PROCESS, "cpu_ns");
    l->metric.process_rss = metric(BARO_KIND_PROCESS, "rss_bytes");
    l->metric.process_rss_peak = metric(BARO_KIND_PROCESS, "rss_peak_bytes");
    l->metric.process_read = metric(BARO_KIND_PROCESS, "io_read_bytes");
    l->metric.process_write = metric(BARO_KIND_PROCESS, "io_write_bytes");
    l->metric.process_children = metric(BARO_KIND_PROCESS, "children_faults_minor");
    l->metric.exit_cpu = metric(BARO_KIND_EXIT, "cpu_ns");
    l->metric.exit_rss_peak = metric(BARO_KIND_EXIT, "rss_peak_bytes");
    l->metric.exit_rss_is_bound = metric(BARO_KIND_EXIT, "rss_peak_is_lower_bound");
    l->metric.exit_read = metric(BARO_KIND_EXIT, "own_io_read_bytes");
    l->metric.exit_write = metric(BARO_KIND_EXIT, "own_io_write_bytes");
    l->metric.exit_io_is_bound = metric(BARO_KIND_EXIT, "own_io_is_lower_bound");
    l->metric.exit_elapsed = metric(BARO_KIND_EXIT, "elapsed_ns");
}

void lives_done(struct lives *l)
{
    free(l->at);
    free(l->order);
    names_done(&l->names);
    numbers_done(&l->by_id);
    *l = (struct lives){0};
}

uint32_t lives_find(const struct lives *l, uint32_t id)
{
    return numbers_find(&l->by_id, id);
}

static struct life *born(struct lives *l, uint32_t id)
{
    uint32_t i = numbers_find(&l->by_id, id);
    if (i != NAMES_NONE)
        return &l->at[i];
    if (l->n == LIVES_MOST) {
        l->left_out++;
        return NULL;
    }
    if (l->n == l->room) {
        uint32_t room = l->room ? l->room * 2 : 256;
        struct life *at = realloc(l->at, room * sizeof *at);
        if (!at) {
            l->failed = true;
            return NULL;
        }
        l->at = at;
        l->room = room;
    }
    if (!numbers_set(&l->by_id, id, l->n)) {
        l->failed = true;
        return NULL;
    }
    l->at[l->n] = (struct life){.parent = LIFE_NONE, .name = NAMES_NONE, .cmdline = NAMES_NONE, .label = NAMES_NONE,
                                  .begin_ns = UINT64_MAX};
    return &l->at[l->n++];
}

static void name_it(struct lives *l, struct life *life, const char *name, const char *cmdline)
{
    if (life->name == NAMES_NONE || strcmp(names_at(&l->names, life->name), name) != 0) {
        life->name = names_add(&l->names, name, strlen(name));
        l->failed = l->failed || life->name == NAMES_NONE;
        life->has &= ~(unsigned)LIFE_CMDLINE;
    }
    if (cmdline && !(life->has & LIFE_CMDLINE)) {
        life->cmdline = names_add(&l->names, cmdline, strlen(cmdline));
        life->has |= LIFE_CMDLINE;
    }
}

static void put(struct life *life, unsigned has, int absent, uint64_t value, uint64_t *ret)
{
    if (absent)
        return;
    life->has |= has;
    *ret = value > *ret ? value : *ret;
}

static uint64_t since(uint64_t base, uint64_t value)
{
    return value > base ? value - base : 0;
}

/* The kernel adds the I/O of a child that was waited for to that of its parent, and does not tell them apart. */
static void add_io(struct lives *l, struct life *life, const struct baro_process *p, bool is_base)
{
    uint64_t children = 1, read = 0, write = 0;
    int read_absent = baro_process_value(p, l->metric.process_read, &read);
    int write_absent = baro_process_value(p, l->metric.process_write, &write);
    if (is_base) {
        life->base_read_bytes = read;
        life->base_write_bytes = write;
    }
    if (baro_process_value(p, l->metric.process_children, &children) != BARO_PRESENT || children) {
        life->has &= ~(unsigned)(LIFE_READ | LIFE_WRITE);
        life->read_bytes = life->write_bytes = 0;
        return;
    }
    put(life, LIFE_READ, read_absent, since(life->base_read_bytes, read), &life->read_bytes);
    put(life, LIFE_WRITE, write_absent, since(life->base_write_bytes, write), &life->write_bytes);
}

static void add_process(struct lives *l, const struct baro_process *p)
{
    struct life *life = born(l, baro_process_id(p));
    uint64_t v = 0;
    int absent;
    if (!life)
        return;
    bool is_base = life->begin_ns == UINT64_MAX && baro_header_mode(l->header) == BARO_MODE_ATTACH &&
                   !baro_process_began_after(l->header, p, 0);
    if (life->begin_ns == UINT64_MAX) {
        life->pid = baro_process_pid(p);
        life->start_ticks = baro_process_start_ticks(p);
        life->begin_ns = baro_process_begin_ns(l->header, life->start_ticks, baro_process_first_ns(p));
    }
    if (!life->ppid) { /* the first one: the parent of an orphan is the wrapper */
        life->ppid = baro_process_ppid(p);
        life->parent_start_ticks = baro_process_parent_start_ticks(p);
    }
    life->read_ns = baro_process_read_ns(p);
    name_it(l, life, baro_process_name(p), baro_process_cmdline(p));
    absent = baro_process_value(p, l->metric.process_cpu, &v);
    life->base_cpu_ns = is_base && !absent ? v : life->base_cpu_ns;
    put(life, LIFE_CPU, absent, since(life->base_cpu_ns, v), &life->cpu_ns);
    absent = baro_process_value(p, l->metric.process_rss, &v);
    put(life, LIFE_RSS, absent, v, &life->rss_peak_bytes);
    absent = baro_process_value(p, l->metric.process_rss_peak, &v);
    put(life, LIFE_RSS, absent, v, &life->rss_peak_bytes);
    add_io(l, life, p, is_base);
}

static void add_exit(struct lives *l, const struct baro_exit *e)
{
    struct life *life = born(l, baro_exit_id(e));
    uint64_t v = 0;
    int status, absent;
    if (!life)
        return;
    life->pid = baro_exit_pid(e);
    life->start_ticks = baro_exit_start_ticks(e);
    life->end_ns = baro_exit_t_ns(e);
    life->has |= LIFE_ENDED;
    if (life->begin_ns == UINT64_MAX)
        life->begin_ns = baro_process_begin_ns(l->header, life->start_ticks, life->end_ns);
    if (baro_exit_value(e, l->metric.exit_elapsed, &v) == BARO_PRESENT)
        life->begin_ns = v < life->end_ns ? life->end_ns - v : 0;
    if (!life->ppid) {
        life->ppid = baro_exit_ppid(e);
        life->parent_start_ticks = baro_exit_parent_start_ticks(e);
    }
    name_it(l, life, baro_exit_name(e), baro_exit_cmdline(e));
    if (baro_exit_status(e, &status) == 0) {
        life->status = status;
        life->has |= LIFE_STATUS;
    }
    absent = baro_exit_value(e, l->metric.exit_cpu, &v);
    put(life, LIFE_CPU, absent, v, &life->cpu_ns);
    absent = baro_exit_value(e, l->metric.exit_rss_peak, &v);
    put(life, LIFE_RSS, absent, v, &life->rss_peak_bytes);
    if (baro_exit_value(e, l->metric.exit_rss_is_bound, &v) == BARO_PRESENT && v)
        life->has |= LIFE_RSS_IS_BOUND;
    if (baro_exit_value(e, l->metric.exit_io_is_bound, &v) != BARO_PRESENT || v)
        life->has |= LIFE_IO_IS_BOUND;
    absent = baro_exit_value(e, l->metric.exit_read, &v);
    put(life, LIFE_READ, absent, v, &life->read_bytes);
    absent = baro_exit_value(e, l->metric.exit_write, &v);
    put(life, LIFE_WRITE, absent, v, &life->write_bytes);
}

void lives_add(struct lives *l, const struct baro_record *r)
{
    l->end_ns = r->t_ns > l->end_ns ? r->t_ns : l->end_ns;
    if (r->kind == BARO_RECORD_EXIT)
        add_exit(l, r->u.exit);
    if (r->kind != BARO_RECORD_SAMPLE)
        return;
    const struct baro_sample *s = r->u.sample;
    size_t n = baro_sample_count(s);
    for (size_t i = baro_sample_next_changed(s, 0); i < n; i = baro_sample_next_changed(s, i + 1))
        add_process(l, baro_sample_process(s, i));
}

/* ---- the tree ---- */

struct key {
    int32_t pid;
    uint32_t i;
    uint64_t start_ticks;
};

static int by_pid(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->start_ticks != y->start_ticks)
        return x->start_ticks < y->start_ticks ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

/* By pid and start time; where that is not known, the last process with the pid that started before the child. */
static uint32_t find_parent(const struct lives *l, const struct key *keys, uint32_t i)
{
    const struct life *child = &l->at[i];
    uint64_t start = child->parent_start_ticks ? child->parent_start_ticks : child->start_ticks;
    struct key want = {.pid = child->ppid, .start_ticks = start, .i = UINT32_MAX};
    uint32_t low = 0, high = l->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (by_pid(&keys[middle], &want) < 0)
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

/* What walk() works on. first[i]: where the children of i - 1 begin in siblings. */
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

/* A damaged tape can have processes that are each other's parents: the first of them has none then. */
static void walk(struct lives *l, struct walk *w)
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

static void sort_tree(struct lives *l, struct key *keys, struct walk *w)
{
    for (uint32_t i = 0; i < l->n; i++) {
        struct life *life = &l->at[i];
        if (!(life->has & LIFE_ENDED))
            life->end_ns = l->end_ns;
        life->begin_ns = life->begin_ns < life->end_ns ? life->begin_ns : life->end_ns;
        keys[i] = (struct key){.pid = life->pid, .i = i, .start_ticks = life->start_ticks};
    }
    qsort(keys, l->n, sizeof *keys, by_pid);
    for (uint32_t i = 0; i < l->n; i++) {
        uint32_t parent = l->at[i].parent = find_parent(l, keys, i);
        w->siblings[i] = (struct sibling){parent == LIFE_NONE ? 0 : parent + 1, i, l->at[i].begin_ns};
    }
    qsort(w->siblings, l->n, sizeof *w->siblings, by_parent);
    for (uint32_t parent = 0, k = 0; parent <= l->n + 1; parent++) {
        while (k < l->n && w->siblings[k].parent < parent)
            k++;
        w->first[parent] = k;
    }
    walk(l, w);
}

int lives_finish(struct lives *l)
{
    size_t n = (size_t)l->n + 2;
    struct key *keys = malloc(n * sizeof *keys);
    struct walk w = {.siblings = malloc(n * sizeof *w.siblings),
                     .first = malloc(n * sizeof *w.first),
                     .stack = malloc(n * sizeof *w.stack),
                     .seen = calloc(n, sizeof *w.seen)};
    free(l->order);
    l->order = malloc(n * sizeof *l->order);
    bool ok = keys && w.siblings && w.first && w.stack && w.seen && l->order && !l->failed;
    if (ok)
        sort_tree(l, keys, &w);
    free(keys);
    free(w.siblings);
    free(w.first);
    free(w.stack);
    free(w.seen);
    return ok ? 0 : -ENOMEM;
}
