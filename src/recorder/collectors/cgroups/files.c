/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/cgroups/files.h"

#include "kernel/proc/machine.h"

static void put_if(const struct group_text *t, int metric, uint32_t valid, unsigned bit, uint64_t value)
{
    if (valid & 1u << bit)
        entity_put(t->e, metric, value);
    else if (t->e->absent[metric] == BARO_ABSENT_NOT_YET)
        entity_lack(t->e, metric, BARO_ABSENT_UNSUPPORTED);
}

/* "No limit" makes the metric absent: it is neither 0 nor a very large number. */
static void put_limit(const struct group_text *t, int metric, uint64_t value, uint64_t most)
{
    if (value == CGROUP_NO_LIMIT || (most && value >= most))
        entity_lack(t->e, metric, BARO_ABSENT_UNSUPPORTED);
    else
        entity_put(t->e, metric, value);
}

/* ---- cpu ---- */

static bool take_cpu_stat(const struct group_text *t)
{
    struct cgroup_cpu c;
    if (cgroup_cpu_stat_parse(t->text, &c) < 0)
        return false;
    if (t->v2) {
        put_if(t, CGROUP_cpu, c.valid, CGCPU_USAGE, c.value[CGCPU_USAGE]);
        put_if(t, CGROUP_cpu_user, c.valid, CGCPU_USER, c.value[CGCPU_USER]);
        put_if(t, CGROUP_cpu_system, c.valid, CGCPU_SYSTEM, c.value[CGCPU_SYSTEM]);
    }
    put_if(t, CGROUP_cpu_periods, c.valid, CGCPU_PERIODS, c.value[CGCPU_PERIODS]);
    put_if(t, CGROUP_cpu_throttled_periods, c.valid, CGCPU_THROTTLED_PERIODS, c.value[CGCPU_THROTTLED_PERIODS]);
    put_if(t, CGROUP_cpu_throttled, c.valid, CGCPU_THROTTLED, c.value[CGCPU_THROTTLED]);
    return true;
}

static bool take_cpuacct(const struct group_text *t)
{
    struct cgroup_cpu c;
    if (cgroup_cpuacct_stat_parse(t->text, t->options->ns_per_tick, &c) < 0)
        return false;
    entity_put(t->e, CGROUP_cpu_user, c.value[CGCPU_USER]);
    entity_put(t->e, CGROUP_cpu_system, c.value[CGCPU_SYSTEM]);
    return true;
}

static bool take_quota(const struct group_text *t)
{
    uint64_t ppm;
    if (cgroup_cpu_max_parse(t->text, &ppm) < 0)
        return false;
    put_limit(t, CGROUP_cpu_limit, ppm, 0);
    return true;
}

/* v1 has quota and period in two files; the period is read first. */
static bool take_period(const struct group_text *t)
{
    return cgroup_value_parse(t->text, t->period_us) == 0;
}

static bool take_cfs_quota(const struct group_text *t)
{
    uint64_t us;
    if (cgroup_value_parse(t->text, &us) < 0)
        return false;
    if (us != CGROUP_NO_LIMIT && (!*t->period_us || __builtin_mul_overflow(us, (uint64_t)1000000, &us)))
        return false;
    put_limit(t, CGROUP_cpu_limit, us == CGROUP_NO_LIMIT ? us : us / *t->period_us, 0);
    return true;
}

static bool take_cpus(const struct group_text *t)
{
    uint64_t n;
    if (cgroup_cpus_parse(t->text, &n) < 0)
        return false;
    entity_put(t->e, CGROUP_cpuset, n);
    return true;
}

/* ---- single values ---- */

static bool take_value(const struct group_text *t, int metric)
{
    uint64_t v;
    if (cgroup_value_parse(t->text, &v) < 0 || v == CGROUP_NO_LIMIT)
        return false;
    entity_put(t->e, metric, v);
    return true;
}

static bool take_limit(const struct group_text *t, int metric, uint64_t most)
{
    uint64_t v;
    if (cgroup_value_parse(t->text, &v) < 0)
        return false;
    put_limit(t, metric, v, most);
    return true;
}

/* ---- memory ---- */

