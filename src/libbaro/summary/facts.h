/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of a summary: what facts.def needs that is computed, and marks that take more than a member. */
#ifndef LIBBARO_SUMMARY_FACTS_H
#define LIBBARO_SUMMARY_FACTS_H

#include "baro/summary.h"
#include "libbaro/summary/summary.h"

/* A row of a table of facts. The words of facts.def for enum baro_fact_trend are short. */
enum { TREND_NONE = BARO_TREND_NONE, TREND_WORSE = BARO_TREND_MORE_IS_WORSE, TREND_BETTER = BARO_TREND_MORE_IS_BETTER };
#define FACT_ROW(section, name, type, unit, semantics, trend, in_json, help)                                           \
    {                                                                                                                  \
        section, name, help, BARO_FACT_##type, BARO_UNIT_##unit, BARO_FACT_##semantics,                                \
            (enum baro_fact_trend)TREND_##trend, in_json                                                               \
    }

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

static inline void value_flag(struct baro_value *ret, enum baro_value_flag flag, bool is)
{
    if (is && !ret->absent)
        ret->flags |= flag;
}

/* Each int function returns 0 and the value, or enum baro_absent. */

/* facts_job.c */
const char *fact_cgroup(const struct baro_summary *s);
bool fact_is_killed(const struct baro_summary *s);
/* Why something about the command's end is absent; is: it belongs to an end such as this one. */
int fact_exit_absent(const struct baro_summary *s, bool is);
/* Is the total of a command that of its last sample? Its recording was cut off, or its wrapper was lost. */
bool fact_is_cut_off(const struct baro_summary *s);
/* Is the CPU time of the job a lower bound? Then all that is computed from it is one, too. */
bool fact_cpu_is_bound(const struct baro_summary *s);
int fact_run_delay_absent(const struct baro_summary *s);
int fact_threads_peak(const struct baro_summary *s, uint64_t *ret);
/* The name of the process with the largest high-water mark. */
int fact_mark_holder(const struct baro_summary *s, const char **ret);
/* A command that held most at the peak, of rss or pss. */
struct summary_holder fact_holder(const struct baro_summary *s, enum summary_peak_kind kind, size_t row);
/* The task that a directory is a sandbox of. */
int fact_task_of_directory(const struct baro_summary *s, size_t row, const char **ret);
uint64_t fact_since_start(const struct baro_summary *s, uint64_t t_ns);
bool fact_is_hidden(int absent); /* is there a limit that could not be found? */

/* facts_gpus.c */
/* Of all GPUs that are no instances. */
struct gpus_sum {
    uint64_t n, used, watched_ns, busy_ns, memory_most, memory_most_of_one;
    double joules;
    bool has_use, has_busy, has_memory, has_energy, is_estimate;
};
void gpus_sum(const struct baro_summary *s, struct gpus_sum *ret);
/* Is a sum over all devices a lower bound, because one of them lacks the value? */
typedef bool gpu_lacks(const struct baro_summary *s, const struct fold_entity *t);
gpu_lacks gpu_lacks_use, gpu_lacks_busy, gpu_lacks_memory, gpu_lacks_energy;
bool gpus_lack(const struct baro_summary *s, gpu_lacks *lacks);
bool gpus_lack_memory_together(const struct baro_summary *s);
int gpu_memory_absent(const struct fold_entity *t);
int gpu_is_used(const struct baro_summary *s, size_t row, uint64_t *ret);
uint64_t gpu_watched_ns(const struct fold_entity *t);
/* The growth of a time, as a share of the time in which the device was watched. */
int gpu_share(const struct fold_entity *t, enum gpu_metric metric, double *ret);
int gpu_power_mean(const struct baro_summary *s, size_t row, double *ret);
/* The job's share of the energy, in joules, with flags. */
struct baro_value gpu_job_energy(const struct baro_summary *s, const struct fold_entity *t);
struct baro_value gpus_job_energy(const struct baro_summary *s);
/* Energy of CPUs and memory: of the meters that count for the machine. */
struct meters_sum {
    double joules;
    uint64_t watched_ns;
    bool has_gap;
};
int meters_sum(const struct baro_summary *s, struct meters_sum *ret);
int energy_of_job(const struct baro_summary *s, double *ret);
/* What was emitted for an energy. */
int carbon_of(const struct baro_summary *s, const char *section, const char *fact, double *ret_grams);

/* tasks.c */
/* What all parts of a recording counted: a recorder that was started again counts from 0, a fall (base/growth.h). */
uint64_t task_counted(const struct fold_cell *counter);
/* Why a value of memory is absent. */
int task_memory_absent(const struct baro_summary *s, size_t row, enum task_metric metric);
int task_uss_mean(const struct baro_summary *s, size_t row, uint64_t *ret);
int task_cores_mean(const struct baro_summary *s, size_t row, double *ret);
int task_cores_peak(const struct baro_summary *s, size_t row, double *ret);
int task_one_cores_mean(const struct baro_summary *s, size_t row, double *ret);
int task_one_cores_peak(const struct baro_summary *s, size_t row, double *ret);
bool task_rss_is_bound(const struct baro_summary *s, size_t row);
bool task_started_is_bound(const struct baro_summary *s, size_t row);
bool task_split_is_estimate(const struct baro_summary *s, size_t row);
bool task_processes_peak_is_bound(const struct baro_summary *s, size_t row);
bool task_tcp_is_bound(const struct baro_summary *s, size_t row);

#endif
