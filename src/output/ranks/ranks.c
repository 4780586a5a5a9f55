/* SPDX-License-Identifier: Apache-2.0 */
#include "output/ranks/nodes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/span.h"
#include "output/text/read_fact.h"

#define SLOW_LEAST 1.05 /* a rank is slow from here on, as a multiple of the mean */
#define COST_LEAST 0.02 /* and only if it costs such a part of what all ranks had */
#define MISSING_SHOWN 8u

bool ranks_number(const char *text, uint32_t *ret)
{
    struct span digits = span_str(text);
    uint64_t n;
    bool is_number = scan_u64(&digits, &n) && !digits.len && n < UINT32_MAX;
    *ret = is_number ? (uint32_t)n : 0;
    return is_number;
}

int ranks_begin(struct ranks *r, struct baro_error *err)
{
    *r = (struct ranks){.cores_most = NAN, .memory_most = NAN};
    return baro_runset_new(&r->set, err);
}

void ranks_done(struct ranks *r)
{
    for (size_t i = 0; i < r->n; i++) {
        free(r->at[i].tape);
        free(r->at[i].gpu);
    }
    free(r->at);
    rank_nodes_done(r);
    free(r->title);
    free(r->slowest.phase);
    baro_runset_free(r->set);
    *r = (struct ranks){0};
}

static void copy_text(char *to, size_t size, const char *from)
{
    size_t n = strnlen(from, size - 1);
    memcpy(to, from, n);
    to[n] = 0;
}

/* Times of hostile tapes end at the end of time. */
static int64_t later(int64_t t_ns, uint64_t by_ns)
{
    int64_t sum;
    return by_ns > INT64_MAX || __builtin_add_overflow(t_ns, (int64_t)by_ns, &sum) ? INT64_MAX : sum;
}

int64_t rank_end_ns(const struct rank *rank)
{
    return later(rank->start_ns, rank->wall_ns);
}

uint64_t ranks_wall_ns(const struct ranks *r)
{
    return (uint64_t)r->end_ns - (uint64_t)r->start_ns;
}

/* ---- adding ---- */

double rank_number(const struct baro_summary *s, const char *section, const char *fact, size_t row)
{
    const struct baro_fact *is = baro_summary_fact(baro_summary_fact_find(section, fact));
    struct baro_value v = report_row(s, section, fact, row);
    return v.absent ? NAN : is->type == BARO_FACT_REAL ? v.real : (double)v.u64;
}

static bool take_gpus(struct rank *to, const struct baro_summary *s)
{
    size_t n = report_rows(s, "gpus");
    to->gpu = n ? calloc(n, sizeof(*to->gpu)) : NULL;
    for (size_t i = 0; to->gpu && i < n; i++) {
        const char *name = report_row(s, "gpus", "name", i).text;
        uint32_t number;
        if (!report_row(s, "gpus", "is_used", i).u64 || strncmp(name, "gpu", 3) != 0 ||
            !ranks_number(name + 3, &number))
            continue;
        to->gpu[to->gpus++] = (struct rank_gpu){.number = number,
                                                .busy_ratio = rank_number(s, "gpus", "busy_ratio", i),
                                                .memory_peak = rank_number(s, "gpus", "memory_used_peak_bytes", i),
                                                .memory_total = rank_number(s, "gpus", "memory_total_bytes", i)};
    }
    return !n || to->gpu;
}

static void take_course(struct rank *to, const struct baro_summary *s)
{
    size_t n = report_rows(s, "course");
    to->stretches = n < RANK_COURSE ? n : RANK_COURSE;
    to->origin_ns = n ? report_row(s, "course", "t_ns", 0).u64 : 0;
    to->width_ns = n ? report_row(s, "course", "duration_ns", 0).u64 : 0;
    for (size_t i = 0; i < to->stretches; i++) {
        struct baro_value cores = report_row(s, "course", "cores", i),
                          rss = report_row(s, "course", "rss_peak_bytes", i);
        to->cores[i] = cores.absent ? -1 : (float)cores.real;
        to->memory[i] = rss.absent ? -1 : (float)rss.u64;
    }
}

/* What was recorded, without its rank. */
static char *title_of(const struct baro_header *h)
{
    struct buf b = {0};
    if (*baro_header_name(h))
        buf_str(&b, baro_header_name(h));
    else
        report_arguments(baro_header_argv(h), &b);
    buf_byte(&b, 0);
    return b.failed ? NULL : (char *)b.at;
}

