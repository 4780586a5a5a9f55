/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts of a summary: facts.def names them, and the functions here get their values. The argument `of` of a
 * function is what its row in the table says: a metric, or a value of one of the enums below.
 */
#ifndef LIBBARO_SUMMARY_FACTS_H
#define LIBBARO_SUMMARY_FACTS_H

#include "baro/summary.h"
#include "libbaro/summary/summary.h"

enum {
    HEAD_NAME,
    HEAD_MODE,
    HEAD_CGROUP,
    HEAD_CPUS,
    HEAD_START,
    HEAD_WALL,
    HEAD_START_NS,
    HEAD_REMOVED,
    HEAD_SUSPENDED,
    HEAD_CLOCK_STEPS,
    HEAD_INCOMPLETE
};
enum { TARGET_PID, TARGET_NAME };
enum { EXIT_STATUS, EXIT_SIGNAL, EXIT_WAIT_STATUS, EXIT_CORE, EXIT_DETACHED };
enum { CORES_MEAN, CORES_PEAK };
enum { RSS_PEAK, RSS_AT_MOST, RSS_HOLDER, RSS_IS_OF_PROCESS, RSS_IS_UNSAMPLED };
enum { SURVIVORS, SURVIVOR_NAME };
enum { HOLDER_NAME, HOLDER_PROCESSES, HOLDER_BYTES };
enum {
    LIMIT_VALUE,
    LIMIT_SOURCE,
    LIMIT_AT_MOST,
    LIMIT_AT_MOST_SOURCE,
    LIMIT_PEAK_RATIO,
    LIMIT_PEAK,
    LIMIT_PEAK_OF,
    LIMIT_PEAK_AT_MOST,
    LIMIT_PEAK_DOUBT,
    LIMIT_PEAK_SHARED,
    LIMIT_PEAK_CACHE,
    LIMIT_GROUP_RATIO,
    LIMIT_IS_HIDDEN
};
enum { OOM_LIKELY, OOM_LEAST, OOM_MOST };
enum { REFUSED_MEMORY, REFUSED_CPU, REFUSED_FORKS };
enum {
    HOST_NAME,
    HOST_KERNEL,
    HOST_MACHINE,
    HOST_CPU_MODEL,
    HOST_NUMA_NODES,
    HOST_WATCHED,
    HOST_CORES,
    HOST_CORES_MEAN,
    HOST_CORES_PEAK,
    HOST_OTHERS,
    HOST_USER,
    HOST_IDLE,
    HOST_STEAL,
    HOST_LOAD,
    HOST_MEMORY_TOTAL
};
enum {
    ACCOUNTING_KERNEL_SOURCE,
    ACCOUNTING_EVENT_SOURCE,
    ACCOUNTING_EXIT_SOURCE,
    ACCOUNTING_PERF_REFUSED,
    ACCOUNTING_REMAINDER
};
enum { SPLIT_USER, SPLIT_SYSTEM };
enum { TAPE_GAP, TAPE_GAPS, TAPE_DAMAGE, TAPE_WRAPPER_LOST, TAPE_WARNINGS, TAPE_WARNING };
enum { COURSE_BEGIN, COURSE_WIDTH, COURSE_CORES, COURSE_IO_RATE };
enum { TASK_NAME, TASK_RULE };
enum { TASK_CORES_MEAN, TASK_CORES_PEAK, TASK_ONE_CORES_MEAN, TASK_ONE_CORES_PEAK };
enum { GPU_POWER_MEAN, GPU_JOULES, GPU_JOULES_JOB };
enum { GPU_WATCHED, GPU_USED, GPU_INSTANCE };
enum { CARBON_FACTOR, CARBON_GPU, CARBON_MACHINE, CARBON_JOB };
enum {
    GPUS_VISIBLE,
    GPUS_USED,
    GPUS_BUSY,
    GPUS_MEMORY,
    GPUS_MEMORY_ONE,
    GPUS_ALLOCATOR,
    GPUS_WATCHED,
    GPUS_ENERGY,
    GPUS_ENERGY_JOB
};
enum { ENERGY_MACHINE, ENERGY_JOB, ENERGY_WATCHED };
enum { OWN_COST, OWN_BUDGET, OWN_START, OWN_AFTER_START };

/* A row of a table of facts. The words of facts.def for enum baro_fact_trend are short. */
enum { TREND_NONE = BARO_TREND_NONE, TREND_WORSE = BARO_TREND_MORE_IS_WORSE, TREND_BETTER = BARO_TREND_MORE_IS_BETTER };
#define FACT_ROW(section, name, type, unit, semantics, trend, in_json, help)                                           \
    {                                                                                                                  \
        section, name, help, BARO_FACT_##type, BARO_UNIT_##unit, BARO_FACT_##semantics,                                \
            (enum baro_fact_trend)TREND_##trend, in_json                                                               \
    }

/* Sets the members of *ret that have a value; all members are 0 before. */
typedef void fact_getter(const struct baro_summary *s, int of, size_t row, struct baro_value *ret);

/* facts_job.c */
fact_getter fact_argument, fact_head, fact_target, fact_exit, fact_job, fact_cores, fact_rss, fact_peak, fact_peak_age,
    fact_peak_members, fact_peak_covered, fact_peak_time, fact_threads, fact_processes, fact_processes_most,
    fact_survivors, fact_holder_of_pss, fact_holder_of_rss, fact_before, fact_job_io_write, fact_job_split,
    fact_job_cpu;
/* facts_machine.c */
fact_getter fact_memory_limit, fact_cores_limit, fact_pids_limit, fact_oom_kills, fact_refused, fact_held_from,
    fact_host, fact_gauge, fact_grown, fact_share;
/* facts_accounting.c */
fact_getter fact_accounting, fact_command, fact_command_name, fact_command_processes, fact_command_split, fact_recorder,
    fact_recorder_mean, fact_own_cost, fact_tape;
/* tasks.c */
fact_getter fact_task, fact_task_text, fact_task_uss_mean, fact_task_cores;
/* directories.c */
fact_getter fact_directory, fact_directory_path, fact_directory_task;
/* gpus.c */
fact_getter fact_gpu_text, fact_gpu_grown, fact_gpu_share, fact_gpu_most, fact_gpu_most_real, fact_gpu_energy,
    fact_gpu_flag, fact_gpu_all, fact_energy, fact_carbon;
/* facts_course.c */
fact_getter fact_course, fact_course_memory;

/* Is the CPU time of the job a lower bound? Then all that is computed from it is one, too. */
bool fact_cpu_is_bound(const struct baro_summary *s);

static inline void value_u64(struct baro_value *ret, int absent, uint64_t v)
{
    ret->absent = absent;
    ret->u64 = absent ? 0 : v;
}

static inline void value_real(struct baro_value *ret, int absent, double v)
{
    ret->absent = absent;
    ret->real = absent ? 0 : v;
}

static inline void value_text(struct baro_value *ret, int absent, const char *text)
{
    ret->absent = absent;
    ret->text = absent ? NULL : text;
}

static inline void value_flag(struct baro_value *ret, enum baro_value_flag flag, bool is)
{
    if (is && !ret->absent)
        ret->flags |= flag;
}

#endif
