/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of a finished summary. */
#include "libbaro/summary/limits.h"
#include "libbaro/summary/summary.h"

#include <string.h>

uint64_t summary_wall_ns(const struct baro_summary *s)
{
    uint64_t from = s->life.started ? s->life.start_ns : 0;
    uint64_t to = s->life.ended ? s->life.end_ns : s->extent.last_ns;
    if (s->life.detached && to < s->extent.last_ns)
        to = s->extent.last_ns; /* the values are those of the last sample */
    return to > from ? to - from : 0;
}

int summary_cores_mean(const struct baro_summary *s, double *ret)
{
    if (s->rows.job_absent[JOB_cpu] != BARO_PRESENT)
        return s->rows.job_absent[JOB_cpu];
    int r = derive_rate(0, 0, summary_wall_ns(s), s->rows.job[JOB_cpu], ret);
    *ret = r == BARO_PRESENT ? *ret / 1e9 : 0;
    if (s->subject.cpus && *ret > s->subject.cpus)
        *ret = s->subject.cpus; /* the total includes CPU time from before its first and after its last instruction */
    return r;
}

int summary_cores_peak_of(const struct baro_summary *s, const struct derive_peak *peak, double *ret)
{
    *ret = peak->rate / 1e9;
    if (!peak->found) /* no two samples are far enough apart */
        return s->rows.job_absent[JOB_cpu] == BARO_PRESENT ? BARO_ABSENT_UNKNOWN : s->rows.job_absent[JOB_cpu];
    /* CPU time of reaped children comes in steps of 10 ms: such a step can make the rate exceed the CPUs of the
     * machine. */
    if (s->subject.cpus && *ret > s->subject.cpus)
        *ret = s->subject.cpus;
    return BARO_PRESENT;
}

int summary_cores_peak(const struct baro_summary *s, double *ret)
{
    double mean;
    int r = summary_cores_peak_of(s, &s->fold.cores, ret);
    /* CPU time from before the first sample and after the last one is in no interval between samples, so the mean
     * may be above the peak. The rate reached the mean at some time, so the peak is at least the mean. */
    if (r == BARO_PRESENT && summary_cores_mean(s, &mean) == BARO_PRESENT && mean > *ret)
        *ret = mean;
    return r;
}

/*
 * Did one process hold more between two samples than all processes together at any sample? Then their pss and uss were
 * more, too. Example: the newest sample of a process of 83.9 MB had 80.1. The kernel counts rss in lots on each CPU, so
 * less than 3 % or 1 MiB says nothing.
 */
#define RSS_LOTS (1u << 20)
static bool grew_between_samples(const struct baro_summary *s, const struct summary_rss *rss)
{
    const struct summary_peak *sum = &s->peaks.sum[PEAK_RSS];
    uint64_t sampled = sum->absent == BARO_PRESENT ? sum->value : 0;
    return rss->unsampled ||
           (rss->of_process && rss->value > sampled + RSS_LOTS && rss->value > sampled + sampled / 32);
}

bool summary_peak_is_bound(const struct baro_summary *s, enum summary_peak_kind kind)
{
    const struct summary_peak *peak = &s->peaks.sum[kind];
    struct summary_rss rss;
    if (peak->absent != BARO_PRESENT || peak->stale)
        return false;
    summary_rss_peak(s, &rss);
    bool is_part = kind == PEAK_PSS || kind == PEAK_USS, between = grew_between_samples(s, &rss) || rss.exceeded;
    return peak->covered < peak->members || (is_part && (s->peaks.unsure_most[kind] > peak->value || between));
}

/*
 * The kernel charges a process that makes a part of a folio of the page cache dirty with the whole folio. Example:
 * PostgreSQL was charged with 31.9 GB; it had passed 2.25 GB to write(2), and the disks wrote 1.94 GB. A file that is
 * mapped is written without write(2), so one of the two alone says nothing; and what the disks did may come later.
 */
#define CHARGED_LEAST 10000000u
bool summary_writes_are_estimate(const struct baro_summary *s)
{
    uint64_t charged = s->rows.job[JOB_io_write], passed = s->rows.job[JOB_io_wchar], written;
    bool known = s->rows.job_absent[JOB_io_write] == BARO_PRESENT && s->rows.job_absent[JOB_io_wchar] == BARO_PRESENT &&
                 summary_machine_watched_ns(s) >= summary_wall_ns(s) / 2 &&
                 summary_machine_grown(s, FOLD_DISK_WRITE, &written) == BARO_PRESENT;
    return known && charged >= CHARGED_LEAST && charged - charged / 10 > passed && charged - charged / 10 > written;
}

