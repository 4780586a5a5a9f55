/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the whole machine: memory, events, load, pressure. Each file has a table of its metrics. */
#include "recorder/collectors/host/state.h"

#define COUNT(table) (sizeof(table) / sizeof(*(table)))
#define VMSTAT_GROWS 128u

static void lack_all(struct host *h, enum host_metric first, enum host_metric last, enum baro_absent why)
{
    for (int m = (int)first; m <= (int)last; m++)
        host_lack(h, (enum host_metric)m, why);
}

static void put_difference(struct host *h, enum host_metric to, enum host_metric whole, enum host_metric part)
{
    if (h->absent[whole] || h->absent[part])
        host_lack(h, to, h->absent[whole] ? h->absent[whole] : h->absent[part]);
    else
        host_put(h, to, h->value[whole] > h->value[part] ? h->value[whole] - h->value[part] : 0);
}

void host_memory(struct host *h)
{
    static const struct {
        enum host_metric metric;
        enum meminfo_field field;
    } rows[] = {
        {HOST_memory_total, MEM_TOTAL},
        {HOST_memory_free, MEM_FREE},
        {HOST_memory_available, MEM_AVAILABLE},
        {HOST_memory_buffers, MEM_BUFFERS},
        {HOST_memory_cached, MEM_CACHED},
        {HOST_memory_active, MEM_ACTIVE},
        {HOST_memory_inactive, MEM_INACTIVE},
        {HOST_memory_active_anon, MEM_ACTIVE_ANON},
        {HOST_memory_inactive_anon, MEM_INACTIVE_ANON},
        {HOST_memory_active_file, MEM_ACTIVE_FILE},
        {HOST_memory_inactive_file, MEM_INACTIVE_FILE},
        {HOST_memory_anon, MEM_ANON},
        {HOST_memory_slab, MEM_SLAB},
        {HOST_memory_slab_reclaimable, MEM_SLAB_RECLAIMABLE},
        {HOST_memory_shmem, MEM_SHMEM},
        {HOST_memory_dirty, MEM_DIRTY},
        {HOST_memory_writeback, MEM_WRITEBACK},
        {HOST_hugepages_total, MEM_HUGE_TOTAL},
        {HOST_hugepages_free, MEM_HUGE_FREE},
        {HOST_swap_total, MEM_SWAP_TOTAL},
        {HOST_swap_free, MEM_SWAP_FREE},
        {HOST_zswap, MEM_ZSWAP},
        {HOST_zswapped, MEM_ZSWAPPED},
    };
    struct proc_meminfo m;
    struct span text;
    if (!host_file(h, HOST_FILE_MEMINFO, &text) || proc_meminfo_parse(text, &m) < 0) {
        uint8_t why = h->file_absent[HOST_FILE_MEMINFO];
        lack_all(h, HOST_memory_total, HOST_zswapped, why ? why : BARO_ABSENT_UNKNOWN);
        return;
    }
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (m.valid >> rows[i].field & 1)
            host_put(h, rows[i].metric, m.value[rows[i].field]);
        else
            host_lack(h, rows[i].metric, BARO_ABSENT_UNSUPPORTED);
    }
    put_difference(h, HOST_memory_used, HOST_memory_total, HOST_memory_available);
    put_difference(h, HOST_swap_used, HOST_swap_total, HOST_swap_free);
}

/* Puts the sum of some counters times a factor; absent unless all of them are there. */
static void sum(struct host *h, enum host_metric to, const struct proc_vmstat *vm, uint32_t fields, uint64_t factor)
{
    uint64_t v = 0;
    if ((vm->valid & fields) != fields) {
        host_lack(h, to, BARO_ABSENT_UNSUPPORTED);
        return;
    }
    for (int i = 0; i < VM_MAX; i++) {
        if (fields >> i & 1 && __builtin_add_overflow(v, vm->value[i], &v))
            factor = 0;
    }
    if (factor)
        host_put_times(h, to, v, factor);
    else
        host_lack(h, to, BARO_ABSENT_UNKNOWN);
}

/* The kernel produces /proc/vmstat line by line, and a third of the lines come after the last one that we need. So a
 * tick reads as many bytes as were needed the last time and some more, as numbers grow; and the whole file if that was
 * not enough. */
static bool read_events(struct host *h, struct proc_vmstat *ret)
{
    struct span text;
    if (h->vmstat_end && host_file_begin(h, HOST_FILE_VMSTAT, h->vmstat_end + VMSTAT_GROWS, &text) &&
        proc_vmstat_parse(text, ret) == 0 && ret->valid == h->vmstat_valid) {
        h->vmstat_end = ret->end;
        return true;
    }
    h->vmstat_end = 0;
    if (!host_file(h, HOST_FILE_VMSTAT, &text) || proc_vmstat_parse(text, ret) < 0)
        return false;
    h->vmstat_valid = ret->valid;
    h->vmstat_end = ret->end;
    return true;
}

