/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The most memory that the job had resident, from samples and from the high-water marks of its processes.
 *
 * A process that grows and ends between two samples is in no sum over the tree, but the record of its end has its mark.
 * Example: samples saw 11.8 MB at most, and one process had 514 MB: the job had at least 514 MB, and more if others
 * lived at that moment. So the larger of the two is the peak. Several processes can have had their marks together,
 * which together.c sums up: if these sums are more, the peak is a lower bound.
 */
#include "baro/summary.h"
#include "base/clock.h"
#include "libbaro/summary/summary.h"

/* A tape without that metric has marks of taskstats, of wait4(2), or of the last reading. */
bool summary_mark_is_final(const struct baro_exit *e)
{
    if (e->absent[EXIT_rss_peak_is_lower_bound] == BARO_PRESENT)
        return !e->value[EXIT_rss_peak_is_lower_bound];
    return e->absent[EXIT_rss_peak] == BARO_PRESENT && e->source == BARO_EXIT_TASKSTATS;
}

/* On a tape without that metric: it may have ended before its memory was read twice. */
bool summary_mark_is_bound(const struct baro_summary *s)
{
    if (s->rows.job_absent[JOB_process_rss_peak] != BARO_PRESENT)
        return false;
    if (s->rows.job_absent[JOB_process_rss_peak_is_lower_bound] == BARO_PRESENT)
        return s->rows.job[JOB_process_rss_peak_is_lower_bound];
    return summary_wall_ns(s) < 30 * NS_PER_MS;
}

/* Attached, a mark may be older than the recording, unless the process began during it. */
void summary_note_mark(struct baro_summary *s, const struct baro_exit *e, uint32_t command)
{
    uint64_t mark = e->value[EXIT_rss_peak];
    if (e->absent[EXIT_rss_peak] != BARO_PRESENT || mark <= s->peaks.largest.value)
        return;
    if (s->subject.mode == BARO_MODE_ATTACH && e->absent[EXIT_elapsed] != BARO_PRESENT)
        return;
    s->peaks.largest = (struct summary_largest){mark, command, true};
}

static struct summary_largest largest_of(const struct baro_summary *s)
{
    struct summary_largest best = s->peaks.largest;
    for (size_t i = 0; i < s->living.n_alive && s->subject.mode == BARO_MODE_RUN; i++) {
        const struct summary_alive *a = &s->living.alive[i];
        if (!(a->absent >> COMMAND_RSS_PEAK & 1) && a->value[COMMAND_RSS_PEAK] > best.value)
            best = (struct summary_largest){a->value[COMMAND_RSS_PEAK], a->command, true};
    }
    return best;
}

/* The job's mark can be one that wait4(2) returned for a process and for all that it had waited for: then it is known
 * whose it was only if the record of an end says as much. */
static void take_mark(const struct baro_summary *s, struct summary_rss *r)
{
    struct summary_largest best = largest_of(s);
    uint64_t mark = best.value;
    if (s->subject.mode == BARO_MODE_RUN && s->rows.job_absent[JOB_process_rss_peak] == BARO_PRESENT &&
        s->rows.job[JOB_process_rss_peak] > mark)
        mark = s->rows.job[JOB_process_rss_peak];
    r->mark = mark;
    r->has_holder = best.known && best.value >= mark - mark / 20;
    r->holder = best.command;
}

/* CPU time without a known process: up to this, rounding in the kernel and the end of processes explain it. */
#define UNSEEN_LEAST (10 * NS_PER_MS)

/* Processes that came and went unseen left no mark. Example: a scan each second saw none of ten that held 50 MB
 * for 0.1 s, but 150 ms of CPU time are nobody's: enough for 2.4 GB. */
static bool unseen_may_exceed(const struct baro_summary *s, uint64_t bytes)
{
    if (!summary_processes_are_bound(s) || s->rows.job_absent[JOB_cpu] || s->rows.job_absent[JOB_cpu_counted])
        return false;
    uint64_t cpu = s->rows.job[JOB_cpu], counted = s->rows.job[JOB_cpu_counted],
             unseen = cpu > counted ? cpu - counted : 0;
    return unseen > UNSEEN_LEAST && unseen > bytes / TOGETHER_GROWTH_MOST;
}

/* No process had more than this; UINT64_MAX: not known. */
static uint64_t largest_mark(const struct baro_summary *s)
{
    if (s->rows.job_absent[JOB_process_rss_most] == BARO_PRESENT && s->rows.job[JOB_process_rss_most])
        return s->rows.job[JOB_process_rss_most];
    bool is_exact = s->subject.mode == BARO_MODE_RUN && s->rows.job_absent[JOB_process_rss_peak] == BARO_PRESENT &&
                    !summary_mark_is_bound(s);
    return is_exact && s->rows.job[JOB_process_rss_peak] ? s->rows.job[JOB_process_rss_peak] : UINT64_MAX;
}

/* Without any last mark, the time since the last sample is all that bounds how far a process grew. Example: a shell of
 * 1.8 MB that another process began was read 1 s before it ended: 16 GB were possible, which is no size to ask for. */
#define AT_MOST_VAGUE 2

/* If it is known what processes can have held together, that decides whether the peak is a lower bound. */
static void take_together(const struct baro_summary *s, struct summary_rss *r)
{
    uint64_t mark = largest_mark(s), slack = r->value / 32;
    uint64_t most = together_most(&s->peaks.together, mark, &r->at_most_unsure);
    bool is_vague = r->at_most_unsure && mark == UINT64_MAX && most / AT_MOST_VAGUE > r->value;
    bool exceeded = most > r->value + slack;
    r->exceeded = exceeded || unseen_may_exceed(s, slack);
    r->is_bound |= r->exceeded;
    r->at_most = most;
    r->at_most_unsure |= summary_processes_are_bound(s);
    r->at_most_absent = exceeded ? BARO_PRESENT : r->is_bound ? BARO_ABSENT_UNKNOWN : BARO_ABSENT_NONE;
    /* An unsure upper bound is of no use if it exceeds the machine's memory. */
    if (is_vague || (r->at_most_unsure && s->subject.memory_total && most > s->subject.memory_total))
        r->at_most_absent = BARO_ABSENT_UNKNOWN;
}

static void take_sampled(const struct baro_summary *s, struct summary_rss *ret)
{
    const struct summary_peak *seen = &s->peaks.sum[PEAK_RSS];
    *ret = (struct summary_rss){.value = seen->value,
                                .absent = seen->absent,
                                .is_bound = seen->absent == BARO_PRESENT && seen->covered < seen->members};
    take_mark(s, ret);
    uint64_t sampled = seen->absent == BARO_PRESENT ? seen->value : 0;
    if (ret->mark <= sampled)
        return;
    ret->value = ret->mark;
    ret->absent = BARO_PRESENT;
    ret->of_process = true;
    /* rss is counted in lots on each CPU (6.2 to 6.15), and a mark is a little above most samples: that is no other
     * moment, unless others held the most then. */
    bool others = ret->has_holder && seen->n_top && seen->top[0].command != ret->holder;
    ret->unsampled = others || ret->mark > sampled + sampled / 20;
}

void summary_rss_peak(const struct baro_summary *s, struct summary_rss *ret)
{
    take_sampled(s, ret);
    ret->at_most_absent = ret->absent;
    if (ret->absent == BARO_PRESENT)
        take_together(s, ret);
}

size_t summary_rss_holders(const struct baro_summary *s)
{
    struct summary_rss rss;
    summary_rss_peak(s, &rss);
    return rss.unsampled ? rss.has_holder : s->peaks.sum[PEAK_RSS].n_top;
}
