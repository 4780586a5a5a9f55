/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of commands, of the accounting, and of the recorder. */
#include "base/clock.h"
#include "libbaro/summary/facts.h"

/* ---- commands ---- */

void fact_command_name(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    (void)of;
    ret->text = summary_command(s, row)->name;
}

void fact_command_processes(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    (void)of;
    ret->u64 = summary_command(s, row)->processes;
    value_flag(ret, BARO_VALUE_LOWER_BOUND, summary_command_may_have_more(s, summary_command(s, row)));
}

static bool tcp_is_bound(const struct baro_summary *s, const struct command *c)
{
    bool is_short = !s->finished.tcp_is_exact || s->finished.tcp_is_of_living || c->tcp_is_short ||
                    c->covered[COMMAND_TCP_SENT] < c->processes;
    return c->covered[COMMAND_TCP_SENT] && !s->finished.tcp_is_whole && is_short;
}

/* Is a part more than the error that reading a clock may have? */
static bool is_much(uint64_t part, uint64_t all)
{
    return part > 5 * NS_PER_MS + all / 100;
}

/* May processes of this name be missing that used something? Processes that were not seen, or whose name is not
 * known, may have this name. Example: of a job of 350 ms, three sh used 20 ms, and 193 ms belong to a process whose
 * name is not known. */
static bool lacks_some(const struct baro_summary *s, const struct command *c)
{
    uint64_t others = s->finished.rest_ns + (*c->name ? s->finished.nameless_ns : 0);
    return summary_command_may_have_more(s, c) && is_much(others, c->value[COMMAND_CPU]);
}

/* Is the peak of a command a lower bound? It is exact if no process of the job held more. Example: 248 MB were read
 * for python3, which has ended, and no process of the job held more than 248 MB: that is its peak. If wait4(2)
 * reports a process with 258 MB, the 248 MB are a lower bound. */
static bool rss_is_bound(const struct baro_summary *s, const struct command *c)
{
    bool is_largest = s->subject.mode == BARO_MODE_RUN && s->rows.job_absent[JOB_process_rss_peak] == BARO_PRESENT &&
                      !summary_mark_is_bound(s) && c->value[COMMAND_RSS_PEAK] >= s->rows.job[JOB_process_rss_peak];
    return !is_largest && (c->rss_is_short || c->covered[COMMAND_RSS_PEAK] < c->processes || lacks_some(s, c));
}

/* Is the CPU time of a command an estimate? It may be too large, if the part that is unsure is not small. It may be
 * too small if perf reported it, because perf's clock does not count the time for switching to a process. Example: a
 * pipeline switched 34,000 times and used 480 ms; by perf its commands used 459 ms. */
static bool cpu_is_estimate(const struct baro_summary *s, const struct command *c)
{
    return is_much(c->cpu_unsure_ns, c->value[COMMAND_CPU]) ||
           (c->cpu_is_of_perf && is_much(s->finished.rest_ns, s->rows.job[JOB_cpu]));
}

/* May the CPU time lack what freeing the memory of its processes took? Example: the one child of a job, with 400 MB,
 * has 180 ms by taskstats, and the job has 191 ms: up to 10 of the other 11 ms were spent on freeing its memory. If
 * the total is a lower bound, it may lack that time, too. */
#define TEARDOWN_MOST 8u /* times the expected time */
static bool lacks_teardown(const struct baro_summary *s, const struct command *c)
{
    uint64_t most = TEARDOWN_MOST * c->teardown_ns;
    uint64_t lacking = fact_cpu_is_bound(s)         ? 2 * c->teardown_ns
                       : most < s->finished.rest_ns ? most
                                                    : s->finished.rest_ns;
    return is_much(lacking, c->value[COMMAND_CPU]);
}

static bool cpu_is_bound(const struct baro_summary *s, const struct command *c)
{
    bool is_short = c->cpu_is_short || c->covered[COMMAND_CPU] < c->processes;
    return is_short || lacks_some(s, c) || lacks_teardown(s, c);
}

static bool command_is_bound(const struct baro_summary *s, const struct command *c, int of)
{
    switch (of) {
    case COMMAND_RSS_PEAK: return rss_is_bound(s, c);
    case COMMAND_CPU: return cpu_is_bound(s, c);
    case COMMAND_IO_READ:
    case COMMAND_IO_WRITE: return command_io_is_bound(c) || lacks_some(s, c);
    case COMMAND_TCP_SENT:
    case COMMAND_TCP_RECEIVED: return tcp_is_bound(s, c);
    default: return c->covered[of] < c->processes;
    }
}