void host_events(struct host *h)
{
    struct proc_vmstat vm;
    uint64_t page = h->o.page_size;
    if (!read_events(h, &vm)) {
        uint8_t why = h->file_absent[HOST_FILE_VMSTAT];
        lack_all(h, HOST_faults_minor, HOST_oom_kills, why ? why : BARO_ABSENT_UNKNOWN);
        return;
    }
    sum(h, HOST_faults_major, &vm, 1u << VM_FAULTS_MAJOR, 1);
    if ((vm.valid >> VM_FAULTS & 1) && (vm.valid >> VM_FAULTS_MAJOR & 1) &&
        vm.value[VM_FAULTS] >= vm.value[VM_FAULTS_MAJOR])
        host_put(h, HOST_faults_minor, vm.value[VM_FAULTS] - vm.value[VM_FAULTS_MAJOR]);
    else
        host_lack(h, HOST_faults_minor, BARO_ABSENT_UNSUPPORTED);
    sum(h, HOST_reclaim_scanned, &vm, 1u << VM_SCAN_KSWAPD | 1u << VM_SCAN_DIRECT, page);
    sum(h, HOST_reclaim_direct, &vm, 1u << VM_SCAN_DIRECT, page);
    sum(h, HOST_reclaimed, &vm, 1u << VM_STEAL_KSWAPD | 1u << VM_STEAL_DIRECT, page);
    sum(h, HOST_swap_in, &vm, 1u << VM_SWAP_IN, page);
    sum(h, HOST_swap_out, &vm, 1u << VM_SWAP_OUT, page);
    sum(h, HOST_oom_kills, &vm, 1u << VM_OOM_KILLS, 1);
}

void host_load(struct host *h)
{
    struct proc_loadavg l;
    struct span text;
    uint64_t ns;
    bool read = host_file(h, HOST_FILE_LOADAVG, &text) && proc_loadavg_parse(text, &l) == 0;
    if (read && !l.threads) { /* there is at least our own thread: these zeros are made up (gVisor) */
        lack_all(h, HOST_load_1m, HOST_threads, BARO_ABSENT_UNSUPPORTED);
    } else if (read) {
        host_put(h, HOST_load_1m, l.load_1m);
        host_put(h, HOST_load_5m, l.load_5m);
        host_put(h, HOST_load_15m, l.load_15m);
        host_put(h, HOST_threads, l.threads);
    } else {
        uint8_t why = h->file_absent[HOST_FILE_LOADAVG];
        lack_all(h, HOST_load_1m, HOST_threads, why ? why : BARO_ABSENT_UNKNOWN);
    }
    if (host_file(h, HOST_FILE_UPTIME, &text) && proc_uptime_parse(text, &ns) == 0)
        host_put(h, HOST_uptime, ns);
    else
        host_lack(h, HOST_uptime,
                  h->file_absent[HOST_FILE_UPTIME] ? h->file_absent[HOST_FILE_UPTIME] : BARO_ABSENT_UNKNOWN);
}

void host_pressure(struct host *h)
{
    static const struct {
        enum host_file file;
        int some, full; /* -1: not a metric */
    } rows[] = {
        {HOST_FILE_PRESSURE_CPU, HOST_pressure_cpu_some, -1}, /* "full" is always 0 for the whole machine */
        {HOST_FILE_PRESSURE_MEMORY, HOST_pressure_memory_some, HOST_pressure_memory_full},
        {HOST_FILE_PRESSURE_IO, HOST_pressure_io_some, HOST_pressure_io_full},
        {HOST_FILE_PRESSURE_IRQ, -1, HOST_pressure_irq_full},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct proc_pressure p = {.has_some = false};
        struct span text;
        uint8_t why = BARO_ABSENT_UNSUPPORTED;
        if (!host_file(h, rows[i].file, &text))
            why = h->file_absent[rows[i].file];
        else if (proc_pressure_parse(text, &p) < 0)
            why = BARO_ABSENT_UNKNOWN;
        if (rows[i].some >= 0 && p.has_some)
            host_put(h, (enum host_metric)rows[i].some, p.some_ns);
        else if (rows[i].some >= 0)
            host_lack(h, (enum host_metric)rows[i].some, why);
        if (rows[i].full >= 0 && p.has_full)
            host_put(h, (enum host_metric)rows[i].full, p.full_ns);
        else if (rows[i].full >= 0)
            host_lack(h, (enum host_metric)rows[i].full, why);
    }
}
