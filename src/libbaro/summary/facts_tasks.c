/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of tasks. */
#include "libbaro/summary/facts.h"

/* Is a value of a task a lower bound? The peak of rss comes from samples, so it is one if a process had a much
 * higher mark. Example: the task had 85 MB at most in a sample, and one of its processes 299 MB between two samples.
 * Up to a twentieth is ignored, because a mark is a little above most samples (libbaro/summary/rss_peak.c). */
static bool task_is_bound(const struct task_row *one, int of)
{
    uint64_t rss = 0, mark = 0;
    if (of != TASK_FIELD_RSS)
        return of == TASK_FIELD_RUN_DELAY || one->is_bound[of];
    task_row_value(one, TASK_FIELD_RSS, &rss);
    task_row_value(one, TASK_FIELD_RSS_ONE, &mark);
    return mark > rss + rss / 20;
}

/* Is the peak of processes a lower bound? All processes of the task may have been alive at the same time, unless
 * events show how many were. */
static bool peak_is_bound(const struct baro_summary *s, const struct task_row *one)
{
    uint64_t peak = 0, started = 0;
    task_row_value(one, TASK_FIELD_PEAK, &peak);
    task_row_value(one, TASK_FIELD_STARTED, &started);
    bool unsure = summary_processes_peak_is_bound(s) && peak < started;
    return unsure || one->is_bound[TASK_FIELD_STARTED];
}

void fact_task(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const struct task_row *one = &s->tasks.at[row];
    uint64_t v = 0;
    int absent = task_row_value(one, (enum task_field)of, &v);
    value_u64(ret, absent, v);
    value_flag(ret, BARO_VALUE_LOWER_BOUND, of == TASK_FIELD_PEAK ? peak_is_bound(s, one) : task_is_bound(one, of));
    bool is_memory = of == TASK_FIELD_RSS || of == TASK_FIELD_PSS || of == TASK_FIELD_USS || of == TASK_FIELD_SWAP;
    value_flag(ret, BARO_VALUE_UPPER_BOUND, is_memory && s->incidents.memory_counts_twice);
}

void fact_task_tcp(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const struct task_row *one = &s->tasks.at[row];
    uint64_t v = 0, unread = 0;
    int absent = task_row_value(one, (enum task_field)of, &v);
    task_row_value(one, TASK_FIELD_TCP_UNREAD, &unread);
    value_u64(ret, absent, v);
    value_flag(ret, BARO_VALUE_LOWER_BOUND, !s->finished.tcp_is_whole && (unread || !s->finished.tcp_is_exact));
}

void fact_task_text(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const struct task_row *one = &s->tasks.at[row];
    const char *text = of == TASK_NAME ? one->name : one->label;
    value_text(ret, text ? BARO_PRESENT : BARO_ABSENT_UNKNOWN, text);
}

void fact_task_uss_mean(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    uint64_t v = 0;
    (void)of;
    int absent = task_row_uss_mean(&s->tasks.at[row], &v);
    value_u64(ret, absent, v);
}

/* The end of a process is reported a little late, so over a short interval the rate may exceed what the machine has. */
static double at_most_all(const struct baro_summary *s, double cores)
{
    return s->subject.cpus && cores > s->subject.cpus ? s->subject.cpus : cores;
}

void fact_task_cores(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const struct task_row *one = &s->tasks.at[row];
    double mean = 0, peak = 0;
    if (of == TASK_CORES_MEAN || of == TASK_CORES_PEAK) {
        int absent = task_row_cores(one, &mean, &peak);
        value_real(ret, absent, at_most_all(s, of == TASK_CORES_MEAN ? mean : peak));
        value_flag(ret, BARO_VALUE_LOWER_BOUND, task_is_bound(one, TASK_FIELD_CPU));
        return;
    }
    bool known = one->process.time_ns > 0;
    value_real(ret, known ? BARO_PRESENT : BARO_ABSENT_NOT_YET,
               of == TASK_ONE_CORES_PEAK ? at_most_all(s, one->process.peak)
               : known                   ? one->process.used_ns / one->process.time_ns
                                         : 0);
}
