/* SPDX-License-Identifier: Apache-2.0 */
/* What a run needed, and what to ask for after some runs (baro/advice.h): the only place with these formulas. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "libbaro/verdict/need.h"
#include "libbaro/verdict/verdict_rule.h"

#define CORES_OTHERS 0.25 /* while neighbours use fewer cores, they are no reason to wait */
#define CORES_WINDOWS ((int)BARO_NEED_PARTS)
#define CORES_WINDOWS_LEAST 5
#define CORES_WINDOW_NS 0.25e9 /* minimum: a thread may have waited that long at once (carry_back()) */
#define CORES_RUNS 0.1         /* runs that may have work for more cores */

/* ---- one run ---- */

/* Fills the demand of cores in parts of the run. Returns how many parts there are; 0: it is not known. */
static unsigned find_demand(const struct evidence *e, const struct stretch *s, double *ret)
{
    int n = CORES_WINDOWS;
    while (n > CORES_WINDOWS_LEAST && s->wall_ns / n < CORES_WINDOW_NS)
        n--;
    return e->history && stretch_demands(e, s, n, ret) ? (unsigned)n : 0;
}

/* Returns the demand in all but a tenth of the time: a short peak is no reason to ask for a core. */
static double usual_demand(const double *part, unsigned n)
{
    double most[3] = {0, 0, 0};
    for (unsigned i = 0; i < n; i++) {
        double next = part[i];
        for (int j = 0; j < 3; j++) {
            if (next > most[j]) {
                double lower = most[j];
                most[j] = next;
                next = lower;
            }
        }
    }
    return most[n > BARO_NEED_PARTS / 2 ? 2 : 1];
}

/*
 * Returns the least demand that the job would have had without neighbours. Threads that wait for a core because
 * neighbours use it may have had nothing to do later: in a pipeline both sides are runnable for longer. Neighbours cost
 * it at most as much as they used. Example: a pipeline uses 0.5 of 2 cores and waits for 1.2, and neighbours use 1.5:
 * its demand is between 0.5 and 1.7.
 */
static double least_demand(const struct evidence *e, const struct stretch *s, const struct baro_need *need)
{
    double part[BARO_NEED_PARTS], length = s->wall_ns / need->parts;
    for (unsigned i = 0; i < need->parts; i++) {
        uint64_t from = whole_of(length * i), to = whole_of(length * (i + 1));
        double used = stretch_growth(s, e->history, FOLD_CPU, from, to) / length,
               others = stretch_growth(s, e->history, FOLD_HOST_BUSY, from, to) /
                            stretch_growth(s, e->history, FOLD_HOST_TIME, from, to) -
                        used,
               without = need->demand[i] - (isnan(others) ? e->host_others_cores : others);
        part[i] = without < need->demand[i] ? without : need->demand[i];
        part[i] = part[i] > used ? part[i] : used;
    }
    return usual_demand(part, need->parts);
}

/* whole_up() returns 0 for NAN and for numbers below 0. */
static double at_most(double cores, double most)
{
    double whole = whole_up(most);
    return whole >= 1 && cores > whole ? whole : cores;
}

static double cores_for(const struct evidence *e, double demand)
{
    double needed = at_most(whole_up(demand - ADVISE_CORES), e->host_cores);
    return needed >= 1 ? needed : 1;
}

/* Sets for how many cores there was work in all but a tenth of the time. It is at most what the job might use, and the
 * most that it used at once, unless something else kept it from using more. If neighbours did, and without them it may
 * have been another number, it is not known. */
static void need_cores(const struct evidence *e, const struct stretch *s, struct baro_need *need)
{
    bool is_short = is_short_of_cores(e, s), has_neighbours = !is_short && e->host_others_cores >= CORES_OTHERS;
    double needed =
        cores_for(e, need->parts && !is_short ? usual_demand(need->demand, need->parts) : stretch_demand(s));
    if (e->history && !need->parts && !is_short)
        return;
    if (!is_short)
        needed = at_most(needed, e->cores);
    if (!is_short && !has_neighbours && !is_contended(e, s) && !is_throttled(e, s))
        needed = at_most(needed, e->cores_peak - ADVISE_CORES);
    if (has_neighbours && need->parts && cores_for(e, least_demand(e, s, need)) < needed)
        need->flags |= BARO_NEED_NEIGHBOURS;
    else
        need->cores = needed;
}

