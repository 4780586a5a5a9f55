/* SPDX-License-Identifier: Apache-2.0 */
/* Derived metrics: the table, and how one is computed. include/baro/interval.h has the rules. */
#include <string.h>

#include "baro/interval.h"
#include "libbaro/interval/derive.h"

#define IDS(...) (const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int)
#define RATE(kind, name, unit, help, ...) {BARO_KIND_##kind, name, unit, help, IDS(__VA_ARGS__), NULL, 0},
#define SHARE(kind, name, unit, help, from, per) {BARO_KIND_##kind, name, unit, help, from, per},

/* Each CPU is in exactly one of these states at any moment. */
#define HOST_BUSY DERIVE_HOST_BUSY
#define HOST_ALL HOST_cpu_idle, HOST_cpu_iowait, HOST_cpu_steal, HOST_BUSY
#define CPU_BUSY DERIVE_CPU_BUSY
#define CPU_ALL CPU_idle, CPU_iowait, CPU_steal, CPU_BUSY
#define BARO_KIND_GPU KIND_gpu /* the public API has no constants for these kinds */
#define BARO_KIND_GPU_PROCESS KIND_gpu_process

/* Rows stand in the order of the kinds. A new row goes to the end of its kind, because programs may have stored the
 * numbers. */
/* clang-format off */
static const struct baro_derived table[] = {
    RATE(PROCESS, "cores", "cores", "cores that it used", PROCESS_cpu)
    RATE(PROCESS, "io_read_bytes_per_second", "bytes per second",
         "bytes fetched from storage, with those of children waited for", PROCESS_io_read)
    RATE(PROCESS, "io_write_bytes_per_second", "bytes per second",
         "bytes sent to storage, with those of children waited for", PROCESS_io_write)

    RATE(JOB, "cores", "cores", "cores that it used", JOB_cpu)
    RATE(JOB, "io_read_bytes_per_second", "bytes per second", "bytes fetched from storage", JOB_io_read)
    RATE(JOB, "io_write_bytes_per_second", "bytes per second", "bytes sent to storage", JOB_io_write)

    RATE(RECORDER, "cores", "cores", "cores that all of barograph's own processes used", RECORDER_cpu)

    RATE(HOST, "cores", "cores", "CPUs that were busy: not idle, not waiting for I/O, not taken by the hypervisor",
         HOST_BUSY)
    SHARE(HOST, "cpu_busy_ratio", "ratio", "share of the time of all CPUs in which they were busy", IDS(HOST_BUSY),
          IDS(HOST_ALL))
    SHARE(HOST, "cpu_steal_ratio", "ratio", "share of the time of all CPUs that the hypervisor gave to others",
          IDS(HOST_cpu_steal), IDS(HOST_ALL))
    RATE(HOST, "pressure_cpu_some_ratio", "ratio", "share of time in which some thread waited for a CPU",
         HOST_pressure_cpu_some)
    RATE(HOST, "pressure_memory_some_ratio", "ratio", "share of time in which some thread waited for memory",
         HOST_pressure_memory_some)
    RATE(HOST, "pressure_memory_full_ratio", "ratio",
         "share of time in which all threads that were not idle waited for memory", HOST_pressure_memory_full)
    RATE(HOST, "pressure_io_some_ratio", "ratio", "share of time in which some thread waited for I/O",
         HOST_pressure_io_some)
    RATE(HOST, "pressure_io_full_ratio", "ratio",
         "share of time in which all threads that were not idle waited for I/O", HOST_pressure_io_full)
    RATE(HOST, "disk_read_bytes_per_second", "bytes per second", "bytes read from disks, each counted once",
         HOST_disk_read)
    RATE(HOST, "disk_write_bytes_per_second", "bytes per second", "bytes written to disks, each counted once",
         HOST_disk_write)
    RATE(HOST, "net_receive_bytes_per_second", "bytes per second", "bytes received, each counted once",
         HOST_net_receive)
    RATE(HOST, "net_transmit_bytes_per_second", "bytes per second", "bytes sent, each counted once", HOST_net_transmit)

    RATE(CPU, "cores", "cores",
         "1 where it was always busy: not idle, not waiting for I/O, not taken by the hypervisor", CPU_BUSY)
    SHARE(CPU, "busy_ratio", "ratio", "share of its time in which it was busy", IDS(CPU_BUSY), IDS(CPU_ALL))
    SHARE(CPU, "steal_ratio", "ratio", "share of its time that the hypervisor gave to others", IDS(CPU_steal),
          IDS(CPU_ALL))

    RATE(DISK, "read_bytes_per_second", "bytes per second", "bytes read", DISK_read)
    RATE(DISK, "write_bytes_per_second", "bytes per second", "bytes written", DISK_write)
    RATE(DISK, "reads_per_second", "per second", "reads completed", DISK_reads)
    RATE(DISK, "writes_per_second", "per second", "writes completed", DISK_writes)
    RATE(DISK, "busy_ratio", "ratio", "share of time in which at least one request was under way", DISK_busy)
    RATE(DISK, "queue_mean", "", "requests under way, in the mean", DISK_queue_time)
    SHARE(DISK, "read_mean_ns", "ns", "time that a read took, in the mean", IDS(DISK_read_time), IDS(DISK_reads))
    SHARE(DISK, "write_mean_ns", "ns", "time that a write took, in the mean", IDS(DISK_write_time), IDS(DISK_writes))

    RATE(NET, "receive_bytes_per_second", "bytes per second", "bytes received", NET_receive)
    RATE(NET, "transmit_bytes_per_second", "bytes per second", "bytes sent", NET_transmit)
    RATE(NET, "receive_packets_per_second", "per second", "packets received", NET_receive_packets)
    RATE(NET, "transmit_packets_per_second", "per second", "packets sent", NET_transmit_packets)

    RATE(CGROUP, "cores", "cores", "cores that all that is in it used", CGROUP_cpu)
    SHARE(CGROUP, "cpu_throttled_periods_ratio", "ratio", "share of periods in which it used up its CPU quota",
          IDS(CGROUP_cpu_throttled_periods), IDS(CGROUP_cpu_periods))
    RATE(CGROUP, "io_read_bytes_per_second", "bytes per second", "bytes read from devices", CGROUP_io_read)
    RATE(CGROUP, "io_write_bytes_per_second", "bytes per second", "bytes written to devices", CGROUP_io_write)
    RATE(CGROUP, "pressure_cpu_some_ratio", "ratio", "share of time in which some of its threads waited for a CPU",
         CGROUP_pressure_cpu_some)
    RATE(CGROUP, "pressure_cpu_full_ratio", "ratio",
         "share of time in which all of its threads that were not idle waited for a CPU", CGROUP_pressure_cpu_full)
    RATE(CGROUP, "pressure_memory_some_ratio", "ratio",
         "share of time in which some of its threads waited for memory", CGROUP_pressure_memory_some)
    RATE(CGROUP, "pressure_memory_full_ratio", "ratio",
         "share of time in which all of its threads that were not idle waited for memory", CGROUP_pressure_memory_full)
    RATE(CGROUP, "pressure_io_some_ratio", "ratio", "share of time in which some of its threads waited for I/O",
         CGROUP_pressure_io_some)
    RATE(CGROUP, "pressure_io_full_ratio", "ratio",
         "share of time in which all of its threads that were not idle waited for I/O", CGROUP_pressure_io_full)

    RATE(TASK, "cores", "cores", "cores that its processes used", TASK_cpu)
    RATE(TASK, "io_read_bytes_per_second", "bytes per second",
         "bytes fetched from storage, with those of children that were waited for", TASK_io_read)
    RATE(TASK, "io_write_bytes_per_second", "bytes per second",
         "bytes sent to storage, with those of children that were waited for", TASK_io_write)

    RATE(GPU, "busy_ratio", "ratio", "share of time in which a kernel ran on it", GPU_busy)
    RATE(GPU, "busy_job_ratio", "ratio", "what processes of the job used of its time", GPU_busy_job)
    RATE(GPU, "busy_others_ratio", "ratio", "the same of processes that are not the job's", GPU_busy_others)
    RATE(GPU, "memory_busy_ratio", "ratio", "share of time in which its memory was read or written", GPU_memory_busy)
    RATE(GPU, "sm_active_ratio", "ratio", "its multiprocessors with work, in the mean of all of them", GPU_sm_active)
    RATE(GPU, "sm_occupancy_ratio", "ratio", "what they had resident, of what they could have had", GPU_sm_occupied)
    RATE(GPU, "pcie_received_bytes_per_second", "bytes per second", "bytes received over PCIe", GPU_pcie_received)
    RATE(GPU, "pcie_sent_bytes_per_second", "bytes per second", "bytes sent over PCIe", GPU_pcie_sent)

    RATE(GPU_PROCESS, "busy_ratio", "ratio", "what it used of the GPU's time", GPU_PROCESS_busy)
};
/* clang-format on */
#define ROWS (sizeof(table) / sizeof(*table))

