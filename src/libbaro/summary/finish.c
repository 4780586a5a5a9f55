/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of a summary: with the processes that still live, sorted. */
#include <stdlib.h>
#include <string.h>

#include "libbaro/summary/summary.h"

static int by_id(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void count_alive(struct baro_summary *s, const struct summary_alive *a)
{
    uint64_t value[COMMAND_MAX];
    uint8_t absent[COMMAND_MAX];
    /* id stands first in the struct, so the same comparison does for both tables. */
    const struct summary_alive *base = s->n_base ? bsearch(&a->id, s->base, s->n_base, sizeof(*s->base), by_id) : NULL;
    for (int i = 0; i < COMMAND_MAX; i++) {
        uint64_t before = base && i < COMMAND_RSS_PEAK ? base->value[i] : 0; /* TCP counts from the first reading on */
        value[i] = a->value[i] > before ? a->value[i] - before : 0;
        absent[i] = a->absent >> i & 1 ? BARO_ABSENT_UNKNOWN : BARO_PRESENT;
    }
    command_add(&s->counted[a->command], value, absent);
}

struct rank {
    const struct command *command;
    uint32_t index;
};

static int heavier(const void *a, const void *b)
{
    const struct command *x = ((const struct rank *)a)->command, *y = ((const struct rank *)b)->command;
    if (x->value[COMMAND_CPU] != y->value[COMMAND_CPU])
        return x->value[COMMAND_CPU] < y->value[COMMAND_CPU] ? 1 : -1;
    return strcmp(x->name, y->name);
}

static void order_commands(struct baro_summary *s)
{
    struct rank *rank = calloc(s->commands.n, sizeof(*rank));
    s->order = calloc(s->commands.n, sizeof(*s->order));
    if (!rank || !s->order) {
        s->failed = true;
        free(rank);
        return;
    }
    for (uint32_t i = 0; i < s->commands.n; i++) {
        if (s->counted[i].processes)
            rank[s->n_order++] = (struct rank){&s->counted[i], i};
    }
    qsort(rank, s->n_order, sizeof(*rank), heavier);
    for (size_t i = 0; i < s->n_order; i++)
        s->order[i] = rank[i].index;
    free(rank);
}

/* Rounded, it may be more than a number of a tape can be. */
static uint64_t part_of(uint64_t whole, double part)
{
    double v = (double)whole * part;
    return v < (double)whole ? (uint64_t)v : whole;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/*
 * The kernel's clock of a process stands still while an interrupt or a hypervisor has the CPU; that of perf does not.
 * So where the commands add up to more than the job, what is unsure of them is taken off, in proportion. Example: the
 * job has 119 ms; dd has 112 by perf, of which 13 are unsure, rm 12 and 10, sh 1.4 and 0, 125.4 in all: 6.4 ms are too
 * much, of which 3.6 are taken off dd and 2.8 off rm. How much is unsure is a guess, so what is still too much after
 * that is taken off all that perf reported.
 */
static void take_off(struct command *c, uint64_t off)
{
    off = off < c->value[COMMAND_CPU] ? off : c->value[COMMAND_CPU];
    c->value[COMMAND_CPU] -= off;
    /* As much of each part, if both are known. */
    uint64_t user = c->value[COMMAND_CPU_USER], split = user + c->value[COMMAND_CPU_SYSTEM];
    uint64_t too_much = less(split, c->value[COMMAND_CPU]);
    uint64_t of_user = split ? part_of(too_much, (double)user / (double)split) : 0;
    c->value[COMMAND_CPU_USER] = less(user, of_user);
    c->value[COMMAND_CPU_SYSTEM] = less(c->value[COMMAND_CPU_SYSTEM], too_much - of_user);
}

static void take_off_perf(struct baro_summary *s, uint64_t excess)
{
    uint64_t perf = 0;
    for (uint32_t i = 0; i < s->commands.n; i++)
        perf += s->counted[i].cpu_is_of_perf ? s->counted[i].value[COMMAND_CPU] : 0;
    double part = excess < perf ? (double)excess / (double)perf : 1;
    for (uint32_t i = 0; i < s->commands.n && perf; i++) {
        struct command *c = &s->counted[i];
        uint64_t off = c->cpu_is_of_perf ? part_of(c->value[COMMAND_CPU], part) : 0;
        take_off(c, off + (off > 0));
        c->cpu_unsure_ns += off;
    }
}

static void take_off_excess(struct baro_summary *s)
{
    uint64_t cpu = 0, unsure = 0;
    for (uint32_t i = 0; i < s->commands.n; i++) {
        cpu += s->counted[i].value[COMMAND_CPU];
        unsure += s->counted[i].cpu_unsure_ns;
    }
    uint64_t excess = s->job_absent[JOB_cpu] == BARO_PRESENT ? less(cpu, s->job[JOB_cpu]) : 0;
    s->rest_ns = less(s->job[JOB_cpu], cpu);
    double part = excess < unsure ? (double)excess / (double)unsure : 1;
    for (uint32_t i = 0; i < s->commands.n && excess; i++) {
        struct command *c = &s->counted[i];
        uint64_t off = part_of(c->cpu_unsure_ns, part);
        off += c->cpu_unsure_ns > off;
        take_off(c, off);
    }
    if (excess > unsure)
        take_off_perf(s, excess - unsure);
}

static void note_rest(struct baro_summary *s)
{
    uint64_t user = 0, system = 0;
    s->nameless = s->nameless_ns = 0;
    for (uint32_t i = 0; i < s->commands.n; i++) {
        s->nameless += *s->counted[i].name ? 0 : s->counted[i].processes;
        s->nameless_ns += *s->counted[i].name ? 0 : s->counted[i].value[COMMAND_CPU];
        user += s->counted[i].value[COMMAND_CPU_USER];
        system += s->counted[i].value[COMMAND_CPU_SYSTEM];
    }
    s->rest_user_ns = less(s->job[JOB_cpu_user], user);
    s->rest_system_ns = less(s->job[JOB_cpu_system], system);
}

/*
 * The kernel scales user and system time from ticks for the job and for each process anew: a part of all processes may
 * come out larger than that of the job. What is too much is of the other part. Example: java has 4.04 s of user time
 * and 0.10 s of system time, the job with it 4.00 and 0.20 s: java has 4.00 and 0.14.
 */
static void fit_part(struct baro_summary *s, enum command_value part, enum command_value other, uint64_t whole)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->commands.n; i++)
        sum += s->counted[i].value[part];
    uint64_t excess = less(sum, whole);
    for (uint32_t i = 0; i < s->commands.n && excess; i++) {
        uint64_t *v = s->counted[i].value, off = part_of(v[part], (double)excess / (double)sum);
        off += off < v[part];
        v[part] -= off;
        v[other] += off;
        s->counted[i].split_is_fitted = s->counted[i].split_is_fitted || off > v[COMMAND_CPU] / 1000;
    }
}

