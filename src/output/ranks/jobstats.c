/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What jobstats (Princeton) writes of a job, and reportseff reads: per node the CPU time and the cores in seconds, the
 * memory used and allowed in bytes, and the GPUs; of the whole job its wall time.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "output/ranks/ranks.h"

struct node {
    const char *name;
    double cpu_s, cores, memory_used, memory_allowed;
    size_t first; /* rank */
};

static bool is_of(const struct ranks *r, size_t rank, const struct node *n)
{
    return strcmp(r->at[rank].node, n->name) == 0;
}

/* The ranks of a node share its group's limit; cores that each of them is bound to add up. */
static struct node sum_of(const struct ranks *r, size_t first)
{
    struct node n = {.name = r->at[first].node, .first = first};
    double cpus = 0;
    for (size_t i = first; i < r->n; i++) {
        const struct rank *at = &r->at[i];
        if (!is_of(r, i, &n))
            continue;
        n.cpu_s += isnan(at->cpu_ns) ? 0 : at->cpu_ns / 1e9;
        n.cores = isnan(at->cores_allowed) ? n.cores
                  : at->is_bound           ? n.cores + at->cores_allowed
                                           : fmax(n.cores, at->cores_allowed);
        n.memory_allowed = isnan(at->memory_allowed) ? n.memory_allowed : fmax(n.memory_allowed, at->memory_allowed);
        cpus = fmax(cpus, at->cpus);
    }
    n.memory_used = ranks_node_memory(r, first);
    n.cores = n.cores > 0 && n.cores < cpus ? n.cores : cpus;
    return n;
}

enum of_gpu { GPU_TOTAL, GPU_USED, GPU_BUSY };

static double of_gpu(const struct rank_gpu *g, enum of_gpu what)
{
    double v = what == GPU_TOTAL ? g->memory_total : what == GPU_USED ? g->memory_peak : 100 * g->busy_ratio;
    return isnan(v) ? 0 : v;
}

/* Several ranks may use one GPU, which is the node's: the first of them says what it was. Returns how many there are.
 */
static size_t put_gpus(struct json *j, const struct ranks *r, const struct node *n, const char *key, enum of_gpu what)
{
    uint64_t seen = 0;
    size_t count = 0;
    for (size_t i = n->first; i < r->n; i++) {
        for (size_t k = 0; is_of(r, i, n) && k < r->at[i].gpus; k++) {
            const struct rank_gpu *g = &r->at[i].gpu[k];
            char number[16];
            if (g->number >= 64 || seen & 1ull << g->number)
                continue;
            seen |= 1ull << g->number;
            if (!count++)
                json_key_begin(j, key, '{');
            snprintf(number, sizeof(number), "%u", g->number);
            json_key_double(j, number, of_gpu(g, what));
        }
    }
    if (count)
        json_end(j, '}');
    return count;
}

static size_t put_node(struct json *j, const struct ranks *r, const struct node *n)
{
    json_key_begin(j, n->name, '{');
    json_key_double(j, "total_time", n->cpu_s);
    json_key_u64(j, "cpus", (uint64_t)ceil(n->cores));
    json_key_u64(j, "used_memory", (uint64_t)n->memory_used);
    json_key_u64(j, "total_memory", (uint64_t)n->memory_allowed);
    put_gpus(j, r, n, "gpu_total_memory", GPU_TOTAL);
    put_gpus(j, r, n, "gpu_used_memory", GPU_USED);
    size_t gpus = put_gpus(j, r, n, "gpu_utilization", GPU_BUSY);
    json_end(j, '}');
    return gpus;
}

void ranks_jobstats(const struct ranks *r, struct buf *ret)
{
    struct json j = {.out = ret};
    size_t gpus = 0;
    json_begin(&j, '{');
    json_key_begin(&j, "nodes", '{');
    for (size_t i = 0; i < r->n; i++) {
        size_t k = 0;
        while (strcmp(r->at[k].node, r->at[i].node) != 0)
            k++;
        if (k == i) {
            struct node n = sum_of(r, i);
            gpus += put_node(&j, r, &n);
        }
    }
    json_end(&j, '}');
    json_key_double(&j, "total_time", (double)ranks_wall_ns(r) / 1e9);
    json_key_u64(&j, "gpus", gpus);
    json_end(&j, '}');
    buf_byte(ret, '\n');
}
