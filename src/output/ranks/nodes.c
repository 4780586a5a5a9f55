/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a job: what the ranks of each had together, and what others had of it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/fmt.h"
#include "output/ranks/nodes.h"
#include "output/rows/escaped.h"
#include "output/text/read_fact.h"

/* Finds a node. Ranks go to nodes in blocks or in turns: so it is the last one or the next one. */
static size_t find(const struct ranks *r, size_t last, const char *name)
{
    for (size_t k = 0; k < r->n_nodes; k++) {
        size_t i = (last + k) % r->n_nodes;
        if (strcmp(r->node[i].name, name) == 0)
            return i;
    }
    return r->n_nodes;
}

static int add_node(struct ranks *r, const char *name, size_t first, struct baro_error *err)
{
    struct rank_node *more = array_room(r->node, r->n_nodes, &r->nodes_room, sizeof(*more));
    r->node = more ? more : r->node;
    char *copy = more ? strdup(name) : NULL;
    if (!copy)
        return error_set(err, -ENOMEM, "out of memory");
    r->node[r->n_nodes++] = (struct rank_node){.name = copy,
                                               .first = first,
                                               .start_ns = INT64_MAX,
                                               .end_ns = INT64_MIN,
                                               .memory_allowed = NAN,
                                               .cores_allowed = NAN,
                                               .others_cores = NAN};
    return 0;
}

/* Cores that each rank is bound to add up; a group's are those of all its ranks. */
static void allow_cores(struct rank_node *to, const struct baro_summary *s)
{
    double cores = rank_number(s, "limits", "cores_at_most", 0), cpus = rank_number(s, "", "cpus", 0);
    bool is_bound = report_text_is(s, "limits", "cores_at_most_source", "affinity");
    to->cpus = fmax(to->cpus, cpus);
    if (!isnan(cores))
        to->cores_allowed =
            is_bound && !isnan(to->cores_allowed) ? to->cores_allowed + cores : fmax(to->cores_allowed, cores);
}

/* A limit is that of all ranks of the node if it is not one of each process, and the same for all of them. */
static void allow_memory(struct rank_node *to, const struct baro_summary *s)
{
    double bytes = rank_number(s, "limits", "memory_at_most_bytes", 0);
    const char *source = report_text(s, "limits", "memory_at_most_source");
    if (isnan(bytes))
        return;
    if (!to->source)
        to->source = strdup(source);
    to->is_shared = strncmp(source, "RLIMIT_", 7) != 0 && (to->ranks == 1 || to->is_shared) && to->source &&
                    strcmp(to->source, source) == 0;
    to->memory_allowed = fmax(to->memory_allowed, bytes); /* the greater of NAN and a number is the number */
}

int rank_nodes_add(struct ranks *r, struct rank *rank, const char *name, const struct baro_summary *s,
                   struct baro_error *err)
{
    size_t at = (size_t)(rank - r->at), last = at ? r->at[at - 1].node : 0;
    rank->node = find(r, last, name);
    if (rank->node == r->n_nodes && add_node(r, name, at, err) < 0)
        return -ENOMEM;
    struct rank_node *to = &r->node[rank->node];
    struct baro_value needed = report_fact(s, "limits", "memory_peak_bytes");
    to->ranks++;
    to->cpu_ns += isnan(rank->cpu_ns) ? 0 : rank->cpu_ns;
    to->needed += needed.absent ? 0 : (double)needed.u64;
    to->needed_flags |= needed.absent ? BARO_VALUE_LOWER_BOUND : needed.flags;
    allow_cores(to, s);
    allow_memory(to, s);
    return 0;
}

/*
 * What neither the ranks nor their recorders used of the machine, by the rank that was there longest. Nodes of one
 * machine (containers) share its boot. Example: 4 ranks of 10 s; to the first all others used 3.2 cores, so 32 s, and
 * the other three used 29 s, so 0.3 cores were none of the job's.
 */
static double others_of(const struct ranks *r, size_t node)
{
    const struct rank *first = &r->at[r->node[node].first], *longest = first;
    double used = 0;
    for (size_t i = 0; i < r->n; i++) {
        const struct rank *at = &r->at[i];
        if (strcmp(at->boot_id, first->boot_id) != 0 || (!*first->boot_id && at->node != node))
            continue;
        used += at->own_ns;
        longest = longest->watched_ns >= at->watched_ns ? longest : at; /* NAN: it is not known */
    }
    double others = longest->others_cores - (used - longest->own_ns) / longest->watched_ns;
    return others > 0 || isnan(others) ? others : 0;
}

