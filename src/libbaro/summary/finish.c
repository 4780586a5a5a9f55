/* SPDX-License-Identifier: Apache-2.0 */
/* Finishes the commands of a summary: adds the processes that still live, and sorts. */
#include <stdlib.h>
#include <string.h>

#include "libbaro/summary/summary.h"

struct rank {
    const struct command *command;
    uint32_t index;
};

static int compare_commands(const void *a, const void *b)
{
    const struct command *x = ((const struct rank *)a)->command, *y = ((const struct rank *)b)->command;
    if (x->value[COMMAND_CPU] != y->value[COMMAND_CPU])
        return x->value[COMMAND_CPU] < y->value[COMMAND_CPU] ? 1 : -1;
    return strcmp(x->name, y->name);
}

static void order_commands(struct baro_summary *s)
{
    struct rank *rank = calloc(s->commands.n, sizeof(*rank));
    s->finished.order = calloc(s->commands.n, sizeof(*s->finished.order));
    if (!rank || !s->finished.order) {
        s->failed = true;
        free(rank);
        return;
    }
    for (uint32_t i = 0; i < s->commands.n; i++) {
        if (s->finished.counted[i].processes)
            rank[s->finished.n_order++] = (struct rank){&s->finished.counted[i], i};
    }
    qsort(rank, s->finished.n_order, sizeof(*rank), compare_commands);
    for (size_t i = 0; i < s->finished.n_order; i++)
        s->finished.order[i] = rank[i].index;
    free(rank);
}

/* Returns a part of `whole`. It is limited to `whole`, because a double can round up. */
static uint64_t part_of(uint64_t whole, double part)
{
    double v = (double)whole * part;
    return v < (double)whole ? (uint64_t)v : whole;
}

static uint64_t less_or_zero(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/*
 * The kernel's clock of a process stands still while an interrupt or a hypervisor has the CPU; perf's clock does not.
 * So if the commands together have more CPU time than the job, the excess is subtracted in three steps.
 * 1. It is subtracted from the unsure parts, in proportion. Example: the job has 119 ms; by perf, dd has 112 ms, of
 *    which 13 are unsure, rm 12 and 10, sh 1.4 and 0, 125.4 in all: of the excess of 6.4 ms, 3.6 are subtracted from dd
 *    and 2.8 from rm.
 * 2. The size of the unsure parts is a guess. What is left is subtracted from all CPU time that perf reported.
 * 3. A small rest comes from the last CPU time of ended processes, which is estimated from what their parents took over
 *    in ticks. It is subtracted from all commands. Example: the job has 2,429 ms, the commands 2,437 ms.
 */
static void take_off(struct command *c, uint64_t off)
{
    off = off < c->value[COMMAND_CPU] ? off : c->value[COMMAND_CPU];
    c->value[COMMAND_CPU] -= off;
    /* Subtracts in proportion from user and system time, if both are known. */
    uint64_t user = c->value[COMMAND_CPU_USER], split = user + c->value[COMMAND_CPU_SYSTEM];
    uint64_t too_much = less_or_zero(split, c->value[COMMAND_CPU]);
    uint64_t of_user = split ? part_of(too_much, (double)user / (double)split) : 0;
    c->value[COMMAND_CPU_USER] = less_or_zero(user, of_user);
    c->value[COMMAND_CPU_SYSTEM] = less_or_zero(c->value[COMMAND_CPU_SYSTEM], too_much - of_user);
}

#define SHARES_PART 32u /* an excess above this part of the job has another cause */

static uint64_t cpu_to_cut(const struct command *c, bool of_perf_alone)
{
    return c->cpu_is_of_perf || !of_perf_alone ? c->value[COMMAND_CPU] : 0;
}

/* Subtracts CPU time from all commands, or only from those that perf reported. Returns what could not be subtracted. */
static uint64_t take_off_all(struct baro_summary *s, uint64_t excess, bool of_perf_alone)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < s->commands.n; i++)
        all += cpu_to_cut(&s->finished.counted[i], of_perf_alone);
    double part = excess < all ? (double)excess / (double)all : 1;
    for (uint32_t i = 0; i < s->commands.n && all; i++) {
        struct command *c = &s->finished.counted[i];
        uint64_t off = part_of(cpu_to_cut(c, of_perf_alone), part);
        take_off(c, off + (off > 0));
        c->cpu_unsure_ns += off;
    }
    return less_or_zero(excess, all);
}

/* The excess is too large to be subtracted: processes left the control group that is the job, and ended before the
 * group was read again. How much of their CPU time was used in the group is not known. */
static void mark_all_unsure(struct baro_summary *s, uint64_t excess)
{
    for (uint32_t i = 0; i < s->commands.n; i++)
        s->finished.counted[i].cpu_unsure_ns += excess;
}

static void take_off_excess(struct baro_summary *s)
{
    uint64_t cpu = 0, unsure = 0;
    for (uint32_t i = 0; i < s->commands.n; i++) {
        cpu += s->finished.counted[i].value[COMMAND_CPU];
        unsure += s->finished.counted[i].cpu_unsure_ns;
    }
    uint64_t excess = s->rows.job_absent[JOB_cpu] == BARO_PRESENT ? less_or_zero(cpu, s->rows.job[JOB_cpu]) : 0;
    s->finished.rest_ns = less_or_zero(s->rows.job[JOB_cpu], cpu);
    double part = excess < unsure ? (double)excess / (double)unsure : 1;
    for (uint32_t i = 0; i < s->commands.n && excess; i++) {
        struct command *c = &s->finished.counted[i];
        uint64_t off = part_of(c->cpu_unsure_ns, part);
        off += c->cpu_unsure_ns > off;
        take_off(c, off);
    }
    excess = less_or_zero(excess, unsure);
    if (excess)
        excess = take_off_all(s, excess, true);
    if (excess && excess < s->rows.job[JOB_cpu] / SHARES_PART)
        take_off_all(s, excess, false);
    else if (s->life.ended) /* while the job runs, the tape may lack the newest row of the job */
        mark_all_unsure(s, excess);
}

