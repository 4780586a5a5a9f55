/* SPDX-License-Identifier: Apache-2.0 */
/* The object of `baro summary --json`. Its member names are a promise to other programs: docs/json.md. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "base/fmt.h"
#include "report/facts.h"
#include "report/report.h"

static void job_number(struct facts *f, const struct summary *s, const char *key, enum job_metric metric)
{
    uint64_t v;
    int absent = summary_job(s, metric, &v);
    facts_number(f, key, absent, v);
}

static void job_flag(struct facts *f, const struct summary *s, const char *key, enum job_metric metric)
{
    uint64_t v;
    int absent = summary_job(s, metric, &v);
    json_key(f->json, key);
    if (absent == BARO_PRESENT)
        json_bool(f->json, v != 0);
    else
        facts_missing(f, key, absent);
}

static void self_number(struct facts *f, const struct summary *s, const char *key, enum recorder_metric metric)
{
    uint64_t v;
    int absent = summary_self(s, metric, &v);
    facts_number(f, key, absent, v);
}

static void peak_number(struct facts *f, const struct summary *s, const char *key, enum summary_peak_kind kind)
{
    facts_number(f, key, s->peak[kind].absent, s->peak[kind].value);
}

static void write_exit(struct facts *f, const struct summary *s)
{
    struct json *j = f->json;
    int status, absent = summary_status(s, &status);
    char name[16];
    facts_begin(f, "exit");
    bool killed = absent == BARO_PRESENT && WIFSIGNALED(status);
    json_key(j, "status");
    if (absent != BARO_PRESENT)
        facts_missing(f, "status", absent);
    else if (killed)
        json_null(j); /* it has none: a signal ended it */
    else
        json_u64(j, (uint64_t)WEXITSTATUS(status));
    json_key(j, "signal");
    const char *signal = killed ? report_signal_name(WTERMSIG(status)) : NULL;
    if (killed) {
        snprintf(name, sizeof(name), "SIG%s", signal ? signal : "");
        if (!signal)
            snprintf(name, sizeof(name), "%d", WTERMSIG(status));
        json_text(j, name);
    } else if (absent != BARO_PRESENT) {
        facts_missing(f, "signal", absent);
    } else {
        json_null(j);
    }
    facts_end(f);
}

/* When a peak was: time since the start of the job. */
static uint64_t age(const struct summary *s, enum summary_peak_kind kind)
{
    return s->peak[kind].t_ns > s->start_ns ? s->peak[kind].t_ns - s->start_ns : 0;
}

static void write_job_cpu(struct facts *f, const struct summary *s)
{
    double v;
    int absent;
    job_number(f, s, "cpu_ns", JOB_cpu);
    job_number(f, s, "cpu_user_ns", JOB_cpu_user);
    job_number(f, s, "cpu_system_ns", JOB_cpu_system);
    absent = summary_cores_mean(s, &v);
    facts_real(f, "cores_mean", absent, v);
    absent = summary_cores_peak(s, &v);
    facts_real(f, "cores_peak", absent, v);
    job_number(f, s, "run_delay_ns", JOB_run_delay);
    job_number(f, s, "switches_voluntary", JOB_switches_voluntary);
    job_number(f, s, "switches_involuntary", JOB_switches_involuntary);
}

