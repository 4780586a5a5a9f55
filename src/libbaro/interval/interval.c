/* SPDX-License-Identifier: Apache-2.0 */
/* Rates and sums for readers. include/baro/interval.h has the rules. */
#include "baro/interval.h"

#include "base/clock.h"
#include "base/growth.h"
#include "libbaro/interval/derive.h"
#include "libbaro/sample/row.h"

static bool is_counter(enum baro_kind kind, int metric)
{
    const struct baro_metric *m = baro_metric_get(kind, metric);
    return m && m->semantics == BARO_SEM_COUNTER;
}

static enum baro_absent real_rate(const struct baro_metric *m, uint64_t t0_ns, uint64_t v0, uint64_t t1_ns, uint64_t v1,
                                  double *ret)
{
    double growth;
    if (t1_ns <= t0_ns || !growth_between_reals(baro_metric_real(m, v0), baro_metric_real(m, v1), &growth))
        return BARO_ABSENT_UNKNOWN;
    *ret = growth * 1e9 / (double)(t1_ns - t0_ns);
    return BARO_PRESENT;
}

enum baro_absent baro_row_rate(const struct baro_row *before, const struct baro_row *now, int metric, double *ret)
{
    uint64_t v0 = 0, v1 = 0, t0_ns = 0, t1_ns = 0;
    const struct baro_metric *m = row_metric(now, metric);
    enum baro_absent absent = derive_between(before, now, &t0_ns, &t1_ns);
    if (now && (!m || m->semantics != BARO_SEM_COUNTER))
        return BARO_ABSENT_UNSUPPORTED;
    if (absent == BARO_PRESENT) /* if either value is absent, the later one's reason is returned: it is newer */
        absent = baro_row_value(now, metric, &v1);
    if (absent == BARO_PRESENT)
        absent = baro_row_value(before, metric, &v0);
    if (absent != BARO_PRESENT)
        return absent;
    return m->unit == BARO_UNIT_REAL ? real_rate(m, t0_ns, v0, t1_ns, v1, ret)
                                     : (enum baro_absent)derive_rate(t0_ns, v0, t1_ns, v1, ret);
}

enum baro_absent baro_row_busy_ns(const struct baro_row *row, uint64_t *ret)
{
    uint64_t busy;
    enum baro_absent absent = row ? BARO_ABSENT_UNSUPPORTED : BARO_ABSENT_UNKNOWN;
    if (baro_row_kind(row) == BARO_KIND_HOST)
        absent = (enum baro_absent)derive_host_busy(row_sample(row), &busy);
    else if (baro_row_kind(row) == BARO_KIND_CPU)
        absent = (enum baro_absent)derive_cpu_busy(row_entity(row), &busy);
    if (absent == BARO_PRESENT)
        *ret = busy;
    return absent;
}

bool baro_metric_adds_up(int process_metric)
{
    return process_metric >= 0 && process_metric < PROCESS_MAX && derive_adds_up((enum process_metric)process_metric);
}

enum baro_absent baro_sample_sum(const struct baro_sample *s, int metric, uint64_t *ret, size_t *ret_lacking)
{
    if (!baro_metric_adds_up(metric))
        return BARO_ABSENT_UNSUPPORTED;
    struct derive_sum sum = derive_sum(s, (enum process_metric)metric);
    if (sum.absent != BARO_PRESENT)
        return (enum baro_absent)sum.absent;
    *ret = sum.value;
    if (ret_lacking)
        *ret_lacking = sum.members - sum.covered;
    return BARO_PRESENT;
}

/* ---- members that come and go ---- */

static struct derive_ticks ticks_of(const struct baro_header *h)
{
    return h ? derive_ticks_of(h) : (struct derive_ticks){0};
}

/* Returns the end of the tick in which a process began, in nanoseconds since the tape began; UINT64_MAX if it is not
 * known. If the machine was suspended since then, the process began earlier. */
static uint64_t begin_of(const struct baro_header *h, uint64_t start_ticks)
{
    struct derive_ticks ticks = ticks_of(h);
    return derive_tick_ns(&ticks, start_ticks, 1);
}

/* Did the process begin after t_ns? Example: a process that a scan found at 1.7 s began in the tick that ended at
 * 1.65 s, so it began after a sample at 1.6 s, and not after one at 1.68 s. A process that an event reported may
 * have been forked long before that: one that executes a program which a rule fits is known only from then on. */
static bool began_after(const struct baro_header *h, enum baro_origin origin, uint64_t start_ticks, uint64_t first_ns,
                        uint64_t t_ns)
{
    uint64_t begin = begin_of(h, start_ticks);
    if (origin == BARO_ORIGIN_TARGET && begin == UINT64_MAX)
        return false; /* the process may have run before it was found */
    return (begin < first_ns ? begin : first_ns) > t_ns;
}

bool baro_row_began_after(const struct baro_header *header, const struct baro_row *row, uint64_t t_ns)
{
    const struct baro_process *p = row_process(row);
    const struct baro_exit *e = row_exit(row);
    if (p)
        return began_after(header, p->origin, p->key.start, p->first_ns, t_ns);
    return e && began_after(header, e->origin, e->key.start, e->t_ns, t_ns);
}