/* ---- the table ---- */

int baro_derived_count(int kind)
{
    int n = 0;
    for (size_t row = 0; row < ROWS; row++)
        n += table[row].kind == kind;
    return n;
}

const struct baro_derived *baro_derived_get(int kind, int i)
{
    for (size_t row = 0; row < ROWS && i >= 0; row++) {
        if (table[row].kind == kind && i-- == 0)
            return &table[row];
    }
    return NULL;
}

int baro_derived_find(int kind, const char *name)
{
    return derive_find(kind, name, strlen(name));
}

int derive_find(int kind, const char *name, size_t len)
{
    const struct baro_derived *d;
    for (int i = 0; (d = baro_derived_get(kind, i)); i++) {
        if (strlen(d->name) == len && memcmp(d->name, name, len) == 0)
            return i;
    }
    return -1;
}

/* ---- computing ---- */

/* Computes the growth of the sum of counters: base/growth.h. */
static enum baro_absent summed_growth(const struct baro_row *before, const struct baro_row *now, const int *id,
                                      size_t n, uint64_t *ret)
{
    uint64_t sum_before = 0, sum_now = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t v0 = 0, v1 = 0;
        enum baro_absent absent = baro_row_value(now, id[i], &v1);
        if (absent == BARO_PRESENT)
            absent = baro_row_value(before, id[i], &v0);
        if (absent != BARO_PRESENT && i == 0)
            return absent;
        sum_before += absent == BARO_PRESENT ? v0 : 0;
        sum_now += absent == BARO_PRESENT ? v1 : 0;
    }
    return growth_between(sum_before, sum_now, ret) ? BARO_PRESENT : BARO_ABSENT_UNKNOWN;
}

