/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-push/measure.h"

#include <stdio.h>
#include <string.h>

#define METRICS_MOST 96

const struct measure_of measure_groups[MEASURE_GROUPS] = {
    [GROUP_JOB] = {BARO_KIND_JOB, "job", NULL, NULL, 1},
    [GROUP_SUM] = {BARO_KIND_PROCESS, "job", NULL, NULL, 1},
    [GROUP_MISSING] = {-1, "job", "sum", "barograph.sum", 1},
    [GROUP_RECORDER] = {BARO_KIND_RECORDER, "recorder", NULL, NULL, 1},
    [GROUP_TASK] = {BARO_KIND_TASK, "task", "task", "barograph.task", 256},
    [GROUP_CGROUP] = {BARO_KIND_CGROUP, "cgroup", NULL, NULL, 1},
    [GROUP_GPU] = {BARO_KIND_GPU, "gpu", "gpu", "hw.id", 128},
    [GROUP_HOST] = {BARO_KIND_HOST, "host", NULL, NULL, 1},
    [GROUP_DISK] = {BARO_KIND_DISK, "disk", "disk", "system.device", 256},
    [GROUP_FS] = {BARO_KIND_FS, "fs", "fs", "system.filesystem.mountpoint", 256},
    [GROUP_NET] = {BARO_KIND_NET, "net", "net", "network.interface.name", 256},
    [GROUP_SENSOR] = {BARO_KIND_SENSOR, "sensor", "sensor", "hw.id", 256},
    [GROUP_ENERGY] = {BARO_KIND_ENERGY, "energy", "energy", "hw.id", 64},
    [GROUP_PHASE] = {-1, "phase", "phase", "barograph.phase", 64},
    [GROUP_STATE] = {-1, "job", NULL, NULL, 1},
    [GROUP_INFO] = {-1, "job", NULL, NULL, 1},
};

/* Facts of a phase that are pushed. */
static const char *const phase_facts[] = {"wall_ns",        "cpu_ns",         "cpu_user_ns",       "cpu_system_ns",
                                          "run_delay_ns",   "rss_peak_bytes", "io_read_bytes",     "io_write_bytes",
                                          "io_rchar_bytes", "io_wchar_bytes", "processes_started", "faults_major",
                                          "throttled_ns"};
#define PHASE_FACTS ((int)(sizeof(phase_facts) / sizeof(*phase_facts)))

/* The semantic conventions: which of our metrics is which of theirs. Times are in seconds there, as real numbers. */
/* clang-format off */
static const struct convention {
    enum measure_group group;
    const char *stem, *name, *unit, *key, *value;
    enum measure_shape shape;
} conventions[] = {
#define CPU(group, stem, name, mode) {group, stem, name, "s", "cpu.mode", mode, SHAPE_COUNTER}
#define SWITCHES(stem, type) {GROUP_JOB, stem, "process.context_switches", "{context_switch}", \
    "process.context_switch.type", type, SHAPE_COUNTER}
