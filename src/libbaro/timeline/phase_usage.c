/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/fmt.h"
#include "libbaro/timeline/phase_usage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const enum job_metric of_job[USAGE_OF_MACHINE] = {
    [USAGE_CPU] = JOB_cpu,
    [USAGE_CPU_USER] = JOB_cpu_user,
    [USAGE_CPU_SYSTEM] = JOB_cpu_system,
    [USAGE_RUN_DELAY] = JOB_run_delay,
    [USAGE_DELAY_CPU] = JOB_run_delay_lag, /* fill_usage_row() */
    [USAGE_SWITCHES_VOLUNTARY] = JOB_switches_voluntary,
    [USAGE_SWITCHES_INVOLUNTARY] = JOB_switches_involuntary,
    [USAGE_IO_READ] = JOB_io_read,
    [USAGE_IO_WRITE] = JOB_io_write,
    [USAGE_IO_RCHAR] = JOB_io_rchar,
    [USAGE_IO_WCHAR] = JOB_io_wchar,
    [USAGE_FAULTS_MINOR] = JOB_faults_minor,
    [USAGE_FAULTS_MAJOR] = JOB_faults_major,
    [USAGE_STARTED] = JOB_processes_started,
    [USAGE_ENDED] = JOB_processes_ended,
};
static const struct {
    enum usage_counter usage;
    enum machine_counter machine;
} of_machine[] = {
    {USAGE_HOST_BUSY, MACHINE_BUSY},       {USAGE_HOST_CPU_SOME, MACHINE_CPU_SOME},
    {USAGE_HOST_IO_SOME, MACHINE_IO_SOME}, {USAGE_HOST_MEMORY_SOME, MACHINE_MEMORY_SOME},
    {USAGE_HOST_SWAP_IN, MACHINE_SWAP_IN}, {USAGE_HOST_SWAP_OUT, MACHINE_SWAP_OUT},
};
static const enum process_metric of_process[USAGE_PROCESSES] = {
    [USAGE_RSS] = PROCESS_rss,   [USAGE_PSS] = PROCESS_pss,         [USAGE_USS] = PROCESS_uss,
    [USAGE_SWAP] = PROCESS_swap, [USAGE_THREADS] = PROCESS_threads, [USAGE_FDS] = PROCESS_fds,
};

/* ---- rows ---- */

static struct usage_row *row_at(const struct usage_history *h, size_t i)
{
    return &h->row[i % USAGE_ROWS];
}

int usage_history_init(struct usage_history *h, bool attached)
{
    *h = (struct usage_history){.row = calloc(USAGE_ROWS, sizeof(*h->row))};
    if (!h->row)
        return -ENOMEM;
    machine_init(&h->machine);
    if (attached)
        return 0;
    /* A command starts at 0: it had used nothing when the tape began. */
    struct usage_row *first = row_at(h, h->n++);
    memset(first->counter_absent + USAGE_OF_MACHINE, BARO_ABSENT_NOT_YET, USAGE_COUNTERS - USAGE_OF_MACHINE);
    for (int i = 0; i < USAGE_GAUGES; i++)
        first->gauge[i].absent = BARO_ABSENT_NOT_YET;
    return 0;
}

void usage_history_done(struct usage_history *h)
{
    free(h->row);
    free(h->active);
}

/* At each reading, takes the group that was held back most among groups that are above each other. */
static void note_throttled(struct usage_history *h, struct usage_row *row)
{
    uint64_t most = 0;
    bool seen = false;
    for (size_t i = 0; i < h->machine.n_groups; i++) {
        const struct growth *g = &h->machine.group[i].throttled;
        uint64_t more = g->grown - h->throttled_before[i];
        h->throttled_before[i] = g->grown;
        most = more > most ? more : most;
        seen = seen || g->seen;
    }
    h->throttled_ns += most;
    row->counter[USAGE_THROTTLED] = h->throttled_ns;
    row->counter_absent[USAGE_THROTTLED] = seen ? BARO_PRESENT : BARO_ABSENT_UNSUPPORTED;
}

static void note_machine(struct usage_history *h, struct usage_row *row, const struct baro_sample *s)
{
    machine_add(&h->machine, s);
    row->machine_ns = h->machine.read_ns;
    note_throttled(h, row);
    for (size_t i = 0; i < sizeof(of_machine) / sizeof(*of_machine); i++) {
        const struct growth *g = &h->machine.counter[of_machine[i].machine];
        row->counter[of_machine[i].usage] = g->grown;
        row->counter_absent[of_machine[i].usage] = g->seen ? BARO_PRESENT : g->absent;
    }
}

