/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "baro/version.h"
#include "base/error.h"
#include "base/span.h"
#include "libbaro/metric/ids.h"

#define SUFFIX_NONE ""
#define SUFFIX_NS "_ns"
#define SUFFIX_BYTES "_bytes"
#define SUFFIX_RATIO "_ratio"
#define SUFFIX_CHAR ""
#define SUFFIX_SIGNED ""
#define SUFFIX_HERTZ "_hertz"
#define SUFFIX_CELSIUS "_celsius"
#define SUFFIX_ENTITY ""
#define SUFFIX_DECIMAL ""
#define SUFFIX_REAL ""
#define SUFFIX_JOULES "_joules"
#define SUFFIX_WATTS "_watts"

#define FILE_CLOCK "clock_gettime(2)"
#define FILE_STAT "/proc/PID/stat"
#define FILE_STATUS "/proc/PID/status"
#define FILE_IO "/proc/PID/io"
#define FILE_FD "/proc/PID/fd"
#define FILE_SCHEDSTAT "/proc/PID/task/TID/schedstat"
#define FILE_SMAPS "/proc/PID/smaps_rollup"
#define FILE_TASKS "/proc/PID/task/TID/status"
#define FILE_TREE "the tree of the job"
#define FILE_LEDGER "the ledger of the job"
#define FILE_EXIT "wait4(2), taskstats, perf, what its parent took over (io_*), or the last sample"
#define FILE_SELF "barograph itself"
#define FILE_PROC_STAT "/proc/stat"
#define FILE_LOADAVG "/proc/loadavg"
#define FILE_MEMINFO "/proc/meminfo"
#define FILE_VMSTAT "/proc/vmstat"
#define FILE_DISKSTATS "/proc/diskstats"
#define FILE_NETDEV "/proc/net/dev"
#define FILE_PRESSURE "/proc/pressure"
#define FILE_UPTIME "/proc/uptime"
#define FILE_STATVFS "statvfs(3)"
#define FILE_SYS_BLOCK "/sys/class/block"
#define FILE_SYS_NET "/sys/class/net"
#define FILE_SYS_CPUFREQ "cpufreq, /proc/cpuinfo"
#define FILE_SYS_NODE "/sys/devices/system/node"
#define FILE_SOCK_DIAG "sock_diag(7)"
#define FILE_WALK "statx(2) of each file"
#define FILE_GPU "NVML, /sys/class/drm"
#define FILE_ENERGY "/sys/class/powercap, hwmon"
#define FILE_HWMON "/sys/class/hwmon, /sys/class/thermal"

/* The metrics of a control group share one source, but each has its own file; the file may have another name in v1, or
 * exist in v2 only. */