static void write_job(struct facts *f, const struct summary *s)
{
    const struct summary_peak *pss = &s->peak[PEAK_PSS];
    int unknown = s->job_absent[JOB_process_rss_peak];
    struct summary_rss rss;
    summary_rss_peak(s, &rss);
    facts_begin(f, "job");
    write_job_cpu(f, s);
    facts_number(f, "rss_peak_bytes", rss.absent, rss.value);
    peak_number(f, s, "pss_peak_bytes", PEAK_PSS);
    peak_number(f, s, "uss_peak_bytes", PEAK_USS);
    peak_number(f, s, "swap_peak_bytes", PEAK_SWAP);
    facts_number(f, "rss_peak_age_ns", s->peak[PEAK_RSS].absent, age(s, PEAK_RSS));
    facts_number(f, "pss_peak_age_ns", pss->absent, age(s, PEAK_PSS));
    facts_number(f, "pss_peak_members", pss->absent, pss->members);
    facts_number(f, "pss_peak_covered", pss->absent, pss->covered);
    json_key(f->json, "rss_peak_is_lower_bound");
    json_bool(f->json, rss.is_bound);
    json_key(f->json, "pss_peak_is_lower_bound");
    json_bool(f->json, summary_pss_is_bound(s));
    json_key(f->json, "pss_peak_is_approximate");
    json_bool(f->json, summary_pss_is_approximate(s));
    job_number(f, s, "process_rss_peak_bytes", JOB_process_rss_peak);
    json_key(f->json, "process_rss_peak_name");
    if (rss.has_holder && *s->commands.at[rss.holder].name)
        json_text(f->json, s->commands.at[rss.holder].name);
    else
        facts_missing(f, "process_rss_peak_name", unknown ? unknown : BARO_ABSENT_UNKNOWN);
    job_number(f, s, "io_read_bytes", JOB_io_read);
    job_number(f, s, "io_write_bytes", JOB_io_write);
    job_number(f, s, "io_rchar_bytes", JOB_io_rchar);
    job_number(f, s, "io_wchar_bytes", JOB_io_wchar);
    job_number(f, s, "io_cancelled_write_bytes", JOB_io_cancelled_write);
    job_flag(f, s, "io_is_lower_bound", JOB_io_is_lower_bound);
    job_number(f, s, "faults_minor", JOB_faults_minor);
    job_number(f, s, "faults_major", JOB_faults_major);
    peak_number(f, s, "threads_peak", PEAK_THREADS);
    peak_number(f, s, "fds_peak", PEAK_FDS);
    const bool bound = summary_processes_are_bound(s);
    job_number(f, s, "processes_peak", JOB_processes_peak);
    json_key(f->json, "processes_peak_is_lower_bound");
    json_bool(f->json, bound);
    job_number(f, s, "processes_started", JOB_processes_started);
    json_key(f->json, "processes_started_is_lower_bound");
    json_bool(f->json, bound);
    job_number(f, s, "processes_ended", JOB_processes_ended);
    job_number(f, s, "processes_unsampled", JOB_processes_unsampled);
    facts_end(f);
}

static void write_holder(struct json *j, const char *name, uint64_t processes, uint64_t bytes)
{
    json_begin(j, '{');
    json_key(j, "name");
    json_text(j, name);
    json_key(j, "processes");
    json_u64(j, processes);
    json_key(j, "bytes");
    json_u64(j, bytes);
    json_end(j, '}');
}

static void write_holders(struct facts *f, const struct summary *s)
{
    struct json *j = f->json;
    enum summary_peak_kind kind = s->peak[PEAK_PSS].absent == BARO_PRESENT ? PEAK_PSS : PEAK_RSS;
    const struct summary_peak *peak = &s->peak[kind];
    struct summary_rss rss;
    summary_rss_peak(s, &rss);
    bool one = kind == PEAK_RSS && rss.unsampled;
    json_key(j, kind == PEAK_PSS ? "pss_peak_held_by" : "rss_peak_held_by");
    json_begin(j, '[');
    if (one && rss.has_holder)
        write_holder(j, s->commands.at[rss.holder].name, 1, rss.value);
    for (size_t i = 0; !one && i < peak->n_top; i++)
        write_holder(j, s->commands.at[peak->top[i].command].name, peak->top[i].processes, peak->top[i].value);
    json_end(j, ']');
}

static void write_before(struct facts *f, const struct summary *s)
{
    json_key(f->json, "before");
    if (!s->before.known) {
        json_null(f->json);
        return;
    }
    json_begin(f->json, '{');
    json_key(f->json, "cpu_ns");
    json_u64(f->json, s->before.cpu_ns);
    json_end(f->json, '}');
}

static void write_accounting(struct facts *f, const struct summary *s)
{
    double remainder;
    facts_begin(f, "accounting");
    job_number(f, s, "cpu_counted_ns", JOB_cpu_counted);
    job_number(f, s, "cpu_kernel_ns", JOB_cpu);
    job_number(f, s, "cpu_bound_ns", JOB_cpu_bound);
    json_key(f->json, "kernel_source");
    json_text(f->json, summary_kernel_source(s));
    json_key(f->json, "event_source");
    json_text(f->json, s->event_source[0] ? s->event_source : NULL);
    json_key(f->json, "exit_source");
    json_text(f->json, s->exit_source[0] ? s->exit_source : NULL);
    int absent = summary_remainder(s, &remainder);
    facts_real(f, "remainder_ratio", absent, remainder);
    self_number(f, s, "lossy_intervals", RECORDER_lossy_intervals);
    facts_end(f);
}

