/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifiers of metrics, made from the registry. Code refers to a metric by these alone; its public name stands in
 * the .def file and nowhere else.
 */
#ifndef LIBBARO_METRIC_IDS_H
#define LIBBARO_METRIC_IDS_H

#include "baro/metric.h"

#define ABSENT_COUNT (BARO_ABSENT_SHARED + 1) /* not in the public enum: later versions would change its value */

/* PROCESS_cpu, PROCESS_rss, ..., and PROCESS_MAX, the number of metrics; the same for each kind. */
#define METRIC_ID_(kind, stem) kind##_##stem
#define METRIC_ID(kind, stem) METRIC_ID_(kind, stem)
#define METRIC(stem, ...) METRIC_ID(KIND, stem),
#define KIND_BEGIN(name)                                                                                               \
    enum name##_metric                                                                                                 \
    {
#define KIND_END(name, time, counts)                                                                                   \
    METRIC_ID(KIND, MAX)                                                                                               \
    }                                                                                                                  \
    ;
#include "libbaro/metric/kinds.def"
#undef KIND_END
#undef KIND_BEGIN
#undef METRIC

/* Numbers of kinds: those of enum baro_kind, followed by those of later kinds. */
enum kind {
#define METRIC(...)
#define KIND_BEGIN(name) KIND_##name,
#define KIND_END(name, time, counts)
#include "libbaro/metric/kinds.def"
#undef KIND_END
#undef KIND_BEGIN
#undef METRIC
    KIND_COUNT
};
_Static_assert((int)KIND_process == BARO_KIND_PROCESS && (int)KIND_host == BARO_KIND_HOST &&
                   (int)KIND_cgroup == BARO_KIND_CGROUP && (int)KIND_energy == BARO_KIND_ENERGY &&
                   (int)KIND_brief == BARO_KIND_BRIEF,
               "the public numbers are those of the table");

/* The kernel interface that a metric is read from: one bit each, so that a set of metrics is a mask of reads. */
enum baro_source {
    BARO_SOURCE_NONE = 0,
    BARO_SOURCE_CLOCK = 1 << 0,        /* clock_gettime(2) on the CPU clock of the process */
    BARO_SOURCE_STAT = 1 << 1,         /* /proc/PID/stat */
    BARO_SOURCE_STATUS = 1 << 2,       /* /proc/PID/status */
    BARO_SOURCE_IO = 1 << 3,           /* /proc/PID/io */
    BARO_SOURCE_FD = 1 << 4,           /* /proc/PID/fd: st_size since 6.2, else its entries */
    BARO_SOURCE_SCHEDSTAT = 1 << 5,    /* /proc/PID/task/TID/schedstat */
    BARO_SOURCE_SMAPS = 1 << 6,        /* /proc/PID/smaps_rollup */
    BARO_SOURCE_TASKS = 1 << 7,        /* /proc/PID/task/TID/status, summed over threads */
    BARO_SOURCE_TREE = 1 << 8,         /* the recorder's list of the job's processes */
    BARO_SOURCE_LEDGER = 1 << 9,       /* the recorder's sums over living and ended processes of the job */
    BARO_SOURCE_EXIT = 1 << 10,        /* wait4(2), taskstats, perf or the last sample of the process */
    BARO_SOURCE_SELF = 1 << 11,        /* barograph's measure of itself */
    BARO_SOURCE_PROC_STAT = 1 << 12,   /* /proc/stat */
    BARO_SOURCE_LOADAVG = 1 << 13,     /* /proc/loadavg */
    BARO_SOURCE_MEMINFO = 1 << 14,     /* /proc/meminfo */
    BARO_SOURCE_VMSTAT = 1 << 15,      /* /proc/vmstat */
    BARO_SOURCE_DISKSTATS = 1 << 16,   /* /proc/diskstats */
    BARO_SOURCE_NETDEV = 1 << 17,      /* /proc/net/dev */
    BARO_SOURCE_PRESSURE = 1 << 18,    /* /proc/pressure */
    BARO_SOURCE_UPTIME = 1 << 19,      /* /proc/uptime */
    BARO_SOURCE_STATVFS = 1 << 20,     /* statvfs(3) of each mount */
    BARO_SOURCE_SYS_BLOCK = 1 << 21,   /* /sys/class/block */
    BARO_SOURCE_SYS_NET = 1 << 22,     /* /sys/class/net */
    BARO_SOURCE_SYS_CPUFREQ = 1 << 23, /* cpufreq in /sys/devices/system/cpu, else /proc/cpuinfo */
    BARO_SOURCE_SYS_NODE = 1 << 24,    /* /sys/devices/system/node */
    BARO_SOURCE_HWMON = 1 << 25,       /* /sys/class/hwmon, /sys/class/thermal */
    BARO_SOURCE_CGROUP = 1 << 26,      /* the files of a control group, v1 or v2 */
    BARO_SOURCE_WALK = 1 << 27,        /* statx(2) of all files below a directory */
    BARO_SOURCE_SOCK_DIAG = 1 << 28,   /* sock_diag(7) of the sockets in /proc/PID/fd; /proc/PID/net/dev */
    BARO_SOURCE_GPU = 1 << 29,         /* NVML, nvidia-smi, or /sys/class/drm and /proc/PID/fdinfo */
    BARO_SOURCE_ENERGY = 1 << 30       /* /sys/class/powercap, hwmon, power_supply */
};

/** @return the enum baro_source of a metric; BARO_SOURCE_NONE if there is no such metric. */
uint64_t metric_source(int kind, int id);

/** @return the column that has the time at which an entity of @p kind was read; -1: they are all read together. */
int metric_time(int kind);

/* The time from which the counters of a kind count. */
enum counts_since {
    COUNTS_UNKNOWN, /* a kind that the tape declares: nobody knows */
    COUNTS_NONE,    /* the kind has no counters */
    COUNTS_MADE,    /* when the entity was made, at the boot or later; the kernel does not say when */
    COUNTS_BEGIN,   /* the beginning of the process */
    COUNTS_START,   /* the beginning of the tape, if the job began then; else unknown */
    COUNTS_TAPE,    /* the beginning of the tape: barograph itself counts */
    COUNTS_BOOT     /* the start of the machine */
};
enum counts_since metric_counts_since(int kind);
/* baro_metric_find() for a name that need not end with NUL. */
int metric_find(int kind, const char *name, size_t len);

/* Masks of these metrics are one word. */
_Static_assert(PROCESS_MAX <= 64 && JOB_MAX <= 64 && EXIT_MAX <= 64 && RECORDER_MAX <= 64, "a mask is 64 bits");

/** The union of enum baro_source bits that the process metrics in @p wanted (bit = enum process_metric) need. */
unsigned metric_need(uint64_t wanted);

/**
 * Parses a list such as "cpu,rss,pss" or "all" or "default,-pss" into a mask of process metrics. Names and stems both
 * do; a leading '-' takes away; a list that starts with '-' starts from "default" (which is "all" without "tcp").
 * @return 0, or BARO_E_SYNTAX with the unknown word in @p err.
 */
int metric_parse_list(const char *text, uint64_t *ret_wanted, struct baro_error *err);

#endif