void rank_nodes_finish(struct ranks *r)
{
    for (size_t i = 0; i < r->n; i++) {
        struct rank_node *node = &r->node[r->at[i].node];
        int64_t end_ns = rank_end_ns(&r->at[i]);
        node->start_ns = r->at[i].start_ns < node->start_ns ? r->at[i].start_ns : node->start_ns;
        node->end_ns = end_ns > node->end_ns ? end_ns : node->end_ns;
        for (size_t k = 0; k < RANK_CELLS; k++)
            node->memory[k] += fmaxf(0, r->at[i].memory[k]);
    }
    for (size_t i = 0; i < r->n_nodes; i++) {
        struct rank_node *node = &r->node[i];
        for (size_t k = 0; k < RANK_CELLS; k++)
            node->memory_most = fmax(node->memory_most, (double)node->memory[k]);
        node->cores_allowed =
            node->cores_allowed > 0 && node->cores_allowed < node->cpus ? node->cores_allowed : node->cpus;
        node->others_cores = others_of(r, i);
    }
}

void rank_nodes_done(struct ranks *r)
{
    for (size_t i = 0; i < r->n_nodes; i++) {
        free(r->node[i].name);
        free(r->node[i].source);
    }
    free(r->node);
}

/* ---- words ---- */

#define NEAR_RATIO 0.9    /* memory as a share of its limit, as in the verdict memory-near-limit */
#define OTHERS_LEAST 0.25 /* cores, and a twentieth of all */
#define OTHERS_SHARE 0.05

void rank_nodes_near_limit(const struct ranks *r, struct buf *b)
{
    const struct rank_node *most = NULL;
    for (size_t i = 0; i < r->n_nodes; i++) {
        const struct rank_node *n = &r->node[i];
        if (n->is_shared && n->ranks > 1 && n->needed >= NEAR_RATIO * n->memory_allowed &&
            !(most && most->needed / most->memory_allowed >= n->needed / n->memory_allowed))
            most = n;
    }
    if (!most)
        return;
    buf_printf(b, "the %zu ranks of ", most->ranks);
    text_escaped(b, most->name, strlen(most->name));
    buf_printf(b, " needed %s", most->needed_flags & BARO_VALUE_LOWER_BOUND ? "≈" : "≤");
    fmt_bytes(b, (uint64_t)most->needed);
    buf_str(b, " of the ");
    fmt_limit(b, (uint64_t)most->memory_allowed);
    buf_str(b, " that they may have together (");
    text_escaped(b, most->source, strlen(most->source));
    buf_byte(b, ')');
}

void rank_nodes_others(const struct ranks *r, struct buf *b)
{
    const struct rank_node *most = NULL;
    for (size_t i = 0; i < r->n_nodes; i++) {
        const struct rank_node *n = &r->node[i];
        if (n->others_cores >= OTHERS_LEAST && n->others_cores >= OTHERS_SHARE * n->cpus &&
            !(most && most->others_cores >= n->others_cores))
            most = n;
    }
    if (!most)
        return;
    buf_str(b, "what is not of this job used ≈");
    fmt_decimal(b, most->others_cores, most->others_cores < 10 ? 2 : 1);
    buf_printf(b, " of the %.0f cores of ", most->cpus);
    text_escaped(b, most->name, strlen(most->name));
}

/* Ranks of a job run at the same time. Example: those of n3 begin at 10:00 and end at 10:05, all others run from 9:00
 * to 9:05: its clock is wrong, or they ran one after the other. */
void rank_nodes_clocks(const struct ranks *r, struct buf *b)
{
    const struct rank_node *first = r->node, *last = r->node; /* ends first; begins last */
    int64_t others_from = INT64_MAX, others_to = INT64_MIN;
    for (size_t i = 1; i < r->n_nodes; i++) {
        first = r->node[i].end_ns < first->end_ns ? &r->node[i] : first;
        last = r->node[i].start_ns > last->start_ns ? &r->node[i] : last;
    }
    for (size_t i = 0; i < r->n_nodes; i++) {
        const struct rank_node *n = &r->node[i];
        others_from = n != first && n->start_ns < others_from ? n->start_ns : others_from;
        others_to = n != last && n->end_ns > others_to ? n->end_ns : others_to;
    }
    bool is_before = first->end_ns<others_from, is_after = last->start_ns> others_to;
    if (r->n_nodes < 2 || (!is_before && !is_after))
        return;
    const struct rank_node *n = is_before ? first : last;
    buf_str(b, "the ranks of ");
    text_escaped(b, n->name, strlen(n->name));
    buf_printf(b, " %s ", is_before ? "ended" : "began");
    fmt_duration(b,
                 is_before ? (uint64_t)others_from - (uint64_t)n->end_ns : (uint64_t)n->start_ns - (uint64_t)others_to);
    buf_printf(b, "%s: its clock is wrong, or they ran at another time; wall time and sums at one moment say little",
               is_before ? " before all others began" : " after all others had ended");
}
