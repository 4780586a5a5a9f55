/* SPDX-License-Identifier: Apache-2.0 */
#include "output/rows/dialect_table.h"

#include <stddef.h>

#include "output/rows/dialect.h"

const char *const dialect_names[] = {"spare-cores", "spare-cores-mended", "spare-cores-0.5", "pytyche-cpu",
                                     "pytyche-hw",  "pytyche-dmon",       "oasislmf",        NULL};

#define USER_TIME "cpu_user+cpu_nice+cpu_guest+cpu_guest_nice"
#define SYSTEM_TIME "cpu_system+cpu_irq+cpu_softirq"

/* of_job: "_job" or nothing */
#define GPUS(vram, of_job)                                                                                             \
    {"gpu_usage", FROM_GPU, "busy" of_job, FORM_SHARE},                                                                \
        {vram, FROM_GPU, of_job[0] ? "memory_job" : "memory_used", FORM_MIB},                                          \
    {                                                                                                                  \
        "gpu_utilized", FROM_GPU, "busy" of_job, FORM_USED                                                             \
    }

/* Spare Cores resource-tracker, PidTracker: as it writes, and corrected. */
static const struct dialect_column pid_tracker[] = {
    {"timestamp", FROM_TIME, NULL, FORM_EPOCH},
    {"pid", FROM_PID, NULL, FORM_COUNT},
    {"children", FROM_CHILDREN, NULL, FORM_COUNT},
    {"utime", FROM_JOB, "cpu_user", FORM_TICKS},
    {"stime", FROM_JOB, "cpu_system", FORM_TICKS},
    {"cpu_usage", FROM_NOTHING, NULL, FORM_CORES},
    {"pss", FROM_SUM, "pss", FORM_KIB},
    {"read_bytes", FROM_JOB, "io_read", FORM_GROWN},
    {"write_bytes", FROM_JOB, "io_write", FORM_GROWN},
    GPUS("gpu_vram", "_job"),
};

/* SystemTracker: as it writes. */
static const struct dialect_column system_tracker[] = {
    {"timestamp", FROM_TIME, NULL, FORM_EPOCH},
    {"processes", FROM_HOST, "forks", FORM_COUNT},
    {"utime", FROM_HOST, USER_TIME, FORM_TICKS},
    {"stime", FROM_HOST, "cpu_system", FORM_TICKS},
    {"cpu_usage", FROM_NOTHING, NULL, FORM_CORES},
    {"memory_free", FROM_HOST, "memory_free", FORM_KIB},
    {"memory_used", FROM_HOST, "memory_total-memory_free-memory_buffers-memory_cached", FORM_KIB},
    {"memory_buffers", FROM_HOST, "memory_buffers", FORM_KIB},
    {"memory_cached", FROM_HOST, "memory_cached", FORM_KIB},
    {"memory_active_anon", FROM_HOST, "memory_active_anon", FORM_KIB},
    {"memory_inactive_anon", FROM_HOST, "memory_inactive_anon", FORM_KIB},
    {"disk_read_bytes", FROM_DISK, "read", FORM_GROWN},
    {"disk_write_bytes", FROM_DISK, "write", FORM_GROWN},
    {"disk_space_total_gb", FROM_FS, "total", FORM_GIB},
    {"disk_space_used_gb", FROM_FS, "total-available", FORM_GIB},
    {"disk_space_free_gb", FROM_FS, "available", FORM_GIB},
    {"net_recv_bytes", FROM_NET, "receive", FORM_GROWN},
    {"net_sent_bytes", FROM_NET, "transmit", FORM_GROWN},
    GPUS("gpu_vram", ""),
};

/* The same, corrected. */
static const struct dialect_column system_tracker_mended[] = {
    {"timestamp", FROM_TIME, NULL, FORM_EPOCH},
    {"processes", FROM_HOST, "threads_running", FORM_COUNT},
    {"utime", FROM_HOST, USER_TIME, FORM_TICKS},
    {"stime", FROM_HOST, SYSTEM_TIME, FORM_TICKS},
    {"cpu_usage", FROM_NOTHING, NULL, FORM_CORES},
    {"memory_free", FROM_HOST, "memory_free", FORM_KIB},
    {"memory_used", FROM_HOST, "memory_used", FORM_KIB},
    {"memory_buffers", FROM_HOST, "memory_buffers", FORM_KIB},
    {"memory_cached", FROM_HOST, "memory_cached", FORM_KIB},
    {"memory_active_anon", FROM_HOST, "memory_active_anon", FORM_KIB},
    {"memory_inactive_anon", FROM_HOST, "memory_inactive_anon", FORM_KIB},
    {"disk_read_bytes", FROM_HOST, "disk_read", FORM_GROWN},
    {"disk_write_bytes", FROM_HOST, "disk_write", FORM_GROWN},
    {"disk_space_total_gb", FROM_FS, "total", FORM_GIB},
    {"disk_space_used_gb", FROM_FS, "used", FORM_GIB},
    {"disk_space_free_gb", FROM_FS, "available", FORM_GIB},
    {"net_recv_bytes", FROM_HOST, "net_receive", FORM_GROWN},
    {"net_sent_bytes", FROM_HOST, "net_transmit", FORM_GROWN},
    GPUS("gpu_vram", ""),
};