static void note_rest(struct baro_summary *s)
{
    uint64_t user = 0, system = 0;
    s->finished.nameless = s->finished.nameless_ns = 0;
    for (uint32_t i = 0; i < s->commands.n; i++) {
        s->finished.nameless += *s->finished.counted[i].name ? 0 : s->finished.counted[i].processes;
        s->finished.nameless_ns += *s->finished.counted[i].name ? 0 : s->finished.counted[i].value[COMMAND_CPU];
        user += s->finished.counted[i].value[COMMAND_CPU_USER];
        system += s->finished.counted[i].value[COMMAND_CPU_SYSTEM];
    }
    s->finished.rest_user_ns = less_or_zero(s->rows.job[JOB_cpu_user], user);
    s->finished.rest_system_ns = less_or_zero(s->rows.job[JOB_cpu_system], system);
}

/*
 * The kernel scales user and system time from ticks, separately for the job and for each process: a part of all
 * processes together may be larger than that part of the job. The excess is moved to the other part. Example: java has
 * 4.04 s of user time and 0.10 s of system time, the job with java alone 4.00 and 0.20 s: java gets 4.00 and 0.14 s.
 */
static void fit_part(struct baro_summary *s, enum command_value part, enum command_value other, uint64_t whole)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->commands.n; i++)
        sum += s->finished.counted[i].value[part];
    uint64_t excess = less_or_zero(sum, whole);
    for (uint32_t i = 0; i < s->commands.n && excess; i++) {
        uint64_t *v = s->finished.counted[i].value, off = part_of(v[part], (double)excess / (double)sum);
        off += off < v[part];
        v[part] -= off;
        v[other] += off;
        s->finished.counted[i].split_is_fitted = s->finished.counted[i].split_is_fitted || off > v[COMMAND_CPU] / 1000;
    }
}

static void fit_splits(struct baro_summary *s)
{
    uint64_t cpu = 0, user = s->rows.job[JOB_cpu_user], system = s->rows.job[JOB_cpu_system];
    for (uint32_t i = 0; i < s->commands.n; i++)
        cpu += s->finished.counted[i].value[COMMAND_CPU];
    if (s->rows.job_absent[JOB_cpu_user] != BARO_PRESENT || s->rows.job_absent[JOB_cpu_system] != BARO_PRESENT ||
        cpu > user + system)
        return;
    fit_part(s, COMMAND_CPU_USER, COMMAND_CPU_SYSTEM, user);
    fit_part(s, COMMAND_CPU_SYSTEM, COMMAND_CPU_USER, system);
}

/* If the TCP traffic of the processes, which may be lower bounds, adds up to the exact total of the job, each of
 * them is exact. Example: the job received 5 MB in all. 5 MB were seen for curl, which has ended, and 0 for sh and
 * make: curl received no more. */
static void note_tcp(struct baro_summary *s)
{
    uint64_t sent = 0, received = 0;
    bool is_short = false;
    for (uint32_t i = 0; i < s->commands.n; i++) {
        const struct command *c = &s->finished.counted[i];
        is_short = is_short || c->tcp_is_short || c->covered[COMMAND_TCP_SENT] < c->processes;
        sent += s->finished.counted[i].value[COMMAND_TCP_SENT];
        received += s->finished.counted[i].value[COMMAND_TCP_RECEIVED];
    }
    bool known =
        s->rows.job_absent[JOB_tcp_sent] == BARO_PRESENT && s->rows.job_absent[JOB_tcp_received] == BARO_PRESENT;
    s->finished.tcp_is_exact =
        known && s->rows.job_absent[JOB_tcp_is_lower_bound] == BARO_PRESENT && !s->rows.job[JOB_tcp_is_lower_bound];
    s->finished.tcp_is_of_living = !is_short; /* example: workers that listen together, at the end of the recording */
    s->finished.tcp_is_whole =
        s->finished.tcp_is_exact && sent == s->rows.job[JOB_tcp_sent] && received == s->rows.job[JOB_tcp_received];
}

/* Works on a copy: living processes may have used more when this is called again. */
static bool copy_commands(struct baro_summary *s)
{
    free(s->finished.counted);
    free(s->finished.order);
    s->finished.order = NULL;
    s->finished.n_order = 0;
    s->finished.counted = calloc(s->commands.n, sizeof(*s->finished.counted));
    if (s->finished.counted)
        memcpy(s->finished.counted, s->commands.at, s->commands.n * sizeof(*s->finished.counted));
    s->failed = s->failed || !s->finished.counted;
    return s->finished.counted != NULL;
}

void summary_finish(struct baro_summary *s)
{
    course_make(&s->course, &s->points, s->extent.removed ? s->extent.first_ns : 0, s->subject.cpus);
    if (!copy_commands(s))
        return;
    living_count(&s->living, &s->programs, s->finished.counted);
    take_off_excess(s);
    fit_splits(s);
    note_rest(s);
    note_tcp(s);
    order_commands(s);
}
