/* SPDX-License-Identifier: Apache-2.0 */
/* How the values of each metric are scaled, and with which other metric each grows. The tape's schema has these
 * numbers, so they can be changed freely. */
#include <string.h>

#include "libbaro/tape/schema.h"

enum {
    THOUSANDS = SCALE_DECIMAL + 3,
    HUNDREDTHS = SCALE_DECIMAL + 4,
    MILLISECONDS = SCALE_DECIMAL + 6,
    TICKS = SCALE_DECIMAL + 7
};

/* Returns the scale of a metric of the machine, by the unit in which the kernel counts: clock ticks of 10 ms,
 * milliseconds (diskstats), microseconds (pressure, cpu.stat), sectors of 512 bytes, kHz, whole degrees, load in
 * hundredths. */
static uint8_t machine_scale(enum baro_kind kind, int id)
{
    uint64_t source = metric_source(kind, id);
    switch (baro_metric_get(kind, id)->unit) {
    case BARO_UNIT_NS:
        if (source & (BARO_SOURCE_PROC_STAT | BARO_SOURCE_UPTIME))
            return TICKS;
        return source == BARO_SOURCE_DISKSTATS                        ? MILLISECONDS
               : source & (BARO_SOURCE_PRESSURE | BARO_SOURCE_CGROUP) ? THOUSANDS
                                                                      : 0;
    case BARO_UNIT_BYTES:
        if (source & BARO_SOURCE_NETDEV)
            return 0;
        return source & BARO_SOURCE_DISKSTATS ? 9 : 12;
    case BARO_UNIT_HERTZ:
    case BARO_UNIT_CELSIUS:
    case BARO_UNIT_WATTS: return THOUSANDS;
    case BARO_UNIT_DECIMAL: return HUNDREDTHS;
    default: return 0;
    }
}

/* Pages are 4096 bytes at least; smaps_rollup counts KiB; reads and writes come in any size. */
static uint8_t scale_of(enum baro_kind kind, int id)
{
    if (kind >= BARO_KIND_HOST)
        return machine_scale(kind, id);
    if (baro_metric_get(kind, id)->unit != BARO_UNIT_BYTES)
        return 0;
    if (kind == BARO_KIND_PROCESS) {
        if (id == PROCESS_pss || id == PROCESS_uss)
            return 10;
        return id == PROCESS_io_rchar || id == PROCESS_io_wchar ? 0 : 12;
    }
    if (kind == BARO_KIND_JOB)
        return id == JOB_io_rchar || id == JOB_io_wchar ? 0 : 12;
    if (kind == BARO_KIND_EXIT)
        return id == EXIT_io_rchar || id == EXIT_io_wchar ? 0 : 10;
    return 12;
}

enum { NO_COLUMN = -1 };

static void relate(struct tape_columns *c, int column, int with, int without)
{
    c->at[column].with = (uint8_t)(with + 1);
    c->at[column].without = (uint8_t)(without + 1);
    c->related = true;
}

/* The kernel splits a precise CPU time into user and system time, and one of the two is often most of it. */
static void relate_cpu(struct tape_columns *c, int cpu, int user, int system)
{
    relate(c, user, cpu, NO_COLUMN);
    relate(c, system, cpu, user);
}

static void relate_host(struct tape_columns *c)
{
    relate(c, HOST_memory_available, HOST_memory_free, NO_COLUMN);
    relate(c, HOST_memory_used, HOST_memory_total, HOST_memory_available);
    relate(c, HOST_memory_active_file, HOST_memory_active, HOST_memory_active_anon);
    relate(c, HOST_memory_inactive_file, HOST_memory_inactive, HOST_memory_inactive_anon);
    relate(c, HOST_memory_anon, HOST_memory_inactive_anon, NO_COLUMN);
    relate(c, HOST_swap_used, HOST_swap_total, HOST_swap_free);
}

static void relate_columns(enum baro_kind kind, struct tape_columns *c)
{
    switch (kind) {
    case BARO_KIND_PROCESS: relate_cpu(c, PROCESS_cpu, PROCESS_cpu_user, PROCESS_cpu_system); break;
    case BARO_KIND_JOB:
        relate_cpu(c, JOB_cpu, JOB_cpu_user, JOB_cpu_system);
        relate(c, JOB_cpu_counted, JOB_cpu, NO_COLUMN);
        break;
    case BARO_KIND_HOST: relate_host(c); break;
    case BARO_KIND_FS: relate(c, FS_available, FS_total, FS_used); break;
    case BARO_KIND_CGROUP:
        relate_cpu(c, CGROUP_cpu, CGROUP_cpu_user, CGROUP_cpu_system);
        relate(c, CGROUP_memory_inactive_file, CGROUP_memory, CGROUP_memory_working_set);
        break;
    default: break;
    }
}

void columns_of_kind(enum baro_kind kind, struct tape_columns *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->n = (unsigned)baro_metric_count(kind);
    for (unsigned i = 0; i < ret->n; i++)
        ret->at[i].scale = scale_of(kind, (int)i);
    relate_columns(kind, ret);
}

void columns_of_metrics(const struct baro_metric *const *metric, size_t n, struct tape_columns *ret)
{
    /* Whole numbers below 2^33 have these bits of a double at 0, and so have their differences. */
    enum { WHOLE = 20 };
    memset(ret, 0, sizeof *ret);
    ret->n = n < COLUMNS_MAX ? (unsigned)n : COLUMNS_MAX;
    for (unsigned i = 0; i < ret->n; i++) {
        bool real = metric[i]->unit == BARO_UNIT_REAL;
        ret->at[i].scale = real ? WHOLE : 0;
    }
}