#define SAME(file) file, file, file
#define OTHER(v2, v1) v2 "; v1: " v1, v2, v1
#define V2_ONLY(v2) v2 "; not in v1", v2, NULL
#define FILE_CG_CPU OTHER("cpu.stat", "cpuacct.usage")
#define FILE_CG_CPU_MODES OTHER("cpu.stat", "cpuacct.stat")
#define FILE_CG_THROTTLING SAME("cpu.stat")
#define FILE_CG_QUOTA OTHER("cpu.max", "cpu.cfs_quota_us, cpu.cfs_period_us")
#define FILE_CG_CPUSET OTHER("cpuset.cpus.effective", "cpuset.effective_cpus")
#define FILE_CG_MEMORY OTHER("memory.current", "memory.usage_in_bytes")
#define FILE_CG_MEMORY_PEAK OTHER("memory.peak", "memory.max_usage_in_bytes")
#define FILE_CG_MEMORY_LIMIT OTHER("memory.max", "memory.limit_in_bytes")
#define FILE_CG_MEMORY_HIGH V2_ONLY("memory.high")
#define FILE_CG_WORKING_SET OTHER("memory.current, memory.stat", "memory.usage_in_bytes, memory.stat")
#define FILE_CG_MEMORY_STAT SAME("memory.stat")
#define FILE_CG_MEMORY_SLAB V2_ONLY("memory.stat")
#define FILE_CG_MEMORY_KERNEL OTHER("memory.stat", "memory.kmem.usage_in_bytes")
#define FILE_CG_SWAP OTHER("memory.swap.current", "memory.stat")
#define FILE_CG_SWAP_LIMIT V2_ONLY("memory.swap.max")
#define FILE_CG_LIMIT_HITS OTHER("memory.events", "memory.failcnt")
#define FILE_CG_MEMORY_EVENTS V2_ONLY("memory.events")
#define FILE_CG_OOM_KILLS OTHER("memory.events", "memory.oom_control")
#define FILE_CG_IO_BYTES OTHER("io.stat", "blkio.throttle.io_service_bytes_recursive")
#define FILE_CG_IO OTHER("io.stat", "blkio.throttle.io_serviced_recursive")
#define FILE_CG_PIDS SAME("pids.current")
#define FILE_CG_PIDS_PEAK SAME("pids.peak")
#define FILE_CG_HUGETLB OTHER("hugetlb.2MB.current", "hugetlb.2MB.usage_in_bytes")
#define FILE_CG_PIDS_LIMIT SAME("pids.max")
#define FILE_CG_PIDS_EVENTS SAME("pids.events")
#define FILE_CG_PRESSURE_CPU V2_ONLY("cpu.pressure")
#define FILE_CG_PRESSURE_MEMORY V2_ONLY("memory.pressure")
#define FILE_CG_PRESSURE_IO V2_ONLY("io.pressure")
#define FILE_CG(which) FILE_CG_##which
#define BARO_SOURCE_CG(which) BARO_SOURCE_CGROUP

/* Writes since which kernel: a number, and how the help text ends. */
#define SINCE_ALWAYS 0
#define HELP_ALWAYS ""
#define SINCE_LINUX(major, minor) ((major)*1000 + (minor))
#define HELP_LINUX(major, minor) "; since Linux " #major "." #minor
#define SINCE_LINUX_V2(major, minor) SINCE_LINUX(major, minor)
#define HELP_LINUX_V2(major, minor) HELP_LINUX(major, minor) " in v2"

#define FIRST(...) FIRST_OF(__VA_ARGS__, )
#define FIRST_OF(first, ...) first

struct registered {
    struct baro_metric is;
    const char *from[3]; /* what it is read from, for people; for a control group also its files in v2 and in v1 */
    int since;
    uint64_t source;
};