#define FAULTS(group, stem, name, type) {group, stem, name, "{fault}", "system.paging.fault.type", type, SHAPE_COUNTER}
#define IO(group, stem, name, unit, key, way) {group, stem, name, unit, key, way, SHAPE_COUNTER}
#define LEVEL(group, stem, name, unit) {group, stem, name, unit, NULL, NULL, SHAPE_UPDOWN}
#define STATE(group, stem, name, key, state) {group, stem, name, "By", key, state, SHAPE_UPDOWN}
    CPU(GROUP_JOB, "cpu_user", "process.cpu.time", "user"),
    CPU(GROUP_JOB, "cpu_system", "process.cpu.time", "system"),
    IO(GROUP_JOB, "io_read", "process.disk.io", "By", "disk.io.direction", "read"),
    IO(GROUP_JOB, "io_write", "process.disk.io", "By", "disk.io.direction", "write"),
    SWITCHES("switches_voluntary", "voluntary"),
    SWITCHES("switches_involuntary", "involuntary"),
    FAULTS(GROUP_JOB, "faults_minor", "process.paging.faults", "minor"),
    FAULTS(GROUP_JOB, "faults_major", "process.paging.faults", "major"),
    LEVEL(GROUP_SUM, "rss", "process.memory.usage", "By"),
    LEVEL(GROUP_SUM, "virtual", "process.memory.virtual", "By"),
    LEVEL(GROUP_SUM, "threads", "process.thread.count", "{thread}"),
    LEVEL(GROUP_SUM, "fds", "process.unix.file_descriptor.count", "{file_descriptor}"),
    CPU(GROUP_CGROUP, "cpu_user", "container.cpu.time", "user"),
    CPU(GROUP_CGROUP, "cpu_system", "container.cpu.time", "system"),
    LEVEL(GROUP_CGROUP, "memory", "container.memory.usage", "By"),
    LEVEL(GROUP_CGROUP, "memory_working_set", "container.memory.working_set", "By"),
    CPU(GROUP_HOST, "cpu_user", "system.cpu.time", "user"),
    CPU(GROUP_HOST, "cpu_nice", "system.cpu.time", "nice"),
    CPU(GROUP_HOST, "cpu_system", "system.cpu.time", "system"),
    CPU(GROUP_HOST, "cpu_idle", "system.cpu.time", "idle"),
    CPU(GROUP_HOST, "cpu_iowait", "system.cpu.time", "iowait"),
    CPU(GROUP_HOST, "cpu_irq", "system.cpu.time", "interrupt"),
    CPU(GROUP_HOST, "cpu_steal", "system.cpu.time", "steal"),
    LEVEL(GROUP_HOST, "cpus", "system.cpu.logical.count", "{cpu}"),
    LEVEL(GROUP_HOST, "memory_total", "system.memory.limit", "By"),
    LEVEL(GROUP_HOST, "memory_available", "system.memory.linux.available", "By"),
    STATE(GROUP_HOST, "memory_used", "system.memory.usage", "system.memory.state", "used"),
    STATE(GROUP_HOST, "memory_free", "system.memory.usage", "system.memory.state", "free"),
    STATE(GROUP_HOST, "memory_buffers", "system.memory.usage", "system.memory.state", "buffers"),
    STATE(GROUP_HOST, "memory_cached", "system.memory.usage", "system.memory.state", "cached"),
    STATE(GROUP_HOST, "swap_used", "system.paging.usage", "system.paging.state", "used"),
    STATE(GROUP_HOST, "swap_free", "system.paging.usage", "system.paging.state", "free"),
    FAULTS(GROUP_HOST, "faults_minor", "system.paging.faults", "minor"),
    FAULTS(GROUP_HOST, "faults_major", "system.paging.faults", "major"),
    {GROUP_HOST, "uptime", "system.uptime", "s", NULL, NULL, SHAPE_GAUGE},
    IO(GROUP_DISK, "read", "system.disk.io", "By", "disk.io.direction", "read"),
    IO(GROUP_DISK, "write", "system.disk.io", "By", "disk.io.direction", "write"),
    IO(GROUP_DISK, "reads", "system.disk.operations", "{operation}", "disk.io.direction", "read"),
    IO(GROUP_DISK, "writes", "system.disk.operations", "{operation}", "disk.io.direction", "write"),
    IO(GROUP_DISK, "read_time", "system.disk.operation_time", "s", "disk.io.direction", "read"),
    IO(GROUP_DISK, "write_time", "system.disk.operation_time", "s", "disk.io.direction", "write"),
    IO(GROUP_DISK, "busy", "system.disk.io_time", "s", NULL, NULL),
    LEVEL(GROUP_DISK, "size", "system.disk.limit", "By"),
    LEVEL(GROUP_FS, "total", "system.filesystem.limit", "By"),
    STATE(GROUP_FS, "used", "system.filesystem.usage", "system.filesystem.state", "used"),
    STATE(GROUP_FS, "available", "system.filesystem.usage", "system.filesystem.state", "free"),
    IO(GROUP_NET, "receive", "system.network.io", "By", "network.io.direction", "receive"),
    IO(GROUP_NET, "transmit", "system.network.io", "By", "network.io.direction", "transmit"),
    IO(GROUP_NET, "receive_packets", "system.network.packet.count", "{packet}", "network.io.direction", "receive"),
    IO(GROUP_NET, "transmit_packets", "system.network.packet.count", "{packet}", "network.io.direction", "transmit"),
    IO(GROUP_NET, "receive_drops", "system.network.packet.dropped", "{packet}", "network.io.direction", "receive"),
    IO(GROUP_NET, "transmit_drops", "system.network.packet.dropped", "{packet}", "network.io.direction", "transmit"),
    IO(GROUP_NET, "receive_errors", "system.network.errors", "{error}", "network.io.direction", "receive"),
    IO(GROUP_NET, "transmit_errors", "system.network.errors", "{error}", "network.io.direction", "transmit"),
    LEVEL(GROUP_GPU, "memory_used", "hw.gpu.memory.usage", "By"),
    LEVEL(GROUP_GPU, "memory_total", "hw.gpu.memory.limit", "By"),
    {GROUP_GPU, "energy", "hw.energy", "J", "hw.type", "gpu", SHAPE_COUNTER},
    {GROUP_GPU, "power", "hw.power", "W", "hw.type", "gpu", SHAPE_GAUGE},
    {GROUP_GPU, "temperature", "hw.temperature", "Cel", NULL, NULL, SHAPE_GAUGE},
    {GROUP_SENSOR, "temperature", "hw.temperature", "Cel", NULL, NULL, SHAPE_GAUGE},
    {GROUP_ENERGY, "energy", "hw.energy", "J", "hw.type", "power_supply", SHAPE_COUNTER},
    {GROUP_ENERGY, "power", "hw.power", "W", "hw.type", "power_supply", SHAPE_GAUGE},
};
/* clang-format on */

/* ---- the table, made once ---- */

static struct measure table[MEASURE_GROUPS][METRICS_MOST];