int ranks_add(struct ranks *r, const char *tape, const struct baro_header *h, const struct baro_fold *fold,
              struct baro_error *err)
{
    const struct baro_summary *s = baro_fold_summary(fold);
    struct rank *more = array_room(r->at, r->n, &r->room, sizeof(*more));
    r->at = more ? more : r->at;
    r->title = r->title ? r->title : title_of(h);
    char *copy = strdup(tape);
    if (!more || !copy || !r->title || baro_runset_add(r->set, tape, fold, err) < 0) {
        free(copy);
        return error_set(err, -ENOMEM, "out of memory");
    }
    struct baro_value status = report_fact(s, "exit", "wait_status"), node = report_header(h, "node");
    double recorder_ns = rank_number(s, "recorder", "cpu_ns", 0);
    struct rank *to = &r->at[r->n++];
    *to = (struct rank){.tape = copy,
                        .start_ns = later(baro_header_start_realtime_ns(h), report_u64(s, "", "start_ns")),
                        .wall_ns = report_u64(s, "", "wall_ns"),
                        .status = status.absent ? -1 : (int)status.u64,
                        .cpu_ns = rank_number(s, "job", "cpu_ns", 0),
                        .waited_ns = rank_number(s, "job", "run_delay_ns", 0),
                        .others_cores = rank_number(s, "host", "cpu_others_mean_cores", 0),
                        .watched_ns = rank_number(s, "host", "watched_ns", 0)};
    to->own_ns = (isnan(to->cpu_ns) ? 0 : to->cpu_ns) + (isnan(recorder_ns) ? 0 : recorder_ns);
    struct baro_need need = BARO_NEED_INIT;
    if (baro_fold_need(fold, &need) == 0)
        to->need = need;
    ranks_number(report_header(h, "rank").text, &to->number);
    copy_text(to->boot_id, sizeof(to->boot_id), report_header(h, "boot_id").text);
    if (!r->count)
        r->count = (uint32_t)report_header(h, "ranks").u64;
    copy_text(r->job, sizeof(r->job), baro_header_job_id(h));
    copy_text(r->step, sizeof(r->step), report_header(h, "step_id").text);
    take_course(to, s);
    if (!take_gpus(to, s))
        return error_set(err, -ENOMEM, "out of memory");
    return rank_nodes_add(r, to, *node.text ? node.text : baro_header_host(h), s, err);
}

/* ---- one time axis ---- */

/*
 * Puts a course into cells of the job's time: of cores the mean, of memory the most. Example: the job takes 64 s, so a
 * cell is 1 s long; a rank that began 0.5 s after the first, with stretches of 1 s, has half of each in two cells.
 */
static void take_cells(struct rank *to, int64_t start_ns, int64_t end_ns)
{
    double cores[RANK_CELLS] = {0}, memory[RANK_CELLS], covered[RANK_CELLS] = {0};
    double cell_ns = ((double)end_ns - (double)start_ns) / RANK_CELLS;
    double begin = (double)to->start_ns - (double)start_ns;
    for (size_t i = 0; i < RANK_CELLS; i++)
        memory[i] = -1;
    for (size_t i = 0; i < to->stretches; i++) {
        double from = begin + (double)to->width_ns * (double)i, until = from + (double)to->width_ns;
        double last = begin + (double)to->wall_ns; /* the last stretch may be longer than the rank */
        until = until < last ? until : last;
        for (double cell = floor(from / cell_ns); cell * cell_ns < until && cell < RANK_CELLS; cell++) {
            size_t k = cell > 0 ? (size_t)cell : 0;
            double part = fmin(until, (cell + 1) * cell_ns) - fmax(from, cell * cell_ns);
            if (part <= 0)
                continue;
            if (to->cores[i] >= 0) {
                cores[k] += part * (double)to->cores[i];
                covered[k] += part;
            }
            memory[k] = fmax(memory[k], (double)to->memory[i]);
        }
    }
    for (size_t k = 0; k < RANK_CELLS; k++) {
        to->cores[k] = covered[k] > 0 ? (float)(cores[k] / cell_ns) : -1;
        to->memory[k] = (float)memory[k];
    }
    to->stretches = RANK_CELLS;
}

static void align(struct ranks *r)
{
    r->start_ns = INT64_MAX;
    r->end_ns = INT64_MIN;
    for (size_t i = 0; i < r->n; i++) {
        int64_t end_ns = rank_end_ns(&r->at[i]);
        r->start_ns = r->at[i].start_ns < r->start_ns ? r->at[i].start_ns : r->start_ns;
        r->end_ns = end_ns > r->end_ns ? end_ns : r->end_ns;
    }
    r->end_ns = r->end_ns > r->start_ns ? r->end_ns : later(r->start_ns, 1);
    double cores[RANK_CELLS] = {0}, memory[RANK_CELLS] = {0};
    bool has_cores = false, has_memory = false;
    for (size_t i = 0; i < r->n; i++) {
        take_cells(&r->at[i], r->start_ns, r->end_ns);
        for (size_t k = 0; k < RANK_CELLS; k++) {
            cores[k] += fmax(0, (double)r->at[i].cores[k]);
            memory[k] += fmax(0, (double)r->at[i].memory[k]);
            has_cores = has_cores || r->at[i].cores[k] >= 0;
            has_memory = has_memory || r->at[i].memory[k] >= 0;
        }
    }
    for (size_t k = 0; k < RANK_CELLS; k++) {
        if (has_cores)
            r->cores_most = fmax(r->cores_most, cores[k]); /* the greater of NAN and a number is the number */
        if (has_memory)
            r->memory_most = fmax(r->memory_most, memory[k]);
    }
}

