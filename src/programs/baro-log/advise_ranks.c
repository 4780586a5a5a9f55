/* SPDX-License-Identifier: Apache-2.0 */
/* What to ask for next time for a job of ranks: cores for each rank, memory for a node, time for all. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fmt.h"
#include "base/json.h"
#include "base/sorted.h"
#include "output/rows/escaped.h"
#include "programs/baro-log/advise.h"

#define OTHERS_CORES 0.25 /* while others use fewer cores of a machine, ranks waited for each other */
#define PART_OF_CORE 0.25 /* a core is asked for from this part of it on, as in baro_advise() */
#define MIB 1048576.0

struct ranks_advice {
    const struct ranks *r;
    struct node_need {
        double memory_bytes, at_most_bytes; /* at_most: NAN: how much more is not known */
        size_t known;                       /* the ranks whose memory is in these sums */
    } * node;
    double *cores; /* of each rank; NAN: not known */
    size_t cores_known, cores_rank, memory_rank, memory_node,
        uniform; /* positions; ranks of each node; 0: they differ */
    size_t partial, failed, out_of_memory;
    size_t memory_known;       /* ranks of whose memory something is known */
    size_t memory_lacking;     /* ranks of whose memory not all is known */
    struct baro_need need;     /* of the job: the cores of a rank, the memory of a node */
    struct baro_advice advice; /* the same */
    struct baro_advice each;   /* what a rank alone should ask for, where it is a container */
    double core_hours, gb_hours;
};

/* For how many cores a rank had work. If only other ranks kept it waiting, it had work while it waited: it is its
 * demand in all but a tenth of its time. */
static double cores_of(const struct ranks *r, const struct rank *at)
{
    const struct baro_need *n = &at->need;
    const struct rank_node *node = &r->node[at->node];
    double part[BARO_NEED_PARTS];
    if (!(n->flags & BARO_NEED_NEIGHBOURS) || !(node->others_cores < OTHERS_CORES) || n->parts < 3)
        return n->cores;
    memcpy(part, n->demand, n->parts * sizeof(*part));
    sort_numbers(part, n->parts);
    double cores = ceil(part[n->parts - 1 - n->parts / 10] - PART_OF_CORE);
    return cores < 1 ? 1 : fmin(cores, node->cpus);
}

static void add_rank(struct ranks_advice *a, size_t i)
{
    const struct rank *at = &a->r->at[i];
    const struct baro_need *n = &at->need;
    struct node_need *node = &a->node[at->node];
    double cores = cores_of(a->r, at);
    if (n->memory_bytes > 0) {
        node->known++;
        a->memory_known++;
        node->memory_bytes += n->memory_bytes;
        a->memory_rank = a->r->at[a->memory_rank].need.memory_bytes >= n->memory_bytes ? a->memory_rank : i;
    }
    node->at_most_bytes += n->memory_at_most_bytes;
    if (cores >= 1) {
        a->cores[a->cores_known++] = cores;
        a->cores_rank = a->need.cores >= cores ? a->cores_rank : i;
        a->need.cores = a->need.cores >= cores ? a->need.cores : cores;
    }
    a->memory_lacking += n->flags & BARO_NEED_PARTIAL || !(n->memory_bytes > 0);
    a->partial += (n->flags & BARO_NEED_PARTIAL) != 0;
    a->failed += (n->flags & BARO_NEED_FAILED) != 0;
    a->out_of_memory += (n->flags & BARO_NEED_MEMORY_BOUND) != 0;
    a->need.flags |= n->flags & (BARO_NEED_MEMORY_BOUND | BARO_NEED_TIME_BOUND | BARO_NEED_FAILED);
    a->need.gpus = fmax(a->need.gpus, n->gpus);
    a->need.gpu_memory_bytes = fmax(a->need.gpu_memory_bytes, n->gpu_memory_bytes);
}

/* What was allowed and not used. Memory that a node allows its ranks together is there once. */
static void add_waste(struct ranks_advice *a, size_t i)
{
    const struct rank_node *n = &a->r->node[i];
    double hours = (double)ranks_wall_ns(a->r) / 3600e9, cores = n->cores_allowed * hours - n->cpu_ns / 3600e9,
           bytes = n->memory_allowed - a->node[i].memory_bytes;
    a->core_hours += cores > 0 ? cores : 0;
    a->gb_hours += n->is_shared && bytes > 0 && a->node[i].known == n->ranks ? bytes * hours / 1e9 : 0;
}

