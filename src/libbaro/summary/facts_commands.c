/* SPDX-License-Identifier: Apache-2.0 */
/* Marks of the facts of commands. */
#include "base/clock.h"
#include "libbaro/summary/facts.h"

bool command_tcp_is_bound(const struct baro_summary *s, const struct command *c)
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
bool command_rss_is_bound(const struct baro_summary *s, const struct command *c)
{
    bool is_largest = s->subject.mode == BARO_MODE_RUN && s->rows.job_absent[JOB_process_rss_peak] == BARO_PRESENT &&
                      !summary_mark_is_bound(s) && c->value[COMMAND_RSS_PEAK] >= s->rows.job[JOB_process_rss_peak];
    return !is_largest && (c->rss_is_short || c->covered[COMMAND_RSS_PEAK] < c->processes || lacks_some(s, c));
}

/* Is the CPU time of a command an estimate? It may be too large, if the part that is unsure is not small. It may be
 * too small if perf reported it, because perf's clock does not count the time for switching to a process. Example: a
 * pipeline switched 34,000 times and used 480 ms; by perf its commands used 459 ms. */
bool command_cpu_is_estimate(const struct baro_summary *s, const struct command *c)
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

bool command_cpu_is_bound(const struct baro_summary *s, const struct command *c)
{
    bool is_short = c->cpu_is_short || c->covered[COMMAND_CPU] < c->processes;
    return is_short || lacks_some(s, c) || lacks_teardown(s, c);
}

bool command_io_lacks_some(const struct baro_summary *s, const struct command *c)
{
    return command_io_is_bound(c) || lacks_some(s, c);
}