static bool take_memory_stat(const struct group_text *t)
{
    struct cgroup_memory m;
    if (cgroup_memory_stat_parse(t->text, !t->v2, &m) < 0)
        return false;
    put_if(t, CGROUP_memory_anon, m.valid, CGMEM_ANON, m.value[CGMEM_ANON]);
    put_if(t, CGROUP_memory_file, m.valid, CGMEM_FILE, m.value[CGMEM_FILE]);
    put_if(t, CGROUP_memory_inactive_file, m.valid, CGMEM_INACTIVE_FILE, m.value[CGMEM_INACTIVE_FILE]);
    put_if(t, CGROUP_memory_shmem, m.valid, CGMEM_SHMEM, m.value[CGMEM_SHMEM]);
    put_if(t, CGROUP_memory_kernel, m.valid, CGMEM_KERNEL, m.value[CGMEM_KERNEL]);
    put_if(t, CGROUP_memory_slab, m.valid, CGMEM_SLAB, m.value[CGMEM_SLAB]);
    put_if(t, CGROUP_memory_slab_reclaimable, m.valid, CGMEM_SLAB_RECLAIMABLE, m.value[CGMEM_SLAB_RECLAIMABLE]);
    put_if(t, CGROUP_faults_minor, m.valid, CGMEM_FAULTS, m.value[CGMEM_FAULTS]);
    put_if(t, CGROUP_faults_major, m.valid, CGMEM_FAULTS_MAJOR, m.value[CGMEM_FAULTS_MAJOR]);
    if (!t->v2)
        put_if(t, CGROUP_swap, m.valid, CGMEM_SWAP, m.value[CGMEM_SWAP]);
    /* The kernel's pgfault includes major faults. */
    if ((m.valid & 1u << CGMEM_FAULTS) && (m.valid & 1u << CGMEM_FAULTS_MAJOR) &&
        m.value[CGMEM_FAULTS] >= m.value[CGMEM_FAULTS_MAJOR])
        entity_put(t->e, CGROUP_faults_minor, m.value[CGMEM_FAULTS] - m.value[CGMEM_FAULTS_MAJOR]);
    return true;
}

static bool take_events(const struct group_text *t)
{
    struct cgroup_events ev;
    if (cgroup_memory_events_parse(t->text, &ev) < 0)
        return false;
    put_if(t, CGROUP_oom_kills, ev.valid, CGEVENT_OOM_KILLS, ev.value[CGEVENT_OOM_KILLS]);
    put_if(t, CGROUP_memory_high_hits, ev.valid, CGEVENT_HIGH_HITS, ev.value[CGEVENT_HIGH_HITS]);
    put_if(t, CGROUP_ooms, ev.valid, CGEVENT_OOMS, ev.value[CGEVENT_OOMS]); /* not in v1 */
    if (t->v2)                                                              /* v1 has a file of its own for it */
        put_if(t, CGROUP_memory_limit_hits, ev.valid, CGEVENT_MAX_HITS, ev.value[CGEVENT_MAX_HITS]);
    return true;
}

/* ---- io, pids, pressure ---- */

static bool take_io(const struct group_text *t)
{
    struct cgroup_io io;
    if (cgroup_io_stat_parse(t->text, t->counts, t->context, &io) < 0)
        return false;
    entity_put(t->e, CGROUP_io_read, io.value[CGIO_READ_BYTES]);
    entity_put(t->e, CGROUP_io_write, io.value[CGIO_WRITE_BYTES]);
    entity_put(t->e, CGROUP_io_reads, io.value[CGIO_READS]);
    entity_put(t->e, CGROUP_io_writes, io.value[CGIO_WRITES]);
    return true;
}

/* Since 6.9 v1 counts only groups for which an I/O limit was ever set; for others the file has no line of a device,
 * although there was I/O. */
static bool take_blkio(const struct group_text *t, bool bytes, int reads, int writes)
{
    struct cgroup_io io;
    if (!t->text.len || span_starts(t->text, "Total") ||
        cgroup_blkio_parse(t->text, bytes, t->counts, t->context, &io) < 0)
        return false;
    entity_put(t->e, reads, io.value[bytes ? CGIO_READ_BYTES : CGIO_READS]);
    entity_put(t->e, writes, io.value[bytes ? CGIO_WRITE_BYTES : CGIO_WRITES]);
    return true;
}

static bool take_pids_events(const struct group_text *t)
{
    uint64_t hits;
    if (cgroup_pids_events_parse(t->text, &hits) < 0)
        return false;
    entity_put(t->e, CGROUP_pids_limit_hits, hits);
    return true;
}

static bool take_pressure(const struct group_text *t, int some, int full)
{
    struct proc_pressure p;
    if (proc_pressure_parse(t->text, &p) < 0)
        return false;
    put_if(t, some, p.has_some, 0, p.some_ns);
    put_if(t, full, p.has_full, 0, p.full_ns);
    return true;
}

