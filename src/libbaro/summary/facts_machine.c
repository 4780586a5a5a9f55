/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of the limits of the job, and of the machine around it. */
#include "libbaro/summary/facts.h"
#include "libbaro/summary/groups.h"
#include "libbaro/summary/limits.h"

/* ---- limits ---- */

/* Is there a limit that could not be found? */
static bool is_hidden(int absent)
{
    return absent != BARO_PRESENT && absent != BARO_ABSENT_NOT_YET;
}

/* Does the memory of a control group include that of other recordings inside of the job, and do they matter? */
#define OTHERS_PART 50u
static bool includes_others(const struct baro_summary *s, const struct summary_memory *m)
{
    uint64_t others;
    return m->measure == MEMORY_CGROUP && summary_self(s, RECORDER_others_rss_peak, &others) == BARO_PRESENT &&
           others > m->bytes / OTHERS_PART;
}

static void memory_peak(const struct baro_summary *s, int of, struct baro_value *ret)
{
    struct summary_memory m;
    double ratio;
    summary_memory(s, &m);
    bool is_twice = s->incidents.memory_counts_twice && m.measure == MEMORY_PROCESSES;
    bool is_most = is_twice || includes_others(s, &m);
    unsigned flags = (m.is_bound ? BARO_VALUE_LOWER_BOUND : 0) | (is_most ? BARO_VALUE_UPPER_BOUND : 0);
    switch (of) {
    case LIMIT_PEAK_OF: value_text(ret, m.absent, summary_memory_measure_name(m.measure)); return;
    case LIMIT_PEAK_AT_MOST:
        value_u64(ret, m.absent ? m.absent : m.is_open ? BARO_ABSENT_UNKNOWN : BARO_PRESENT, m.at_most);
        return;
    case LIMIT_PEAK_DOUBT:
        value_text(ret,
                   m.absent  ? m.absent
                   : m.doubt ? BARO_PRESENT
                             : BARO_ABSENT_NONE,
                   summary_needed_doubt_name(m.doubt));
        return;
    case LIMIT_PEAK_SHARED:
        value_u64(ret,
                  m.absent                            ? m.absent
                  : m.measure != MEMORY_ADDRESS_SPACE ? BARO_PRESENT
                                                      : BARO_ABSENT_UNSUPPORTED,
                  m.shared);
        return;
    case LIMIT_PEAK_CACHE: value_u64(ret, m.cache ? BARO_PRESENT : BARO_ABSENT_UNKNOWN, m.cache); return;
    case LIMIT_PEAK_RATIO: {
        int absent = summary_memory_peak_ratio(s, &ratio);
        value_real(ret, absent, ratio);
        break;
    }
    default: value_u64(ret, m.absent, m.bytes); break;
    }
    ret->flags = ret->absent ? 0 : flags;
}

/* What the facts of the limits on memory, cores and processes have in common. */
struct limit {
    bool is_real; /* for cores: the limit is in `real`, else in u64 */
    double real;
    uint64_t u64;       /* the tightest limit that is known; 0: none */
    const char *source; /* what sets the limit */
    int absent;         /* why a tighter limit may exist */
    int source_absent;
};

static void put_limit(const struct limit *l, int absent, struct baro_value *ret)
{
    if (l->is_real)
        value_real(ret, absent, l->real);
    else
        value_u64(ret, absent, l->u64);
}

/* Returns false for a fact that not all limits have. */
static bool limit_fact(const struct limit *l, int of, struct baro_value *ret)
{
    bool bounded = l->is_real ? l->real > 0 : l->u64 > 0;
    switch (of) {
    case LIMIT_VALUE: put_limit(l, l->absent, ret); return true;
    case LIMIT_SOURCE: value_text(ret, l->source_absent, l->source); return true;
    case LIMIT_AT_MOST: put_limit(l, bounded ? BARO_PRESENT : BARO_ABSENT_UNKNOWN, ret); return true;
    case LIMIT_AT_MOST_SOURCE: ret->text = l->source; return true;
    default: return false;
    }
}

void fact_memory_limit(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    struct limit l = {.absent = summary_memory_unknown(s), .source_absent = summary_memory_unknown(s)};
    double ratio = 0;
    (void)row;
    l.u64 = summary_memory_limit(s, &l.source);
    if (limit_fact(&l, of, ret))
        return;
    if (of == LIMIT_IS_HIDDEN) {
        ret->u64 = is_hidden(s->limit.now.memory_absent);
    } else if (of == LIMIT_GROUP_RATIO) {
        int absent = summary_memory_group_ratio(s, &ratio);
        value_real(ret, absent, ratio);
    } else {
        memory_peak(s, of, ret);
    }
}

void fact_cores_limit(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    struct limit l = {.is_real = true, .absent = summary_cores_unknown(s), .source_absent = summary_cores_unknown(s)};
    double ratio = 0;
    (void)row;
    l.real = summary_cores_limit(s, &l.source);
    if (limit_fact(&l, of, ret))
        return;
    if (of == LIMIT_IS_HIDDEN) {
        ret->u64 = is_hidden(s->limit.now.cores_absent);
    } else if (of == LIMIT_PEAK_RATIO) {
        int absent = summary_cores_peak_ratio(s, &ratio);
        value_real(ret, absent, ratio);
        value_flag(ret, BARO_VALUE_LOWER_BOUND, fact_cpu_is_bound(s));
    }
}

