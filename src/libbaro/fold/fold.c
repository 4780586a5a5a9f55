/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/fold/fold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum from { FROM_JOB, FROM_SUM, FROM_HOST, FROM_HERE };
static const struct {
    enum from from;
    int metric;
} terms[FOLD_TERMS] = {
#define TERM(id, from, metric) [FOLD_##id] = {FROM_##from, metric},
#include "libbaro/fold/terms.def"
};

void fold_init(struct fold *f)
{
    *f = (struct fold){0};
    for (int i = 0; i < FOLD_TERMS; i++)
        f->cell[i] = FOLD_CELL_NONE;
    for (int i = 0; i < FOLD_ROW; i++)
        f->row.absent[i] = BARO_ABSENT_NOT_YET;
    f->groups.throttled_absent = f->groups.pressure_absent[0] = f->groups.pressure_absent[1] = BARO_ABSENT_UNSUPPORTED;
}

void fold_done(struct fold *f)
{
    fold_groups_done(&f->groups);
    free(f->packets.at);
    free(f->packets.next);
    fold_entities_done(&f->gpus);
    fold_entities_done(&f->meters);
    fold_entities_done(&f->directories);
    fold_entities_done(&f->tasks);
}

/* ---- the machine ---- */

/* All CPU time of the machine, busy or not. */
static int host_all(const struct baro_sample *s, uint64_t *ret)
{
    static const enum host_metric rest[] = {HOST_cpu_idle, HOST_cpu_iowait, HOST_cpu_steal};
    int absent = derive_host_busy(s, ret);
    if (absent == BARO_PRESENT)
        absent = s->host_absent[HOST_cpu_idle];
    /* A counter that an older kernel lacks counts as 0. */
    for (size_t i = 0; i < sizeof(rest) / sizeof(*rest) && absent == BARO_PRESENT; i++)
        *ret += s->host_absent[rest[i]] == BARO_PRESENT ? s->host[rest[i]] : 0;
    return absent;
}

/* Adds up time in user mode. A counter that an older kernel lacks counts as 0. */
static uint64_t user_time(const struct baro_sample *s)
{
    static const enum host_metric parts[] = {HOST_cpu_user, HOST_cpu_nice, HOST_cpu_guest, HOST_cpu_guest_nice};
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        sum += s->host_absent[parts[i]] == BARO_PRESENT ? s->host[parts[i]] : 0;
    return sum;
}

static uint64_t received_before(const struct fold_packets *p, size_t i, uint32_t id, uint64_t received)
{
    for (size_t k = 0; k < p->n; k++) {
        size_t at = (i + k) % p->n; /* mostly where it was */
        if (p->at[at].id == id)
            return p->at[at].received;
    }
    return received;
}

/* Adds up the growth of each interface: the sum of their counters falls when one is removed, and rises by all that it
 * has ever received when it comes back. base/growth.h has the rule for one that falls. */
static int packets(struct fold *f, const struct baro_sample *s, uint64_t *ret)
{
    const struct baro_entities *all = &s->entities[KIND_net];
    struct fold_packets *p = &f->packets, was;
    size_t n = 0;
    *ret = p->grown;
    p->fell = false;
    if (!all->n)
        return BARO_ABSENT_UNSUPPORTED;
    if (array_reserve(&p->next, all->n, &p->cap_next, sizeof(*p->next)) < 0) {
        f->failed = true;
        return BARO_ABSENT_UNKNOWN;
    }
    for (size_t i = 0; i < all->n; i++) {
        const struct baro_entity *e = all->at[i];
        if (e->absent[NET_receive_packets])
            continue;
        uint64_t received = e->value[NET_receive_packets], growth;
        p->fell |= !growth_between(received_before(p, n, e->id, received), received, &growth);
        p->grown += growth;
        p->next[n++] = (struct fold_interface){e->id, received};
    }
    was = *p;
    *p = (struct fold_packets){.at = was.next,
                               .next = was.at,
                               .n = n,
                               .cap = was.cap_next,
                               .cap_next = was.cap,
                               .grown = was.grown,
                               .fell = was.fell};
    *ret = p->grown;
    return BARO_PRESENT;
}

