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

/* Sorts those that are shown. Returns how many. */
static size_t sort_shown(struct model *m, const struct wish *w)
{
    struct comparison c = {m, w};
    size_t n = 0;
    for (size_t k = 0; k < m->n; k++) {
        if (m->at[k].is_shown)
            m->order[n++] = k;
    }
    if (n) /* else there is no array: undefined for qsort_r() */
        qsort_r(m->order, n, sizeof(*m->order), compare_nodes, &c);
    return n;
}

/* Links children and siblings in their order. Returns the first root; MODEL_NONE: there is none. */
static size_t link_sorted(struct model *m, size_t n)
{
    size_t root = MODEL_NONE;
    for (size_t k = 0; k < n; k++)
        m->at[m->order[k]].first = MODEL_NONE;
    while (n-- > 0) {
        struct node *node = &m->at[m->order[n]];
        size_t *first = node->parent == MODEL_NONE ? &root : &m->at[node->parent].first;
        node->next = *first;
        *first = m->order[n];
    }
    return root;
}

/* The tree in depth-first order, without folded nodes. */
static void descend(struct model *m, size_t root)
{
    unsigned depth = 0;
    for (size_t k = root; k != MODEL_NONE;) {
        struct node *node = &m->at[k];
        m->row[m->n_rows++] = (struct model_row){k, depth};
        if (!node->is_folded && node->first != MODEL_NONE) {
            depth++;
            k = node->first;
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

void model_arrange(struct model *m, const struct wish *w)
{
    m->n_rows = 0;
    choose_shown(m, w);
    size_t n = sort_shown(m, w);
    if (w->is_tree)
        descend(m, link_sorted(m, n));
    for (size_t k = 0; !w->is_tree && k < n; k++)
        m->row[m->n_rows++] = (struct model_row){m->order[k], 0};
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
