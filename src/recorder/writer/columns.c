/* SPDX-License-Identifier: Apache-2.0 */
/* How each metric is predicted and scaled. What stands here goes into the tape's schema, so it can change freely. */
#include <string.h>

#include "libbaro/tape/schema.h"

static void of_sum(struct tape_column *c, enum predictor p, unsigned n, const uint8_t *terms, unsigned first_minus)
{
    c->predictor = (uint8_t)p;
    c->n_terms = (uint8_t)n;
    for (unsigned i = 0; i < n; i++) {
        c->term[i] = terms[i];
        c->minus[i] = i >= first_minus;
    }
}

static void of_one(struct tape_column *c, enum predictor p, unsigned term)
{
    c->predictor = (uint8_t)p;
    c->n_terms = 1;
    c->term[0] = (uint8_t)term;
}

enum {
    THOUSANDS = SCALE_DECIMAL + 3,
    HUNDREDTHS = SCALE_DECIMAL + 4,
    MILLISECONDS = SCALE_DECIMAL + 6,
    TICKS = SCALE_DECIMAL + 7
};

/* What the kernel counts the machine in: clock ticks of 10 ms, milliseconds (diskstats), microseconds (pressure,
 * cpu.stat), sectors of 512 bytes, kHz, whole degrees, load in hundredths. */
