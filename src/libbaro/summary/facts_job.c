/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of the recording and of the job that take more than a member. */
#include <string.h>
#include <sys/wait.h>

#include "libbaro/summary/facts.h"

/* A group that existed before and may have other processes is the target, whichever source counts its CPU time. */
const char *fact_cgroup(const struct baro_summary *s)
{
    return *s->subject.cgroup_mode && s->subject.is_cgroup && !s->subject.own_cgroup ? "target"
                                                                                     : s->subject.cgroup_mode;
}

bool fact_is_killed(const struct baro_summary *s)
{
    return s->life.ended && s->life.status_known && WIFSIGNALED(s->life.status);
}

int fact_exit_absent(const struct baro_summary *s, bool is)
{
    if (!s->life.ended)
        return BARO_ABSENT_NOT_YET;
    return !s->life.status_known ? BARO_ABSENT_UNKNOWN : is ? BARO_PRESENT : BARO_ABSENT_NONE;
}

uint64_t fact_since_start(const struct baro_summary *s, uint64_t t_ns)
{
    return t_ns > s->life.start_ns ? t_ns - s->life.start_ns : 0;
}

bool fact_is_hidden(int absent)
{
    return absent != BARO_PRESENT && absent != BARO_ABSENT_NOT_YET;
}

bool fact_is_cut_off(const struct baro_summary *s)
{
    return summary_is_run(s) && !s->extent.is_stretch && strcmp(summary_kernel_source(s), "ledger") == 0;
}

bool fact_cpu_is_bound(const struct baro_summary *s)
{
    return s->rows.job_absent[JOB_cpu] == BARO_PRESENT &&
           ((s->rows.job[JOB_cpu] && fact_is_cut_off(s)) || summary_job_has(s, JOB_cpu_is_lower_bound));
}

/* Was run delay read for more than a hundredth of the CPU time? Example: four threads used 1.41 s of CPU time and
 * ended before the second sample: it is not known how long they waited. */
int fact_run_delay_absent(const struct baro_summary *s)
{
    uint64_t cpu = s->rows.job[JOB_cpu], lag = s->rows.job[JOB_run_delay_lag];
    bool is_known =
        s->rows.job_absent[JOB_cpu] == BARO_PRESENT && s->rows.job_absent[JOB_run_delay_lag] == BARO_PRESENT;
    int absent = s->rows.job_absent[JOB_run_delay];
    return absent == BARO_PRESENT && is_known && cpu && lag >= cpu - cpu / 100 ? BARO_ABSENT_GONE : absent;
}

/* The peak of threads is at least the peak of processes, because each process has a thread, and events count
 * processes between samples. Example: a job of seven processes was sampled when one had begun: 7 threads. */
int fact_threads_peak(const struct baro_summary *s, uint64_t *ret)
{
    const struct summary_peak *peak = &s->peaks.sum[PEAK_THREADS];
    uint64_t processes = s->rows.job[JOB_processes_peak];
    *ret = peak->absent ? 0 : peak->value;
    if (s->rows.job_absent[JOB_processes_peak] == BARO_PRESENT && processes > *ret)
        *ret = processes;
    return *ret ? BARO_PRESENT : peak->absent;
}

int fact_mark_holder(const struct baro_summary *s, const char **ret)
{
    struct summary_rss rss;
    int absent = s->rows.job_absent[JOB_process_rss_peak];
    summary_rss_peak(s, &rss);
    *ret = rss.has_holder ? s->commands.at[rss.holder].name : "";
    return **ret ? BARO_PRESENT : absent ? absent : BARO_ABSENT_UNKNOWN;
}

struct summary_holder fact_holder(const struct baro_summary *s, enum summary_peak_kind kind, size_t row)
{
    struct summary_rss rss;
    summary_rss_peak(s, &rss);
    if (kind == PEAK_RSS && rss.unsampled)
        return (struct summary_holder){.command = rss.holder, .processes = 1, .value = rss.value};
    return s->peaks.sum[kind].top[row];
}

int fact_task_of_directory(const struct baro_summary *s, size_t row, const char **ret)
{
    const struct fold_entity *task = fold_entity_find(&s->fold.tasks, s->fold.directories.at[row].owner);
    *ret = task ? task->name : NULL;
    return task ? BARO_PRESENT : BARO_ABSENT_NONE;
}