/* A reading of the machine counts once, even if several samples have it. */
static void add_reading(struct fold *f, const struct baro_sample *s)
{
    uint64_t t = s->host_ns, busy, all, received;
    int no_busy = derive_host_busy(s, &busy), no_all = host_all(s, &all), no_packets = packets(f, s, &received);
    f->readings++;
    f->row.host_ns = t;
    for (int i = FOLD_OF_MACHINE; i < FOLD_TERMS; i++) {
        if (terms[i].from == FROM_HOST)
            fold_cell_add(&f->cell[i], t, s->host_absent[terms[i].metric], s->host[terms[i].metric]);
    }
    fold_cell_add(&f->cell[FOLD_HOST_TIME], t, BARO_PRESENT, t);
    fold_cell_add(&f->cell[FOLD_HOST_BUSY], t, no_busy, busy);
    fold_cell_add(&f->cell[FOLD_HOST_ALL], t, no_all, all);
    fold_cell_add(&f->cell[FOLD_HOST_INTERRUPTS], t, s->host_absent[HOST_cpu_softirq],
                  s->host[HOST_cpu_irq] + s->host[HOST_cpu_softirq]);
    fold_cell_add(&f->cell[FOLD_HOST_USER], t, no_all ? no_all : s->host_absent[HOST_cpu_user], user_time(s));
    /* The first reading may be of the control groups alone. */
    fold_cell_add(&f->cell[FOLD_HOST_JOB], t, no_busy ? no_busy : s->job_absent[JOB_cpu], s->job[JOB_cpu]);
    fold_cell_add(&f->cell[FOLD_HOST_SELF], t, no_busy ? no_busy : s->self_absent[RECORDER_cpu], s->self[RECORDER_cpu]);
    fold_cell_add(&f->cell[FOLD_PACKETS], t, no_packets, received);
    fold_cell_part_fell(&f->cell[FOLD_PACKETS], f->packets.fell);
    if (no_busy == BARO_PRESENT)
        derive_peak_add(&f->host_cores, t, f->cell[FOLD_HOST_BUSY].grown, NULL);
    if (!f->has_foreign_groups && !fold_groups_add(&f->groups, s))
        f->failed = true;
    fold_cell_add(&f->cell[FOLD_THROTTLED], t, f->groups.throttled_absent, f->groups.throttled_ns);
    fold_cell_add(&f->cell[FOLD_GROUP_IO], t, f->groups.pressure_absent[0], f->groups.pressure_ns[0]);
    fold_cell_add(&f->cell[FOLD_GROUP_MEMORY], t, f->groups.pressure_absent[1], f->groups.pressure_ns[1]);
    fold_cell_part_fell(&f->cell[FOLD_THROTTLED], f->groups.throttled_fell);
    fold_cell_part_fell(&f->cell[FOLD_GROUP_IO], f->groups.pressure_fell[0]);
    fold_cell_part_fell(&f->cell[FOLD_GROUP_MEMORY], f->groups.pressure_fell[1]);
    for (int i = FOLD_OF_MACHINE; i < FOLD_COUNTERS; i++)
        f->row.fell |= (uint32_t)f->cell[i].fell_now << i;
}

int fold_share(const struct fold *f, enum fold_term term, double *ret)
{
    const struct fold_cell *c = &f->cell[term];
    *ret = 0;
    if (!c->seen)
        return c->absent;
    if (c->to_ns <= c->from_ns)
        return BARO_ABSENT_UNKNOWN; /* seen once: nothing to compare with */
    *ret = (double)c->grown / (double)(c->to_ns - c->from_ns);
    return BARO_PRESENT;
}

/* ---- the job ---- */

static uint8_t name_number(struct fold *f, const char *name)
{
    unsigned i = 0;
    while (i < f->n_names && strncmp(f->name[i], name, FOLD_NAME_ROOM - 1) != 0)
        i++;
    if (i == FOLD_NAMES)
        return 0;
    if (i == f->n_names)
        snprintf(f->name[f->n_names++], FOLD_NAME_ROOM, "%s", name);
    return (uint8_t)(i + 1);
}

