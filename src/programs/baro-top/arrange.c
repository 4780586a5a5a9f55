/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which processes are shown, and in which order. */
#include <stdlib.h>
#include <string.h>

#include "base/regex.h"
#include "base/sorted.h"
#include "programs/baro-top/model.h"

/* Is it in the list of wish.folded? */
static bool is_listed(const uint32_t *list, size_t n, uint32_t id)
{
    return n && bsearch(&id, list, n, sizeof(*list), compare_u32);
}

/* ---- the filter ---- */

static bool holds(const struct wish *w, const char *text)
{
    if (!text)
        return false;
    return w->regex ? regex_fits(w->regex, text) : strcasestr(text, w->filter) != NULL;
}

static bool matches(const struct model *m, const struct wish *w, const struct baro_row *p)
{
    char pid[16];
    const char *line = NULL;
    baro_row_cmdline(p, &line);
    if (w->task)
        return strcmp(w->task, model_task(m, p)) == 0;
    if (!*w->filter || holds(w, baro_row_name(p)) || holds(w, line) || holds(w, model_task(m, p)))
        return true;
    int32_t v = baro_row_pid(p);
    size_t at = sizeof(pid) - 1;
    for (pid[at] = 0; at && v > 0; v /= 10)
        pid[--at] = (char)('0' + v % 10);
    return strcmp(pid + at, w->filter) == 0;
}

static void choose_shown(struct model *m, const struct wish *w)
{
    m->n_matches = 0;
    for (size_t k = m->n; k-- > 0;) {
        struct node *node = &m->at[k];
        node->is_match = matches(m, w, node->process);
        node->is_folded = node->below && is_listed(w->folded, w->n_folded, node->id) != w->folds_all;
        m->n_matches += node->is_match;
        node->is_shown = node->is_match;
    }
    for (size_t k = m->n; w->is_tree && k-- > 0;) {
        if (m->at[k].is_shown && m->at[k].parent != MODEL_NONE)
            m->at[m->at[k].parent].is_shown = true;
    }
}

/* ---- the order ---- */

struct comparison {
    const struct model *model;
    const struct wish *wish;
};

static int more(double a, double b)
{
    return (a < b) - (a > b);
}

static int compare_nodes(const void *a, const void *b, void *context)
{
    const struct comparison *c = context;
    const struct node *x = &c->model->at[*(const size_t *)a], *y = &c->model->at[*(const size_t *)b];
    const struct process_sums *p = c->wish->is_tree ? &x->tree : &x->own, *q = c->wish->is_tree ? &y->tree : &y->own;
    int order = 0;
    switch (c->wish->sort) {
    case SORT_CORES:
        order = more(p->cores, q->cores);
        order = order ? order : more((double)p->rss, (double)q->rss);
        break;
    case SORT_CPU: order = (x->cpu_ns < y->cpu_ns) - (x->cpu_ns > y->cpu_ns); break;
    case SORT_MEMORY: order = (p->rss < q->rss) - (p->rss > q->rss); break;
    case SORT_IO: order = more(p->read + p->write, q->read + q->write); break;
    case SORT_NAME: order = strcmp(baro_row_name(x->process), baro_row_name(y->process)); break;
    case SORT_PID:
    case SORTS: break;
    }
    if (!order) {
        int32_t i = baro_row_pid(x->process), j = baro_row_pid(y->process);
        order = (i > j) - (i < j);
    }
    return c->wish->is_reversed ? -order : order;
}

/*
 * Sorts what is nearly sorted already, as the processes of a sample are. From each pair in the wrong order both are
 * taken out, sorted, and merged into the rest. Example: 1 2 9 3 4 becomes 1 2 4 and 9 3; sorted and merged 1 2 3 4 9.
 */
static void sort(size_t *at, size_t n, size_t *spare, struct comparison *c)
{
    size_t kept = 0, out = 0, end = n;
    for (size_t k = 0; k < n; k++) {
        size_t next = at[k];
        if (kept && compare_nodes(&at[kept - 1], &next, c) > 0) {
            spare[out++] = at[--kept];
            spare[out++] = next;
        } else {
            at[kept++] = next;
        }
    }
    if (out)
        qsort_r(spare, out, sizeof(*spare), compare_nodes, c);
    while (out) {
        if (kept && compare_nodes(&at[kept - 1], &spare[out - 1], c) > 0)
            at[--end] = at[--kept];
        else
            at[--end] = spare[--out];
    }
}

