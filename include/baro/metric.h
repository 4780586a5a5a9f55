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

/** Kinds of this library. Later versions may have more: baro_kind_find() finds a kind by name. */
enum baro_kind {
    BARO_KIND_PROCESS,     /**< one process, identity (pid, start time) */
    BARO_KIND_JOB,         /**< all processes that are accounted together */
    BARO_KIND_EXIT,        /**< what a process had used when it ended */
    BARO_KIND_RECORDER,    /**< barograph itself */
    BARO_KIND_HOST,        /**< the machine as a whole */
    BARO_KIND_CPU,         /**< one logical CPU */
    BARO_KIND_DISK,        /**< one block device */
    BARO_KIND_FS,          /**< one mounted filesystem */
    BARO_KIND_NET,         /**< one network interface */
    BARO_KIND_SENSOR,      /**< one temperature sensor */
    BARO_KIND_CGROUP,      /**< a control group that the job is in */
    BARO_KIND_TASK,        /**< a task: a named set of processes of the job (--match, a task file) */
    BARO_KIND_DIRECTORY,   /**< a directory whose size is recorded (--du) */
    BARO_KIND_GPU,         /**< one GPU */
    BARO_KIND_GPU_PROCESS, /**< what one process uses of one GPU */
    BARO_KIND_ENERGY,      /**< one meter of energy or power: a CPU package, a power supply */
    BARO_KIND_BRIEF        /**< processes of one name that were too brief for records of their own (record --all) */
};

/**
 * A kind: a constant of enum baro_kind, or what baro_kind_find() or baro_tape_kind_find() returned; -1: none. It is not
 * an enum, because kinds that only a tape has are numbers from baro_kind_count() on, which no constant names.
 */
typedef int baro_kind_id;

/**
 * A metric of a kind: baro_metric_find() or baro_tape_metric_find() finds it by name; -1: none. It means nothing for
 * other kinds: the first metric of each kind is 0. Get it with the kind of the rows that it is used for.
 */
typedef int baro_metric_id;

/** A derived metric (baro/interval.h) of a kind: baro_derived_find() finds it by name; -1: none. */
typedef int baro_derived_id;

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
    BARO_ABSENT_UNSUPPORTED, /**< this kernel or machine does not have it, or rows of this kind do not */
    BARO_ABSENT_DENIED,      /**< this user may not read it */
    BARO_ABSENT_GONE,        /**< the process ended before it was read */
    BARO_ABSENT_NOT_YET,     /**< not read so far */
    BARO_ABSENT_THINNED,     /**< not read, to stay within the overhead budget */
    BARO_ABSENT_TIMEOUT,     /**< the read did not return in time */
    BARO_ABSENT_UNKNOWN,     /**< no source has the value */
    BARO_ABSENT_SHARED,      /**< counted with another process, which has the same address space (CLONE_VM) */
    /** There is no such value: a command that a signal killed has no exit status. It is on no tape, whose reasons have
     * the numbers before. */
    BARO_ABSENT_NONE = 100
};

/** A metric of a kind. Borrowed; later versions may add members. */
struct baro_metric {
    const char *stem;              /**< the name without its unit: "cpu_user" */
    const char *name;              /**< the name in CSV, JSON and Python: "cpu_user_ns" */
    const char *help;              /**< what it means: one sentence */
    const char *file;              /**< where it is read, for people: "/proc/PID/stat" */
    enum baro_unit unit;           /**< the unit of its values */
    enum baro_semantics semantics; /**< how its values change over time */
};

/** @return how many kinds this library has; their numbers go from 0 on. */
BARO_API int baro_kind_count(void);

/** @return the kind with this name, or -1. */
BARO_API baro_kind_id baro_kind_find(const char *name);

/** @return how many metrics a kind has; 0 if there is no such kind. */
BARO_API int baro_metric_count(baro_kind_id kind);

/** @return the descriptor of metric @p id, a constant; NULL if there is none. */
BARO_API const struct baro_metric *baro_metric_get(baro_kind_id kind, baro_metric_id id);

/**
 * Finds the kernel that introduced metric @p id.
 *
 * @return its version as major * 1000 + minor, such as 5019 for Linux 5.19; 0 if every kernel that barograph runs on
 * has the metric, or if there is no such metric. For a metric of a control group that has different files in v1 and v2
 * it is the kernel that introduced the file of v2.
 */
BARO_API int baro_metric_since(baro_kind_id kind, baro_metric_id id);

/**
 * Names the file that a metric of a control group is read from (cgroups(7)).
 *
 * @param version of control groups: 1 or 2
 * @return the name of the file, such as "memory.current", a constant; NULL if this version has no such file, or if the
 * metric is not one of a control group.
 */
BARO_API const char *baro_metric_cgroup_file(baro_kind_id kind, baro_metric_id id, int version);

/** @return the id of the metric with this name or stem, or -1. */
BARO_API baro_metric_id baro_metric_find(baro_kind_id kind, const char *name);

/**
 * Converts a stored value to a number in the unit of its metric: 250 000 parts per million to a ratio of 0.25, the
 * signed 2^64 - 3 to -3, 41 500 thousandths of a degree to 41.5. A character becomes its code. Above 2^53 the result is
 * rounded.
 */
BARO_API double baro_metric_real(const struct baro_metric *m, uint64_t stored);

/** @return the name of a kind, such as "process" or "cgroup"; "unknown" for another number. */
BARO_API const char *baro_kind_name(baro_kind_id kind);

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