static int advise(struct ranks_advice *a, struct baro_error *err)
{
    const struct ranks *r = a->r;
    const struct baro_need *const job[] = {&a->need};
    const struct baro_need *each[] = {&a->need};
    struct baro_need largest;
    a->uniform = r->node[0].ranks;
    for (size_t i = 0; i < r->n; i++)
        add_rank(a, i);
    for (size_t i = 0; i < r->n_nodes; i++) {
        add_waste(a, i);
        a->uniform = r->node[i].ranks == a->uniform ? a->uniform : 0;
        a->memory_node = a->node[i].memory_bytes > a->node[a->memory_node].memory_bytes ? i : a->memory_node;
        a->need.memory_bytes = fmax(a->need.memory_bytes, a->node[i].memory_bytes);
        if (!(a->need.memory_at_most_bytes > a->node[i].at_most_bytes) && !isnan(a->need.memory_at_most_bytes))
            a->need.memory_at_most_bytes = a->node[i].at_most_bytes; /* not known of one: not known */
    }
    a->need.wall_ns = (double)ranks_wall_ns(r);
    largest = a->need;
    largest.memory_bytes = r->at[a->memory_rank].need.memory_bytes;
    largest.memory_at_most_bytes = r->at[a->memory_rank].need.memory_at_most_bytes;
    each[0] = &largest;
    sort_numbers(a->cores, a->cores_known);
    if (a->partial == r->n)
        return error_set(err, BARO_E_RANGE,
                         "no rank to advise after: all of them run still, are cut off or a part of a run");
    int code = baro_advise(job, 1, 0, &a->advice);
    code = code < 0 ? code : baro_advise(each, 1, 0, &a->each);
    return code < 0 ? error_set(err, code, "out of memory") : 0;
}

/* MiB for each core of the node where this is most. Example: 4 ranks of 2 cores on a node for which 2 GiB are asked are
 * 256 MiB. */
static double mib_per_core(const struct ranks_advice *a)
{
    double most = 0, margin = a->advice.memory_bytes / a->need.memory_bytes;
    for (size_t i = 0; i < a->r->n_nodes; i++)
        most = fmax(most, a->node[i].memory_bytes / (double)a->node[i].known); /* of 0 / 0 the other one */
    return ceil(most * margin / a->advice.cores / MIB);
}

/* Ranks may have had their peaks at different moments; and the sum lacks those whose memory is not known. */
static unsigned memory_flags(const struct ranks_advice *a, size_t node)
{
    const struct rank_node *n = &a->r->node[node];
    size_t known = a->node[node].known;
    bool is_least = known < n->ranks || (n->ranks > 1 && n->needed_flags & BARO_VALUE_LOWER_BOUND);
    return (is_least ? BARO_VALUE_LOWER_BOUND : 0u) | (known > 1 ? BARO_VALUE_UPPER_BOUND : 0u);
}

/* ---- text ---- */

static void put_place(const struct ranks *r, size_t rank, struct buf *b)
{
    buf_printf(b, "rank %u on ", r->at[rank].number);
    text_escaped(b, rank_node(r, rank), strlen(rank_node(r, rank)));
}

static void put_cores(const struct ranks_advice *a, struct buf *b)
{
    if (!(a->advice.cores >= 1)) {
        buf_str(b, "not known: the ranks are too short, or others kept them waiting for cores");
        return;
    }
    buf_printf(b, "%.0f for a rank: ", a->advice.cores);
    put_place(a->r, a->cores_rank, b);
    buf_printf(b, " had work for %.0f, the median for %.0f", a->need.cores, sorted_median(a->cores, a->cores_known));
    if (a->cores_known < a->r->n)
        buf_printf(b, "; of %zu ranks it is not known", a->r->n - a->cores_known);
}

