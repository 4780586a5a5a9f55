/* SPDX-License-Identifier: Apache-2.0 */
/* What the job might have had, and the machine around it: members of `baro summary --json`, described in docs/json.md.
 */
#include "derive/groups.h"
#include "derive/limits.h"
#include "report/facts.h"

static void text(struct facts *f, const char *key, const char *value)
{
    json_key(f->json, key);
    json_text(f->json, value);
}

static void text_or(struct facts *f, const char *key, int absent, const char *value)
{
    json_key(f->json, key);
    if (absent == BARO_PRESENT)
        json_text(f->json, value);
    else
        facts_missing(f, key, absent);
}

static void memory(struct facts *f, const struct summary *s)
{
    const char *source;
    enum memory_measure measure;
    uint64_t most, limit = summary_memory_limit(s, &source);
    double ratio;
    int absent = summary_memory_unknown(s);
    facts_number(f, "memory_bytes", absent, limit);
    text_or(f, "memory_source", absent, source);
    facts_number(f, "memory_at_most_bytes", limit ? BARO_PRESENT : BARO_ABSENT_UNKNOWN, limit);
    text(f, "memory_at_most_source", source);
    absent = summary_memory_peak_ratio(s, &ratio);
    facts_real(f, "memory_peak_ratio", absent, ratio);
    absent = summary_memory_most(s, &most, &measure);
    facts_number(f, "memory_peak_bytes", absent, most);
    text_or(f, "memory_peak_of", absent, summary_memory_measure_name(measure));
    absent = summary_memory_group_ratio(s, &ratio);
    facts_real(f, "memory_group_ratio", absent, ratio);
    struct summary_oom_kills kills;
    absent = summary_oom_kills(s, &kills);
    facts_number(f, "oom_kills", absent, kills.likely);
    facts_number(f, "oom_kills_at_least", absent, kills.least);
    facts_number(f, "oom_kills_at_most", absent, kills.most);
    absent = summary_group_oom_kills(s, &most);
    facts_number(f, "oom_kills_in_group", absent, most);
}

static void cores(struct facts *f, const struct summary *s)
{
    const char *source;
    double ratio, limit = summary_cores_limit(s, &source);
    uint64_t ns;
    int absent = summary_cores_unknown(s);
    facts_real(f, "cores", absent, limit);
    text_or(f, "cores_source", absent, source);
    facts_real(f, "cores_at_most", limit > 0 ? BARO_PRESENT : BARO_ABSENT_UNKNOWN, limit);
    text(f, "cores_at_most_source", source);
    absent = summary_cores_peak_ratio(s, &ratio);
    facts_real(f, "cores_peak_ratio", absent, ratio);
    absent = summary_throttled(s, &ns);
    facts_number(f, "throttled_ns", absent, ns);
}

void facts_limits(struct facts *f, const struct summary *s)
{
    const char *source;
    uint64_t v, limit = summary_pids_limit(s, &source);
    facts_begin(f, "limits");
    memory(f, s);
    cores(f, s);
    int absent = summary_pids_unknown(s);
    facts_number(f, "pids", absent, limit);
    text_or(f, "pids_source", s->limits.pids_absent, source);
    facts_number(f, "pids_at_most", limit ? BARO_PRESENT : BARO_ABSENT_UNKNOWN, limit);
    text(f, "pids_at_most_source", source);
    absent = summary_fork_refusals(s, &v);
    facts_number(f, "forks_refused", absent, v);
    facts_number(f, "held_from_ns", BARO_PRESENT, s->held.since_ns > s->start_ns ? s->held.since_ns - s->start_ns : 0);
    facts_end(f);
}

static void gauge(struct facts *f, const struct summary *s, const char *key, enum machine_gauge gauge)
{
    uint64_t v;
    int absent = summary_machine_gauge(s, gauge, &v);
    facts_number(f, key, absent, v);
}

static void grown(struct facts *f, const struct summary *s, const char *key, enum machine_counter counter)
{
    uint64_t v;
    int absent = summary_machine_grown(s, counter, &v);
    facts_number(f, key, absent, v);
}

static void share(struct facts *f, const struct summary *s, const char *key, enum machine_counter counter)
{
    double v;
    int absent = machine_share(&s->machine, counter, &v);
    facts_real(f, key, absent, v);
}

static void host_cpu(struct facts *f, const struct summary *s)
{
    uint64_t v;
    double d;
    int absent = summary_machine_cpus(s, &v);
    facts_number(f, "cores", absent, v);
    absent = summary_machine_cores_mean(s, &d);
    facts_real(f, "cpu_mean_cores", absent, d);
    absent = summary_machine_cores_peak(s, &d);
    facts_real(f, "cpu_peak_cores", absent, d);
    absent = summary_machine_others(s, &d);
    facts_real(f, "cpu_others_mean_cores", absent, d);
    absent = summary_machine_steal(s, &d);
    facts_real(f, "cpu_steal_ratio", absent, d);
    absent = summary_machine_gauge(s, MACHINE_LOAD, &v);
    facts_real(f, "load_peak", absent, (double)v / 1e6);
}

static void host_memory(struct facts *f, const struct summary *s)
{
    uint64_t v;
    int absent = summary_machine_memory(s, &v);
    facts_number(f, "memory_total_bytes", absent, v);
    gauge(f, s, "memory_used_peak_bytes", MACHINE_MEMORY_USED);
    gauge(f, s, "memory_available_least_bytes", MACHINE_MEMORY_AVAILABLE);
    gauge(f, s, "swap_used_peak_bytes", MACHINE_SWAP_USED);
    grown(f, s, "swap_in_bytes", MACHINE_SWAP_IN);
    grown(f, s, "swap_out_bytes", MACHINE_SWAP_OUT);
    grown(f, s, "oom_kills", MACHINE_OOM_KILLS);
}

void facts_host(struct facts *f, const struct summary *s)
{
    facts_begin(f, "host");
    text(f, "name", s->host);
    text(f, "kernel", s->kernel);
    text(f, "machine", s->machine_type);
    json_key(f->json, "cpu_model");
    if (*s->cpu_model)
        json_text(f->json, s->cpu_model);
    else
        facts_missing(f, "cpu_model", BARO_ABSENT_UNKNOWN);
    facts_number(f, "numa_nodes", s->numa_nodes ? BARO_PRESENT : BARO_ABSENT_UNKNOWN, s->numa_nodes);
    const struct growth *busy = &s->machine.counter[MACHINE_BUSY];
    facts_number(f, "watched_ns", busy->seen ? BARO_PRESENT : busy->absent, summary_machine_watched_ns(s));
    host_cpu(f, s);
    host_memory(f, s);
    grown(f, s, "disk_read_bytes", MACHINE_DISK_READ);
    grown(f, s, "disk_write_bytes", MACHINE_DISK_WRITE);
    grown(f, s, "net_receive_bytes", MACHINE_NET_RECEIVE);
    grown(f, s, "net_transmit_bytes", MACHINE_NET_TRANSMIT);
    facts_begin(f, "host.pressure");
    share(f, s, "cpu_some_ratio", MACHINE_CPU_SOME);
    share(f, s, "memory_some_ratio", MACHINE_MEMORY_SOME);
    share(f, s, "memory_full_ratio", MACHINE_MEMORY_FULL);
    share(f, s, "io_some_ratio", MACHINE_IO_SOME);
    share(f, s, "io_full_ratio", MACHINE_IO_FULL);
    facts_end(f);
    facts_end(f);
}
