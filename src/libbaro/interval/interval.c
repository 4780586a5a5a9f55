/* SPDX-License-Identifier: Apache-2.0 */
/* Rates and sums for readers. include/baro/interval.h has the rules. */
#include "baro/interval.h"

#include "base/clock.h"
#include "libbaro/interval/derive.h"
#include "libbaro/sample/sample.h"

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

/* The sample knows the metrics of a kind that only the tape has. */
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

/* ---- members that come and go ---- */

static struct derive_ticks ticks_of(const struct baro_header *h)
{
    return h ? derive_ticks_of(h) : (struct derive_ticks){0};
}

/* The end of the tick in which a process began, since the tape began; UINT64_MAX: not known. The machine may have slept
 * since: then it began earlier. */
static uint64_t begin_of(const struct baro_header *h, uint64_t start_ticks)
{
    struct derive_ticks ticks = ticks_of(h);
    return derive_tick_ns(&ticks, start_ticks, 1);
}

/* Example of a process that was found by a scan at 1.7 s: it began in the tick that ended at 1.65 s, so after a sample
 * at 1.6 s, and not after one at 1.68 s. A process that an event names may have been forked long before, too: one that
 * executes a program that a rule fits is known from then on. */
static bool began_after(const struct baro_header *h, enum baro_origin origin, uint64_t start_ticks, uint64_t first_ns,
                        uint64_t t_ns)
{
    uint64_t begin = begin_of(h, start_ticks);
    if (origin == BARO_ORIGIN_TARGET && begin == UINT64_MAX)
        return false; /* it may have run before it was found */
    return (begin < first_ns ? begin : first_ns) > t_ns;
}

bool baro_process_began_after(const struct baro_header *header, const struct baro_process *p, uint64_t t_ns)
{
    return began_after(header, p->origin, p->key.start, p->first_ns, t_ns);
}

uint64_t baro_process_begin_ns(const struct baro_header *header, uint64_t start_ticks, uint64_t known_ns)
{
    struct derive_ticks ticks = ticks_of(header);
    return derive_begin_ns(&ticks, start_ticks, known_ns);
}

/* The counter that a derived metric of processes is the growth of; -1: it is no such one. */
static int counter_of(int derived)
{
    const struct baro_derived *d = baro_derived_get(BARO_KIND_PROCESS, derived);
    return d && d->n_from == 1 && !d->per ? d->from[0] : -1;
}

static int use_of(const struct baro_interval *between, uint64_t before, uint64_t now, bool is_lower_bound,
                  struct baro_use *ret)
{
    double rate;
    int absent = derive_rate(between->before->t_ns, before, between->now->t_ns, now, &rate);
    if (absent == BARO_PRESENT)
        *ret = (struct baro_use){now - before, rate, is_lower_bound};
    return absent;
}

/* From the metric's unit to that of the derived metric: of nanoseconds per second to cores, seconds per second. */
static int in_unit(int absent, int metric, struct baro_use *use)
{
    if (absent == BARO_PRESENT && baro_metric_get(BARO_KIND_PROCESS, metric)->unit == BARO_UNIT_NS)
        use->rate /= NS_PER_SEC;
    return absent;
}

int baro_interval_process_rate(const struct baro_interval *between, const struct baro_process *before,
                               const struct baro_process *now, int metric, struct baro_use *ret)
{
    uint64_t v0 = 0, v1 = 0;
    if (!is_counter(BARO_KIND_PROCESS, metric))
        return BARO_ABSENT_UNSUPPORTED;
    int absent = baro_process_value(now, metric, &v1);
    if (absent != BARO_PRESENT)
        return absent;
    if (!between->before || !between->now)
        return BARO_ABSENT_NOT_YET;
    if (before)
        absent = baro_process_value(before, metric, &v0);
    else if (!baro_process_began_after(between->header, now, between->before->t_ns))
        absent = BARO_ABSENT_NOT_YET;
    return absent == BARO_PRESENT ? use_of(between, v0, v1, false, ret) : absent;
}

int baro_interval_process_derived(const struct baro_interval *between, const struct baro_process *before,
                                  const struct baro_process *now, int derived, struct baro_use *ret)
{
    int metric = counter_of(derived);
    return in_unit(baro_interval_process_rate(between, before, now, metric, ret), metric, ret);
}

static int exit_metric_of(int process_metric)
{
    switch (process_metric) {
    case PROCESS_cpu: return EXIT_cpu;
    case PROCESS_io_read: return EXIT_io_read;
    case PROCESS_io_write: return EXIT_io_write;
    default: return -1;
    }
}

/* What a process had used before the recording began is in its samples, and not in its exit: their difference is too
 * small. */
static bool ran_before(const struct baro_header *h, const struct baro_process *p)
{
    return p && (begin_of(h, p->key.start) == 0 ||
                 (p->origin == BARO_ORIGIN_TARGET && (!h || baro_header_mode(h) == BARO_MODE_ATTACH)));
}

static bool is_lower_bound(const struct baro_interval *between, const struct baro_process *before,
                           const struct baro_exit *end, int metric)
{
    uint64_t io_is_lower_bound = 0;
    if (end->source == BARO_EXIT_LAST_SAMPLE || end->source == BARO_EXIT_EVENT || ran_before(between->header, before))
        return true;
    return metric != EXIT_cpu &&
           (baro_exit_value(end, EXIT_io_is_lower_bound, &io_is_lower_bound) != BARO_PRESENT || io_is_lower_bound);
}

int baro_interval_exit_derived(const struct baro_interval *between, const struct baro_process *before,
                               const struct baro_exit *end, int derived, struct baro_use *ret)
{
    int of_process = counter_of(derived), metric = exit_metric_of(of_process), absent;
    uint64_t v0 = 0, v1 = 0;
    if (metric < 0)
        return BARO_ABSENT_UNSUPPORTED;
    absent = baro_exit_value(end, metric, &v1);
    if (absent != BARO_PRESENT)
        return absent;
    if (!between->before || !between->now)
        return BARO_ABSENT_NOT_YET;
    if (before)
        absent = baro_process_value(before, of_process, &v0);
    else if (!began_after(between->header, end->origin, end->key.start, end->t_ns, between->before->t_ns))
        absent = BARO_ABSENT_NOT_YET;
    if (absent != BARO_PRESENT)
        return absent;
    bool is_least = is_lower_bound(between, before, end, metric);
    return in_unit(use_of(between, is_least && v0 > v1 ? v1 : v0, v1, is_least, ret), of_process, ret);
}