int measure_count(enum measure_group group)
{
    if (group == GROUP_PHASE)
        return PHASE_FACTS;
    if (group == GROUP_STATE)
        return MEASURE_STATES;
    int n = measure_groups[group].kind < 0 ? 1 : baro_metric_count(measure_groups[group].kind);
    return n < METRICS_MOST ? n : METRICS_MOST;
}

static void name_otlp(struct measure *m, enum measure_group group, const char *stem)
{
    snprintf(m->own_name, sizeof(m->own_name), "barograph.%s.%s", measure_groups[group].name, stem);
    m->otlp = m->own_name;
    m->shape = m->family.is_counter ? SHAPE_COUNTER : SHAPE_GAUGE;
    m->otlp_unit = m->unit == BARO_UNIT_NS ? "ns" : baro_unit_ucum(m->unit);
    for (size_t i = 0; i < sizeof(conventions) / sizeof(*conventions); i++) {
        const struct convention *c = &conventions[i];
        if (c->group != group || strcmp(c->stem, stem) != 0)
            continue;
        m->otlp = c->name;
        m->otlp_unit = c->unit;
        m->key = c->key;
        m->of_value = c->value;
        m->shape = c->shape;
    }
}

static void make_metric(struct measure *m, enum measure_group group, int id)
{
    int kind = measure_groups[group].kind;
    m->metric = baro_metric_get(kind, id);
    m->unit = m->metric->unit;
    m->is_there = family_of_metric(&m->family, measure_groups[group].name, kind, id) &&
                  (group != GROUP_SUM || baro_metric_adds_up(id)) && strcmp(m->metric->stem, "read_at") != 0;
    name_otlp(m, group, m->metric->stem);
}

static void make_fact(struct measure *m, int id)
{
    m->fact = baro_timeline_fact_find(phase_facts[id]);
    const struct baro_fact *fact = baro_timeline_fact(m->fact);
    if (!fact)
        return;
    m->unit = fact->unit;
    m->is_real = fact->type == BARO_FACT_REAL;
    m->is_there = family_of_fact(&m->family, "phase", fact);
    size_t tail = strlen(baro_unit_name(fact->unit)), len = strlen(fact->name);
    char stem[64];
    snprintf(stem, sizeof(stem), "%.*s", (int)(tail && len > tail ? len - tail - 1 : len), fact->name);
    name_otlp(m, GROUP_PHASE, stem);
}

static void make_count(struct measure *m, enum measure_group group, const char *name, const char *help)
{
    m->family = (struct family){.unit = "", .help = help, .divisor = 1};
    snprintf(m->family.name, sizeof(m->family.name), "baro_job_%s", name);
    m->is_there = true;
    name_otlp(m, group, name);
}

static void make_states(struct measure m[MEASURE_STATES])
{
    make_count(&m[STATE_RUNNING], GROUP_STATE, "running", "1: the job runs; 0: it has ended");
    make_count(&m[STATE_EXIT_STATUS], GROUP_STATE, "exit_status",
               "exit status of a job that has ended; 128 and the signal's number where a signal ended it");
    struct measure *time = &m[STATE_SAMPLE_TIME];
    time->unit = BARO_UNIT_NS;
    make_count(time, GROUP_STATE, "sample_timestamp", "when the last sample was taken");
    snprintf(time->family.name, sizeof(time->family.name), "baro_job_sample_timestamp_seconds");
    time->family.unit = "seconds";
    time->family.divisor = 1e9;
}

const struct measure *measure_get(enum measure_group group, int id)
{
    static bool is_made;
    if (!is_made) {
        is_made = true;
        for (enum measure_group g = 0; g < MEASURE_GROUPS; g++) {
            for (int i = 0; measure_groups[g].kind >= 0 && i < measure_count(g); i++)
                make_metric(&table[g][i], g, i);
        }
        for (int i = 0; i < PHASE_FACTS; i++)
            make_fact(&table[GROUP_PHASE][i], i);
        make_count(&table[GROUP_MISSING][0], GROUP_MISSING, "processes_missing_in_sum",
                   "processes whose value a sum of the job lacks, so that the sum is a lower bound");
        make_states(table[GROUP_STATE]);
        make_count(&table[GROUP_INFO][0], GROUP_INFO, "info", "a job: its command, and what it is called");
    }
    return &table[group][id];
}

/* ---- values ---- */

double measure_base(const struct measure *m, uint64_t raw)
{
    double real;
    if (m->metric)
        return baro_metric_real(m->metric, raw) / m->family.divisor;
    if (!m->is_real)
        return (double)raw / m->family.divisor;
    memcpy(&real, &raw, sizeof(real));
    return real;
}

bool measure_otlp(const struct measure *m, uint64_t raw, int64_t *ret, double *ret_real)
{
    bool is_whole = m->unit == BARO_UNIT_NONE || m->unit == BARO_UNIT_BYTES || m->unit == BARO_UNIT_HERTZ ||
                    m->unit == BARO_UNIT_SIGNED || (m->unit == BARO_UNIT_NS && m->otlp == m->own_name);
    *ret = (int64_t)raw;
    *ret_real = measure_base(m, raw);
    return is_whole && !m->is_real && (m->unit == BARO_UNIT_SIGNED || raw <= INT64_MAX);
}