static void fit_splits(struct baro_summary *s)
{
    uint64_t cpu = 0, user = s->job[JOB_cpu_user], system = s->job[JOB_cpu_system];
    for (uint32_t i = 0; i < s->commands.n; i++)
        cpu += s->counted[i].value[COMMAND_CPU];
    if (s->job_absent[JOB_cpu_user] != BARO_PRESENT || s->job_absent[JOB_cpu_system] != BARO_PRESENT ||
        cpu > user + system)
        return;
    fit_part(s, COMMAND_CPU_USER, COMMAND_CPU_SYSTEM, user);
    fit_part(s, COMMAND_CPU_SYSTEM, COMMAND_CPU_USER, system);
}

/* If the processes, most of which have lower bounds, add up to what the job has exactly, each bound is exact. Example:
 * the job received 5 MB in all; of curl, which has ended, 5 MB were seen, of sh and make 0: that is all. */
static void note_tcp(struct baro_summary *s)
{
    uint64_t sent = 0, received = 0;
    bool is_short = false;
    for (uint32_t i = 0; i < s->commands.n; i++) {
        const struct command *c = &s->counted[i];
        is_short = is_short || c->tcp_is_short || c->covered[COMMAND_TCP_SENT] < c->processes;
        sent += s->counted[i].value[COMMAND_TCP_SENT];
        received += s->counted[i].value[COMMAND_TCP_RECEIVED];
    }
    bool known = s->job_absent[JOB_tcp_sent] == BARO_PRESENT && s->job_absent[JOB_tcp_received] == BARO_PRESENT;
    s->tcp_is_exact = known && s->job_absent[JOB_tcp_is_lower_bound] == BARO_PRESENT && !s->job[JOB_tcp_is_lower_bound];
    s->tcp_is_of_living = !is_short; /* example: workers that listen together, at the end of the recording */
    s->tcp_is_whole = s->tcp_is_exact && sent == s->job[JOB_tcp_sent] && received == s->job[JOB_tcp_received];
}

/* Not the table itself: those that live may have used more when this is called again. */
static bool copy_commands(struct baro_summary *s)
{
    free(s->counted);
    free(s->order);
    s->order = NULL;
    s->n_order = 0;
    s->counted = calloc(s->commands.n, sizeof(*s->counted));
    if (s->counted)
        memcpy(s->counted, s->commands.at, s->commands.n * sizeof(*s->counted));
    s->failed = s->failed || !s->counted;
    return s->counted != NULL;
}

void summary_finish(struct baro_summary *s)
{
    course_finish(&s->course);
    if (!copy_commands(s))
        return;
    if (s->n_base)
        qsort(s->base, s->n_base, sizeof(*s->base), by_id);
    if (s->n_ended)
        qsort(s->ended_ids, s->n_ended, sizeof(*s->ended_ids), by_id);
    for (size_t i = 0; i < s->n_alive; i++) {
        if (!s->n_ended || !bsearch(&s->alive[i].id, s->ended_ids, s->n_ended, sizeof(*s->ended_ids), by_id))
            count_alive(s, &s->alive[i]);
    }
    take_off_excess(s);
    fit_splits(s);
    note_rest(s);
    note_tcp(s);
    order_commands(s);
}