/* ProcessTracker and SystemTracker of its release 0.5 */
static const struct dialect_column process_tracker[] = {
    {"timestamp", FROM_TIME, NULL, FORM_EPOCH_MS},
    {"pid", FROM_PID, NULL, FORM_COUNT},
    {"children", FROM_CHILDREN, NULL, FORM_COUNT},
    {"utime", FROM_JOB, "cpu_user", FORM_GROWN_S},
    {"stime", FROM_JOB, "cpu_system", FORM_GROWN_S},
    {"cpu_usage", FROM_NOTHING, NULL, FORM_CORES},
    {"memory_mib", FROM_SUM, "pss", FORM_MIB},
    {"disk_read_bytes", FROM_JOB, "io_read", FORM_GROWN},
    {"disk_write_bytes", FROM_JOB, "io_write", FORM_GROWN},
    GPUS("gpu_vram_mib", "_job"),
};

static const struct dialect_column system_tracker_0_5[] = {
    {"timestamp", FROM_TIME, NULL, FORM_EPOCH_MS},
    {"processes", FROM_NOTHING, NULL, FORM_COUNT},
    {"utime", FROM_HOST, USER_TIME, FORM_GROWN_S},
    {"stime", FROM_HOST, SYSTEM_TIME, FORM_GROWN_S},
    {"cpu_usage", FROM_NOTHING, NULL, FORM_CORES},
    {"memory_free_mib", FROM_HOST, "memory_free", FORM_MIB},
    {"memory_used_mib", FROM_HOST, "memory_used", FORM_MIB},
    {"memory_buffers_mib", FROM_HOST, "memory_buffers", FORM_MIB},
    {"memory_cached_mib", FROM_HOST, "memory_cached+memory_slab_reclaimable", FORM_MIB},
    {"memory_active_mib", FROM_HOST, "memory_active", FORM_MIB},
    {"memory_inactive_mib", FROM_HOST, "memory_inactive", FORM_MIB},
    {"disk_read_bytes", FROM_HOST, "disk_read", FORM_GROWN},
    {"disk_write_bytes", FROM_HOST, "disk_write", FORM_GROWN},
    {"disk_space_total_gb", FROM_FS, "total", FORM_GB},
    {"disk_space_used_gb", FROM_FS, "used", FORM_GB},
    {"disk_space_free_gb", FROM_FS, "available", FORM_GB},
    {"net_recv_bytes", FROM_HOST, "net_receive", FORM_GROWN},
    {"net_sent_bytes", FROM_HOST, "net_transmit", FORM_GROWN},
    GPUS("gpu_vram_mib", ""),
};

/* pytyche.diagnostics.run_monitor, cpu_metrics.csv */
static const struct dialect_column pytyche_cpu[] = {
    {"timestamp", FROM_TIME, NULL, FORM_ISO},
    {"usr_pct", FROM_HOST, USER_TIME, FORM_PERCENT},
    {"idle_pct", FROM_HOST, "cpu_idle", FORM_PERCENT},
};

/* oasislmf.execution.resource_monitor, resource_monitor.csv */
static const struct dialect_column oasislmf[] = {
    {"timestamp", FROM_TIME, NULL, FORM_EPOCH},
    {"tool", FROM_TASK, NULL, FORM_TEXT},
    {"pid", FROM_PID, NULL, FORM_COUNT},
    {"cpu_pct", FROM_CORES, "cores", FORM_OF_CORE},
    {"cpu_user_s", FROM_PROCESS, "cpu_user", FORM_SECONDS},
    {"cpu_sys_s", FROM_PROCESS, "cpu_system", FORM_SECONDS},
    {"rss_kb", FROM_PROCESS, "rss", FORM_KIB},
    {"uss_kb", FROM_PROCESS, "uss", FORM_KIB},
    {"pss_kb", FROM_PROCESS, "pss", FORM_KIB},
};

#define COLUMNS(of) .columns = (of), .n = sizeof(of) / sizeof(*(of))

/* Tables of one name stand together. */
const struct dialect_table dialect_tables[] = {
    {"spare-cores", "as PidTracker and SystemTracker of resource-tracker write it, with their faults",
     BARO_KIND_PROCESS, .quoted = true, .nan = true, .end = "\r\n", COLUMNS(pid_tracker)},
    {"spare-cores", NULL, BARO_KIND_HOST, .quoted = true, .nan = true, .end = "\r\n", COLUMNS(system_tracker)},
    {"spare-cores-mended", "the same columns, corrected", BARO_KIND_PROCESS, .quoted = true, .last = true,
     .end = "\r\n", COLUMNS(pid_tracker)},
    {"spare-cores-mended", NULL, BARO_KIND_HOST, .quoted = true, .end = "\r\n", COLUMNS(system_tracker_mended)},
    {"spare-cores-0.5", "as ProcessTracker and SystemTracker of resource-tracker 0.5 write it", BARO_KIND_PROCESS,
     .quoted = true, .last = true, .end = "\n", COLUMNS(process_tracker)},
    {"spare-cores-0.5", NULL, BARO_KIND_HOST, .quoted = true, .end = "\n", COLUMNS(system_tracker_0_5)},
    {"pytyche-cpu", "cpu_metrics.csv of pytyche: timestamp,usr_pct,idle_pct", BARO_KIND_HOST, .whole = true,
     .end = "\n", COLUMNS(pytyche_cpu)},
    {"pytyche-hw", "hw_metrics.csv of pytyche: each GPU as nvidia-smi --query-gpu writes it", BARO_KIND_HOST,
     .gpu = DIALECT_GPU_SMI, .end = "\n"},
    {"pytyche-dmon", "hw_dmon.csv of pytyche: each GPU as nvidia-smi dmon writes it", BARO_KIND_HOST,
     .gpu = DIALECT_GPU_DMON, .end = "\n"},
    {"oasislmf", "resource_monitor.csv of OasisLMF: each process by tool, which is its task or its program",
     BARO_KIND_PROCESS, .each = true, .end = "\r\n", COLUMNS(oasislmf)},
};
const size_t dialect_table_count = sizeof(dialect_tables) / sizeof(*dialect_tables);