static void put_memory(const struct ranks_advice *a, struct buf *b)
{
    const struct ranks *r = a->r;
    double largest = r->at[a->memory_rank].need.memory_bytes;
    if (!(a->advice.memory_bytes > 0)) {
        buf_str(b, "not known");
        return;
    }
    fmt_limit(b, (uint64_t)a->advice.memory_bytes);
    buf_printf(b, " for a node: the %zu rank%s of ", r->node[a->memory_node].ranks,
               r->node[a->memory_node].ranks == 1 ? "" : "s");
    text_escaped(b, r->node[a->memory_node].name, strlen(r->node[a->memory_node].name));
    buf_printf(b, " needed %s", baro_value_prefix(memory_flags(a, a->memory_node), BARO_PREFIX_SYMBOL));
    fmt_bytes(b, (uint64_t)a->need.memory_bytes);
    if (a->need.memory_at_most_bytes > 1.2 * a->need.memory_bytes) {
        buf_str(b, "; it may have been ");
        fmt_bytes(b, (uint64_t)a->need.memory_at_most_bytes);
    }
    buf_str(b, "; the most had ");
    put_place(r, a->memory_rank, b);
    buf_str(b, ", ");
    fmt_bytes(b, (uint64_t)(largest > 0 ? largest : 0));
    if (a->memory_known < r->n)
        buf_printf(b, "; of %zu rank%s it is not known", r->n - a->memory_known,
                   r->n - a->memory_known == 1 ? "" : "s");
}

static void put_time(const struct ranks_advice *a, struct buf *b)
{
    if (a->advice.time_ns > 0)
        buf_printf(b, "%.0f min: it took ", a->advice.time_ns / 60e9);
    else
        buf_str(b, "not known: it did not come to its end; it ran for at least ");
    fmt_duration(b, ranks_wall_ns(a->r));
}

static void put_gpus(const struct ranks_advice *a, struct buf *b)
{
    if (!(a->need.gpus >= 1))
        return;
    buf_printf(b, "%.0f for a rank", a->need.gpus);
    if (a->advice.gpu_memory_bytes > 0) {
        buf_str(b, ", of ");
        fmt_limit(b, (uint64_t)a->advice.gpu_memory_bytes);
    }
}

static void put_waste(const struct ranks_advice *a, struct buf *b)
{
    buf_str(b, "unused of what was allowed: ");
    advise_put_hours(a->core_hours, "core-hours", b);
    buf_str(b, ", ");
    advise_put_hours(a->gb_hours, "GB-hours", b);
}

static void put_note(const struct cli *cli, size_t n, size_t of, const char *what, struct buf *b)
{
    struct buf text = {0};
    buf_printf(&text, "%zu of %zu ranks: %s", n, of, what);
    if (n)
        advise_put_line(cli, "note", &text, b);
    buf_done(&text);
}

static void put_slurm(const struct ranks_advice *a, const char *indent, struct buf *b)
{
    const struct baro_advice *is = &a->advice;
    uint32_t count = a->r->count ? a->r->count : (uint32_t)a->r->n;
    size_t lacking = a->memory_lacking + (count > a->r->n ? count - a->r->n : 0);
    buf_printf(b, "%s#SBATCH --nodes=%zu\n%s#SBATCH --ntasks=%u\n", indent, a->r->n_nodes, indent, count);
    if (a->uniform && a->r->n == count)
        buf_printf(b, "%s#SBATCH --ntasks-per-node=%zu\n", indent, a->uniform);
    if (is->cores >= 1)
        buf_printf(b, "%s#SBATCH --cpus-per-task=%.0f\n", indent, is->cores);
    if (is->memory_bytes > 0)
        buf_printf(b, "%s#SBATCH --mem=%.0fM\n", indent, is->memory_bytes / MIB);
    if (is->memory_bytes > 0 && lacking)
        buf_printf(b, "%s# --mem may be too low: what %zu of %u ranks needed is not known\n", indent, lacking, count);
    if (is->time_ns > 0)
        buf_printf(b, "%s#SBATCH --time=%.0f\n", indent, ceil(is->time_ns / 60e9));
    if (is->cores >= 1 && is->memory_bytes > 0)
        buf_printf(b, "%s# in place of --mem: --mem-per-cpu=%.0fM\n", indent, mib_per_core(a));
}

