/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of the recording and of the job. */
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "libbaro/summary/facts.h"

void fact_argument(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    (void)of;
    ret->text = s->subject.argv[row];
}

/* A group that existed before and may have other processes is the target, whichever source counts its CPU time. */
static const char *cgroup_of(const struct baro_summary *s)
{
    return s->subject.is_cgroup && !s->subject.own_cgroup ? "target" : s->subject.cgroup_mode;
}

void fact_head(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    (void)row;
    switch (of) {
    case HEAD_NAME: value_text(ret, s->subject.name[0] ? BARO_PRESENT : BARO_ABSENT_NONE, s->subject.name); break;
    case HEAD_MODE: ret->text = s->subject.mode == BARO_MODE_ATTACH ? "attach" : "run"; break;
    case HEAD_CGROUP: value_text(ret, s->subject.cgroup_mode[0] ? BARO_PRESENT : BARO_ABSENT_NONE, cgroup_of(s)); break;
    case HEAD_CPUS: ret->u64 = s->subject.cpus; break;
    case HEAD_START: ret->i64 = s->subject.start_realtime_ns; break;
    case HEAD_WALL:
        value_u64(ret, s->extent.samples || s->life.ended ? BARO_PRESENT : BARO_ABSENT_NOT_YET, summary_wall_ns(s));
        break;
    case HEAD_START_NS: value_u64(ret, s->life.started ? BARO_PRESENT : BARO_ABSENT_NOT_YET, s->life.start_ns); break;
    case HEAD_REMOVED:
        value_u64(ret, s->extent.removed && s->extent.samples ? BARO_PRESENT : BARO_ABSENT_NONE, s->extent.first_ns);
        break;
    case HEAD_SUSPENDED: ret->u64 = s->incidents.suspended_ns; break;
    case HEAD_CLOCK_STEPS: ret->u64 = s->incidents.clock_steps; break;
    case HEAD_INCOMPLETE: ret->u64 = s->failed; break;
    }
}

void fact_target(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    if (of == TARGET_PID)
        ret->u64 = (uint64_t)s->subject.targets[row];
    else
        value_text(ret, row == 0 && s->subject.target_name[0] ? BARO_PRESENT : BARO_ABSENT_UNKNOWN,
                   s->subject.target_name);
}

void fact_exit(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    int status, absent = summary_status(s, &status);
    bool killed = absent == BARO_PRESENT && WIFSIGNALED(status);
    (void)row;
    switch (of) {
    case EXIT_STATUS: value_u64(ret, killed ? BARO_ABSENT_NONE : absent, (uint64_t)WEXITSTATUS(status)); break;
    case EXIT_SIGNAL:
        value_text(ret, absent == BARO_PRESENT && !killed ? BARO_ABSENT_NONE : absent, s->life.exit_signal);
        break;
    case EXIT_WAIT_STATUS: value_u64(ret, absent, (uint64_t)status); break;
    case EXIT_CORE: value_u64(ret, absent, killed && WCOREDUMP(status)); break;
    case EXIT_DETACHED: ret->u64 = s->life.detached; break;
    }
}

/* ---- totals of the job ---- */

/* Is the total of a command that of its last sample? Its recording was cut off, or its wrapper was lost. */
static bool is_cut_off(const struct baro_summary *s)
{
    return s->subject.mode == BARO_MODE_RUN && strcmp(summary_kernel_source(s), "ledger") == 0;
}

/* Is a total of the job a lower bound? Context switches of processes that ended are known from wait4(2) alone. */
static bool total_is_bound(const struct baro_summary *s, int metric, uint64_t v)
{
    uint64_t flag;
    switch (metric) {
    case JOB_cpu_user:
    case JOB_cpu_system: return fact_cpu_is_bound(s); /* even if this part is 0 */
    case JOB_cpu:
        return (v && is_cut_off(s)) || (summary_job(s, JOB_cpu_is_lower_bound, &flag) == BARO_PRESENT && flag);
    /* Where it is known for all but a fiftieth of the CPU time as well: a process that has used 1 ms may have waited
     * for 100. Example: 5.8 s were known of 8.5 s for six processes that used 360 ms beside ten others. */
    case JOB_run_delay: return true;
    case JOB_faults_minor:
    case JOB_faults_major:
        return is_cut_off(s) || (summary_job(s, JOB_counts_are_lower_bounds, &flag) == BARO_PRESENT && flag);
    case JOB_switches_voluntary:
    case JOB_switches_involuntary:
        return strcmp(summary_kernel_source(s), "wait4") != 0 ||
               (summary_job(s, JOB_counts_are_lower_bounds, &flag) == BARO_PRESENT && flag);
    case JOB_io_read:
    case JOB_io_write:
    case JOB_io_rchar:
    case JOB_io_wchar:
    case JOB_io_cancelled_write: return summary_job(s, JOB_io_is_lower_bound, &flag) == BARO_PRESENT && flag;
    case JOB_tcp_sent:
    case JOB_tcp_received: return summary_job(s, JOB_tcp_is_lower_bound, &flag) == BARO_PRESENT && flag;
    case JOB_net_sent:
    case JOB_net_received: return summary_job(s, JOB_net_is_lower_bound, &flag) == BARO_PRESENT && flag;
    case JOB_process_rss_peak: return summary_mark_is_bound(s);
    default: return false;
    }
}