/* Sorts those siblings that are shown, and drops the others. Returns the first one; MODEL_NONE: there is none. */
static size_t order_siblings(struct model *m, const struct wish *w, size_t first)
{
    struct comparison c = {m, w};
    size_t n = 0;
    for (size_t k = first; k != MODEL_NONE; k = m->at[k].next) {
        if (m->at[k].is_shown)
            m->order[n++] = k;
    }
    sort(m->order, n, m->spare, &c);
    for (size_t k = 0; k < n; k++) {
        m->at[m->order[k]].next = k + 1 < n ? m->order[k + 1] : MODEL_NONE;
        m->at[m->order[k]].is_last = k + 1 == n;
    }
    return n ? m->order[0] : MODEL_NONE;
}

/* The tree in depth-first order, without folded nodes. */
static void descend(struct model *m, const struct wish *w, size_t root)
{
    unsigned depth = 0;
    for (size_t k = root;;) {
        struct node *node = &m->at[k];
        m->row[m->n_rows++] = (struct model_row){k, depth};
        size_t first = node->is_folded || node->first == MODEL_NONE ? MODEL_NONE : order_siblings(m, w, node->first);
        if (first != MODEL_NONE) {
            depth++;
            k = first;
            continue;
        }
        while (k != MODEL_NONE && m->at[k].next == MODEL_NONE) {
            k = m->at[k].parent;
            depth--;
        }
        if (k == MODEL_NONE)
            return;
        k = m->at[k].next;
    }
}

/* Sorting a folded list of siblings would lose the nodes that are not shown, so the lists are built anew. */
static void relink(struct model *m)
{
    for (size_t k = 0; k < m->n; k++)
        m->at[k].first = m->at[k].last = m->at[k].next = MODEL_NONE;
    for (size_t k = 0; k < m->n; k++) {
        struct node *up = m->at[k].parent == MODEL_NONE ? NULL : &m->at[m->at[k].parent];
        if (!up)
            continue;
        if (up->first == MODEL_NONE)
            up->first = k;
        else
            m->at[up->last].next = k;
        up->last = k;
    }
}

static size_t link_roots(struct model *m)
{
    size_t first = MODEL_NONE, last = MODEL_NONE;
    for (size_t k = 0; k < m->n; k++) {
        if (m->at[k].parent != MODEL_NONE)
            continue;
        if (first == MODEL_NONE)
            first = k;
        else
            m->at[last].next = k;
        last = k;
    }
    return first;
}

int model_arrange(struct model *m, const struct wish *w)
{
    struct comparison c = {m, w};
    m->n_rows = 0;
    choose_shown(m, w);
    if (w->is_tree) {
        relink(m);
        size_t root = order_siblings(m, w, link_roots(m));
        if (root != MODEL_NONE)
            descend(m, w, root);
        return 0;
    }
    size_t n = 0;
    for (size_t k = 0; k < m->n; k++) {
        if (m->at[k].is_shown)
            m->order[n++] = k;
    }
    sort(m->order, n, m->spare, &c);
    for (size_t k = 0; k < n; k++)
        m->row[m->n_rows++] = (struct model_row){m->order[k], 0};
    return 0;
}

size_t model_limit(struct model *m, struct wish *w, size_t most, struct process_sums *ret_rest)
{
    if (m->n_rows <= most)
        return 0;
    w->is_tree = false;
    model_arrange(m, w);
    for (size_t i = most; i < m->n_rows; i++) {
        const struct node *node = &m->at[m->row[i].node];
        ret_rest->cores += node->own.cores;
        ret_rest->cores_is_least |= node->own.cores_is_least;
    }
    size_t left = m->n_rows - most;
    m->n_rows = most;
    return left;
}

size_t model_row_of(const struct model *m, uint32_t id)
{
    for (size_t i = 0; id && i < m->n_rows; i++) {
        if (m->at[m->row[i].node].id == id)
            return i;
    }
    return MODEL_NONE;
}