static void note_gauges(struct usage_row *row, const struct baro_sample *s)
{
    struct derive_sum sum[USAGE_PROCESSES] = {0};
    for (size_t i = 0; i < s->n; i++) {
        for (int k = 0; k < USAGE_PROCESSES; k++)
            derive_sum_add(&sum[k], s->processes[i], of_process[k]);
    }
    for (int k = 0; k < USAGE_PROCESSES; k++) {
        derive_sum_close(&sum[k], s);
        bool is_stale = (k == USAGE_PSS || k == USAGE_USS) && derive_is_stale(s);
        row->gauge[k] = (struct usage_sum){sum[k].value, (uint8_t)sum[k].absent, is_stale};
    }
    row->gauge[USAGE_PROCESSES] = (struct usage_sum){s->job[JOB_processes], s->job_absent[JOB_processes], false};
}

static void fill_usage_row(struct usage_history *h, struct usage_row *row, const struct baro_sample *s)
{
    row->t_ns = s->t_ns;
    for (int i = 0; i < USAGE_OF_MACHINE; i++) {
        row->counter[i] = s->job[of_job[i]];
        row->counter_absent[i] = s->job_absent[of_job[i]];
    }
    uint64_t cpu = row->counter[USAGE_CPU], lag = s->job[JOB_run_delay_lag];
    row->counter[USAGE_DELAY_CPU] = cpu > lag ? cpu - lag : 0;
    note_machine(h, row, s);
    note_gauges(row, s);
}

/* ---- a phase, and two rows after each other ---- */

/* Adds the part of an interval's growth that belongs to the phase. Example: of an interval from 2 to 4 s, a phase
 * that begins at 3 s gets one half. The error is the largest possible one: all of the growth may lie on one side of
 * the edge. */
static void count_part(struct phase_usage *u, int i, const struct usage_row *a, const struct usage_row *b, double part)
{
    int absent = b->counter_absent[i] ? b->counter_absent[i] : a->counter_absent[i];
    if (absent == BARO_PRESENT && b->counter[i] < a->counter[i])
        absent = BARO_ABSENT_UNKNOWN;
    if (absent != BARO_PRESENT) {
        u->missing[i] = (uint8_t)absent;
        return;
    }
    double growth = (double)(b->counter[i] - a->counter[i]);
    u->counted[i] = true;
    u->grown[i] += growth * part;
    if (part < 1)
        u->error[i] += growth * (part > 0.5 ? part : 1 - part);
}

/* Returns the share of an interval that overlaps the phase. */
static double overlap(struct phase_usage *u, uint64_t from, uint64_t to, uint64_t *covered_ns)
{
    uint64_t lo = from > u->begin_ns ? from : u->begin_ns, hi = to < u->end_ns ? to : u->end_ns;
    if (lo >= hi)
        return 0;
    *covered_ns += hi - lo;
    return (double)(hi - lo) / (double)(to - from);
}

static void raise_peak(struct usage_peak *p, uint64_t value, const struct usage_sum *of)
{
    if (of->absent != BARO_PRESENT) {
        p->absent = p->absent == BARO_ABSENT_NOT_YET ? of->absent : p->absent;
        return;
    }
    if (p->absent == BARO_PRESENT && value <= p->value)
        return;
    *p = (struct usage_peak){value, BARO_PRESENT, of->is_stale};
}

static void reach_edge(struct phase_usage *u, const struct usage_row *a, const struct usage_row *b, uint64_t edge_ns)
{
    double part = (double)(edge_ns - a->t_ns) / (double)(b->t_ns - a->t_ns);
    for (int i = 0; i < USAGE_GAUGES; i++) {
        const struct usage_sum *x = &a->gauge[i], *y = &b->gauge[i];
        bool both = x->absent == BARO_PRESENT && y->absent == BARO_PRESENT;
        const struct usage_sum *of = y->absent == BARO_PRESENT ? y : x;
        double value = both ? (double)x->value * (1 - part) + (double)y->value * part : (double)of->value;
        raise_peak(&u->edge[i], whole_of(value), of);
    }
}

static void reach_row(struct phase_usage *u, const struct usage_row *row)
{
    u->samples++;
    for (int i = 0; i < USAGE_GAUGES; i++)
        raise_peak(&u->peak[i], row->gauge[i].value, &row->gauge[i]);
    if (row->counter_absent[USAGE_CPU] == BARO_PRESENT)
        derive_peak_add(&u->cores, row->t_ns, row->counter[USAGE_CPU]);
}