int summary_remainder(const struct baro_summary *s, double *ret)
{
    *ret = 0;
    if (s->rows.job_absent[JOB_cpu] != BARO_PRESENT)
        return s->rows.job_absent[JOB_cpu];
    if (s->rows.job_absent[JOB_cpu_counted] != BARO_PRESENT)
        return s->rows.job_absent[JOB_cpu_counted];
    *ret = derive_remainder(s->rows.job[JOB_cpu_counted], s->rows.job[JOB_cpu]);
    return BARO_PRESENT;
}

/* If more than a third of the CPU time, and not a negligible part, is attributed to no process, there were others. */
#define UNKNOWN_LEAST 100000000u /* ns */
#define UNKNOWN_SHARE (1.0 / 3)

bool summary_processes_are_bound(const struct baro_summary *s)
{
    double remainder;
    if (s->rows.job_absent[JOB_processes_unsampled] != BARO_PRESENT || s->incidents.lossy_samples)
        return true;
    return summary_remainder(s, &remainder) == BARO_PRESENT && remainder > UNKNOWN_SHARE &&
           remainder * (double)s->rows.job[JOB_cpu] > (double)UNKNOWN_LEAST;
}

/* Are user and system time of the job estimates? The kernel splits CPU time by the ticks that hit a process; CPU
 * time of a process that no tick hit counts as user time. Example: 15,000 processes that fork and exit: 0.73 s of
 * user time by wait4(2), 0.08 s by their control group. For a group it splits the sum. */
bool summary_job_split_is_estimate(const struct baro_summary *s)
{
    uint64_t cpu = s->rows.job[JOB_cpu], counted = s->rows.job[JOB_cpu_counted];
    uint64_t vague = s->brief_cpu_ns + (s->rows.job_absent[JOB_cpu_counted] || counted > cpu ? 0 : cpu - counted);
    if (strcmp(summary_kernel_source(s), "cgroup") == 0)
        vague = cpu < BRIEF_CPU_NS ? cpu : 0;
    bool is_split = s->rows.job[JOB_cpu_user] || s->rows.job[JOB_cpu_system];
    return s->rows.job_absent[JOB_cpu] == BARO_PRESENT && is_split && vague >= cpu / 10;
}

/*
 * The CPU time of processes that nobody waited for is what perf counted, and perf's clock goes on while a hypervisor
 * has the CPU. Example: six processes used 366 ms, and perf counted 376, since the host took the CPU for 10 ms. On a
 * machine from which nothing was taken meanwhile, perf's count is right to a hundredth. With --no-host nobody knows
 * whether something was.
 */
bool summary_job_cpu_is_estimate(const struct baro_summary *s)
{
    uint64_t cpu = s->rows.job[JOB_cpu], excess = s->rows.job[JOB_cpu_excess], stolen;
    return s->rows.job_absent[JOB_cpu] == BARO_PRESENT && s->rows.job_absent[JOB_cpu_excess] == BARO_PRESENT &&
           excess > cpu / 100 &&
           (summary_machine_grown(s, FOLD_HOST_STEAL, &stolen) != BARO_PRESENT || stolen > cpu / 200);
}

/* Example: of three processes one ended before its name was read. It may have been another sh, so "2 sh" is a lower
 * bound. */
bool summary_command_may_have_more(const struct baro_summary *s, const struct command *c)
{
    bool is_rare = s->subject.is_machine && s->finished.nameless <= s->rows.job[JOB_processes_started] / 50;
    return summary_processes_are_bound(s) || (s->finished.nameless && *c->name && !is_rare);
}

bool summary_processes_peak_is_bound(const struct baro_summary *s)
{
    bool scanned = strcmp(s->subject.event_source, "scan") == 0;
    return summary_processes_are_bound(s) ||
           (scanned && s->rows.job[JOB_processes_peak] < s->rows.job[JOB_processes_started]) ||
           summary_job_has(s, JOB_processes_peak_is_lower_bound);
}

int summary_processes_at_most(const struct baro_summary *s, uint64_t *ret)
{
    bool is_bound = summary_processes_are_bound(s);
    if (s->rows.job_absent[JOB_processes_started] != BARO_PRESENT)
        return s->rows.job_absent[JOB_processes_started];
    if (is_bound && (s->incidents.lossy_samples || s->rows.job_absent[JOB_processes_unseen] != BARO_PRESENT))
        return BARO_ABSENT_UNKNOWN;
    if (is_bound && !s->rows.job[JOB_processes_unseen]) /* unattributed CPU time proves that there were */
        return BARO_ABSENT_UNKNOWN;
    *ret = s->rows.job[JOB_processes_started] + (is_bound ? s->rows.job[JOB_processes_unseen] : 0);
    return BARO_PRESENT;
}