static void put_text(const struct ranks_advice *a, const struct cli *cli, struct buf *b)
{
    static const struct {
        const char *label;
        void (*put)(const struct ranks_advice *a, struct buf *b);
    } rows[] = {
        {"cores", put_cores}, {"memory", put_memory}, {"time", put_time}, {"GPUs", put_gpus}, {"today", put_waste}};
    struct buf text = {0}, names = {0};
    buf_printf(b, "After one run of %zu ranks on %zu node%s of ", a->r->n, a->r->n_nodes,
               a->r->n_nodes == 1 ? "" : "s");
    text_escaped(b, a->r->title, strnlen(a->r->title, 50));
    buf_str(b, " ask for\n");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        rows[i].put(a, &text);
        if (text.len)
            advise_put_line(cli, rows[i].label, &text, b);
        buf_clear(&text);
    }
    uint64_t missing = ranks_missing(a->r, &names);
    if (missing) {
        buf_printf(&text, "%llu of %u ranks: ", (unsigned long long)missing, a->r->count);
        buf_add(&text, names.at, names.len);
        advise_put_line(cli, "missing", &text, b);
    }
    buf_done(&names);
    buf_done(&text);
    put_note(cli, a->partial, a->r->n, "run still, or their tapes are cut off or a part of a run: they may need more",
             b);
    put_note(cli, a->out_of_memory, a->r->n, "out of memory, so that what they needed is a lower bound", b);
    put_note(cli, a->failed, a->r->n, "failed: a job that succeeds may need more", b);
    buf_str(b, "\nSlurm\n");
    put_slurm(a, "    ", b);
    buf_str(b, "A rank in a container of its own: --for kubernetes or docker\n");
}

/* ---- JSON ---- */

static void put_json(const struct ranks_advice *a, struct buf *out)
{
    struct json j = {.out = out, .pretty = true};
    struct buf missing = {0};
    json_begin(&j, '{');
    json_key_u64(&j, "format", 1);
    json_key_u64(&j, "runs", 1);
    json_key_u64(&j, "ranks", a->r->n);
    json_key_u64(&j, "missing", ranks_missing(a->r, &missing));
    json_key_begin(&j, "ask", '{');
    json_key_u64(&j, "nodes", a->r->n_nodes);
    json_key_double(&j, "cores_per_rank", a->advice.cores);
    json_key_double(&j, "memory_per_node_bytes", a->advice.memory_bytes);
    json_key_double(&j, "memory_per_core_bytes", mib_per_core(a) * MIB);
    json_key_double(&j, "memory_per_rank_bytes", a->each.memory_bytes);
    json_key_double(&j, "time_ns", a->advice.time_ns);
    json_key_double(&j, "gpu_memory_bytes", a->advice.gpu_memory_bytes);
    json_end(&j, '}');
    json_key_begin(&j, "nodes", '[');
    for (size_t i = 0; i < a->r->n_nodes; i++) {
        json_begin(&j, '{');
        json_key_text(&j, "node", a->r->node[i].name);
        json_key_u64(&j, "ranks", a->r->node[i].ranks);
        json_key_u64(&j, "memory_known_ranks", a->node[i].known);
        json_key_double(&j, "memory_bytes", a->node[i].known ? a->node[i].memory_bytes : NAN);
        json_key_text(&j, "memory_mark", baro_value_mark(memory_flags(a, i)));
        json_key_double(&j, "memory_at_most_bytes", a->node[i].at_most_bytes);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_key_double(&j, "unused_core_hours", a->core_hours);
    json_key_double(&j, "unused_gb_hours", a->gb_hours);
    json_key_u64(&j, "partial", a->partial);
    json_key_u64(&j, "failed", a->failed);
    json_key_u64(&j, "memory_bounds", a->out_of_memory);
    json_end(&j, '}');
    buf_done(&missing);
}

int advise_ranks(const struct cli *cli, const struct settings *s, const struct rank_tapes *tapes, struct buf *ret,
                 struct baro_error *err)
{
    struct ranks r = {0};
    int code = rank_tapes_read(tapes, BARO_FOLD_VERDICTS, &r, err);
    struct ranks_advice a = {.r = &r,
                             .need = BARO_NEED_INIT,
                             .advice = BARO_ADVICE_INIT,
                             .each = BARO_ADVICE_INIT,
                             .node = calloc(r.n_nodes + 1, sizeof(*a.node)),
                             .cores = calloc(r.n + 1, sizeof(*a.cores))};
    a.need.cores = a.need.gpu_memory_bytes = NAN;
    if (code >= 0 && (!a.node || !a.cores))
        code = error_set(err, -ENOMEM, "out of memory");
    code = code < 0 ? code : advise(&a, err);
    if (code >= 0 && s->json)
        put_json(&a, ret);
    else if (code >= 0 && !s->log.for_what)
        put_text(&a, cli, ret);
    else if (code >= 0 && strcmp(s->log.for_what, "slurm") == 0)
        put_slurm(&a, "", ret);
    else if (code >= 0)
        advise_lines(&a.each, s->log.for_what, true, ret);
    free(a.node);
    free(a.cores);
    ranks_done(&r);
    return code;
}