void fact_command(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const struct command *c = summary_command(s, row);
    value_u64(ret, c->covered[of] ? BARO_PRESENT : c->absent[of], c->value[of]);
    value_flag(ret, BARO_VALUE_LOWER_BOUND, command_is_bound(s, c, of));
    value_flag(ret, BARO_VALUE_ESTIMATE, of == COMMAND_CPU && cpu_is_estimate(s, c));
    if (of == COMMAND_IO_WRITE && c->value[of] && summary_writes_are_estimate(s) && ret->absent == BARO_PRESENT)
        ret->flags = BARO_VALUE_ESTIMATE;
}

void fact_command_split(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    struct summary_split split;
    summary_command_split(s, summary_command(s, row), &split);
    value_u64(ret, split.absent, of == SPLIT_USER ? split.user_ns : split.system_ns);
    value_flag(ret, BARO_VALUE_LOWER_BOUND, command_is_bound(s, summary_command(s, row), COMMAND_CPU));
    value_flag(ret, BARO_VALUE_ESTIMATE, split.is_estimate);
}

/* ---- accounting ---- */

void fact_accounting(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    double remainder;
    int absent;
    (void)row;
    switch (of) {
    case ACCOUNTING_KERNEL_SOURCE: ret->text = summary_kernel_source(s); break;
    case ACCOUNTING_EVENT_SOURCE:
        value_text(ret, *s->subject.event_source ? BARO_PRESENT : BARO_ABSENT_NONE, s->subject.event_source);
        break;
    case ACCOUNTING_EXIT_SOURCE:
        value_text(ret, *s->subject.exit_source ? BARO_PRESENT : BARO_ABSENT_NONE, s->subject.exit_source);
        break;
    case ACCOUNTING_PERF_REFUSED:
        value_text(ret, *s->subject.perf_refused ? BARO_PRESENT : BARO_ABSENT_NONE, s->subject.perf_refused);
        break;
    case ACCOUNTING_REMAINDER:
        absent = summary_remainder(s, &remainder);
        value_real(ret, absent, remainder);
        value_flag(ret, BARO_VALUE_LOWER_BOUND, fact_cpu_is_bound(s));
        break;
    }
}

/* ---- the recorder ---- */

void fact_recorder(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    uint64_t v;
    int absent = summary_self(s, (enum recorder_metric)of, &v);
    (void)row;
    value_u64(ret, absent, v);
}

void fact_recorder_mean(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    uint64_t v;
    int absent = of == RECORDER_sample_time ? summary_sample_mean_ns(s, &v) : summary_process_sample_mean_ns(s, &v);
    (void)row;
    value_u64(ret, absent, v);
}

/* Starting the recorder costs the same in a short run as in a long one, so it is a large share of a short run.
 * Example: 12 ms were used at the first sample, at 1 ms, and 22 ms at the last, at 1001 ms: 2.2 % in all; 12 ms for
 * starting, then 1 %. */
void fact_own_cost(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    uint64_t cpu;
    double v = 0;
    int absent = summary_self(s, RECORDER_cpu, &cpu);
    bool has_start =
        s->rows.self_first_ns && !s->extent.removed && absent == BARO_PRESENT && s->rows.self_first_cpu_ns <= cpu;
    (void)row;
    switch (of) {
    case OWN_COST:
        if (absent == BARO_PRESENT)
            absent = derive_rate(0, 0, summary_wall_ns(s), cpu, &v);
        value_real(ret, absent, v / 1e9);
        break;
    case OWN_BUDGET:
        value_real(ret, s->subject.overhead_ppm ? BARO_PRESENT : BARO_ABSENT_NONE,
                   (double)s->subject.overhead_ppm / 1e6);
        break;
    case OWN_START:
        value_u64(ret, has_start ? BARO_PRESENT : absent ? absent : BARO_ABSENT_UNKNOWN, s->rows.self_first_cpu_ns);
        break;
    case OWN_AFTER_START:
        if (absent == BARO_PRESENT)
            absent = has_start
                         ? derive_rate(s->rows.self_first_ns, s->rows.self_first_cpu_ns, s->extent.last_ns, cpu, &v)
                         : BARO_ABSENT_UNKNOWN;
        value_real(ret, absent, v / 1e9);
        break;
    }
}

void fact_tape(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    (void)row;
    switch (of) {
    case TAPE_GAP: ret->u64 = s->incidents.gap_ns; break;
    case TAPE_GAPS: ret->u64 = s->incidents.gaps; break;
    case TAPE_DAMAGE: ret->u64 = s->extent.damaged_bytes; break;
    case TAPE_WRAPPER_LOST: ret->u64 = s->life.wrapper_lost; break;
    case TAPE_WARNINGS: ret->u64 = s->incidents.warnings; break;
    case TAPE_WARNING:
        value_text(ret, s->incidents.warnings ? BARO_PRESENT : BARO_ABSENT_NONE, s->incidents.warning);
        break;
    }
}