static uint8_t machine_scale(enum baro_kind kind, int id)
{
    const struct baro_metric *m = baro_metric_get(kind, id);
    switch (m->unit) {
    case BARO_UNIT_NS:
        if (m->source & (BARO_SOURCE_PROC_STAT | BARO_SOURCE_UPTIME))
            return TICKS;
        return m->source == BARO_SOURCE_DISKSTATS                        ? MILLISECONDS
               : m->source & (BARO_SOURCE_PRESSURE | BARO_SOURCE_CGROUP) ? THOUSANDS
                                                                         : 0;
    case BARO_UNIT_BYTES:
        if (m->source & BARO_SOURCE_NETDEV)
            return 0;
        return m->source & BARO_SOURCE_DISKSTATS ? 9 : 12;
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

static void process_columns(struct tape_columns *c)
{
    of_one(&c->at[PROCESS_cpu_user], PREDICT_SHARE, PROCESS_cpu);
    of_sum(&c->at[PROCESS_cpu_system], PREDICT_SUM, 2, (const uint8_t[]){PROCESS_cpu, PROCESS_cpu_user}, 1);
    /* stat counts rss from per-CPU counters that lag (6.2 on), status sums them; VmHWM is made of what status says. */
    static const uint8_t parts[] = {PROCESS_rss_anon, PROCESS_rss_file, PROCESS_rss_shmem};
    of_sum(&c->at[PROCESS_rss_peak], PREDICT_PEAK, 3, parts, 3);
    of_sum(&c->at[PROCESS_uss], PREDICT_SUM, 1, (const uint8_t[]){PROCESS_pss}, 1);
}

static void job_columns(struct tape_columns *c)
{
    of_one(&c->at[JOB_cpu_user], PREDICT_SHARE, JOB_cpu);
    of_sum(&c->at[JOB_cpu_system], PREDICT_SUM, 2, (const uint8_t[]){JOB_cpu, JOB_cpu_user}, 1);
    of_sum(&c->at[JOB_cpu_counted], PREDICT_SUM, 1, (const uint8_t[]){JOB_cpu}, 1);
    of_one(&c->at[JOB_processes_peak], PREDICT_PEAK, JOB_processes);
}

/* The page cache grows at the cost of what is free, and both are available; what meminfo adds up it adds up from these.
 */
static void host_columns(struct tape_columns *c)
{
    static const uint8_t available[] = {HOST_memory_free, HOST_memory_active_file, HOST_memory_inactive_file};
    static const uint8_t cached[] = {HOST_memory_active_file, HOST_memory_inactive_file, HOST_memory_shmem};
    static const uint8_t anon[] = {HOST_memory_active_anon, HOST_memory_inactive_anon, HOST_memory_shmem};
    of_sum(&c->at[HOST_memory_available], PREDICT_SUM, 3, available, 3);
    of_sum(&c->at[HOST_memory_used], PREDICT_SUM, 2, (const uint8_t[]){HOST_memory_total, HOST_memory_available}, 1);
    of_sum(&c->at[HOST_memory_cached], PREDICT_SUM, 3, cached, 3);
    of_sum(&c->at[HOST_memory_active], PREDICT_SUM, 2,
           (const uint8_t[]){HOST_memory_active_anon, HOST_memory_active_file}, 2);
    of_sum(&c->at[HOST_memory_inactive], PREDICT_SUM, 2,
           (const uint8_t[]){HOST_memory_inactive_anon, HOST_memory_inactive_file}, 2);
    of_sum(&c->at[HOST_memory_anon], PREDICT_SUM, 3, anon, 2);
    of_sum(&c->at[HOST_swap_used], PREDICT_SUM, 2, (const uint8_t[]){HOST_swap_total, HOST_swap_free}, 1);
}

static void cgroup_columns(struct tape_columns *c)
{
    static const uint8_t charged[] = {CGROUP_memory_anon, CGROUP_memory_file, CGROUP_memory_kernel};
    of_sum(&c->at[CGROUP_cpu_system], PREDICT_SUM, 2, (const uint8_t[]){CGROUP_cpu, CGROUP_cpu_user}, 1);
    of_sum(&c->at[CGROUP_memory], PREDICT_SUM, 3, charged, 3);
    of_one(&c->at[CGROUP_memory_peak], PREDICT_PEAK, CGROUP_memory);
    of_sum(&c->at[CGROUP_memory_working_set], PREDICT_SUM, 2,
           (const uint8_t[]){CGROUP_memory, CGROUP_memory_inactive_file}, 1);
    of_one(&c->at[CGROUP_pids_peak], PREDICT_PEAK, CGROUP_pids);
}

static void machine_columns(enum baro_kind kind, struct tape_columns *c)
{
    switch (kind) {
    case BARO_KIND_HOST: host_columns(c); break;
    case BARO_KIND_DISK:
        of_sum(&c->at[DISK_queue_time], PREDICT_SUM, 2, (const uint8_t[]){DISK_read_time, DISK_write_time}, 2);
        break;
    case BARO_KIND_FS: of_sum(&c->at[FS_available], PREDICT_SUM, 2, (const uint8_t[]){FS_total, FS_used}, 1); break;
    case BARO_KIND_CGROUP: cgroup_columns(c); break;
    default: break;
    }
}

void columns_of_kind(enum baro_kind kind, struct tape_columns *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->n = (unsigned)baro_metric_count(kind);
    for (unsigned i = 0; i < ret->n; i++)
        ret->at[i].scale = scale_of(kind, (int)i);
    if (kind == BARO_KIND_PROCESS)
        process_columns(ret);
    if (kind == BARO_KIND_JOB)
        job_columns(ret);
    if (kind == BARO_KIND_EXIT)
        of_sum(&ret->at[EXIT_cpu_system], PREDICT_SUM, 2, (const uint8_t[]){EXIT_cpu, EXIT_cpu_user}, 1);
    if (kind == BARO_KIND_RECORDER)
        of_one(&ret->at[RECORDER_rss_peak], PREDICT_PEAK, RECORDER_rss);
    machine_columns(kind, ret);
    if (metric_time((int)kind) >= 0)
        ret->at[metric_time((int)kind)].predictor = PREDICT_TIME;
    for (unsigned i = 0; i < ret->n; i++)
        ret->at[i].falls =
            ret->at[i].predictor != PREDICT_SAME || baro_metric_get(kind, (int)i)->semantics != BARO_SEM_COUNTER;
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
        ret->at[i].falls = real || metric[i]->semantics != BARO_SEM_COUNTER;
    }
}
