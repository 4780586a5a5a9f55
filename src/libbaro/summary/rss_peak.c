/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The most memory that the job had resident, from samples and from the high-water marks of its processes.
 *
 * A process that grows and ends between two samples is in no sum over processes, but its exit has its high-water mark.
 * Example: samples have at most 11.8 MB, and one process had 514 MB: the job had at least 514 MB, and more if others
 * were alive at that moment. So the larger of the two values is the peak. Several processes may have reached their
 * marks at the same time: together.c adds these up. If that sum is larger, the peak is a lower bound.
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

/* Attached, the mark of a process that ran before may be older than the recording, unless it rose after the first
 * sample. Example: a process of 10 MB has a mark of 400 MB in its first sample. With 400 MB in its exit it may have had
 * 10 MB all the time; with 500 MB in its exit it held these meanwhile. */
static bool mark_rose(const struct summary_alive *base, uint64_t mark)
{
    return base && !(base->absent >> COMMAND_RSS_PEAK & 1) && mark > base->value[COMMAND_RSS_PEAK];
}

void summary_note_mark(struct baro_summary *s, const struct baro_exit *e, uint32_t command)
{
    uint64_t mark = e->value[EXIT_rss_peak];
    if (e->absent[EXIT_rss_peak] != BARO_PRESENT || mark <= s->peaks.largest.value)
        return;
    const struct summary_alive *base = living_base(&s->living, e->id);
    bool is_old = s->subject.mode == BARO_MODE_ATTACH && e->absent[EXIT_elapsed] != BARO_PRESENT;
    if ((is_old || base) && !mark_rose(base, mark))
        return;
    s->peaks.largest = (struct summary_largest){mark, command, true};
}

static struct summary_largest largest_of(const struct baro_summary *s)
{
    struct summary_largest best = s->peaks.largest;
    for (size_t i = 0; i < s->living.n_alive; i++) {
        const struct summary_alive *a = &s->living.alive[i];
        uint64_t mark = a->absent >> COMMAND_RSS_PEAK & 1 ? 0 : a->value[COMMAND_RSS_PEAK];
        const struct summary_alive *base = mark > best.value ? living_base(&s->living, a->id) : NULL;
        if (mark > best.value && (!base || mark_rose(base, mark)))
            best = (struct summary_largest){mark, a->command, true};
    }
    return best;
}

/* Reads the job's mark. wait4(2) may have returned it for a process together with all children that it had waited
 * for: the process is known only if its exit has about that mark. */
static void take_mark(const struct baro_summary *s, struct summary_rss *r)
{
    struct summary_largest best = largest_of(s);
    uint64_t mark = best.value;
    if (summary_is_run(s) && s->rows.job_absent[JOB_process_rss_peak] == BARO_PRESENT &&
        s->rows.job[JOB_process_rss_peak] > mark)
        mark = s->rows.job[JOB_process_rss_peak];
    r->mark = mark;
    r->has_holder = best.known && best.value >= mark - mark / 20;
    r->holder = best.command;
}

/* CPU time of no known process up to this amount has other causes: rounding in the kernel, and the ends of
 * processes. */
#define UNSEEN_LEAST (10 * NS_PER_MS)

/* May processes that no sample has have held more? They left no mark, but their CPU time limits how much they can
 * have mapped. Example: a scan each second saw none of ten processes that held 50 MB for 0.1 s; 150 ms of CPU time
 * belong to no process, which is enough for 2.4 GB. */
static bool unseen_may_exceed(const struct baro_summary *s, uint64_t bytes)
{
    if (!summary_processes_are_bound(s) || s->rows.job_absent[JOB_cpu] || s->rows.job_absent[JOB_cpu_counted])
        return false;
    uint64_t cpu = s->rows.job[JOB_cpu], counted = s->rows.job[JOB_cpu_counted],
             unseen = cpu > counted ? cpu - counted : 0;
    return unseen > UNSEEN_LEAST && unseen > bytes / TOGETHER_GROWTH_MOST;
}

/* Returns a mark that no process exceeded; UINT64_MAX if it is not known. */
static uint64_t largest_mark(const struct baro_summary *s)
{
    if (s->rows.job_absent[JOB_process_rss_most] == BARO_PRESENT && s->rows.job[JOB_process_rss_most])
        return s->rows.job[JOB_process_rss_most];
    bool is_exact =
        summary_is_run(s) && s->rows.job_absent[JOB_process_rss_peak] == BARO_PRESENT && !summary_mark_is_bound(s);
    return is_exact && s->rows.job[JOB_process_rss_peak] ? s->rows.job[JOB_process_rss_peak] : UINT64_MAX;
}

/* If no last mark is known, only the time since the last sample limits how far a process grew, and the bound is
 * useless. Example: a shell of 1.8 MB was read 1 s before it ended: 16 GB were possible. */
#define AT_MOST_VAGUE 2

/* Decides whether the peak is a lower bound, by what processes can have held together. */
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
    /* The kernel counts rss in batches on each CPU (6.2 to 6.15), so a mark is a little above most samples. Such a
     * mark is not a peak between samples, unless another command held the most in the sample. */
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