/* The kernel counts the time of each CPU in ticks, mostly of 10 ms: over 100 ms two CPUs seem to be busy for 220 ms. */
static double within_machine(const struct baro_row *now, const struct baro_derived *d, double value)
{
    const int kind = baro_row_kind(now);
    uint64_t cpus = kind == BARO_KIND_CPU;
    if (strcmp(d->unit, "cores") != 0 || (kind != BARO_KIND_HOST && kind != BARO_KIND_CPU) ||
        (kind == BARO_KIND_HOST && baro_row_value(now, HOST_cpus, &cpus) != BARO_PRESENT) || !cpus)
        return value;
    return value < (double)cpus ? value : (double)cpus;
}

enum baro_absent derive_between(const struct baro_row *before, const struct baro_row *now, uint64_t *ret_t0_ns,
                                uint64_t *ret_t1_ns)
{
    if (!now)
        return BARO_ABSENT_UNKNOWN;
    if (!before)
        return BARO_ABSENT_NOT_YET;
    if (baro_row_kind(before) != baro_row_kind(now) || baro_row_id(before) != baro_row_id(now))
        return BARO_ABSENT_UNKNOWN;
    enum baro_absent absent = baro_row_read_ns(now, ret_t1_ns);
    return absent == BARO_PRESENT ? baro_row_read_ns(before, ret_t0_ns) : absent;
}

enum baro_absent baro_row_derived(const struct baro_row *before, const struct baro_row *now, int derived, double *ret)
{
    uint64_t growth = 0, divisor = 0, t0_ns = 0, t1_ns = 0;
    const struct baro_derived *d = baro_derived_get(baro_row_kind(now), derived);
    enum baro_absent absent = now && !d ? BARO_ABSENT_UNSUPPORTED : derive_between(before, now, &t0_ns, &t1_ns);
    if (absent == BARO_PRESENT)
        absent = summed_growth(before, now, d->from, d->n_from, &growth);
    if (absent == BARO_PRESENT && d->per)
        absent = summed_growth(before, now, d->per, d->n_per, &divisor);
    if (absent != BARO_PRESENT)
        return absent;
    if (t1_ns <= t0_ns || (d->per && divisor == 0))
        return BARO_ABSENT_UNKNOWN;
    if (d->per) {
        *ret = (double)growth / (double)divisor;
        return BARO_PRESENT;
    }
    bool is_time = baro_metric_get(d->kind, d->from[0])->unit == BARO_UNIT_NS;
    *ret = within_machine(now, d, (double)growth * (is_time ? 1 : 1e9) / (double)(t1_ns - t0_ns));
    return BARO_PRESENT;
}