#define METRIC(stem_, unit_, semantics_, source_, since_, help_)                                                       \
    {.is = {.stem = #stem_,                                                                                            \
            .name = #stem_ SUFFIX_##unit_,                                                                             \
            .help = help_ HELP_##since_,                                                                               \
            .file = FIRST(FILE_##source_),                                                                             \
            .unit = BARO_UNIT_##unit_,                                                                                 \
            .semantics = BARO_SEM_##semantics_},                                                                       \
     .from = {FILE_##source_},                                                                                         \
     .since = SINCE_##since_,                                                                                          \
     .source = BARO_SOURCE_##source_},

#define KIND_BEGIN(name) static const struct registered name##_metrics[] = {
#define KIND_END(name, time, counts)                                                                                   \
    }                                                                                                                  \
    ;
#include "libbaro/metric/kinds.def"
#undef KIND_END
#undef KIND_BEGIN
#undef METRIC

static const struct {
    const char *name;
    const struct registered *at;
    int count, time;
    enum counts_since counts;
} kinds[KIND_COUNT] = {
#define METRIC(...)
#define KIND_BEGIN(name)                                                                                               \
    {                                                                                                                  \
#name, name##_metrics,
#define KIND_END(name, time, counts)                                                                                   \
    METRIC_ID(KIND, MAX), METRIC_ID(KIND, time), COUNTS_##counts                                                       \
    }                                                                                                                  \
    ,
#include "libbaro/metric/kinds.def"
#undef KIND_END
#undef KIND_BEGIN
#undef METRIC
};

const char *baro_version(void)
{
    return BARO_VERSION;
}

bool baro_version_check(int major, int minor, int patch)
{
    const int own[] = {BARO_VERSION_MAJOR, BARO_VERSION_MINOR, BARO_VERSION_PATCH}, asked[] = {major, minor, patch};
    for (int i = 0; i < 3; i++) {
        if (own[i] != asked[i])
            return own[i] > asked[i];
    }
    return true;
}

int baro_metric_count(int kind)
{
    return (unsigned)kind < KIND_COUNT ? kinds[kind].count : 0;
}

const struct baro_metric *baro_metric_get(int kind, int id)
{
    return id >= 0 && id < baro_metric_count(kind) ? &kinds[kind].at[id].is : NULL;
}

int baro_metric_since(int kind, int id)
{
    return baro_metric_get(kind, id) ? kinds[kind].at[id].since : 0;
}

uint64_t metric_source(int kind, int id)
{
    return baro_metric_get(kind, id) ? kinds[kind].at[id].source : BARO_SOURCE_NONE;
}

const char *baro_metric_cgroup_file(int kind, int id, int version)
{
    if (!baro_metric_get(kind, id))
        return NULL;
    return version == 2 ? kinds[kind].at[id].from[1] : version == 1 ? kinds[kind].at[id].from[2] : NULL;
}

int metric_find(int kind, const char *name, size_t len)
{
    struct span word = span_of(name, len);
    for (int i = 0; i < baro_metric_count(kind); i++) {
        const struct baro_metric *m = &kinds[kind].at[i].is;
        if (span_equal(word, m->name) || span_equal(word, m->stem))
            return i;
    }
    return -1;
}

int baro_metric_find(int kind, const char *name)
{
    return metric_find(kind, name, strlen(name));
}

int metric_time(int kind)
{
    return kind >= 0 && kind < KIND_COUNT && kinds[kind].time < kinds[kind].count ? kinds[kind].time : -1;
}

enum counts_since metric_counts_since(int kind)
{
    return kind >= 0 && kind < KIND_COUNT ? kinds[kind].counts : COUNTS_UNKNOWN;
}

int baro_kind_count(void)
{
    return KIND_COUNT;
}

int baro_kind_find(const char *name)
{
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        if (strcmp(kinds[kind].name, name) == 0)
            return kind;
    }
    return -1;
}

const char *baro_kind_name(int kind)
{
    return (unsigned)kind < KIND_COUNT ? kinds[kind].name : "unknown";
}

const char *baro_absent_name(enum baro_absent reason)
{
    static const char *const names[ABSENT_COUNT] = {
        [BARO_PRESENT] = "present",
        [BARO_ABSENT_NOT_ASKED] = "not asked",
        [BARO_ABSENT_UNSUPPORTED] = "unsupported",
        [BARO_ABSENT_DENIED] = "denied",
        [BARO_ABSENT_GONE] = "gone",
        [BARO_ABSENT_NOT_YET] = "not yet",
        [BARO_ABSENT_THINNED] = "thinned",
        [BARO_ABSENT_TIMEOUT] = "timeout",
        [BARO_ABSENT_UNKNOWN] = "unknown",
        [BARO_ABSENT_SHARED] = "shared",
    };
    if (reason == BARO_ABSENT_NONE)
        return "none";
    return (unsigned)reason < ABSENT_COUNT ? names[reason] : "unknown";
}

const char *baro_unit_name(enum baro_unit unit)
{
    switch (unit) {
    case BARO_UNIT_NS: return "ns";
    case BARO_UNIT_BYTES: return "bytes";
    case BARO_UNIT_RATIO: return "ratio";
    case BARO_UNIT_HERTZ: return "hertz";
    case BARO_UNIT_CELSIUS: return "celsius";
    case BARO_UNIT_JOULES: return "joules";
    case BARO_UNIT_WATTS: return "watts";
    default: return "";
    }
}

const char *baro_unit_base(enum baro_unit unit)
{
    return unit == BARO_UNIT_NS ? "seconds" : baro_unit_name(unit);
}

double baro_unit_divisor(enum baro_unit unit)
{
    return unit == BARO_UNIT_NS ? 1e9 : 1;
}

const char *baro_unit_ucum(enum baro_unit unit)
{
    switch (unit) {
    case BARO_UNIT_NS: return "s";
    case BARO_UNIT_BYTES: return "By";
    case BARO_UNIT_HERTZ: return "Hz";
    case BARO_UNIT_CELSIUS: return "Cel";
    case BARO_UNIT_JOULES: return "J";
    case BARO_UNIT_WATTS: return "W";
    default: return "1";
    }
}

double baro_metric_real(const struct baro_metric *m, uint64_t stored)
{
    double real;
    switch (m->unit) {
    case BARO_UNIT_RATIO:
    case BARO_UNIT_JOULES:
    case BARO_UNIT_WATTS:
    case BARO_UNIT_DECIMAL: return (double)stored / 1e6;
    case BARO_UNIT_CELSIUS: return (double)(int64_t)stored / 1e3;
    case BARO_UNIT_SIGNED: return (double)(int64_t)stored;
    case BARO_UNIT_REAL: memcpy(&real, &stored, sizeof(real)); return real;
    default: return (double)stored;
    }
}

const char *baro_semantics_name(enum baro_semantics semantics)
{
    static const char *const names[] = {"counter", "gauge", "info"};
    return (unsigned)semantics < sizeof(names) / sizeof(*names) ? names[semantics] : "unknown";
}

unsigned metric_need(uint64_t wanted)
{
    unsigned need = 0;
    for (int i = 0; i < PROCESS_MAX; i++) {
        if (wanted >> i & 1)
            need |= (unsigned)process_metrics[i].source;
    }
    return need;
}

static uint64_t all_metrics(void)
{
    return PROCESS_MAX == 64 ? UINT64_MAX : (UINT64_C(1) << PROCESS_MAX) - 1;
}

/* TCP costs the read of a descriptor per socket, so it is recorded only when asked for. */
static uint64_t default_metrics(void)
{
    uint64_t wanted = all_metrics();
    for (int i = 0; i < PROCESS_MAX; i++)
        wanted &= ~((uint64_t)(process_metrics[i].source == BARO_SOURCE_SOCK_DIAG) << i);
    return wanted;
}

static int take_metric(struct span word, uint64_t *wanted, struct baro_error *err)
{
    scan_blanks(&word);
    bool away = scan_char(&word, '-');
    uint64_t bits;
    if (span_equal(word, "all")) {
        bits = all_metrics();
    } else if (span_equal(word, "default")) {
        bits = default_metrics();
    } else if (span_equal(word, "tcp")) {
        bits = all_metrics() & ~default_metrics();
    } else {
        int id = metric_find(BARO_KIND_PROCESS, word.at, word.len);
        if (id < 0)
            return error_set(err, BARO_E_SYNTAX, "no metric is called '%.*s'; `baro metrics` lists them", (int)word.len,
                             word.at);
        bits = UINT64_C(1) << id;
    }
    *wanted = away ? *wanted & ~bits : *wanted | bits;
    return 0;
}

int metric_parse_list(const char *text, uint64_t *ret_wanted, struct baro_error *err)
{
    uint64_t wanted = *text == '-' ? default_metrics() : 0;
    while (true) {
        size_t n = strcspn(text, ",");
        int code = take_metric(span_of(text, n), &wanted, err);
        if (code < 0)
            return code;
        if (!text[n])
            break;
        text += n + 1;
    }
    *ret_wanted = wanted;
    return 0;
}