enum baro_absent baro_row_begin_ns(const struct baro_header *header, const struct baro_row *row, uint64_t *ret)
{
    struct derive_ticks ticks = ticks_of(header);
    uint64_t known_ns;
    enum baro_absent why = row_exit(row) ? baro_row_end_ns(row, &known_ns) : baro_row_first_ns(row, &known_ns);
    if (why == BARO_PRESENT)
        *ret = derive_begin_ns(&ticks, baro_row_start_ticks(row), known_ns);
    return why;
}

/* Finds when a process began; negative: before the tape began. The numbers of a damaged tape may be anything, so the
 * arithmetic is unsigned and wraps. */
static enum baro_absent process_since(const struct baro_header *h, const struct baro_row *row, int64_t *ret)
{
    uint64_t begin_ns, ticks = baro_row_start_ticks(row), second = ticks_of(h).per_second;
    if (!ticks || !second || !ticks_of(h).boottime_ns || baro_row_begin_ns(h, row, &begin_ns) != BARO_PRESENT)
        return BARO_ABSENT_UNKNOWN;
    *ret = begin_ns
               ? (int64_t)begin_ns
               : (int64_t)(ticks / second * NS_PER_SEC + ticks % second * (NS_PER_SEC / second) - h->start_boottime_ns);
    return BARO_PRESENT;
}

enum baro_absent baro_row_since_ns(const struct baro_header *h, const struct baro_row *row, int64_t *ret)
{
    enum counts_since since = row && h ? metric_counts_since(baro_row_kind(row)) : COUNTS_UNKNOWN;
    bool is_tape = since == COUNTS_TAPE || (since == COUNTS_START && baro_header_has_start(h));
    bool is_boot = since == COUNTS_BOOT && h->start_boottime_ns;
    if (since == COUNTS_BEGIN)
        return process_since(h, row, ret);
    if (since == COUNTS_MADE || since == COUNTS_NONE)
        return since == COUNTS_MADE ? BARO_ABSENT_UNSUPPORTED : BARO_ABSENT_NONE;
    if (!is_tape && !is_boot)
        return BARO_ABSENT_UNKNOWN;
    *ret = is_boot ? -(int64_t)h->start_boottime_ns : 0;
    return BARO_PRESENT;
}

/* Returns the counter whose growth a derived metric of processes is; -1: it is not derived from one counter. */
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

/* Returns the factor from the metric's unit to that of the derived metric: nanoseconds per second become cores. */
static enum baro_absent in_unit(enum baro_absent absent, int metric, struct baro_use *use)
{
    if (absent == BARO_PRESENT && baro_metric_get(BARO_KIND_PROCESS, metric)->unit == BARO_UNIT_NS)
        use->rate /= NS_PER_SEC;
    return absent;
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

/* Did the process run before the recording began? Samples include what it had used before, exits do not, so their
 * difference is too small. */
static bool ran_before(const struct baro_header *h, const struct baro_row *row)
{
    enum baro_origin origin;
    return baro_row_origin(row, &origin) == BARO_PRESENT &&
           (begin_of(h, baro_row_start_ticks(row)) == 0 ||
            (origin == BARO_ORIGIN_TARGET && (!h || baro_header_mode(h) == BARO_MODE_ATTACH)));
}

static bool is_lower_bound(const struct baro_interval *between, const struct baro_row *before,
                           const struct baro_exit *end, int metric)
{
    uint64_t io_is_lower_bound = 0;
    if (end->source == BARO_EXIT_LAST_SAMPLE || end->source == BARO_EXIT_EVENT || ran_before(between->header, before))
        return true;
    return metric != EXIT_cpu &&
           (baro_row_value(row_of_exit(end), EXIT_io_is_lower_bound, &io_is_lower_bound) != BARO_PRESENT ||
            io_is_lower_bound);
}

enum baro_absent baro_interval_rate(const struct baro_interval *between, const struct baro_row *before,
                                    const struct baro_row *now, int metric, struct baro_use *ret)
{
    const struct baro_exit *end = row_exit(now);
    const int id = end ? exit_metric_of(metric) : metric;
    uint64_t v0 = 0, v1 = 0;
    if (!is_counter(BARO_KIND_PROCESS, metric) || id < 0)
        return BARO_ABSENT_UNSUPPORTED;
    enum baro_absent absent = baro_row_value(now, id, &v1);
    if (absent != BARO_PRESENT)
        return absent;
    if (!between->before || !between->now)
        return BARO_ABSENT_NOT_YET;
    if (before)
        absent = baro_row_value(before, metric, &v0);
    else if (!baro_row_began_after(between->header, now, between->before->t_ns))
        absent = BARO_ABSENT_NOT_YET;
    if (absent != BARO_PRESENT)
        return absent;
    const bool is_least = end && is_lower_bound(between, before, end, id);
    return (enum baro_absent)use_of(between, is_least && v0 > v1 ? v1 : v0, v1, is_least, ret);
}

enum baro_absent baro_interval_derived(const struct baro_interval *between, const struct baro_row *before,
                                       const struct baro_row *now, int derived, struct baro_use *ret)
{
    int metric = counter_of(derived);
    return in_unit(baro_interval_rate(between, before, now, metric, ret), metric, ret);
}