bool fact_cpu_is_bound(const struct baro_summary *s)
{
    uint64_t v;
    return summary_job(s, JOB_cpu, &v) == BARO_PRESENT && total_is_bound(s, JOB_cpu, v);
}

/* Was run delay read for more than a hundredth of the CPU time? Example: four threads used 1.41 s of CPU time and
 * ended before the second sample: it is not known how long they waited. */
static bool delay_was_read(const struct baro_summary *s)
{
    uint64_t cpu, lag;
    if (summary_job(s, JOB_cpu, &cpu) != BARO_PRESENT || summary_job(s, JOB_run_delay_lag, &lag) != BARO_PRESENT)
        return true;
    return !cpu || lag < cpu - cpu / 100;
}

void fact_job(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    uint64_t v;
    int absent = summary_job(s, (enum job_metric)of, &v);
    (void)row;
    if (of == JOB_run_delay && absent == BARO_PRESENT && !delay_was_read(s))
        absent = BARO_ABSENT_GONE;
    value_u64(ret, absent, v);
    value_flag(ret, BARO_VALUE_LOWER_BOUND, total_is_bound(s, of, v));
}

/* A value that may be too large is no lower bound, even if something is missing from it. */
void fact_job_cpu(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    fact_job(s, of, row, ret);
    if (ret->absent == BARO_PRESENT && summary_job_cpu_is_estimate(s))
        ret->flags = BARO_VALUE_ESTIMATE;
}

/* Reads user or system time, which may be an estimate: see summary_job_split_is_estimate(). A value that may be too
 * large is not marked as a lower bound, even if something is missing from it. */
void fact_job_split(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    fact_job(s, of, row, ret);
    if (ret->absent == BARO_PRESENT && summary_job_split_is_estimate(s))
        ret->flags = BARO_VALUE_ESTIMATE;
}

/* Reads the bytes written, which may be too many: see summary_writes_are_estimate(). Such a value is not marked as a
 * lower bound, even if something is missing from it. */
void fact_job_io_write(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    fact_job(s, of, row, ret);
    if (ret->absent == BARO_PRESENT && summary_writes_are_estimate(s))
        ret->flags = BARO_VALUE_ESTIMATE;
}

void fact_cores(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    double v = 0;
    int absent = of == CORES_MEAN ? summary_cores_mean(s, &v) : summary_cores_peak(s, &v);
    (void)row;
    value_real(ret, absent, v);
    if (summary_job_cpu_is_estimate(s))
        value_flag(ret, BARO_VALUE_ESTIMATE, true);
    else
        value_flag(ret, BARO_VALUE_LOWER_BOUND, fact_cpu_is_bound(s));
}

static bool count_is_bound(const struct baro_summary *s, int of)
{
    return of == JOB_processes_peak ? summary_processes_peak_is_bound(s) : summary_processes_are_bound(s);
}

void fact_processes(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    fact_job(s, of, row, ret);
    value_flag(ret, BARO_VALUE_LOWER_BOUND, count_is_bound(s, of));
}

void fact_processes_most(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    uint64_t most = 0;
    (void)of;
    (void)row;
    int absent = summary_processes_at_most(s, &most);
    value_u64(ret, absent, most);
}

void fact_survivors(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    (void)row;
    if (of == SURVIVORS)
        ret->u64 = s->incidents.survivors;
    else if (s->incidents.survivors)
        value_text(ret, *s->incidents.survivor ? BARO_PRESENT : BARO_ABSENT_UNKNOWN, s->incidents.survivor);
    else
        ret->absent = BARO_ABSENT_NONE;
}