static int mean(const struct baro_summary *s, enum recorder_metric sum, enum recorder_metric count, uint64_t *ret)
{
    *ret = 0;
    if (s->rows.self_absent[sum] != BARO_PRESENT)
        return s->rows.self_absent[sum];
    if (s->rows.self_absent[count] != BARO_PRESENT)
        return s->rows.self_absent[count];
    if (!s->rows.self[count])
        return BARO_ABSENT_NOT_YET;
    *ret = s->rows.self[sum] / s->rows.self[count];
    return BARO_PRESENT;
}

int summary_sample_mean_ns(const struct baro_summary *s, uint64_t *ret)
{
    return mean(s, RECORDER_sample_time, RECORDER_samples, ret);
}

int summary_process_sample_mean_ns(const struct baro_summary *s, uint64_t *ret)
{
    return mean(s, RECORDER_sample_cpu, RECORDER_process_samples, ret);
}

int summary_own_cost(const struct baro_summary *s, double *ret)
{
    int absent = s->rows.self_absent[RECORDER_cpu];
    *ret = 0;
    if (absent == BARO_PRESENT)
        absent = derive_rate(0, 0, summary_wall_ns(s), s->rows.self[RECORDER_cpu], ret);
    *ret /= 1e9;
    return absent;
}

int summary_own_start(const struct baro_summary *s, uint64_t *ret)
{
    int absent = s->rows.self_absent[RECORDER_cpu];
    bool has_start = s->rows.self_first_ns && !s->extent.removed && absent == BARO_PRESENT &&
                     s->rows.self_first_cpu_ns <= s->rows.self[RECORDER_cpu];
    *ret = s->rows.self_first_cpu_ns;
    return has_start ? BARO_PRESENT : absent ? absent : BARO_ABSENT_UNKNOWN;
}

/* Starting the recorder costs the same in a short run as in a long one, so it is a large share of a short run.
 * Example: 12 ms were used at the first sample, at 1 ms, and 22 ms at the last, at 1001 ms: 2.2 % in all; 12 ms for
 * starting, then 1 %. */
int summary_own_cost_after_start(const struct baro_summary *s, double *ret)
{
    uint64_t start_ns;
    int absent = summary_own_start(s, &start_ns);
    *ret = 0;
    if (absent == BARO_PRESENT)
        absent = derive_rate(s->rows.self_first_ns, start_ns, s->extent.last_ns, s->rows.self[RECORDER_cpu], ret);
    *ret /= 1e9;
    return absent;
}

const char *summary_kernel_source(const struct baro_summary *s)
{
    if (s->life.machine_counts)
        return "machine";
    if (s->life.group_counts)
        return "cgroup";
    return summary_is_run(s) && s->life.ended && !s->life.wrapper_lost ? "wait4" : "ledger";
}

/*
 * For some processes only the CPU time is known, and not its split (perf does not report the split, and some processes
 * were in no sample). The split of all these processes together is that of the job minus the known splits. Each command
 * gets a part of it, in proportion to its CPU time without a split. Example: the job has 100 ms user and 48 ms system
 * time; of that, make has 4 and 1 ms; true has 24 ms without a split: 24 * 96 / (96 + 47) = 16.1 ms are its user time,
 * an estimate.
 */
void summary_command_split(const struct baro_summary *s, const struct command *c, struct summary_split *ret)
{
    uint64_t user = c->value[COMMAND_CPU_USER], system = c->value[COMMAND_CPU_SYSTEM], cpu = c->value[COMMAND_CPU];
    uint64_t unknown = cpu > user + system ? cpu - user - system : 0;
    *ret = (struct summary_split){.user_ns = user,
                                  .system_ns = system,
                                  .is_estimate = c->split_is_fitted,
                                  .absent = c->covered[COMMAND_CPU] ? BARO_PRESENT : c->absent[COMMAND_CPU]};
    if (ret->absent != BARO_PRESENT || !unknown)
        return;
    double rest_user = (double)s->finished.rest_user_ns, rest = rest_user + (double)s->finished.rest_system_ns;
    if (rest <= 0) {
        rest_user = (double)s->rows.job[JOB_cpu_user];
        rest = rest_user + (double)s->rows.job[JOB_cpu_system];
    }
    if (rest <= 0) {
        *ret = (struct summary_split){.absent = BARO_ABSENT_UNKNOWN};
        return;
    }
    ret->is_estimate = true;
    double part = (double)unknown * (rest_user / rest); /* a double can round to more than the number on the tape */
    ret->user_ns = user + (part < (double)unknown ? (uint64_t)part : unknown);
    ret->system_ns = cpu - ret->user_ns;
}

const struct command *summary_command(const struct baro_summary *s, size_t i)
{
    return i < s->finished.n_order ? &s->finished.counted[s->finished.order[i]] : NULL;
}