void fact_pids_limit(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    struct limit l = {.absent = summary_pids_unknown(s), .source_absent = s->limit.now.pids_absent};
    (void)row;
    l.u64 = summary_pids_limit(s, &l.source);
    limit_fact(&l, of, ret);
}

void fact_oom_kills(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    struct summary_oom_kills kills;
    int absent = summary_oom_kills(s, &kills);
    (void)row;
    value_u64(ret, absent, of == OOM_LIKELY ? kills.likely : of == OOM_LEAST ? kills.least : kills.most);
    value_flag(ret, BARO_VALUE_ESTIMATE, of == OOM_LIKELY && kills.least != kills.most);
    value_flag(ret, BARO_VALUE_LOWER_BOUND, groups_fell(s, CGROUP_oom_kills) || s->fold.cell[FOLD_HOST_OOM_KILLS].fell);
}

void fact_refused(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    static const enum cgroup_metric metric[] = {[REFUSED_MEMORY] = CGROUP_oom_kills,
                                                [REFUSED_CPU] = CGROUP_cpu_throttled,
                                                [REFUSED_FORKS] = CGROUP_pids_limit_hits};
    uint64_t v;
    int absent = of == REFUSED_MEMORY ? summary_group_oom_kills(s, &v)
                 : of == REFUSED_CPU  ? summary_throttled(s, &v)
                                      : summary_fork_refusals(s, &v);
    (void)row;
    value_u64(ret, absent, v);
    value_flag(ret, BARO_VALUE_LOWER_BOUND, groups_fell(s, metric[of]));
}

void fact_held_from(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    (void)of;
    (void)row;
    ret->u64 = s->limit.held.since_ns > s->life.start_ns ? s->limit.held.since_ns - s->life.start_ns : 0;
}

/* ---- the machine ---- */

void fact_gauge(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    uint64_t v;
    int absent = summary_machine_gauge(s, (enum fold_term)of, &v);
    (void)row;
    value_u64(ret, absent, v);
}

void fact_grown(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    uint64_t v;
    int absent = summary_machine_grown(s, (enum fold_term)of, &v);
    (void)row;
    value_u64(ret, absent, v);
    value_flag(ret, BARO_VALUE_LOWER_BOUND, s->fold.cell[of].fell);
}

void fact_share(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    double v;
    int absent = fold_share(&s->fold, (enum fold_term)of, &v);
    (void)row;
    value_real(ret, absent, v);
    value_flag(ret, BARO_VALUE_LOWER_BOUND, s->fold.cell[of].fell);
}

static void host_text(const struct baro_summary *s, int of, struct baro_value *ret)
{
    if (of == HOST_CPU_MODEL)
        value_text(ret, *s->subject.cpu_model ? BARO_PRESENT : BARO_ABSENT_UNKNOWN, s->subject.cpu_model);
    else
        ret->text = of == HOST_NAME ? s->subject.host : of == HOST_KERNEL ? s->subject.kernel : s->subject.machine_type;
}

static void host_number(const struct baro_summary *s, int of, struct baro_value *ret)
{
    const struct fold_cell *busy = &s->fold.cell[FOLD_HOST_BUSY];
    uint64_t v = 0;
    int absent = BARO_PRESENT;
    if (of == HOST_NUMA_NODES) {
        v = s->subject.numa_nodes;
        absent = v ? BARO_PRESENT : BARO_ABSENT_UNKNOWN;
    } else if (of == HOST_WATCHED) {
        v = summary_machine_watched_ns(s);
        absent = busy->seen ? BARO_PRESENT : busy->absent;
    } else {
        absent = of == HOST_CORES ? summary_machine_cpus(s, &v) : summary_machine_memory(s, &v);
    }
    value_u64(ret, absent, v);
}

static void host_real(const struct baro_summary *s, int of, struct baro_value *ret)
{
    const struct fold_cell *cell = s->fold.cell;
    enum fold_term part = of == HOST_USER ? FOLD_HOST_USER : of == HOST_IDLE ? FOLD_HOST_IDLE : FOLD_HOST_STEAL;
    bool is_cores = of == HOST_CORES_MEAN || of == HOST_CORES_PEAK || of == HOST_OTHERS, is_share;
    uint64_t load;
    double v = 0;
    int absent;
    if (of == HOST_LOAD) {
        absent = summary_machine_gauge(s, FOLD_LOAD, &load);
        v = (double)load / 1e6;
    } else {
        absent = of == HOST_CORES_MEAN   ? summary_machine_cores_mean(s, &v)
                 : of == HOST_CORES_PEAK ? summary_machine_cores_peak(s, &v)
                 : of == HOST_OTHERS     ? summary_machine_others(s, &v)
                                         : summary_machine_share(s, part, &v);
    }
    is_share = !is_cores && of != HOST_LOAD;
    value_real(ret, absent, v);
    value_flag(ret, BARO_VALUE_LOWER_BOUND, is_cores && cell[FOLD_HOST_BUSY].fell);
    value_flag(ret, BARO_VALUE_ESTIMATE, is_share && (cell[part].fell || cell[FOLD_HOST_ALL].fell));
}

void fact_host(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    (void)row;
    switch (of) {
    case HOST_NAME:
    case HOST_KERNEL:
    case HOST_MACHINE:
    case HOST_CPU_MODEL: host_text(s, of, ret); break;
    case HOST_NUMA_NODES:
    case HOST_WATCHED:
    case HOST_CORES:
    case HOST_MEMORY_TOTAL: host_number(s, of, ret); break;
    default: host_real(s, of, ret);
    }
}
