/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/interval/derive.h"

#include "base/clock.h"
#include "libbaro/sample/sample.h"

/* A zombie has no memory and no files. */
static bool holds_nothing(const struct baro_process *p)
{
    return p->absent[PROCESS_state] == BARO_PRESENT && p->value[PROCESS_state] == 'Z' &&
           p->absent[PROCESS_rss] == BARO_PRESENT && p->value[PROCESS_rss] == 0;
}

bool derive_adds_nothing(const struct baro_process *p, int metric)
{
    return p->absent[metric] == BARO_ABSENT_SHARED || (p->absent[metric] != BARO_PRESENT && holds_nothing(p));
}

/* Is the process a zombie that the kernel still counts as one thread? The kernel counts a thread until it is reaped:
 * the first thread, even if it ended before the others, and the only thread of a process that has ended. */
static bool is_zombie_alone(const struct baro_process *p, enum process_metric metric)
{
    return metric == PROCESS_threads && p->absent[PROCESS_state] == BARO_PRESENT && p->value[PROCESS_state] == 'Z' &&
           p->value[PROCESS_threads] == 1;
}

/* The pss or uss of a process may have been read before its rss changed: it is at most its rss. Example: 100 MB of pss,
 * then half of it was given back: 50 MB. */
static uint64_t part_of_rss(struct derive_sum *sum, const struct baro_process *p, enum process_metric metric)
{
    uint64_t value = p->value[metric];
    bool is_part = metric == PROCESS_pss || metric == PROCESS_uss;
    if (!is_part || p->absent[PROCESS_smaps_at] || p->value[PROCESS_smaps_at] >= p->read_ns)
        return value;
    sum->anon = p->absent[PROCESS_rss_anon] ? 0 : p->value[PROCESS_rss_anon];
    return p->absent[PROCESS_rss] == BARO_PRESENT && p->value[PROCESS_rss] < value ? p->value[PROCESS_rss] : value;
}

void derive_sum_add(struct derive_sum *sum, const struct baro_process *p, enum process_metric metric)
{
    if (is_zombie_alone(p, metric))
        return;
    if (p->absent[metric] == BARO_PRESENT) {
        sum->members++;
        sum->covered++;
        sum->value += part_of_rss(sum, p, metric);
    } else if (!derive_adds_nothing(p, (int)metric)) {
        sum->members++;
        sum->absent = p->absent[metric];
        sum->lacking += p->absent[PROCESS_rss] == BARO_PRESENT ? p->value[PROCESS_rss] : 0;
    }
}

void derive_sum_close(struct derive_sum *sum, const struct baro_sample *s)
{
    if (s->n == 1 && sum->covered && sum->anon > sum->value)
        sum->value = sum->anon;
    if (!sum->members && !derive_has_job(s))
        sum->absent = BARO_ABSENT_NOT_ASKED;
    else if (sum->covered || !sum->members)
        sum->absent = BARO_PRESENT; /* the sum over no processes is 0, and known */
}

struct derive_sum derive_sum(const struct baro_sample *s, enum process_metric metric)
{
    struct derive_sum sum = {0};
    for (size_t i = 0; i < s->n; i++)
        derive_sum_add(&sum, s->processes[i], metric);
    derive_sum_close(&sum, s);
    return sum;
}

bool derive_has_job(const struct baro_sample *s)
{
    return s->n || s->job_absent[JOB_processes] != BARO_ABSENT_NOT_ASKED;
}

bool derive_is_stale(const struct baro_sample *s)
{
    return s->job_absent[JOB_pss_stale] == BARO_PRESENT && s->job[JOB_pss_stale];
}

uint64_t derive_sum_at_most(const struct derive_sum *sum, const struct derive_sum *rss, const struct baro_sample *s)
{
    return derive_is_stale(s) ? rss->value : sum->value + sum->lacking;
}

int derive_adds_up(enum process_metric metric)
{
    switch (metric) {
    case PROCESS_rss:
    case PROCESS_rss_anon:
    case PROCESS_rss_file:
    case PROCESS_rss_shmem:
    case PROCESS_pss:
    case PROCESS_uss:
    case PROCESS_swap:
    case PROCESS_virtual:
    case PROCESS_threads:
    case PROCESS_fds: return 1;
    default: return 0; /* counters have totals in the ledger; peaks, times, nice values and letters cannot be added */
    }
}

