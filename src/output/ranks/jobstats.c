/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What jobstats (Princeton) writes of a job, and reportseff reads: per node the CPU time and the cores in seconds, the
 * memory used and allowed in bytes, and the GPUs; of the whole job its wall time.
 */
#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "output/ranks/ranks.h"

enum of_gpu { GPU_TOTAL, GPU_USED, GPU_BUSY };

static double of_gpu(const struct rank_gpu *g, enum of_gpu what)
{
    double v = what == GPU_TOTAL ? g->memory_total : what == GPU_USED ? g->memory_peak : 100 * g->busy_ratio;
    return isnan(v) ? 0 : v;
}

/* Several ranks may use one GPU, which is the node's: the first of them says what it was. Returns how many there are.
 */
static size_t put_gpus(struct json *j, const struct ranks *r, size_t node, const char *key, enum of_gpu what)
{
    uint64_t seen = 0;
    size_t count = 0;
    for (size_t i = r->node[node].first; i < r->n; i++) {
        for (size_t k = 0; r->at[i].node == node && k < r->at[i].gpus; k++) {
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

static size_t put_node(struct json *j, const struct ranks *r, size_t node)
{
    const struct rank_node *n = &r->node[node];
    json_key_begin(j, n->name, '{');
    json_key_double(j, "total_time", n->cpu_ns / 1e9);
    json_key_u64(j, "cpus", (uint64_t)ceil(n->cores_allowed));
    json_key_u64(j, "used_memory", (uint64_t)n->memory_most);
    json_key_u64(j, "total_memory", isnan(n->memory_allowed) ? 0 : (uint64_t)n->memory_allowed);
    put_gpus(j, r, node, "gpu_total_memory", GPU_TOTAL);
    put_gpus(j, r, node, "gpu_used_memory", GPU_USED);
    size_t gpus = put_gpus(j, r, node, "gpu_utilization", GPU_BUSY);
    json_end(j, '}');
    return gpus;
}

void ranks_jobstats(const struct ranks *r, struct buf *ret)
{
    struct json j = {.out = ret};
    size_t gpus = 0;
    json_begin(&j, '{');
    json_key_begin(&j, "nodes", '{');
    for (size_t i = 0; i < r->n_nodes; i++)
        gpus += put_node(&j, r, i);
    json_end(&j, '}');
    json_key_double(&j, "total_time", (double)ranks_wall_ns(r) / 1e9);
    json_key_u64(&j, "gpus", gpus);
    json_end(&j, '}');
    buf_byte(ret, '\n');
}