/* ---- the slowest ---- */

int ranks_spread(const struct ranks *r, size_t row, struct baro_spread *ret)
{
    return baro_runset_spread(r->set, row, 0, r->n, r->n < r->count, ret, NULL);
}

/* By the phase in which the ranks differ most: whoever takes longest in it keeps the others waiting, if there is a
 * barrier after it. */
static void slowest_by_phase(struct ranks *r)
{
    struct rank_slowest *to = &r->slowest;
    size_t *most_in = calloc(r->n, sizeof(*most_in));
    for (size_t row = 0; most_in && row < baro_runset_rows(r->set); row++) {
        const struct baro_runset_row *is = baro_runset_row(r->set, row);
        struct baro_spread s = {.size = sizeof(s)};
        if (strcmp(is->scope, "phase") != 0 || strcmp(is->fact->name, "wall_ns") != 0 || ranks_spread(r, row, &s) < 0 ||
            s.n < 2)
            continue;
        double cost = (s.most - s.mean) * (double)s.n;
        to->of++;
        if (s.most < SLOW_LEAST * s.mean)
            continue;
        most_in[s.most_run]++;
        if (cost > to->cost) {
            free(to->phase);
            *to = (struct rank_slowest){.by = SLOWEST_PHASE,
                                        .rank = s.most_run,
                                        .phase = strdup(is->name),
                                        .took = s.most,
                                        .mean = s.mean,
                                        .cost = cost,
                                        .of = to->of};
        }
    }
    if (most_in && to->by)
        to->phases = most_in[to->rank];
    free(most_in);
}

/* By what each did: the CPU time, and the time that it waited for a core. Ranks that spin at a barrier all have the
 * same sum; then it cannot be told. */
static void slowest_by_work(struct ranks *r)
{
    double sum = 0, most = 0, cpu = 0, waited = 0;
    size_t which = 0, n = 0;
    for (size_t i = 0; i < r->n; i++) {
        const struct rank *at = &r->at[i];
        double busy = at->cpu_ns + (isnan(at->waited_ns) ? 0 : at->waited_ns);
        if (isnan(busy))
            continue;
        sum += busy;
        cpu += at->cpu_ns;
        waited += isnan(at->waited_ns) ? 0 : at->waited_ns;
        n++;
        if (busy > most) {
            most = busy;
            which = i;
        }
    }
    double mean = n ? sum / (double)n : 0;
    if (n < 2 || most < SLOW_LEAST * mean)
        return;
    const struct rank *at = &r->at[which];
    double over_cpu = at->cpu_ns - cpu / (double)n,
           over_wait = isnan(at->waited_ns) ? 0 : at->waited_ns - waited / (double)n;
    bool is_wait = over_wait > over_cpu;
    for (size_t i = 0; i < r->n; i++) { /* it has most of what it is named for */
        if (is_wait ? r->at[i].waited_ns > at->waited_ns : r->at[i].cpu_ns > at->cpu_ns)
            return;
    }
    r->slowest = (struct rank_slowest){.by = is_wait ? SLOWEST_WAIT : SLOWEST_CPU,
                                       .rank = which,
                                       .took = is_wait ? at->waited_ns : at->cpu_ns,
                                       .mean = (is_wait ? waited : cpu) / (double)n,
                                       .cost = (most - mean) * (double)n};
}

int ranks_finish(struct ranks *r, struct baro_error *err)
{
    if (!r->n)
        return error_set(err, -EINVAL, "there are no ranks");
    align(r);
    rank_nodes_finish(r);
    slowest_by_phase(r);
    bool is_whole = true; /* what one did until another failed says nothing */
    for (size_t i = 0; i < r->n; i++)
        is_whole = is_whole && r->at[i].status == 0;
    if (!r->slowest.by && is_whole)
        slowest_by_work(r);
    double had = (double)ranks_wall_ns(r) * (double)r->n;
    if (r->slowest.cost < COST_LEAST * had) {
        free(r->slowest.phase);
        r->slowest = (struct rank_slowest){0};
    }
    return 0;
}

/* ---- what is missing ---- */

uint64_t ranks_missing(const struct ranks *r, struct buf *ret)
{
    uint64_t missing = 0, shown = 0, next = 0;
    for (size_t i = 0; i <= r->n; i++) {
        uint64_t until = i < r->n ? r->at[i].number : r->count > next ? r->count : next;
        if (until > next) {
            missing += until - next;
            if (shown++ < MISSING_SHOWN) {
                buf_printf(ret, "%s%llu", shown > 1 ? ", " : "", (unsigned long long)next);
                if (until - next > 1)
                    buf_printf(ret, "-%llu", (unsigned long long)until - 1);
            }
        }
        next = i < r->n ? (uint64_t)r->at[i].number + 1 : next;
    }
    if (shown > MISSING_SHOWN)
        buf_str(ret, ", ...");
    return missing;
}