int derive_rate(uint64_t t0_ns, uint64_t v0, uint64_t t1_ns, uint64_t v1, double *ret)
{
    uint64_t growth;
    if (t1_ns <= t0_ns || !growth_between(v0, v1, &growth))
        return BARO_ABSENT_UNKNOWN;
    *ret = (double)growth * 1e9 / (double)(t1_ns - t0_ns);
    return BARO_PRESENT;
}

struct derive_ticks derive_ticks_of(const struct baro_header *h)
{
    return (struct derive_ticks){h->start_boottime_ns, h->clk_tck};
}

uint64_t derive_tick_ns(const struct derive_ticks *t, uint64_t ticks, uint64_t later)
{
    if (!ticks || !t->boottime_ns || !t->per_second || ticks / t->per_second > UINT64_MAX / NS_PER_SEC - 2)
        return UINT64_MAX;
    ticks += later;
    uint64_t at = ticks / t->per_second * NS_PER_SEC + ticks % t->per_second * (NS_PER_SEC / t->per_second);
    return at > t->boottime_ns ? at - t->boottime_ns : 0;
}

uint64_t derive_begin_ns(const struct derive_ticks *t, uint64_t start_ticks, uint64_t known_ns)
{
    return derive_tick_ns(t, start_ticks, 1) <= known_ns ? derive_tick_ns(t, start_ticks, 0) : known_ns;
}

/* Adds up counters. Every kernel has the first one; another one that the kernel does not have is left out. */
static int busy(const uint64_t *value, const uint8_t *absent, const int *of, size_t n, uint64_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < n; i++)
        *ret += absent[of[i]] == BARO_PRESENT ? value[of[i]] : 0;
    return absent[of[0]];
}

int derive_host_busy(const struct baro_sample *s, uint64_t *ret)
{
    static const int of[] = {DERIVE_HOST_BUSY};
    return busy(s->host, s->host_absent, of, sizeof(of) / sizeof(*of), ret);
}

int derive_cpu_busy(const struct baro_entity *cpu, uint64_t *ret)
{
    static const int of[] = {DERIVE_CPU_BUSY};
    return busy(cpu->value, cpu->absent, of, sizeof(of) / sizeof(*of), ret);
}

double derive_remainder(uint64_t counted, uint64_t total)
{
    if (!total)
        return counted ? -1.0 : 0.0;
    return counted <= total ? (double)(total - counted) / (double)total : -((double)(counted - total) / (double)total);
}

void derive_peak_add(struct derive_peak *p, uint64_t t_ns, uint64_t value, const struct derive_able *able)
{
    /* Keeps only the latest of the moments that are far enough back. */
    while (p->n > 1 && t_ns >= p->at[(p->first + 1) % DERIVE_PEAK_SLOTS].t_ns + GROWTH_SHORT_NS) {
        p->first = (p->first + 1) % DERIVE_PEAK_SLOTS;
        p->n--;
    }
    uint64_t since_ns = p->at[p->first].t_ns;
    uint64_t growth;
    if (p->n && t_ns >= since_ns + GROWTH_SHORT_NS && growth_between(p->at[p->first].value, value, &growth)) {
        const struct derive_able *before = &p->at[p->first].able;
        uint64_t late = able ? able->late_ns - before->late_ns : 0;
        growth -= late < growth ? late : growth;
        double rate = (double)growth * 1e9 / (double)(t_ns - since_ns);
        double most = able && able->threads ? (double)(able->threads + able->started - before->started) * 1e9 : rate;
        rate = rate > most ? most : rate;
        if (!p->found || rate > p->rate) {
            p->rate = rate;
            p->t_ns = t_ns;
            p->found = 1;
        }
    }
    if (p->n < DERIVE_PEAK_SLOTS) {
        unsigned i = (p->first + p->n++) % DERIVE_PEAK_SLOTS;
        p->at[i].t_ns = t_ns;
        p->at[i].value = value;
        p->at[i].able = able ? *able : (struct derive_able){0};
    }
}