/* `baro run --limit memory=2GB`, or rss */
static bool is_ended_by_memory_limit(const struct evidence *e)
{
    return e->limit && e->limit->ends && (strcmp(e->limit->name, "memory") == 0 || strcmp(e->limit->name, "rss") == 0);
}

static void need_memory(const struct evidence *e, const struct stretch *s, struct baro_need *n)
{
    double at_most = e->memory_at_most_bytes >= e->memory_peak_bytes ? e->memory_at_most_bytes : e->memory_peak_bytes,
           swapped = e->swap_peak_bytes > 0 ? e->swap_peak_bytes : 0;
    n->memory_bytes = (need_is_range(e) ? e->memory_peak_bytes : at_most) + swapped;
    n->memory_at_most_bytes = at_most + swapped;
    bool is_killed = e->oom_kills_at_most >= 1 || is_ended_by_memory_limit(e);
    if ((is_killed || is_short_of_memory(e, s)) && e->memory_limit_bytes > n->memory_bytes)
        n->memory_bytes = n->memory_at_most_bytes = e->memory_limit_bytes;
    n->flags |= is_killed ? BARO_NEED_MEMORY_BOUND : 0;
}

static void need_gpus(const struct evidence *e, struct baro_need *n)
{
    n->gpus = e->gpu_used;
    n->gpu_memory_bytes = NAN;
    for (size_t i = 0; i < e->n_gpus; i++) {
        const struct gpu_seen *g = &e->gpu[i];
        if (g->is_used >= 1 && !(n->gpu_memory_bytes >= g->memory_used_peak))
            n->gpu_memory_bytes = g->memory_used_peak;
    }
}

/* A status above 128 is a shell's for what a signal ended; 124 is timeout(1)'s. */
bool need_is_ended_early(const struct evidence *e)
{
    return *e->exit_signal || e->exit_status == 124 || (e->exit_status > 128 && e->exit_status < 128 + 65);
}

void need_of_evidence(const struct evidence *e, struct baro_need *ret)
{
    const struct stretch *s = &e->job;
    bool is_short = !(s->wall_ns >= LONG_ENOUGH_NS && e->samples >= SAMPLES_ENOUGH);
    *ret = (struct baro_need)BARO_NEED_INIT;
    ret->flags = (need_is_ended_early(e) ? BARO_NEED_TIME_BOUND : 0) |
                 (e->is_running || e->is_cut_off || e->is_stretch ? BARO_NEED_PARTIAL : 0) |
                 (is_short ? BARO_NEED_SHORT : 0);
    ret->wall_ns = e->wall_ns;
    ret->cpu_ns = e->cpu_ns;
    ret->parts = is_short ? 0 : find_demand(e, s, ret->demand);
    ret->neighbours_cores = e->host_others_cores;
    ret->machine_cores = e->host_cores;
    ret->cores = NAN;
    if (!is_short)
        need_cores(e, s, ret);
    ret->memory_shared_bytes = e->memory_shared_bytes;
    ret->page_cache_bytes = e->page_cache_bytes;
    ret->memory_limit_bytes = e->memory_limit_bytes;
    ret->cores_limit = e->cores;
    need_memory(e, s, ret);
    need_gpus(e, ret);
    if (e->exit_status > 0 && ret->flags & BARO_NEED_MEMORY_BOUND)
        ret->flags |= BARO_NEED_TIME_BOUND;
    else if (e->exit_status > 0 && !(ret->flags & BARO_NEED_TIME_BOUND))
        ret->flags |= BARO_NEED_FAILED;
}

/* ---- several runs ---- */

static double round_up(double value, double step)
{
    return whole_up(value / step) * step;
}

/* Returns the value that all but a share of the runs are at most; NAN if there is none. Example: of 40 values with a
 * share of 0.05, the third largest. */
static double all_but(double *values, size_t n, double share)
{
    if (!n)
        return NAN;
    sort_numbers(values, n);
    size_t left_out = (size_t)whole_down((double)n * share);
    return values[n - 1 - (left_out < n ? left_out : n - 1)];
}

