/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Metrics: what each recorded quantity is called, what it means, in which unit.
 *
 * A metric belongs to one kind of entity. Descriptors are constant and live as long as the program; all functions here
 * are pure and may be called from any thread.
 */
#ifndef BARO_METRIC_H
#define BARO_METRIC_H

#include <stddef.h>
#include <stdint.h>

#include "baro/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Kinds that the library has from its beginning. Further ones have names alone: baro_kind_find(). */
enum baro_kind {
    BARO_KIND_PROCESS,  /**< one process, identity (pid, start time) */
    BARO_KIND_JOB,      /**< all processes that are accounted together */
    BARO_KIND_EXIT,     /**< what a process had used when it ended */
    BARO_KIND_RECORDER, /**< barograph itself */
    BARO_KIND_HOST,     /**< the machine as a whole */
    BARO_KIND_CPU,      /**< one logical CPU */
    BARO_KIND_DISK,     /**< one block device */
    BARO_KIND_FS,       /**< one mounted filesystem */
    BARO_KIND_NET,      /**< one network interface */
    BARO_KIND_SENSOR,   /**< one temperature sensor */
    BARO_KIND_CGROUP,   /**< a control group that the job is in */
    BARO_KIND_TASK,     /**< a task: processes that were selected together, by a name (baro record --match) */
    BARO_KIND_DIRECTORY /**< a directory whose size is recorded (--du) */
};

/** What a value counts. Names of metrics end with it: "rss_bytes". */
enum baro_unit {
    BARO_UNIT_NONE,    /**< a plain count */
    BARO_UNIT_NS,      /**< nanoseconds */
    BARO_UNIT_BYTES,   /**< bytes */
    BARO_UNIT_RATIO,   /**< parts per million of 1 as stored; 0..1 as shown */
    BARO_UNIT_CHAR,    /**< one ASCII character, such as the state of a process */
    BARO_UNIT_SIGNED,  /**< a two's complement count, such as nice */
    BARO_UNIT_HERTZ,   /**< hertz */
    BARO_UNIT_CELSIUS, /**< degrees; thousandths of one as stored, in two's complement */
    BARO_UNIT_DECIMAL, /**< a plain number with a fraction, such as a load average: millionths as stored */
    BARO_UNIT_REAL,    /**< the bits of an IEEE 754 double; the unit, if there is one, is part of the metric's name */
    BARO_UNIT_ENTITY,  /**< the id of an entity of the tape, such as the task of a process; its name as shown */
    BARO_UNIT_JOULES,  /**< energy: millionths of a joule as stored */
    BARO_UNIT_WATTS    /**< power: millionths of a watt as stored */
};

/** How values of one metric follow each other. */
enum baro_semantics {
    BARO_SEM_COUNTER, /**< only grows while the entity lives */
    BARO_SEM_GAUGE,   /**< goes up and down */
    BARO_SEM_INFO     /**< a fact, or a label */
};

/** Why a value is not there. 0 means that it is. */
enum baro_absent {
    BARO_PRESENT = 0,
    BARO_ABSENT_NOT_ASKED,   /**< not among the wanted metrics */
    BARO_ABSENT_UNSUPPORTED, /**< this kernel or machine does not have it */
    BARO_ABSENT_DENIED,      /**< this user may not read it */
    BARO_ABSENT_GONE,        /**< the process ended before it was read */
    BARO_ABSENT_NOT_YET,     /**< not read so far: its turn has not come */
    BARO_ABSENT_THINNED,     /**< left out to stay within the overhead budget */
    BARO_ABSENT_TIMEOUT,     /**< the read did not return in time */
    BARO_ABSENT_UNKNOWN,     /**< no source has the value */
    BARO_ABSENT_SHARED,      /**< counted with another process, whose address space it uses (CLONE_VM) */
    /** There is no such value, and none is missing: a command that a signal ended has no exit status. */
    BARO_ABSENT_NONE = 100
};

