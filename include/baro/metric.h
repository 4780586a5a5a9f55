/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Metrics: the name, meaning and unit of each quantity that is recorded.
 *
 * A metric belongs to one kind of entity. Descriptors and names are constant and valid as long as the program runs. All
 * functions here are pure and may be called from any thread.
 */
#ifndef BARO_METRIC_H
#define BARO_METRIC_H

#include <stddef.h>
#include <stdint.h>

#include "baro/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Kinds whose numbers are constant. The library has more, which baro_kind_find() finds by name ("gpu", "energy"). */
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
    BARO_KIND_TASK,     /**< a task: a named set of processes of the job (--match, a task file) */
    BARO_KIND_DIRECTORY /**< a directory whose size is recorded (--du) */
};

/** The unit of a value. The name of a metric ends with it: "rss_bytes". baro_metric_real() converts stored values. */
enum baro_unit {
    BARO_UNIT_NONE,    /**< a plain count */
    BARO_UNIT_NS,      /**< nanoseconds */
    BARO_UNIT_BYTES,   /**< bytes */
    BARO_UNIT_RATIO,   /**< a share, mostly 0 to 1: stored as parts per million */
    BARO_UNIT_CHAR,    /**< one ASCII character, such as the state of a process */
    BARO_UNIT_SIGNED,  /**< a count that may be negative, such as nice: stored in two's complement */
    BARO_UNIT_HERTZ,   /**< hertz */
    BARO_UNIT_CELSIUS, /**< degrees Celsius: stored as thousandths, in two's complement */
    BARO_UNIT_DECIMAL, /**< a plain number with a fraction, such as a load average: stored as millionths */
    BARO_UNIT_REAL,    /**< stored as the bits of an IEEE 754 double; a unit, if any, is part of the metric's name */
    BARO_UNIT_ENTITY,  /**< the id of an entity of the tape, such as the task of a process; shown as its name */
    BARO_UNIT_JOULES,  /**< energy: stored as millionths of a joule */
    BARO_UNIT_WATTS    /**< power: stored as millionths of a watt */
};

/** How the values of a metric change over time. */
enum baro_semantics {
    BARO_SEM_COUNTER, /**< never decreases while the entity exists */
    BARO_SEM_GAUGE,   /**< increases and decreases */
    BARO_SEM_INFO     /**< a property, such as a state, a limit or an id: sums and rates of it mean nothing */
};

/** Why a value is absent. 0 means that it is present. */
enum baro_absent {
    BARO_PRESENT = 0,
    BARO_ABSENT_NOT_ASKED,   /**< the user did not ask for the metric */
    BARO_ABSENT_UNSUPPORTED, /**< this kernel or machine does not have it */
    BARO_ABSENT_DENIED,      /**< this user may not read it */
    BARO_ABSENT_GONE,        /**< the process ended before it was read */
    BARO_ABSENT_NOT_YET,     /**< not read so far */
    BARO_ABSENT_THINNED,     /**< not read, to stay within the overhead budget */
    BARO_ABSENT_TIMEOUT,     /**< the read did not return in time */
    BARO_ABSENT_UNKNOWN,     /**< no source has the value */
    BARO_ABSENT_SHARED,      /**< counted with another process, which has the same address space (CLONE_VM) */
    /** There is no such value: a command that a signal killed has no exit status. */
    BARO_ABSENT_NONE = 100
};

/** The kernel interface that a metric is read from: one bit each, so that a set of metrics is a mask of reads. */
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
    BARO_SOURCE_TREE = 1 << 8,         /**< the recorder's list of the job's processes */
    BARO_SOURCE_LEDGER = 1 << 9,       /**< the recorder's sums over living and ended processes of the job */
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
    BARO_SOURCE_GPU = 1 << 29,         /**< NVML, or /sys/class/drm and /proc/PID/fdinfo */
    BARO_SOURCE_ENERGY = 1 << 30       /**< /sys/class/powercap, hwmon, power_supply */
};

