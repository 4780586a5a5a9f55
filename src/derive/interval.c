/* SPDX-License-Identifier: Apache-2.0 */
/* Rates and sums for readers. include/baro/interval.h has the rules. */
#include "baro/interval.h"

#include "derive/derive.h"
#include "sample/sample.h"

static bool is_counter(enum baro_kind kind, int metric)
{
    const struct baro_metric *m = baro_metric_get(kind, metric);
    return m && m->semantics == BARO_SEM_COUNTER;
}

/* Either value may be absent; the later one's reason is the news. */
static int rate_of(int absent_before, uint64_t t0_ns, uint64_t v0, int absent_now, uint64_t t1_ns, uint64_t v1,
                   double *ret)
{
    if (absent_now != BARO_PRESENT)
        return absent_now;
    if (absent_before != BARO_PRESENT)
        return absent_before;
    return derive_rate(t0_ns, v0, t1_ns, v1, ret);
}

int baro_process_rate(const struct baro_process *before, const struct baro_process *now, int metric, double *ret)
{
    uint64_t v0 = 0, v1 = 0;
    if (!is_counter(BARO_KIND_PROCESS, metric))
        return BARO_ABSENT_UNSUPPORTED;
    int a0 = baro_process_value(before, metric, &v0), a1 = baro_process_value(now, metric, &v1);
    return rate_of(a0, before->read_ns, v0, a1, now->read_ns, v1, ret);
}

int baro_job_rate(const struct baro_sample *before, const struct baro_sample *now, int metric, double *ret)
{
    uint64_t v0 = 0, v1 = 0;
    if (!is_counter(BARO_KIND_JOB, metric))
        return BARO_ABSENT_UNSUPPORTED;
    int a0 = baro_sample_job(before, metric, &v0), a1 = baro_sample_job(now, metric, &v1);
    return rate_of(a0, before->t_ns, v0, a1, now->t_ns, v1, ret);
}

int baro_host_rate(const struct baro_sample *before, const struct baro_sample *now, int metric, double *ret)
{
    uint64_t v0 = 0, v1 = 0;
    if (!is_counter(BARO_KIND_HOST, metric))
        return BARO_ABSENT_UNSUPPORTED;
    int a0 = baro_sample_host(before, metric, &v0), a1 = baro_sample_host(now, metric, &v1);
    return rate_of(a0, before->host_ns, v0, a1, now->host_ns, v1, ret);
}

/* Of a kind that only the tape has the sample knows the metrics. */
static const struct baro_metric *metric_of(const struct baro_sample *s, int kind, int metric)
{
    size_t declared = (size_t)kind - (size_t)baro_kind_count();
    if (kind < baro_kind_count() || declared >= s->n_declared)
        return baro_metric_get(kind, metric);
    const struct baro_declared *d = s->declared[declared];
    return metric >= 0 && (size_t)metric < d->n_metrics ? d->metric[metric] : NULL;
}

int baro_entity_rate(const struct baro_sample *sample_before, const struct baro_entity *before,
                     const struct baro_sample *sample_now, const struct baro_entity *now, int metric, double *ret)
{
    uint64_t v0 = 0, v1 = 0, t0_ns = 0, t1_ns = 0;
    const struct baro_metric *m = metric_of(sample_now, now->kind, metric);
    if (before->id != now->id || baro_sample_entities_ns(sample_before, before->kind, &t0_ns) != BARO_PRESENT ||
        baro_sample_entities_ns(sample_now, now->kind, &t1_ns) != BARO_PRESENT)
        return BARO_ABSENT_UNKNOWN;
    if (!m || m->semantics != BARO_SEM_COUNTER)
        return BARO_ABSENT_UNSUPPORTED;
    int a0 = baro_entity_value(before, metric, &v0), a1 = baro_entity_value(now, metric, &v1);
    if (m->unit != BARO_UNIT_REAL || a0 != BARO_PRESENT || a1 != BARO_PRESENT)
        return rate_of(a0, t0_ns, v0, a1, t1_ns, v1, ret);
    double growth = baro_metric_real(m, v1) - baro_metric_real(m, v0);
    if (t1_ns <= t0_ns || !(growth >= 0))
        return BARO_ABSENT_UNKNOWN;
    *ret = growth * 1e9 / (double)(t1_ns - t0_ns);
    return BARO_PRESENT;
}

int baro_host_busy_ns(const struct baro_sample *s, uint64_t *ret)
{
    uint64_t busy;
    int absent = s->has_host ? derive_host_busy(s, &busy) : BARO_ABSENT_UNKNOWN;
    if (absent == BARO_PRESENT)
        *ret = busy;
    return absent;
}

int baro_cpu_busy_ns(const struct baro_entity *cpu, uint64_t *ret)
{
    uint64_t busy;
    int absent = cpu->kind == BARO_KIND_CPU ? derive_cpu_busy(cpu, &busy) : BARO_ABSENT_UNSUPPORTED;
    if (absent == BARO_PRESENT)
        *ret = busy;
    return absent;
}

bool baro_metric_adds_up(int process_metric)
{
    return process_metric >= 0 && process_metric < PROCESS_MAX && derive_adds_up((enum process_metric)process_metric);
}

int baro_sample_sum(const struct baro_sample *s, int metric, struct baro_sum *ret)
{
    if (!baro_metric_adds_up(metric))
        return BARO_ABSENT_UNSUPPORTED;
    struct derive_sum sum = derive_sum(s, (enum process_metric)metric);
    if (sum.absent == BARO_PRESENT)
        *ret = (struct baro_sum){sum.value, sum.members, sum.covered};
    return sum.absent;
}