/** Which kernel interface a metric is read from; one bit each, so that wanted metrics make a mask of reads. */
enum baro_source {
    BARO_SOURCE_NONE = 0,
    BARO_SOURCE_CLOCK = 1 << 0,        /**< clock_gettime(2) on the CPU clock of the process */
    BARO_SOURCE_STAT = 1 << 1,         /**< /proc/PID/stat */
    BARO_SOURCE_STATUS = 1 << 2,       /**< /proc/PID/status */
    BARO_SOURCE_IO = 1 << 3,           /**< /proc/PID/io */
    BARO_SOURCE_FD = 1 << 4,           /**< /proc/PID/fd: st_size since 6.2, else its entries */
    BARO_SOURCE_SCHEDSTAT = 1 << 5,    /**< /proc/PID/task/TID/schedstat */
    BARO_SOURCE_SMAPS = 1 << 6,        /**< /proc/PID/smaps_rollup */
    BARO_SOURCE_TASKS = 1 << 7,        /**< /proc/PID/task/TID/status, summed over threads */
    BARO_SOURCE_TREE = 1 << 8,         /**< barograph's own view of the tree */
    BARO_SOURCE_LEDGER = 1 << 9,       /**< the job's ledger: members, and what was reaped */
    BARO_SOURCE_EXIT = 1 << 10,        /**< wait4(2), taskstats, perf or the last sample of the process */
    BARO_SOURCE_SELF = 1 << 11,        /**< barograph's measure of itself */
    BARO_SOURCE_PROC_STAT = 1 << 12,   /**< /proc/stat */
    BARO_SOURCE_LOADAVG = 1 << 13,     /**< /proc/loadavg */
    BARO_SOURCE_MEMINFO = 1 << 14,     /**< /proc/meminfo */
    BARO_SOURCE_VMSTAT = 1 << 15,      /**< /proc/vmstat */
    BARO_SOURCE_DISKSTATS = 1 << 16,   /**< /proc/diskstats */
    BARO_SOURCE_NETDEV = 1 << 17,      /**< /proc/net/dev */
    BARO_SOURCE_PRESSURE = 1 << 18,    /**< /proc/pressure */
    BARO_SOURCE_UPTIME = 1 << 19,      /**< /proc/uptime */
    BARO_SOURCE_STATVFS = 1 << 20,     /**< statvfs(3) of each mount */
    BARO_SOURCE_SYS_BLOCK = 1 << 21,   /**< /sys/class/block */
    BARO_SOURCE_SYS_NET = 1 << 22,     /**< /sys/class/net */
    BARO_SOURCE_SYS_CPUFREQ = 1 << 23, /**< cpufreq in /sys/devices/system/cpu, else /proc/cpuinfo */
    BARO_SOURCE_SYS_NODE = 1 << 24,    /**< /sys/devices/system/node */
    BARO_SOURCE_HWMON = 1 << 25,       /**< /sys/class/hwmon, /sys/class/thermal */
    BARO_SOURCE_CGROUP = 1 << 26,      /**< the files of a control group, v1 or v2 */
    BARO_SOURCE_WALK = 1 << 27,        /**< statx(2) of all files below a directory */
    BARO_SOURCE_SOCK_DIAG = 1 << 28,   /**< sock_diag(7) of the sockets in /proc/PID/fd; /proc/PID/net/dev */
    BARO_SOURCE_GPU = 1 << 29,         /**< NVML, nvidia-smi, or /sys/class/drm and /proc/PID/fdinfo */
    BARO_SOURCE_ENERGY = 1 << 30       /**< /sys/class/powercap, hwmon, power_supply */
};

/** A metric of a kind. Borrowed; later versions may add members. */
struct baro_metric {
    const char *stem;              /**< e.g. "cpu_user" */
    const char *name;              /**< stem and unit as in CSV, JSON and Python, e.g. "cpu_user_ns" */
    const char *help;              /**< one sentence */
    const char *file;              /**< the kernel interface, e.g. "/proc/PID/stat" */
    enum baro_unit unit;           /**< of its values */
    enum baro_semantics semantics; /**< how they follow each other */
    unsigned source;               /**< enum baro_source */
};

/** @return how many kinds this library knows; their numbers go from 0 on. */
BARO_API int baro_kind_count(void);

/** @return the kind with this name, or -1. */
BARO_API int baro_kind_find(const char *name);

/** @return how many metrics the registry has for a kind. */
BARO_API int baro_metric_count(int kind);

/** @return the descriptor of metric @p id, borrowed for ever; NULL if there is no such metric. */
BARO_API const struct baro_metric *baro_metric_get(int kind, int id);

/**
 * Since which kernel metric @p id is there.
 *
 * @return the version as major * 1000 + minor, such as 5019 for Linux 5.19; 0: since before any kernel that barograph
 * runs on, or there is no such metric. Of a control group's metric whose file has another name in v1 it is the file
 * of v2 that came with that kernel.
 */
BARO_API int baro_metric_since(int kind, int id);

/**
 * The file that a metric of a control group is read from.
 *
 * @param version of control groups, 1 or 2
 * @return its name, such as "memory.current"; NULL: this version has no such file, or the metric is not of a control
 * group. Borrowed for ever.
 */
BARO_API const char *baro_metric_cgroup_file(int kind, int id, int version);

/** @return the id of the metric with this name or stem, or -1. */
BARO_API int baro_metric_find(int kind, const char *name);

/**
 * @return a stored value as a number of its unit: 0.25 for a ratio of 250 000 parts per million, -3 for a signed
 * 2^64 - 3, 41.5 for 41 500 thousandths of a degree. Of a character its code.
 */
BARO_API double baro_metric_real(const struct baro_metric *m, uint64_t stored);

/** @return "process", "job", "exit", "recorder", "host", "cpu", "disk", "fs", "net", "sensor", "cgroup", "task" or
 * "directory". */
BARO_API const char *baro_kind_name(int kind);

/** @return a short reason such as "denied"; "present" for 0. */
BARO_API const char *baro_absent_name(enum baro_absent reason);

/** @return "ns", "bytes", "ratio", "hertz", "celsius" or "" for counts. */
BARO_API const char *baro_unit_name(enum baro_unit unit);

/**
 * The base unit, as OpenMetrics has it: values of baro_metric_real() divided by baro_unit_divisor() are in it.
 * @return "seconds" (of nanoseconds), "bytes", "ratio", "hertz", "celsius"; "" if there is none.
 */
BARO_API const char *baro_unit_base(enum baro_unit unit);
/** @return what to divide values of baro_metric_real() by to have them in the base unit: 1e9 of nanoseconds, else 1. */
BARO_API double baro_unit_divisor(enum baro_unit unit);
/** @return the base unit as UCUM writes it, for OpenTelemetry: "s", "By", "1", "Hz", "Cel"; "1" for plain numbers. */
BARO_API const char *baro_unit_ucum(enum baro_unit unit);

/** @return "counter", "gauge" or "info". */
BARO_API const char *baro_semantics_name(enum baro_semantics semantics);

#ifdef __cplusplus
}
#endif
#endif