/** A metric of a kind. Borrowed; later versions may add members. */
struct baro_metric {
    const char *stem;              /**< the name without its unit: "cpu_user" */
    const char *name;              /**< the name in CSV, JSON and Python: "cpu_user_ns" */
    const char *help;              /**< what it means: one sentence */
    const char *file;              /**< where it is read, for people: "/proc/PID/stat" */
    enum baro_unit unit;           /**< the unit of its values */
    enum baro_semantics semantics; /**< how its values change over time */
    uint64_t source;               /**< where it is read: bits of enum baro_source; later versions may add bits */
};

/** @return how many kinds this library knows; their numbers go from 0 on. */
BARO_API int baro_kind_count(void);

/** @return the kind with this name, or -1. */
BARO_API int baro_kind_find(const char *name);

/** @return how many metrics a kind has; 0 if there is no such kind. */
BARO_API int baro_metric_count(int kind);

/** @return the descriptor of metric @p id, a constant; NULL if there is none. */
BARO_API const struct baro_metric *baro_metric_get(int kind, int id);

/**
 * Finds the kernel that introduced metric @p id.
 *
 * @return its version as major * 1000 + minor, such as 5019 for Linux 5.19; 0 if every kernel that barograph runs on
 * has the metric, or if there is no such metric. For a metric of a control group that has different files in v1 and v2
 * it is the kernel that introduced the file of v2.
 */
BARO_API int baro_metric_since(int kind, int id);

/**
 * Names the file that a metric of a control group is read from (cgroups(7)).
 *
 * @param version of control groups: 1 or 2
 * @return the name of the file, such as "memory.current", a constant; NULL if this version has no such file, or if the
 * metric is not one of a control group.
 */
BARO_API const char *baro_metric_cgroup_file(int kind, int id, int version);

/** @return the id of the metric with this name or stem, or -1. */
BARO_API int baro_metric_find(int kind, const char *name);

/**
 * Converts a stored value to a number in the unit of its metric: 250 000 parts per million to a ratio of 0.25, the
 * signed 2^64 - 3 to -3, 41 500 thousandths of a degree to 41.5. A character becomes its code. Above 2^53 the result is
 * rounded.
 */
BARO_API double baro_metric_real(const struct baro_metric *m, uint64_t stored);

/** @return the name of a kind, such as "process" or "cgroup"; "unknown" if the library has no such kind. */
BARO_API const char *baro_kind_name(int kind);

/** @return the reason in a word or two, such as "denied"; "present" for 0; "unknown" for another number. */
BARO_API const char *baro_absent_name(enum baro_absent reason);

/** @return "ns", "bytes", "ratio", "hertz", "celsius", "joules", "watts"; "" for other units. */
BARO_API const char *baro_unit_name(enum baro_unit unit);

/**
 * Names the base unit that OpenMetrics wants: seconds instead of nanoseconds, all others as they are. A value of
 * baro_metric_real(), divided by baro_unit_divisor(), is in the base unit.
 * @return "seconds", "bytes", "ratio", "hertz", "celsius", "joules", "watts"; "" if there is none.
 */
BARO_API const char *baro_unit_base(enum baro_unit unit);
/** @return the divisor that converts values of baro_metric_real() to the base unit: 1e9 for nanoseconds, else 1. */
BARO_API double baro_unit_divisor(enum baro_unit unit);
/**
 * Names the base unit in UCUM, for OpenTelemetry.
 * @return "s", "By", "Hz", "Cel", "J", "W"; "1" for ratios and plain numbers.
 */
BARO_API const char *baro_unit_ucum(enum baro_unit unit);

/** @return "counter", "gauge" or "info"; "unknown" for another number. */
BARO_API const char *baro_semantics_name(enum baro_semantics semantics);

#ifdef __cplusplus
}
#endif
#endif