/* The functions of files that differ in their metrics alone: TAKE(memory, take_value, CGROUP_memory) makes
 * take_memory(). */
#define TAKE(name, function, ...)                                                                                      \
    static bool take_##name(const struct group_text *t)                                                                \
    {                                                                                                                  \
        return function(t, __VA_ARGS__);                                                                               \
    }
TAKE(cpu, take_value, CGROUP_cpu)
TAKE(memory, take_value, CGROUP_memory)
TAKE(memory_peak, take_value, CGROUP_memory_peak)
TAKE(memory_kernel, take_value, CGROUP_memory_kernel)
TAKE(memory_limit_hits, take_value, CGROUP_memory_limit_hits)
TAKE(swap, take_value, CGROUP_swap)
TAKE(pids, take_value, CGROUP_pids)
TAKE(hugetlb, take_value, CGROUP_hugetlb)
TAKE(pids_peak, take_value, CGROUP_pids_peak)
TAKE(memory_limit, take_limit, CGROUP_memory_limit, t->options->memory_total)
TAKE(memory_high, take_limit, CGROUP_memory_high, t->options->memory_total)
TAKE(swap_limit, take_limit, CGROUP_swap_limit, 0)
TAKE(pids_limit, take_limit, CGROUP_pids_limit, 0)
TAKE(blkio_bytes, take_blkio, true, CGROUP_io_read, CGROUP_io_write)
TAKE(blkio_operations, take_blkio, false, CGROUP_io_reads, CGROUP_io_writes)
TAKE(pressure_cpu, take_pressure, CGROUP_pressure_cpu_some, CGROUP_pressure_cpu_full)
TAKE(pressure_memory, take_pressure, CGROUP_pressure_memory_some, CGROUP_pressure_memory_full)
TAKE(pressure_io, take_pressure, CGROUP_pressure_io_some, CGROUP_pressure_io_full)

/* ---- the table ---- */

#define M(metric) (CGROUP_##metric + 1)

#define FILE_ROW(v2, v1, controller, when, take, ...)                                                                  \
    {                                                                                                                  \
        v2, v1, controller, when, take,                                                                                \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }

const struct group_file group_files[] = {
    FILE_ROW(NULL, "cpuacct.usage", CGROUP_AT_CPUACCT, FAST, take_cpu, M(cpu)),
    FILE_ROW(NULL, "cpuacct.stat", CGROUP_AT_CPUACCT, FAST, take_cpuacct, M(cpu_user), M(cpu_system)),
    FILE_ROW("cpu.stat", NULL, CGROUP_AT_UNIFIED, FAST, take_cpu_stat, M(cpu), M(cpu_user), M(cpu_system),
             M(cpu_periods), M(cpu_throttled_periods), M(cpu_throttled)),
    FILE_ROW(NULL, "cpu.stat", CGROUP_AT_CPU, FAST, take_cpu_stat, M(cpu_periods), M(cpu_throttled_periods),
             M(cpu_throttled)),
    FILE_ROW("cpu.max", NULL, CGROUP_AT_CPU, SLOW, take_quota, M(cpu_limit)),
    FILE_ROW(NULL, "cpu.cfs_period_us", CGROUP_AT_CPU, SLOW, take_period, M(cpu_limit)),
    FILE_ROW(NULL, "cpu.cfs_quota_us", CGROUP_AT_CPU, SLOW, take_cfs_quota, M(cpu_limit)),
    FILE_ROW("cpuset.cpus.effective", "cpuset.effective_cpus", CGROUP_AT_CPUSET, SLOW, take_cpus, M(cpuset)),
    FILE_ROW("memory.current", "memory.usage_in_bytes", CGROUP_AT_MEMORY, FAST, take_memory, M(memory)),
    FILE_ROW("memory.peak", "memory.max_usage_in_bytes", CGROUP_AT_MEMORY, COUNTS, take_memory_peak, M(memory_peak)),
    FILE_ROW("memory.max", "memory.limit_in_bytes", CGROUP_AT_MEMORY, SLOW, take_memory_limit, M(memory_limit)),
    FILE_ROW("memory.high", NULL, CGROUP_AT_MEMORY, SLOW, take_memory_high, M(memory_high)),
    FILE_ROW("memory.stat", "memory.stat", CGROUP_AT_MEMORY, EXPENSIVE, take_memory_stat, M(memory_anon),
             M(memory_file), M(memory_inactive_file), M(memory_shmem), M(memory_slab), M(memory_slab_reclaimable),
             M(faults_minor), M(faults_major)),
    FILE_ROW(NULL, "memory.kmem.usage_in_bytes", CGROUP_AT_MEMORY, FAST, take_memory_kernel, M(memory_kernel)),
    /* Not memory.events.local: that file lacks the kills in groups that the job makes below its own. Neither file of
     * the innermost group has the kills of its siblings. If only a group above the job's is visible, its local file
     * lacks the job's kills, too. */
    FILE_ROW("memory.events", "memory.oom_control", CGROUP_AT_MEMORY, COUNTS, take_events, M(oom_kills), M(ooms),
             M(memory_high_hits)),
    FILE_ROW(NULL, "memory.failcnt", CGROUP_AT_MEMORY, COUNTS, take_memory_limit_hits, M(memory_limit_hits)),
    FILE_ROW("memory.swap.current", NULL, CGROUP_AT_MEMORY, FAST, take_swap, M(swap)),
    FILE_ROW("memory.swap.max", NULL, CGROUP_AT_MEMORY, SLOW, take_swap_limit, M(swap_limit)),
    FILE_ROW("io.stat", NULL, CGROUP_AT_IO, FAST, take_io, M(io_read), M(io_write), M(io_reads), M(io_writes)),
    FILE_ROW(NULL, "blkio.throttle.io_service_bytes_recursive", CGROUP_AT_IO, FAST, take_blkio_bytes, M(io_read),
             M(io_write)),
    FILE_ROW(NULL, "blkio.throttle.io_serviced_recursive", CGROUP_AT_IO, FAST, take_blkio_operations, M(io_reads),
             M(io_writes)),
    FILE_ROW("pids.current", "pids.current", CGROUP_AT_PIDS, FAST, take_pids, M(pids)),
    FILE_ROW("pids.peak", "pids.peak", CGROUP_AT_PIDS, FAST, take_pids_peak, M(pids_peak)),
    FILE_ROW("pids.max", "pids.max", CGROUP_AT_PIDS, SLOW, take_pids_limit, M(pids_limit)),
    FILE_ROW("pids.events", "pids.events", CGROUP_AT_PIDS, COUNTS, take_pids_events, M(pids_limit_hits)),
    FILE_ROW("hugetlb.2MB.current", "hugetlb.2MB.usage_in_bytes", CGROUP_AT_HUGETLB, SLOW, take_hugetlb, M(hugetlb)),
    FILE_ROW("cpu.pressure", NULL, CGROUP_AT_UNIFIED, FAST, take_pressure_cpu, M(pressure_cpu_some),
             M(pressure_cpu_full)),
    FILE_ROW("memory.pressure", NULL, CGROUP_AT_UNIFIED, FAST, take_pressure_memory, M(pressure_memory_some),
             M(pressure_memory_full)),
    FILE_ROW("io.pressure", NULL, CGROUP_AT_UNIFIED, FAST, take_pressure_io, M(pressure_io_some), M(pressure_io_full)),
};

const size_t group_files_n = sizeof(group_files) / sizeof(*group_files);
_Static_assert(sizeof(group_files) / sizeof(*group_files) <= GROUP_FILES_MAX,
               "a group has room for a descriptor of each");

static bool has_metric(const struct group_file *f, enum cgroup_metric id)
{
    for (size_t i = 0; i < GROUP_METRICS && f->metric[i]; i++) {
        if (f->metric[i] == (int)id + 1)
            return true;
    }
    return false;
}

/* The working set is computed from two files of the controller of CGROUP_memory. */
static enum cgroup_metric metric_in_files(enum cgroup_metric id)
{
    return id == CGROUP_memory_working_set ? CGROUP_memory : id;
}

size_t group_file_of(enum cgroup_metric id)
{
    size_t i = 0;
    while (i < group_files_n && !has_metric(&group_files[i], id))
        i++;
    return i;
}

enum cgroup_controller cgroups_controller_of(enum cgroup_metric id)
{
    size_t i = group_file_of(metric_in_files(id));
    return i < group_files_n ? group_files[i].at : CGROUP_AT_MAX;
}

const struct cgroup_location *cgroups_location_of(const struct cgroup_hierarchies *places, enum cgroup_metric id)
{
    const struct cgroup_location *any = NULL;
    id = metric_in_files(id);
    for (size_t i = 0; i < group_files_n; i++) {
        const struct group_file *f = &group_files[i];
        const struct cgroup_location *p = has_metric(f, id) ? cgroup_location_of(places, f->at) : NULL;
        if (p && (p->v2 ? f->v2 : f->v1))
            return p;
        any = any ? any : p;
    }
    return any;
}