static void command_number(struct facts *f, const struct command *c, const char *key, enum command_value v)
{
    facts_number(f, key, c->covered[v] ? BARO_PRESENT : c->absent[v], c->value[v]);
}

static void write_command(struct facts *f, const struct summary *s, const struct command *c, size_t i)
{
    char section[40];
    struct summary_split split;
    summary_command_split(s, c, &split);
    snprintf(section, sizeof(section), "commands.%zu", i);
    f->section = section;
    json_begin(f->json, '{');
    json_key(f->json, "name");
    json_text(f->json, c->name);
    json_key(f->json, "processes");
    json_u64(f->json, c->processes);
    command_number(f, c, "cpu_ns", COMMAND_CPU);
    facts_number(f, "cpu_user_ns", split.absent, split.user_ns);
    facts_number(f, "cpu_system_ns", split.absent, split.system_ns);
    json_key(f->json, "cpu_split_is_estimate");
    json_bool(f->json, split.is_estimate);
    command_number(f, c, "rss_peak_bytes", COMMAND_RSS_PEAK);
    command_number(f, c, "io_read_bytes", COMMAND_IO_READ);
    command_number(f, c, "io_write_bytes", COMMAND_IO_WRITE);
    json_key(f->json, "io_is_lower_bound");
    json_bool(f->json, command_io_is_bound(c));
    json_end(f->json, '}');
    f->section = NULL;
}

static void write_commands(struct facts *f, const struct summary *s)
{
    json_key(f->json, "commands");
    json_begin(f->json, '[');
    for (size_t i = 0; i < s->n_order; i++)
        write_command(f, s, summary_command(s, i), i);
    json_end(f->json, ']');
}

static void write_recorder(struct facts *f, const struct summary *s)
{
    uint64_t v;
    facts_begin(f, "recorder");
    self_number(f, s, "cpu_ns", RECORDER_cpu);
    self_number(f, s, "rss_peak_bytes", RECORDER_rss_peak);
    self_number(f, s, "samples", RECORDER_samples);
    self_number(f, s, "process_samples", RECORDER_process_samples);
    self_number(f, s, "missed", RECORDER_missed);
    int absent = summary_sample_mean_ns(s, &v);
    facts_number(f, "sample_mean_ns", absent, v);
    absent = summary_process_sample_mean_ns(s, &v);
    facts_number(f, "process_sample_mean_ns", absent, v);
    self_number(f, s, "thinned", RECORDER_thinned);
    self_number(f, s, "left_out", RECORDER_left_out);
    self_number(f, s, "forks_refused", RECORDER_forks_refused);
    facts_number(f, "gap_ns", BARO_PRESENT, s->gap_ns);
    facts_number(f, "damaged_bytes", BARO_PRESENT, s->damaged_bytes);
    facts_end(f);
}

static void write_head(struct json *j, const struct summary *s, const char *tape)
{
    struct buf time = {0};
    fmt_time_utc(&time, s->start_realtime_ns);
    json_key(j, "tape");
    json_text(j, tape);
    json_key(j, "command");
    json_begin(j, '[');
    for (char **a = s->argv; *a; a++)
        json_text(j, *a);
    json_end(j, ']');
    json_key(j, "mode");
    json_text(j, s->mode == BARO_MODE_ATTACH ? "attach" : "run");
    json_key(j, "cgroup");
    if (s->cgroup_mode[0])
        json_text(j, s->is_cgroup && !s->own_cgroup ? "target" : s->cgroup_mode);
    else
        json_null(j);
    json_key(j, "cpus");
    json_u64(j, s->cpus);
    json_key(j, "start");
    json_text_n(j, (const char *)time.at, time.len);
    buf_done(&time);
}

void report_json(const struct summary *s, const char *tape, struct json *j)
{
    struct facts f = {.json = j};
    json_begin(j, '{');
    write_head(j, s, tape);
    facts_number(&f, "wall_ns", s->samples || s->ended ? BARO_PRESENT : BARO_ABSENT_NOT_YET, summary_wall_ns(s));
    write_exit(&f, s);
    write_job(&f, s);
    write_holders(&f, s);
    write_before(&f, s);
    facts_limits(&f, s);
    facts_host(&f, s);
    write_accounting(&f, s);
    write_commands(&f, s);
    write_recorder(&f, s);
    facts_finish(&f);
    json_end(j, '}');
}