/* Takes the growth from one row to the next. */
static void feed(struct phase_usage *u, const struct usage_row *a, const struct usage_row *b)
{
    double part = a->t_ns < b->t_ns ? overlap(u, a->t_ns, b->t_ns, &u->covered_ns[0]) : 0;
    for (int i = 0; part > 0 && i < USAGE_OF_MACHINE; i++)
        count_part(u, i, a, b, part);
    if (u->begin_ns > a->t_ns && u->begin_ns < b->t_ns)
        reach_edge(u, a, b, u->begin_ns);
    if (u->end_ns > a->t_ns && u->end_ns < b->t_ns)
        reach_edge(u, a, b, u->end_ns);
    if (b->t_ns >= u->begin_ns && b->t_ns <= u->end_ns)
        reach_row(u, b);
    part = a->machine_ns && a->machine_ns < b->machine_ns ? overlap(u, a->machine_ns, b->machine_ns, &u->covered_ns[1])
                                                          : 0;
    for (int i = USAGE_OF_MACHINE; part > 0 && i < USAGE_COUNTERS; i++)
        count_part(u, i, a, b, part);
}

/* ---- all phases ---- */

void usage_init(struct phase_usage *u, uint64_t begin_ns, uint64_t end_ns)
{
    *u = (struct phase_usage){.begin_ns = begin_ns, .end_ns = end_ns};
    for (int i = 0; i < USAGE_GAUGES; i++)
        u->peak[i].absent = u->edge[i].absent = BARO_ABSENT_NOT_YET;
}

static bool is_over(const struct phase_usage *u, const struct usage_row *row)
{
    return row->t_ns >= u->end_ns && (!row->machine_ns || row->machine_ns >= u->end_ns);
}

/* Each phase that is open takes time at each row. Of those that a row finds open only the oldest USAGE_OPEN_MOST get
 * the next one; what the others use is not known. Example: 40,000 phases that a job begins and never ends. */
static void feed_active(struct usage_history *h, const struct usage_row *a, const struct usage_row *b)
{
    size_t left = 0, open = 0;
    for (size_t i = 0; i < h->n_active; i++) {
        struct phase_usage *u = h->active[i];
        feed(u, a, b);
        bool is_open = u->begin_ns <= b->t_ns && !is_over(u, b);
        open += is_open;
        u->is_left = is_open && open > USAGE_OPEN_MOST;
        u->is_active = !u->is_left && !is_over(u, b);
        if (u->is_active)
            h->active[left++] = u;
    }
    h->n_active = left;
}

bool usage_history_add(struct usage_history *h, const struct baro_sample *s)
{
    if (h->n >= 2)
        feed_active(h, row_at(h, h->n - 2), row_at(h, h->n - 1));
    struct usage_row *row = row_at(h, h->n++);
    *row = (struct usage_row){0};
    fill_usage_row(h, row, s);
    return true;
}

void usage_history_exit(struct usage_history *h, const struct baro_exit *e)
{
    bool known = e->absent[EXIT_rss_peak] == BARO_PRESENT && e->absent[EXIT_elapsed] == BARO_PRESENT;
    for (size_t i = 0; known && i < h->n_active; i++) {
        struct phase_usage *u = h->active[i];
        bool within = e->t_ns <= u->end_ns && e->t_ns - u->begin_ns >= e->value[EXIT_elapsed];
        if (e->t_ns >= u->begin_ns && within && e->value[EXIT_rss_peak] > u->process_rss)
            u->process_rss = e->value[EXIT_rss_peak];
    }
}

bool usage_activate(struct usage_history *h, struct phase_usage *u)
{
    struct phase_usage **at = array_room(h->active, h->n_active, &h->cap_active, sizeof(*at));
    if (!at)
        return false;
    h->active = at;
    u->is_active = true;
    h->active[h->n_active++] = u;
    size_t first = h->n > USAGE_ROWS ? h->n - USAGE_ROWS : 0;
    for (size_t i = first + 1; i + 1 < h->n; i++) {
        if (row_at(h, i)->t_ns >= u->begin_ns || row_at(h, i)->machine_ns >= u->begin_ns)
            feed(u, row_at(h, i - 1), row_at(h, i));
    }
    return true;
}

void usage_read(const struct usage_history *h, const struct phase_usage *u, struct phase_usage *ret)
{
    *ret = *u;
    if (u->is_active && h->n >= 2)
        feed(ret, row_at(h, h->n - 2), row_at(h, h->n - 1));
}