static void add_processes(struct fold *f, const struct baro_sample *s)
{
    bool is_blocked = false;
    f->row.runner = 0;
    memset(f->sum, 0, sizeof(f->sum));
    for (size_t i = 0; i < s->n; i++) {
        const struct baro_process *p = s->processes[i];
        for (int k = 0; k < FOLD_SUMS; k++)
            derive_sum_add(&f->sum[k], p, (enum process_metric)terms[FOLD_RSS + k].metric);
        uint64_t state = p->absent[PROCESS_state] ? 0 : p->value[PROCESS_state];
        is_blocked |= state == 'D';
        if (state == 'R' && !f->row.runner)
            f->row.runner = name_number(f, p->name ? p->name : "");
    }
    for (int k = 0; k < FOLD_SUMS; k++) {
        derive_sum_close(&f->sum[k], s);
        f->row.value[FOLD_RSS + k] = f->sum[k].value;
        f->row.absent[FOLD_RSS + k] = (uint8_t)f->sum[k].absent;
    }
    f->row.is_stale = derive_is_stale(s);
    const struct derive_sum *threads = &f->sum[FOLD_THREADS - FOLD_RSS];
    struct derive_able *able = &f->row.able;
    f->has_unread |= threads->covered < threads->members || s->job_absent[JOB_processes_started] ||
                     s->job_absent[JOB_processes_unseen];
    able->threads = f->has_unread ? 0 : threads->value > able->threads ? threads->value : able->threads;
    able->started = s->job[JOB_processes_started] + s->job[JOB_processes_unseen];
    able->late_ns = f->late_ns;
    if (is_blocked && s->t_ns > f->row.t_ns)
        f->blocked_ns += s->t_ns - f->row.t_ns;
}

static void add_job(struct fold *f, const struct baro_sample *s)
{
    struct fold_row *r = &f->row;
    for (int i = 0; i < FOLD_ROW; i++) {
        if (terms[i].from != FROM_JOB)
            continue;
        uint64_t growth, now = s->job[terms[i].metric];
        bool both = r->absent[i] == BARO_PRESENT && s->job_absent[terms[i].metric] == BARO_PRESENT;
        if (i < FOLD_COUNTERS && both && !growth_between(r->value[i], now, &growth))
            r->fell |= 1u << i;
        r->value[i] = now;
        r->absent[i] = s->job_absent[terms[i].metric];
    }
    uint64_t cpu = r->value[FOLD_CPU], lag = s->job[JOB_run_delay_lag];
    r->value[FOLD_DELAY_CPU] = cpu > lag ? cpu - lag : 0;
    r->absent[FOLD_DELAY_CPU] = r->absent[FOLD_CPU] ? r->absent[FOLD_CPU] : s->job_absent[JOB_run_delay_lag];
    if (r->fell & (1u << FOLD_RCHAR | 1u << FOLD_WCHAR))
        r->fell |= 1u << FOLD_CALLED;
    r->value[FOLD_CALLED] = r->value[FOLD_RCHAR] + r->value[FOLD_WCHAR];
    r->absent[FOLD_CALLED] = r->absent[FOLD_RCHAR] ? r->absent[FOLD_RCHAR] : r->absent[FOLD_WCHAR];
    r->value[FOLD_BLOCKED] = f->blocked_ns;
    r->absent[FOLD_BLOCKED] = BARO_PRESENT;
}

void fold_add(struct fold *f, const struct baro_sample *s)
{
    struct fold_row *r = &f->row;
    r->fell = 0;
    add_processes(f, s);
    add_job(f, s);
    if (s->has_host && (!f->readings || s->host_ns > r->host_ns))
        add_reading(f, s);
    for (int i = FOLD_OF_MACHINE; i < FOLD_COUNTERS; i++) {
        r->value[i] = f->cell[i].grown;
        r->absent[i] = f->cell[i].absent_now; /* growth is not known until a reading has it again */
    }
    r->t_ns = s->t_ns;
    if (r->absent[FOLD_CPU] == BARO_PRESENT)
        derive_peak_add(&f->cores, r->t_ns, r->value[FOLD_CPU], &r->able);
    const struct {
        struct fold_entities *to;
        int kind;
    } of[] = {
        {&f->gpus, KIND_gpu}, {&f->meters, KIND_energy}, {&f->directories, KIND_directory}, {&f->tasks, KIND_task}};
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
        if (!fold_entities_add(of[i].to, of[i].kind, &s->entities[of[i].kind], s->t_ns))
            f->failed = true;
    }
}

/* CPU time of a process that no sample could read was used all its life. Example: in a PID namespace whose /proc is
 * that of another, one thread computes for 1.0 s and sleeps for 2.4 s: all of the 1.0 s is known at its end, and nearly
 * all of it was used before the last interval. */
void fold_add_exit(struct fold *f, const struct baro_exit *e)
{
    bool was_read = e->sampled && !f->has_unread;
    uint64_t elapsed = e->absent[EXIT_elapsed] ? 0 : e->value[EXIT_elapsed];
    uint64_t since = e->t_ns > f->row.t_ns ? e->t_ns - f->row.t_ns : 0;
    if (!was_read && e->absent[EXIT_cpu] == BARO_PRESENT && elapsed > since)
        f->late_ns += (uint64_t)((double)e->value[EXIT_cpu] * (double)(elapsed - since) / (double)elapsed);
}