void fact_before(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    (void)of;
    (void)row;
    value_u64(ret, s->life.before.known ? BARO_PRESENT : BARO_ABSENT_NONE, s->life.before.cpu_ns);
}

/* ---- peaks ---- */

void fact_peak(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const struct summary_peak *peak = &s->peaks.sum[of];
    (void)row;
    value_u64(ret, peak->absent, peak->value);
    value_flag(ret, BARO_VALUE_LOWER_BOUND, summary_peak_is_bound(s, (enum summary_peak_kind)of));
    value_flag(ret, BARO_VALUE_ESTIMATE, peak->stale);
    value_flag(ret, BARO_VALUE_UPPER_BOUND, s->incidents.memory_counts_twice && of <= PEAK_SWAP);
}

/* The peak of threads is at least the peak of processes, because each process has a thread, and events count
 * processes between samples. Example: a job of seven processes was sampled when one had begun: 7 threads. */
void fact_threads(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const struct summary_peak *peak = &s->peaks.sum[PEAK_THREADS];
    uint64_t processes, threads = peak->absent ? 0 : peak->value;
    (void)of;
    (void)row;
    if (summary_job(s, JOB_processes_peak, &processes) == BARO_PRESENT && processes > threads)
        threads = processes;
    value_u64(ret, threads ? BARO_PRESENT : peak->absent, threads);
    value_flag(ret, BARO_VALUE_LOWER_BOUND, true);
}

void fact_peak_age(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const struct summary_peak *peak = &s->peaks.sum[of];
    (void)row;
    value_u64(ret, peak->absent, peak->t_ns > s->life.start_ns ? peak->t_ns - s->life.start_ns : 0);
}

void fact_peak_members(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    (void)row;
    value_u64(ret, s->peaks.sum[of].absent, s->peaks.sum[of].members);
}

void fact_peak_covered(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    (void)row;
    value_u64(ret, s->peaks.sum[of].absent, s->peaks.sum[of].covered);
}

/* The name of the process with the largest high-water mark. */
static void holder_name(const struct baro_summary *s, const struct summary_rss *rss, struct baro_value *ret)
{
    const char *name = rss->has_holder ? s->commands.at[rss->holder].name : "";
    int unknown = s->rows.job_absent[JOB_process_rss_peak];
    value_text(ret, *name ? BARO_PRESENT : unknown ? unknown : BARO_ABSENT_UNKNOWN, name);
}

void fact_rss(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    struct summary_rss rss;
    summary_rss_peak(s, &rss);
    (void)row;
    switch (of) {
    case RSS_PEAK:
        value_u64(ret, rss.absent, rss.value);
        value_flag(ret, BARO_VALUE_LOWER_BOUND, rss.is_bound);
        value_flag(ret, BARO_VALUE_UPPER_BOUND, s->incidents.memory_counts_twice && !rss.of_process);
        break;
    case RSS_AT_MOST:
        value_u64(ret, rss.at_most_absent, rss.at_most);
        value_flag(ret, BARO_VALUE_ESTIMATE, rss.at_most_unsure);
        break;
    case RSS_HOLDER: holder_name(s, &rss, ret); break;
    case RSS_IS_OF_PROCESS: ret->u64 = rss.of_process; break;
    case RSS_IS_UNSAMPLED: ret->u64 = rss.unsampled; break;
    }
}

void fact_peak_time(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    (void)row;
    value_u64(ret, s->peaks.sum[of].absent, s->peaks.sum[of].t_ns);
}

static void holder(const struct baro_summary *s, int of, const struct summary_holder *h, struct baro_value *ret)
{
    if (of == HOLDER_NAME)
        ret->text = s->commands.at[h->command].name;
    else
        ret->u64 = of == HOLDER_PROCESSES ? h->processes : h->value;
}

void fact_holder_of_pss(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    holder(s, of, &s->peaks.sum[PEAK_PSS].top[row], ret);
}

void fact_holder_of_rss(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    struct summary_rss rss;
    summary_rss_peak(s, &rss);
    const struct summary_holder one = {.command = rss.holder, .processes = 1, .value = rss.value};
    holder(s, of, rss.unsampled ? &one : &s->peaks.sum[PEAK_RSS].top[row], ret);
}