static double margin(size_t runs, double few, double many)
{
    return runs >= ADVISE_MANY ? many : few;
}

/* Returns the memory with which a run would have come to its end. Examples of one run: 67 MB resident at a limit of 67
 * MB, and 63 MB swapped out, are 130 MB, and a quarter more. Samples have 71 MB, and the marks of its processes allow
 * 590 MB: 590 MB, and 5 % more. */
static double memory_for(const struct baro_need *n, size_t runs)
{
    double needed =
        n->memory_bytes *
        (n->flags & BARO_NEED_MEMORY_BOUND ? ADVISE_MEMORY_KILLED : margin(runs, ADVISE_MEMORY, ADVISE_MEMORY_MANY));
    double at_most = n->memory_at_most_bytes * ADVISE_AT_MOST;
    return at_most > needed ? at_most : needed;
}

enum ask { ASK_CORES, ASK_MEMORY, ASK_TIME, ASK_GPU };

/* A run that a time limit ended says only that the time was not enough. */
static double asked(const struct baro_need *n, size_t runs, enum ask what)
{
    switch (what) {
    case ASK_CORES: return n->cores;
    case ASK_MEMORY: return memory_for(n, runs);
    case ASK_TIME: return n->wall_ns * margin(runs, ADVISE_TIME, ADVISE_TIME_MANY);
    default: return n->gpu_memory_bytes * margin(runs, ADVISE_MEMORY, ADVISE_MEMORY_MANY);
    }
}

static double ask_for(const struct baro_need *const *needs, size_t n, const struct baro_advice *a, enum ask what,
                      double risk, double *values)
{
    size_t known = 0, ended = 0;
    for (size_t i = 0; i < n; i++) {
        double value = needs[i]->flags & a->left_out ? NAN : asked(needs[i], a->runs, what);
        if (value > 0)
            values[known++] = value;
        ended += value > 0 && !(needs[i]->flags & BARO_NEED_TIME_BOUND);
    }
    return what == ASK_TIME && !ended ? NAN : all_but(values, known, risk);
}

/* A run that fails early needs less than one that succeeds; but what always fails is better than nothing. */
static void count_runs(const struct baro_need *const *needs, size_t n, struct baro_advice *a)
{
    size_t whole = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_whole = !(needs[i]->flags & BARO_NEED_PARTIAL);
        whole += is_whole;
        a->failed += is_whole && needs[i]->flags & BARO_NEED_FAILED;
    }
    a->left_out = BARO_NEED_PARTIAL | (a->failed < whole ? BARO_NEED_FAILED : 0);
    for (size_t i = 0; i < n; i++) {
        bool counts = !(needs[i]->flags & a->left_out);
        a->runs += counts;
        a->memory_bounds += counts && needs[i]->flags & BARO_NEED_MEMORY_BOUND;
        a->time_bounds += counts && needs[i]->flags & BARO_NEED_TIME_BOUND;
    }
}

int baro_advise(const struct baro_need *const *needs, size_t n, double risk, struct baro_advice *ret)
{
    struct baro_advice a = BARO_ADVICE_INIT;
    double *values = calloc(n + 1, sizeof(*values));
    if (!values)
        return -ENOMEM;
    count_runs(needs, n, &a);
    a.cores = ask_for(needs, n, &a, ASK_CORES, CORES_RUNS, values);
    a.memory_bytes = ask_for(needs, n, &a, ASK_MEMORY, risk, values);
    a.time_ns = ask_for(needs, n, &a, ASK_TIME, risk, values);
    a.gpu_memory_bytes = ask_for(needs, n, &a, ASK_GPU, risk, values);
    free(values);
    if (ret->size != sizeof(a) || !a.runs)
        return BARO_E_RANGE;
    a.memory_bytes = a.memory_bytes > 0 ? round_up(a.memory_bytes, ADVISE_MEMORY_STEP) : NAN;
    a.gpu_memory_bytes = a.gpu_memory_bytes > 0 ? round_up(a.gpu_memory_bytes, ADVISE_MEMORY_STEP) : NAN;
    a.time_ns = a.time_ns > 0 ? round_up(a.time_ns, 60 * SECOND_NS) : NAN;
    *ret = a;
    return 0;
}
