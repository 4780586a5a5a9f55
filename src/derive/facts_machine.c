/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of the limits of the job, and of the machine around it. */
#include "derive/facts.h"
#include "derive/groups.h"
#include "derive/limits.h"

/* ---- limits ---- */

/* A limit that could not be found, though it was looked for. */
static bool is_hidden(int absent)
{
    return absent != BARO_PRESENT && absent != BARO_ABSENT_NOT_YET;
}

static void memory_peak(const struct baro_summary *s, int of, struct baro_value *ret)
{
    enum memory_measure measure;
    uint64_t most;
    int absent = summary_memory_most(s, &most, &measure);
    if (of == LIMIT_PEAK_OF) {
        value_text(ret, absent, summary_memory_measure_name(measure));
    } else {
        value_u64(ret, absent, most);
        value_flag(ret, BARO_VALUE_LOWER_BOUND, measure == MEMORY_PROCESS || measure == MEMORY_ADDRESS_SPACE);
    }
}

void fact_memory_limit(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const char *source;
    uint64_t limit = summary_memory_limit(s, &source);
    double ratio;
    int absent;
    (void)row;
    switch (of) {
    case LIMIT_VALUE:
        value_u64(ret, summary_memory_unknown(s), limit);
        break;
    case LIMIT_SOURCE:
        value_text(ret, summary_memory_unknown(s), source);
        break;
    case LIMIT_AT_MOST:
        value_u64(ret, limit ? BARO_PRESENT : BARO_ABSENT_UNKNOWN, limit);
        break;
    case LIMIT_AT_MOST_SOURCE:
        ret->text = source;
        break;
    case LIMIT_PEAK_RATIO:
        absent = summary_memory_peak_ratio(s, &ratio);
        value_real(ret, absent, ratio);
        break;
    case LIMIT_GROUP_RATIO:
        absent = summary_memory_group_ratio(s, &ratio);
        value_real(ret, absent, ratio);
        break;
    case LIMIT_IS_HIDDEN:
        ret->u64 = is_hidden(s->limits.memory_absent);
        break;
    default:
        memory_peak(s, of, ret);
    }
}

void fact_cores_limit(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const char *source;
    double ratio, limit = summary_cores_limit(s, &source);
    int absent;
    (void)row;
    switch (of) {
    case LIMIT_VALUE:
        value_real(ret, summary_cores_unknown(s), limit);
        break;
    case LIMIT_SOURCE:
        value_text(ret, summary_cores_unknown(s), source);
        break;
    case LIMIT_AT_MOST:
        value_real(ret, limit > 0 ? BARO_PRESENT : BARO_ABSENT_UNKNOWN, limit);
        break;
    case LIMIT_AT_MOST_SOURCE:
        ret->text = source;
        break;
    case LIMIT_PEAK_RATIO:
        absent = summary_cores_peak_ratio(s, &ratio);
        value_real(ret, absent, ratio);
        break;
    case LIMIT_IS_HIDDEN:
        ret->u64 = is_hidden(s->limits.cores_absent);
        break;
    }
}

void fact_pids_limit(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const char *source;
    uint64_t limit = summary_pids_limit(s, &source);
    (void)row;
    switch (of) {
    case LIMIT_VALUE:
        value_u64(ret, summary_pids_unknown(s), limit);
        break;
    case LIMIT_SOURCE:
        value_text(ret, s->limits.pids_absent, source);
        break;
    case LIMIT_AT_MOST:
        value_u64(ret, limit ? BARO_PRESENT : BARO_ABSENT_UNKNOWN, limit);
        break;
    case LIMIT_AT_MOST_SOURCE:
        ret->text = source;
        break;
    }
}

void fact_oom_kills(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    struct summary_oom_kills kills;
    int absent = summary_oom_kills(s, &kills);
    (void)row;
    value_u64(ret, absent, of == OOM_LIKELY ? kills.likely : of == OOM_LEAST ? kills.least : kills.most);
    value_flag(ret, BARO_VALUE_ESTIMATE, of == OOM_LIKELY && kills.least != kills.most);
}

void fact_refused(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    uint64_t v;
    int absent = of == REFUSED_MEMORY ? summary_group_oom_kills(s, &v)
                 : of == REFUSED_CPU  ? summary_throttled(s, &v)
                                      : summary_fork_refusals(s, &v);
    (void)row;
    value_u64(ret, absent, v);
}

void fact_held_from(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    (void)of;
    (void)row;
    ret->u64 = s->held.since_ns > s->start_ns ? s->held.since_ns - s->start_ns : 0;
}

/* ---- the machine ---- */

void fact_gauge(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    uint64_t v;
    int absent = summary_machine_gauge(s, (enum machine_gauge)of, &v);
    (void)row;
    value_u64(ret, absent, v);
}

void fact_grown(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    uint64_t v;
    int absent = summary_machine_grown(s, (enum machine_counter)of, &v);
    (void)row;
    value_u64(ret, absent, v);
}

void fact_share(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    double v;
    int absent = machine_share(&s->machine, (enum machine_counter)of, &v);
    (void)row;
    value_real(ret, absent, v);
}

static void host_text(const struct baro_summary *s, int of, struct baro_value *ret)
{
    if (of == HOST_CPU_MODEL)
        value_text(ret, *s->cpu_model ? BARO_PRESENT : BARO_ABSENT_UNKNOWN, s->cpu_model);
    else
        ret->text = of == HOST_NAME ? s->host : of == HOST_KERNEL ? s->kernel : s->machine_type;
}

static void host_number(const struct baro_summary *s, int of, struct baro_value *ret)
{
    const struct growth *busy = &s->machine.counter[MACHINE_BUSY];
    uint64_t v = 0;
    int absent = BARO_PRESENT;
    if (of == HOST_NUMA_NODES) {
        v = s->numa_nodes;
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
    uint64_t load;
    double v = 0;
    int absent;
    if (of == HOST_LOAD) {
        absent = summary_machine_gauge(s, MACHINE_LOAD, &load);
        v = (double)load / 1e6;
    } else {
        absent = of == HOST_CORES_MEAN   ? summary_machine_cores_mean(s, &v)
                 : of == HOST_CORES_PEAK ? summary_machine_cores_peak(s, &v)
                 : of == HOST_OTHERS     ? summary_machine_others(s, &v)
                                         : summary_machine_steal(s, &v);
    }
    value_real(ret, absent, v);
}

void fact_host(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    (void)row;
    switch (of) {
    case HOST_NAME:
    case HOST_KERNEL:
    case HOST_MACHINE:
    case HOST_CPU_MODEL:
        host_text(s, of, ret);
        break;
    case HOST_NUMA_NODES:
    case HOST_WATCHED:
    case HOST_CORES:
    case HOST_MEMORY_TOTAL:
        host_number(s, of, ret);
        break;
    default:
        host_real(s, of, ret);
    }
}
